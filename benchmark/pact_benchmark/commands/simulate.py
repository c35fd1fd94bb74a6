"""`pact simulate`: roll scenes out in a backend and store what is observed."""

from __future__ import annotations

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


def simulate(
    scenes: Annotated[
        list[str] | None,
        typer.Argument(
            help="Scene ids, numbers or geometries; all 48 when none is named.",
            autocompletion=_completion.scenes,
        ),
    ] = None,
    output: OutputOption = DEFAULT_RUN,
    config: ConfigOption = None,
    jobs: JobsOption = 2,
    seed: SeedOption = None,
    backend: Annotated[
        str,
        typer.Option(
            "--backend",
            help="auto, physx, kinematic or isaac.",
            autocompletion=_completion.backends,
        ),
    ] = "auto",
    resume: Annotated[
        bool, typer.Option("--resume/--restart", help="Keep finished scenes, or start anew.")
    ] = True,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Roll scenes out in a simulator and store the observations of every decision step.

    Finished scenes are kept: after an interruption the same command goes on with the rest. Two runs
    give the same bytes, whatever the number of workers.

    Examples: pact simulate; pact simulate face_to_face --backend kinematic --output runs/quick
    """
    from pact_benchmark.config import load_config
    from pact_benchmark.simulation import OBSERVATIONS, plan_rollouts, simulate_into
    from pact_benchmark.store import RunFolder

    settings = load_config(config, seed=seed)
    rollouts = plan_rollouts(settings, backend, scenes)
    run = RunFolder.create(output)
    with run.lock():
        simulate_into(run, rollouts, jobs=jobs, console=Console(quiet), restart=not resume)
    rows = len(run.read_frame(OBSERVATIONS))
    if format is Format.JSON:
        emit_json({"run": str(output), "backend": run.manifest["backend"], "observations": rows})
    else:
        typer.echo(f"{rows} observations in {output / OBSERVATIONS}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)
