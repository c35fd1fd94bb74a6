"""`pact set-transformer`: train and evaluate the learned reference of the joint holdout."""

from __future__ import annotations

from typing import Annotated

import typer

from pact_benchmark.commands._options import (
    DEFAULT_RUN,
    ConfigOption,
    FormatOption,
    JobsOption,
    OutputOption,
    QuietOption,
    SeedOption,
)
from pact_benchmark.console import Console, Format, emit_json


def set_transformer(
    output: OutputOption = DEFAULT_RUN,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smoke test: two cells, two epochs.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many new models; go on later.")
    ] = None,
    config: ConfigOption = None,
    jobs: JobsOption = 1,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Train Set Transformers on a run's instances and compare them in the joint holdout.

    The full set is 13 conditions × 5 folds × 3 initialisations, one file per model under
    OUTPUT/set_transformer: a killed job goes on where it was. Results of a part are labelled so.
    Needs torch (the extra `learned`); --seed is added to every initialisation.

    Examples: pact set-transformer --quick; pact set-transformer --limit 65 --jobs 2
    """
    from pact_benchmark.config import load_config
    from pact_benchmark.results import format_cell, statistics_of
    from pact_benchmark.set_transformer.job import run_training
    from pact_benchmark.store import RunFolder

    run = RunFolder.open(output)
    resolved = load_config(config)
    if seed is not None:
        section = resolved.section("set_transformer")
        for table in (section, section["quick"]):
            table["initialisations"] = [start + seed for start in table["initialisations"]]
    with run.lock():
        result = run_training(run, resolved, Console(quiet), quick=quick, jobs=jobs, limit=limit)
    if format is Format.JSON:
        emit_json(statistics_of(result.statistics))
        return
    for name, statistic in result.statistics.items():
        note = f"  ({statistic.note})" if statistic.note else ""
        typer.echo(f"{name:44} {format_cell(statistic.value):>8}{note}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("set-transformer")(set_transformer)
