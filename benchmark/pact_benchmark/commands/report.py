"""`pact report`: rebuild the HTML report of a run from what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pact_benchmark.commands._options import DEFAULT_RUN, FormatOption, OutputOption, QuietOption
from pact_benchmark.console import Console, Format, emit_json


def report(
    folder: Annotated[
        Path | None, typer.Argument(help="The run folder; also given by --output.")
    ] = None,
    output: OutputOption = DEFAULT_RUN,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Rebuild report.html of a run from its stored results.

    Needs neither a simulator nor the rows: only studies/, tables/ and figures/ of the run.

    Example: pact report runs/default
    """
    from pact_benchmark.progress import warn_of_unfinished
    from pact_benchmark.report import write_report
    from pact_benchmark.store import RunFolder

    run = RunFolder.open(folder or output)
    console = Console(quiet)
    warn_of_unfinished(run, console)
    with run.lock():
        wrote = write_report(run)
    page = run.file("report.html")
    if format is Format.JSON:
        emit_json({"run": str(run.path), "report": str(page), "bytes": page.stat().st_size})
    else:
        console.say(f"wrote {page}" if wrote else f"{page} is up to date")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)
