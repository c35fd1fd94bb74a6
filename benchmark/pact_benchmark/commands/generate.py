"""`pact generate`: synthesise instances under the source conditions."""

from __future__ import annotations

import typer

from pact_benchmark.commands._options import (
    DEFAULT_RUN,
    ConfigOption,
    FormatOption,
    OutputOption,
    QuietOption,
    SeedOption,
    UnusedJobsOption,
)
from pact_benchmark.console import Console, Format, emit_json


def generate(
    output: OutputOption = DEFAULT_RUN,
    config: ConfigOption = None,
    jobs: UnusedJobsOption = 1,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Turn the stored observations of a run into instances: every condition, label and step.

    Writes instances.parquet (columns: docs/data-dictionary.md) and croissant.json, a dataset card.

    Example: pact generate --output runs/default --seed 7
    """
    from pact_benchmark.config import load_config
    from pact_benchmark.generation import INSTANCES, generate_into
    from pact_benchmark.job import describe
    from pact_benchmark.store import RunFolder

    run = RunFolder.open(output)
    settings = load_config(config, seed=seed)
    with run.lock():
        generate_into(run, settings, Console(quiet))
        describe(run, settings)
        frame = run.read_frame(INSTANCES)
    counts = frame["condition"].value_counts(sort=False)
    if format is Format.JSON:
        emit_json(
            {
                "instances": len(frame),
                "scenes": int(frame["scene_id"].nunique()),
                "conditions": {str(name): int(count) for name, count in counts.items()},
                "file": str(run.file(INSTANCES)),
            }
        )
        return
    scenes = int(frame["scene_id"].nunique())
    typer.echo(f"{len(frame):,} instances of {scenes} scenes in {run.file(INSTANCES)}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generate")(generate)
