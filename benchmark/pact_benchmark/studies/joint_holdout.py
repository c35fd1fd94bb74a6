"""Joint scene-and-condition holdout: cutoffs that saw neither the scenes nor the condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.bootstrap import SEED_MAIN
from pact_benchmark.estimates import area_of, evaluation_of, settings_of, share_of
from pact_benchmark.names import value_name
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.selection import Curve
from pact_benchmark.studies._holdout import (
    HoldoutCounts,
    joint_counts,
    listed_weights,
    unsupported_scenes,
)
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Floats = NDArray[np.float64]
Support = tuple[float, float]

HOLDOUT_RULES = (
    "pact",
    "nested_dirichlet",
    "hierarchy_cautious",
    "product",
    "provenance_pooling",
)


def operating_point(curve: Curve, target: float, weights: Floats) -> dict[str, Statistic]:
    """Return coverage and the shares of wrong and correct admissions at a target coverage."""
    place = curve.index(target)
    admitted, wrong = curve.admitted[:, place], curve.wrong[:, place]
    events = {"coverage": admitted, "wrong_all": wrong, "correct_all": admitted - wrong}
    return {name: share_of(counts, curve.n, weights) for name, counts in events.items()}


def condition_contrast(
    name: str, counts: dict[str, HoldoutCounts], index: int, weights: Floats, support: Support
) -> tuple[Statistic, dict[str, object]]:
    """Return PACT minus nested Dirichlet within one held condition, where both have support."""
    curves = {rule: counts[rule].condition(index) for rule in ("pact", "nested_dirichlet")}
    short = {rule: unsupported_scenes(curve, support) for rule, curve in curves.items()}
    if any(short.values()):
        parts = [f"{RULE_STYLE[rule].label}: {n} scenes" for rule, n in short.items() if n]
        note = f"no common support [{support[0]}, {support[1]}] ({'; '.join(parts)} short of it)"
        statistic = Statistic(None, n=int(curves["pact"].n.sum()), note=note)
    else:
        pact, nested = (area_of(curve, weights, support) for curve in curves.values())
        statistic = pact.minus(nested)
    lower = "–"
    if statistic.value is not None:
        lower = RULE_STYLE["pact" if statistic.value < 0 else "nested_dirichlet"].label
    record: dict[str, object] = {
        "held-out condition": name,
        "PACT − nested": statistic.value,
        "low": statistic.low,
        "high": statistic.high,
        "lower": lower,
        "scenes without support": max(short.values()),
    }
    return statistic, record


@study(
    "joint_holdout",
    title="Joint scene-and-condition holdout",
    purpose="Do the comparisons hold when cutoffs never saw the condition they are used on?",
    order=330,
)
def joint_holdout(context: StudyContext) -> StudyResult:
    """Hold out each condition with each fold, after admission."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    benchmark, support = evaluation.benchmark, settings.narrow_support
    weights = listed_weights(SEED_MAIN, settings.draws, benchmark.scenes)
    counts = {
        rule: joint_counts(benchmark, evaluation.rankings(rule, stage="after"))
        for rule in HOLDOUT_RULES
    }
    curves = {rule: item.aggregate() for rule, item in counts.items()}
    statistics: dict[str, Statistic] = {}
    aggregate, conditions = [], []
    areas = {rule: area_of(curve, weights, support) for rule, curve in curves.items()}
    for rule, curve in curves.items():
        area = areas[rule].statistic()
        point = operating_point(curve, settings.operating_target, weights)
        statistics[f"joint_holdout.{rule}.ncsaurc"] = area
        statistics |= {f"joint_holdout.{rule}.{name}_at_013": s for name, s in point.items()}
        aggregate.append(
            {"rule": RULE_STYLE[rule].label, "ncsAURC": area.value, "low": area.low}
            | {"high": area.high, "coverage": point["coverage"].value}
            | {"R_all": point["wrong_all"].value, "C_all": point["correct_all"].value}
        )
    statistics["joint_holdout.pact_minus_nested"] = areas["pact"].minus(areas["nested_dirichlet"])
    for index, name in enumerate(benchmark.condition_names):
        contrast, record = condition_contrast(name, counts, index, weights, support)
        statistics[f"joint_holdout.condition.{name}"] = contrast
        conditions.append(record)
    by_condition = pd.DataFrame.from_records(conditions)
    tables = [
        Table(
            "joint_holdout",
            "Joint holdout, complete rules under the common admission policy",
            pd.DataFrame.from_records(aggregate),
            "Counts of all held conditions and folds are summed at each target coverage; the"
            " operating point is target 0.13.",
        ),
        Table(
            "joint_holdout_conditions",
            "PACT minus nested Dirichlet within each held-out condition",
            by_condition,
            "A contrast is given only where every scene's own curve spans the coverage interval"
            " for both rules; nothing is extrapolated.",
        ),
    ]
    figure = Figure(
        "joint_holdout",
        "Joint holdout: aggregate curves and condition-wise contrasts",
        "Left: risk against coverage for five rules. Right: PACT minus nested Dirichlet with 95%"
        " intervals for the held-out conditions that have common support.",
        lambda: _draw(curves, by_condition),
    )
    reading = (
        "Left of zero PACT has the lower risk. The aggregate hides that the sign differs between"
        " conditions."
    )
    return StudyResult(statistics, tables, [figure], reading)


def _two_lines(name: str) -> str:
    """Return a condition's title on two lines of similar length."""
    words = value_name(name).split(" ")
    half = (len(words) + 1) // 2
    return f"{' '.join(words[:half])}\n{' '.join(words[half:])}".strip()


def _draw(curves: dict[str, Curve], conditions: pd.DataFrame) -> MatplotlibFigure:
    figure = new_figure(9.2, 4.0)
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    for rule, curve in curves.items():
        left.plot(curve.coverage, curve.risk, markevery=6, **RULE_STYLE[rule].kwargs)
    left.set_xlabel("coverage")
    left.set_ylabel("risk among retained decisions")
    left.set_title("(a) all held-out conditions")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
    rows = conditions[conditions["PACT − nested"].notna()].sort_values("PACT − nested")
    for place, row in enumerate(rows.to_dict("records")):
        value = row["PACT − nested"]
        low = value if row["low"] is None else row["low"]
        high = value if row["high"] is None else row["high"]
        style = RULE_STYLE["pact" if value < 0 else "nested_dirichlet"]
        right.errorbar(
            value,
            place,
            xerr=[[value - low], [high - value]],
            fmt=style.marker,
            color=style.colour,
            capsize=3,
        )
    right.axvline(0.0, color="black", linewidth=0.8)
    names = [_two_lines(name) for name in rows["held-out condition"]]
    right.set_yticks(range(len(rows)), names)
    right.set_ylim(-0.6, max(len(rows), 1) - 0.4)
    right.set_xlabel("Δ ncsAURC, PACT − nested Dirichlet")
    right.set_title("(b) conditions with common support")
    return figure
