"""`pact run`: the main job, from nothing to the report."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from pact_benchmark.commands import _completion
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


def run(
    output: OutputOption = DEFAULT_RUN,
    config: ConfigOption = None,
    jobs: JobsOption = 2,
    seed: SeedOption = None,
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            help="auto, physx, kinematic or isaac (default: configuration).",
            autocompletion=_completion.backends,
        ),
    ] = None,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Do everything: scenes, rollouts, 31,200 instances, studies, comparison, report.

    Each part is stored when it is finished. Run the same command again after an interruption, or
    after a change of configuration: only what is missing or changed is made anew.

    Examples: pact run; pact run --output runs/other-seed --seed 7 --jobs 2
    """
    from pact_benchmark.config import load_config
    from pact_benchmark.job import run_all
    from pact_benchmark.simulation import plan_rollouts
    from pact_benchmark.store import RunFolder

    started = time.monotonic()
    settings = load_config(config, seed=seed)
    rollouts = plan_rollouts(settings, backend or str(settings.section("run")["backend"]))
    folder = RunFolder.create(output)
    with folder.lock():
        summary = run_all(folder, settings, rollouts, jobs=jobs, console=Console(quiet))
    if format is Format.JSON:
        emit_json({"run": str(output), "seconds": time.monotonic() - started, **summary})
        return
    for name, value in summary.items():
        typer.echo(f"{name.replace('_', ' '):28} {value}")
    typer.echo(f"{'time':28} {time.monotonic() - started:.0f} s")
    typer.echo(f"{'report':28} {output / 'report.html'}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)
