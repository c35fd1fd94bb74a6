"""Other partitions with the same number of components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from pact_benchmark.estimates import Estimator, evaluation_of, settings_of
from pact_benchmark.plotting import BLUE, RULE_STYLE, new_figure
from pact_benchmark.studies._arms import (
    GEOMETRY,
    LANGUAGE,
    RISK,
    SINGLETON,
    Groups,
    group_arm,
    rule_arm,
    source_evidence,
)
from pact_benchmark.study import Figure, StudyContext, StudyResult, Table, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

SEED_REGROUPING = 56201
PARTITIONS: dict[str, tuple[str, Groups]] = {
    "language_geometry": ("{L,G},{R}", ((LANGUAGE, GEOMETRY), (RISK,))),
    "language_risk": ("{L,R},{G}", ((LANGUAGE, RISK), (GEOMETRY,))),
    "singleton": ("{L},{G},{R}", SINGLETON),
}
REFERENCE_LABEL = "{L},{G,R}"


@study(
    "regrouping",
    title="Regrouping",
    purpose="Does it matter which sources share a component when their number is fixed?",
    order=260,
)
def regrouping(context: StudyContext) -> StudyResult:
    """Group language with geometry or with risk instead, before admission."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    benchmark = evaluation.benchmark
    estimate = Estimator(settings.draws, SEED_REGROUPING, settings.support)
    evidence = source_evidence(benchmark.sources)
    eligible = benchmark.base_eligible
    reference = evaluation.curve_of(rule_arm(evaluation).rankings(evaluation, eligible))
    reference_area = estimate.area(reference)
    area = reference_area.statistic()
    statistics = {"regrouping.reference": area}
    records: list[dict[str, object]] = [
        {"partition": REFERENCE_LABEL, "ncsAURC": area.value, "minus reference": 0.0}
    ]
    for name, (label, groups) in PARTITIONS.items():
        arm = group_arm(evaluation, evidence, groups)
        curve = evaluation.curve_of(arm.rankings(evaluation, eligible))
        difference = estimate.area(curve).minus(reference_area)
        statistics[f"regrouping.{name}"] = difference
        records.append(
            {
                "partition": label,
                "ncsAURC": estimate.area(curve).statistic().value,
                "minus reference": difference.value,
                "low": difference.low,
                "high": difference.high,
            }
        )
    frame = pd.DataFrame.from_records(records)
    table = Table("regrouping", "ncsAURC before admission by partition of the same evidence", frame)
    figure = Figure(
        "regrouping",
        "Regrouped partitions against the reference",
        "Difference in ncsAURC from the reference partition with 95% intervals, for three other"
        " partitions.",
        lambda: _draw(frame),
    )
    reading = "Positive differences: the reference partition orders decisions better."
    return StudyResult(statistics, [table], [figure], reading)


def _draw(frame: pd.DataFrame) -> MatplotlibFigure:
    figure = new_figure(4.8, 2.4)
    axis = figure.subplots()
    rows = frame.iloc[1:]
    place = range(len(rows))[::-1]
    value = rows["minus reference"].astype(float)
    spread = [value - rows["low"].astype(float), rows["high"].astype(float) - value]
    colours = [BLUE, BLUE, RULE_STYLE["pact_singleton"].colour]
    for y, x, low, high, colour in zip(place, value, *spread, colours, strict=True):
        axis.errorbar(x, y, xerr=[[low], [high]], fmt="o", color=colour, capsize=3)
    axis.axvline(0.0, color="black", linewidth=0.8)
    axis.set_yticks(list(place), list(rows["partition"]))
    axis.set_ylim(-0.6, len(rows) - 0.4)
    axis.set_xlabel(f"Δ ncsAURC from {REFERENCE_LABEL}")
    return figure
