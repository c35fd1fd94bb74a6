"""`pact perf`: how fast the decision layer is on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from pact_benchmark.commands._options import FormatOption, QuietOption
from pact_benchmark.console import Console, Format, emit_json


def perf(
    instances: Annotated[
        int, typer.Option(min=1000, help="Instances of the batched measurement.")
    ] = 1_000_000,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Measure latency and throughput, here and now, against a copy and against peers.

    Times are in microseconds. batch_over_copy is the time of fusing, selecting and admitting a
    batch over the time of copying its inputs once; peer_... says how many times longer a peer takes
    for the same work. Measure on a quiet machine.

    Example: pact perf --format json
    """
    from pact_benchmark.perf import measure

    Console(quiet).say("measuring, about half a minute")
    results = measure(instances)
    if format is Format.JSON:
        emit_json(results)
        return
    for name, value in results.items():
        shown = "not available" if value is None else f"{value:,.3f}".rstrip("0").rstrip(".")
        typer.echo(f"{name:34} {shown}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("perf")(perf)
