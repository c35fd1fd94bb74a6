"""`pact sweep`: the sensitivity sweep over settings of the opinion generator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

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
from pact_benchmark.errors import UsageError

if TYPE_CHECKING:
    from pact_benchmark.study import Statistic
    from pact_benchmark.sweep.job import Workers

BackendOption = Annotated[
    str,
    typer.Option(
        help="local: processes of this machine; ray: tasks of a Ray cluster.",
        autocompletion=_completion.sweep_backends,
    ),
]
CoresOption = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Worker processes (default: all cores)."),
]


def sweep(
    output: OutputOption = DEFAULT_RUN,
    points: Annotated[
        int | None, typer.Option(min=1, help="Settings of the Sobol design (default 256).")
    ] = None,
    indices: Annotated[
        bool, typer.Option("--indices", help="Also first-order and total Sobol indices.")
    ] = False,
    index_points: Annotated[
        int | None,
        typer.Option(min=2, help="n of the indices, a power of two: n × 7 more settings."),
    ] = None,
    backend: BackendOption = "local",
    address: Annotated[
        str | None, typer.Option(help="Ray cluster to join, e.g. auto or ray://host:10001.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--restart", help="Keep finished settings, or start anew.")
    ] = True,
    config: ConfigOption = None,
    jobs: CoresOption = None,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Vary the opinion generator over a Sobol design and measure the rules at every setting.

    Works on a run that has observations and instances (`pact run`, or `pact simulate` and
    `pact generate`); needs no simulator. One small file per setting is written under
    OUTPUT/sweep: a killed sweep goes on where it was, and ends with the same files.

    Examples: pact sweep; pact sweep --points 16 --output runs/default; pact sweep --indices;
    pact sweep --backend ray --address auto
    """
    from pact_benchmark.config import load_config
    from pact_benchmark.results import statistics_of
    from pact_benchmark.store import RunFolder
    from pact_benchmark.sweep.job import discard_shards, run_config, run_sweep

    workers = _workers(backend, jobs, address)
    run = RunFolder.open(output)
    given = config is not None or seed is not None
    resolved = run_config(run, load_config(config, seed=seed), own=given)
    wanted = index_points or int(resolved.section("sweep")["index_points"])
    with run.lock():
        if not resume:
            discard_shards(run.path)
        result = run_sweep(
            run,
            resolved,
            workers,
            Console(quiet),
            points=points,
            index_points=wanted if indices or index_points else 0,
        )
    if format is Format.JSON:
        emit_json(statistics_of(result.statistics))
        return
    _print(result.statistics)
    typer.echo(f"settings are in {output / 'sweep'}, tables and figures in {output}")


def _workers(backend: str, jobs: int | None, address: str | None) -> Workers:
    from pact_benchmark.sweep.backends import Backend
    from pact_benchmark.sweep.job import Workers

    if backend not in list(Backend):
        raise UsageError(f"unknown backend {backend!r}: choose local or ray")
    if address is not None and backend != Backend.RAY:
        raise UsageError("--address names a Ray cluster: add --backend ray")
    return Workers(Backend(backend), jobs or os.cpu_count() or 1, address)


def _print(statistics: Mapping[str, Statistic]) -> None:
    from pact_benchmark.results import format_cell

    for name, statistic in statistics.items():
        single = None if isinstance(statistic.value, list) else statistic.value
        line = f"{name:52} {format_cell(single):>10}"
        if statistic.low is not None and statistic.high is not None:
            line += f"  [{format_cell(statistic.low)}, {format_cell(statistic.high)}]"
        typer.echo(line)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep")(sweep)
