"""Availability and validity strata: where a rule's lead comes from."""

from __future__ import annotations

from itertools import product

import pandas as pd

from pact_benchmark.data import ADVERSARIAL
from pact_benchmark.estimates import Area, Settings, estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation, Stage
from pact_benchmark.figures import rule_label
from pact_benchmark.selection import STRATA_GRID_POINTS
from pact_benchmark.study import StudyContext, StudyResult, Table, study

RULES = ("pact", "nested_dirichlet", "product")
POOLED_RULES = (*RULES, "global_cautious")
STAGES: dict[str, Stage] = {"before_admission": "before", "after_admission": "after"}


@study(
    "strata",
    title="Availability and validity strata",
    purpose="the rules where all sources are valid, and where one is unavailable or invalid",
    order=60,
)
def run(context: StudyContext) -> StudyResult:
    """Run the study."""
    return compute(evaluation_of(context), settings_of(context))


def compute(evaluation: Evaluation, settings: Settings) -> StudyResult:
    """Measure the rules within strata of source availability and validity."""
    areas = _before(evaluation, settings) | _after(evaluation, settings)
    areas |= _pooled(evaluation, settings)
    statistics = {f"strata.{name}": area.statistic() for name, area in areas.items()}
    for stratum, score in product(
        ("three_valid", "three_valid_without_adversarial"), ("native", "peak")
    ):
        prefix = f"{stratum}.after_admission" + ("" if score == "native" else f".{score}")
        statistics[f"strata.{prefix}.pact_minus_nested"] = areas[f"{prefix}.pact"].minus(
            areas[f"{prefix}.nested_dirichlet"]
        )
    return StudyResult(
        statistics,
        tables=[
            Table(
                "strata",
                "ncsAURC by availability and validity",
                _frame(areas),
                "Cutoffs are refitted within each stratum. Before admission the native areas "
                "rank the held-out rows of the main study on a grid of 30 points.",
            )
        ],
        reading="A rule may lead where all sources are valid and trail where one is missing: "
        "the aggregate hides it.",
    )


def _before(evaluation: Evaluation, settings: Settings) -> dict[str, Area]:
    """Return native areas before admission, held-out rows ranked together."""
    benchmark = evaluation.benchmark
    estimate = estimator(settings, points=STRATA_GRID_POINTS)
    valid = benchmark.three_valid
    areas = {}
    for rule in RULES:
        curves = {
            "three_valid": evaluation.mixed_curve(rule, rows=valid),
            "unavailable_or_invalid": evaluation.mixed_curve(rule, rows=~valid),
            "all_valid_eligibility": evaluation.mixed_curve(rule, eligible=valid),
        }
        for name, curve in curves.items():
            areas[f"{name}.before_admission.{rule}"] = estimate.area(curve)
    return areas


def _after(evaluation: Evaluation, settings: Settings) -> dict[str, Area]:
    """Return native and peak areas after admission among rows with three valid sources."""
    benchmark = evaluation.benchmark
    estimate = estimator(settings)
    strata = {
        "three_valid": benchmark.three_valid,
        "three_valid_without_adversarial": benchmark.three_valid
        & ~benchmark.in_condition(ADVERSARIAL),
    }
    areas = {}
    for (name, rows), score, rule in product(strata.items(), ("native", "peak"), RULES):
        curve = evaluation.curve(rule, score=score, stage="after", rows=rows)
        middle = "" if score == "native" else f"{score}."
        areas[f"{name}.after_admission.{middle}{rule}"] = estimate.area(curve)
    return areas


def _pooled(evaluation: Evaluation, settings: Settings) -> dict[str, Area]:
    """Return pooled-correctness areas, the score refitted on rows with three valid sources."""
    rows = evaluation.benchmark.three_valid
    models = evaluation.correctness_models(rows)
    estimate = estimator(settings)
    return {
        f"three_valid.{stage}.pooled_correctness.{rule}": estimate.area(
            evaluation.curve(
                rule, score="pooled_correctness", stage=STAGES[stage], models=models, rows=rows
            )
        )
        for stage, rule in product(STAGES, POOLED_RULES)
    }


def _frame(areas: dict[str, Area]) -> pd.DataFrame:
    rows = []
    for name, area in areas.items():
        stratum, stage, *middle, rule = name.split(".")
        rows.append(
            {
                "stratum": stratum,
                "stage": stage,
                "score": middle[0] if middle else "native",
                "rule": rule_label(rule),
                "rows": area.n,
                "ncsAURC": area.value,
            }
        )
    frame = pd.DataFrame(rows)
    keys = ["stratum", "stage", "score", "rows"]
    return frame.pivot(index=keys, columns="rule", values="ncsAURC").reset_index()
