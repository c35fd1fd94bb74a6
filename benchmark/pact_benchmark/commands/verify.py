"""`pact verify`: check every file of a run against its checksum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pact_benchmark.commands._options import DEFAULT_RUN, FormatOption, OutputOption, QuietOption
from pact_benchmark.console import Console, Format, emit_json


def verify(
    folder: Annotated[Path | None, typer.Argument(help="The run folder.")] = None,
    output: OutputOption = DEFAULT_RUN,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Check every file of a run: present, unchanged, readable schema; say what to rerun.

    Exit code 0 when all is well, 1 when something is missing or damaged. Running the command that
    made the run again mends it: only the damaged parts are made anew.

    Example: pact verify runs/default
    """
    from pact_benchmark.store import RunFolder
    from pact_benchmark.verification import verify_run

    problems = verify_run(RunFolder.open(folder or output), Console(quiet))
    if format is Format.JSON:
        emit_json(
            {
                "run": str(folder or output),
                "ok": not problems,
                "problems": [p._asdict() for p in problems],
            }
        )
    elif problems:
        for problem in problems:
            typer.echo(f"{problem.file}: {problem.what}; rerun: {problem.rerun}")
    else:
        typer.echo(f"{folder or output}: every file is as it was written")
    if problems:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)
