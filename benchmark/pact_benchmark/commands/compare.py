"""`pact compare`: a run against the published figures, or against another run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pact_benchmark.commands._options import DEFAULT_RUN, FormatOption, OutputOption
from pact_benchmark.console import Console, Format, emit_json, shell_path

if TYPE_CHECKING:
    import pandas as pd

    from pact_benchmark.store import RunFolder


def compare(
    run: Annotated[
        Path | None, typer.Argument(help="The run folder; also given by --output.")
    ] = None,
    other: Annotated[
        Path | None, typer.Argument(help="A second run; the published figures when left out.")
    ] = None,
    output: OutputOption = DEFAULT_RUN,
    differing: Annotated[
        bool, typer.Option("--differing", help="Only the figures that differ or are missing.")
    ] = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Print for every figure: published, ours with interval, difference, verdict.

    A figure matches within 0.02, within 5%, or inside the published interval; counts that follow
    from the design must be equal. Figures that the authors' text gives no number for here are
    marked "kept back".

    Examples: pact compare --output runs/default; pact compare runs/default runs/other --differing
    """
    from pact_benchmark.compare import (
        DIFFERS,
        MISSING,
        compare_runs,
        compare_with_published,
        summarise,
    )
    from pact_benchmark.results import STATISTICS
    from pact_benchmark.store import RunFolder

    folder = RunFolder.open(run or output)
    statistics = folder.read_json(STATISTICS)
    if any(folder.outdated(part) for part in folder.manifest["parts"]):
        Console().say(
            "some studies are older than the rows of the run;"
            f" run `pact evaluate --output {shell_path(folder.path)}` first"
        )
    if other is None:
        frame = compare_with_published(statistics)
        curves = _curves(folder)
    else:
        frame = compare_runs(statistics, RunFolder.open(other).read_json(STATISTICS))
        curves = None
    cards = summarise(frame)
    if differing:
        frame = frame[frame["verdict"].isin([DIFFERS, MISSING])]
    if format is Format.JSON:
        emit_json(
            {
                "figures": frame.to_dict("records"),
                "curves": [] if curves is None else curves.to_dict("records"),
                "summary": {card["label"]: card["value"] for card in cards},
            }
        )
        return
    _print(frame, curves, cards)


def _curves(run: RunFolder) -> pd.DataFrame | None:
    """Compare the curves of a run that holds instances."""
    from pact_benchmark.compare import compare_curves, published_curves
    from pact_benchmark.data import load_benchmark
    from pact_benchmark.evaluation import Evaluation

    if not run.file("instances.parquet").exists():
        return None
    evaluation = Evaluation(load_benchmark(run))
    curves = {
        (stage, rule): evaluation.curve(
            rule, stage="before" if stage == "before_admission" else "after"
        )
        for stage, rule in published_curves()
    }
    return compare_curves(curves)


def _print(frame: pd.DataFrame, curves: pd.DataFrame | None, cards: list[dict[str, str]]) -> None:
    width = max([len(str(name)) for name in frame["id"]], default=2)
    typer.echo(f"{'figure':{width}} {'published':>12} {'ours':>12} {'interval':>22} {'diff':>9}")
    for row in frame.to_dict("records"):
        low, high = _text(row["low"]), _text(row["high"])
        interval = f"[{low}, {high}]" if low != "–" and high != "–" else ""
        typer.echo(
            f"{row['id']:{width}} {_text(row['published']):>12} {_text(row['ours']):>12} "
            f"{interval:>22} {_text(row['difference']):>9}  {row['verdict']}"
        )
    if curves is not None and len(curves):
        typer.echo("\nwrong counts along the published curves: mean deviation (share)")
        for row in curves.to_dict("records"):
            name = f"{row['stage']}.{row['rule']}"
            typer.echo(
                f"{name:{width}} {row['mean_deviation']:12.1f} ({row['relative_deviation']:.1%})"
            )
    typer.echo("\n" + ", ".join(f"{card['value']} {card['label']}" for card in cards))


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    if isinstance(value, (list, tuple)):
        return f"{_text(value[0])}…{_text(value[1])}"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)
