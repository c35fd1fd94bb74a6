"""`pact compare`: a run against the published figures, or against another run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pact_benchmark.commands._options import DEFAULT_RUN, FormatOption, OutputOption, QuietOption
from pact_benchmark.console import Console, Format, emit_json, shell_path

if TYPE_CHECKING:
    import pandas as pd

    from pact_benchmark.store import RunFolder

RunArgument = Annotated[Path | None, typer.Argument(help="The run folder; also given by --output.")]
OtherArgument = Annotated[
    Path | None, typer.Argument(help="A second run; the published figures when left out.")
]
DifferingOption = Annotated[
    bool, typer.Option("--differing", help="Only the figures that differ or are missing.")
]


def compare(
    run: RunArgument = None,
    other: OtherArgument = None,
    output: OutputOption = DEFAULT_RUN,
    differing: DifferingOption = False,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Print for every figure: published, ours with interval, difference, verdict.

    A figure matches within 0.02, within 5%, or inside the published interval; counts that follow
    from the design must be equal. Figures that the authors' text gives no number for here are
    marked "kept back". What a run's configuration changes in the default is said at the end. With
    a second run, its figures and intervals take the place of the published ones.

    Examples: pact compare --output runs/default; pact compare runs/default runs/other --differing
    """
    from pact_benchmark.compare import (
        DIFFERS,
        MISSING,
        compare_runs,
        compare_with_published,
        remark,
        summarise,
    )
    from pact_benchmark.config import changes
    from pact_benchmark.progress import warn_of_unfinished
    from pact_benchmark.results import STATISTICS
    from pact_benchmark.store import RunFolder

    folder = RunFolder.open(run or output)
    statistics = folder.read_json(STATISTICS)
    console = Console(quiet)
    warn_of_unfinished(folder, console)
    if other is None:
        frame = compare_with_published(statistics)
        curves = _curves(folder)
        changed = changes(folder.manifest["config"]) if "config" in folder.manifest else []
    else:
        second = RunFolder.open(other)
        warn_of_unfinished(second, console)
        frame = compare_runs(statistics, second.read_json(STATISTICS))
        curves, changed = None, []
    cards = summarise(frame, published=other is None)
    if differing:
        frame = frame[frame["verdict"].isin([DIFFERS, MISSING])]
    if format is Format.JSON:
        emit_json(
            {
                "figures": frame.to_dict("records"),
                "curves": [] if curves is None else curves.to_dict("records"),
                "summary": {card["key"]: card["value"] for card in cards},
                "configuration_changes": changed,
            }
        )
        return
    _print(frame, curves, "published" if other is None else "other")
    typer.echo("\n" + "; ".join(f"{card['value']} {card['label']}" for card in cards))
    if other is None:
        _print_commands(frame, shell_path(folder.path))
    if changed:
        typer.echo(remark(changed))


def _curves(run: RunFolder) -> pd.DataFrame | None:
    """Compare the curves of a run that holds instances."""
    from pact_benchmark.compare import compare_curves, published_curves
    from pact_benchmark.config import load_config
    from pact_benchmark.data import load_benchmark
    from pact_benchmark.estimates import evaluation_under

    if run.checksum("instances.parquet") is None:
        return None
    config = load_config().under(run.manifest.get("config", {}))
    benchmark = load_benchmark(run, config.section("folds")["folds"])
    evaluation = evaluation_under(config, benchmark)
    curves = {
        (stage, rule): evaluation.curve(
            rule, stage="before" if stage == "before_admission" else "after"
        )
        for stage, rule in published_curves()
    }
    return compare_curves(curves)


def _print(frame: pd.DataFrame, curves: pd.DataFrame | None, reference: str) -> None:
    width = max([len(str(name)) for name in frame["id"]], default=2)
    typer.echo(f"{'figure':{width}} {reference:>12} {'ours':>12} {'interval':>22} {'diff':>9}")
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


def _print_commands(frame: pd.DataFrame, run: str) -> None:
    """Print the commands that compute the figures that the run does not have."""
    from pact_benchmark.compare import MISSING, command_for

    lacking = frame[frame["verdict"] == MISSING]["id"]
    for command in dict.fromkeys(command_for(name, run) for name in lacking):
        typer.echo(f"not computed yet: {command}")


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
