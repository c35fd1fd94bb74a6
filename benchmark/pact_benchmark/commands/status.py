"""`pact status`: how far a run is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pact_benchmark.commands._options import (
    DEFAULT_RUN,
    FormatOption,
    OutputOption,
    UnusedQuietOption,
)
from pact_benchmark.console import Format, emit_json


def status(
    folder: Annotated[Path | None, typer.Argument(help="The run folder.")] = None,
    output: OutputOption = DEFAULT_RUN,
    quiet: UnusedQuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Show which parts of a run are finished, and how far a sweep is (works while it runs).

    Example: pact status runs/default
    """
    from pact_benchmark.progress import run_status
    from pact_benchmark.store import RunFolder

    report = run_status(RunFolder.open(folder or output))
    if format is Format.JSON:
        emit_json(report)
        return
    for part in report["parts"]:
        typer.echo(f"{part['part']:32} {part['state']:10} {part['detail']}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)
