"""`pact evaluate`: run studies on a stored run."""

from __future__ import annotations

from typing import Annotated

import typer

from pact_benchmark.commands import _completion
from pact_benchmark.commands._options import (
    DEFAULT_RUN,
    ConfigOption,
    FormatOption,
    OutputOption,
    QuietOption,
    SeedOption,
)
from pact_benchmark.console import Console, Format, emit_json


def evaluate(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            help="Studies to run; all of them when none is named.",
            autocompletion=_completion.studies,
        ),
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the studies and stop.")] = False,
    output: OutputOption = DEFAULT_RUN,
    config: ConfigOption = None,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", min=1, help="For studies of your own; ours are a single process."
        ),
    ] = 1,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Run studies on the stored rows of a run: statistics, tables and figures.

    A study whose inputs have not changed is not run again. No simulator is needed, and a run made
    by `pact import` will do.

    Examples: pact evaluate --list; pact evaluate copies matched --output runs/default
    """
    from pact_benchmark.config import load_config
    from pact_benchmark.job import evaluate_run, study_context
    from pact_benchmark.results import STATISTICS
    from pact_benchmark.store import RunFolder
    from pact_benchmark.study import all_studies

    if list_only:
        known = all_studies().values()
        if format is Format.JSON:
            emit_json([{"id": s.id, "title": s.title, "purpose": s.purpose} for s in known])
        else:
            for study in known:
                typer.echo(f"{study.id:22} {study.purpose}")
        return
    run = RunFolder.open(output)
    console = Console(quiet)
    with run.lock():
        context = study_context(run, load_config(config, seed=seed), jobs, console)
        evaluated = evaluate_run(run, context, studies or [])
    evaluated.raise_failures()
    if format is Format.JSON:
        emit_json(run.read_json(STATISTICS))
    else:
        typer.echo(f"{len(evaluated.done)} studies up to date in {output / STATISTICS}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("evaluate")(evaluate)
