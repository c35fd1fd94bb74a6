"""Decision cost of complete policies: wrong admissions against withheld decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.bootstrap import interval
from pact_benchmark.estimates import evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION, new_figure
from pact_benchmark.selection import OPERATING_TARGET
from pact_benchmark.studies.corroboration_rules import corroboration_policies
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Floats = NDArray[np.float64]

SEED_COST = 2052
RATIOS = (1, 2, 5, 10, 20, 50)
PUBLISHED_RATIO = 10
ADMISSION = ("unanimity", "component_count", "cross_role", "two_components")
LOOK = {
    "always_withhold": ("always withhold", BLACK, "_", ":", 1.4),
    "always_continue": ("always continue", GREY, "x", ":", 1.4),
    "unanimity": ("unanimity, ν = 3", BLUE, "o", "-", 3.6),
    "component_count": ("component count, ν = 3", GREEN, "D", "--", 1.4),
    "cross_role": ("cross-role", ORANGE, "P", "-", 3.6),
    "two_components": ("unanimity, ν = 2", VERMILION, "^", "--", 1.4),
}
"""Label, colour, marker, line and width; policies that coincide lie on top of each other."""


def resampled_scenes(seed: int, draws: int, scenes: int) -> Floats:
    """Return scene weights from integer resampling [draws, scenes]."""
    drawn = np.random.default_rng(seed).integers(0, scenes, size=(draws, scenes))
    rows = np.repeat(np.arange(draws), scenes)
    counts = np.bincount(rows * scenes + drawn.ravel(), minlength=draws * scenes)
    return counts.reshape(draws, scenes).astype(np.float64)


def policy_counts(evaluation: Evaluation, rule: str = "pact") -> dict[str, tuple[Floats, Floats]]:
    """Return the admitted and wrong decisions of each scene under every policy, each [S]."""
    benchmark = evaluation.benchmark
    rows = np.bincount(benchmark.scene, minlength=benchmark.scenes).astype(np.float64)
    wrong = np.bincount(
        benchmark.scene, ~evaluation.held_out(rule).correct, minlength=benchmark.scenes
    ).astype(np.float64)
    counts = {
        "always_withhold": (np.zeros_like(rows), np.zeros_like(rows)),
        "always_continue": (rows, wrong),
    }
    policies = corroboration_policies(evaluation.policy)
    for name in ADMISSION:
        curve = evaluation.curve(rule, stage="after", policy=policies[name])
        place = curve.index(OPERATING_TARGET)
        counts[name] = (
            curve.admitted[:, place].astype(np.float64),
            curve.wrong[:, place].astype(np.float64),
        )
    return counts


def decision_cost(wrong: Floats, admitted: Floats, n: Floats, ratio: float) -> Floats:
    """Return (ratio × wrong + withheld) / n."""
    return (ratio * wrong + n - admitted) / n


@study(
    "cost",
    title="Decision cost",
    purpose="When is a complete policy cheaper than always withholding?",
    order=320,
)
def cost(context: StudyContext) -> StudyResult:
    """Price wrong admissions of PACT's candidates against withheld decisions."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    benchmark = evaluation.benchmark
    weights = resampled_scenes(SEED_COST, settings.draws, benchmark.scenes)
    rows = np.bincount(benchmark.scene, minlength=benchmark.scenes).astype(np.float64)
    statistics: dict[str, Statistic] = {}
    records = []
    for name, (admitted, wrong) in policy_counts(evaluation).items():
        for ratio in RATIOS:
            value = float(decision_cost(wrong.sum(), admitted.sum(), rows.sum(), ratio))
            draws = decision_cost(weights @ wrong, weights @ admitted, weights @ rows, ratio)
            low, high = interval(draws)
            suffix = "" if ratio == PUBLISHED_RATIO else f".ratio_{ratio}"
            statistics[f"cost.{name}{suffix}"] = Statistic(value, low, high, benchmark.n)
            records.append(
                {
                    "policy": LOOK[name][0],
                    "cost ratio": ratio,
                    "cost": value,
                    "low": low,
                    "high": high,
                }
            )
    frame = pd.DataFrame.from_records(records)
    table = Table("cost", "Decision cost of PACT's candidates by policy and cost ratio", frame)
    figure = Figure(
        "cost",
        "Decision cost by relative cost of a wrong admission",
        "Decision cost against the cost ratio for six policies on logarithmic axes; the line of"
        " always withholding is at one.",
        lambda: _draw(frame),
    )
    reading = (
        "A policy is worth having where its line is below that of always withholding; the ratio"
        " of 10 is illustrative."
    )
    return StudyResult(statistics, [table], [figure], reading)


def _draw(frame: pd.DataFrame) -> MatplotlibFigure:
    figure = new_figure(5.2, 3.4)
    axis = figure.subplots()
    for label, colour, marker, line, width in LOOK.values():
        rows = frame[frame["policy"] == label]
        axis.plot(
            rows["cost ratio"],
            rows["cost"],
            color=colour,
            marker=marker,
            linestyle=line,
            linewidth=width,
            markersize=2 + 1.5 * width,
            label=label,
        )
        axis.fill_between(
            rows["cost ratio"], rows["low"], rows["high"], color=colour, alpha=0.15, linewidth=0
        )
    axis.axvline(PUBLISHED_RATIO, color="black", linewidth=0.8, linestyle="--")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(RATIOS, [str(ratio) for ratio in RATIOS])
    axis.set_xticks([], minor=True)
    ticks = (0.5, 1, 2, 5, 10, 30)
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_yticks([], minor=True)
    axis.set_xlabel("cost of a wrong admission relative to a withheld decision")
    axis.set_ylabel("mean cost per decision")
    axis.legend()
    return figure
