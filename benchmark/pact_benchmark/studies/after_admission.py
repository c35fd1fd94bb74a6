"""Complete rules under the common admission policy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from pact_benchmark import figures
from pact_benchmark.estimates import (
    Area,
    Estimator,
    Settings,
    estimator,
    evaluation_of,
    settings_of,
)
from pact_benchmark.evaluation import RULES, Evaluation
from pact_benchmark.figures import rule_label
from pact_benchmark.scores import SCORE_LABELS, SCORES
from pact_benchmark.selection import Curve
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study

STAGES = {"before_admission": "before", "after_admission": "after"}
COVERAGES = (0.10, 0.20, 0.30, 0.40)
RISKS = (0.01, 0.05, 0.10)
CONCENTRATED = ("pact", "nested_dirichlet")
"""Rules whose figures rest on the chosen concentrations."""


@study(
    "after_admission",
    title="Complete rules under the common admission policy",
    purpose="ncsAURC and the operating point of every rule after typed admission",
    order=40,
)
def run(context: StudyContext) -> StudyResult:
    """Run the study."""
    return compute(evaluation_of(context), settings_of(context))


def compute(evaluation: Evaluation, settings: Settings) -> StudyResult:
    """Measure the complete rules: candidate, native score, fitted cutoff and admission."""
    estimate = estimator(settings)
    curves = {rule: evaluation.curve(rule, stage="after") for rule in settings.rules}
    areas = {rule: estimate.area(curve) for rule, curve in curves.items()}
    statistics = _concentrations(evaluation)
    for rule in settings.rules:
        note = evaluation.concentration_note if rule in CONCENTRATED else None
        statistics[f"after_admission.{rule}.ncsaurc"] = areas[rule].statistic().noted(note)
        statistics |= _operating_point(rule, curves[rule], estimate, settings)
    statistics["after_admission.pact_minus_nested"] = areas["pact"].minus(areas["nested_dirichlet"])
    selective = {rule: _selective(curve, estimate) for rule, curve in curves.items()}
    statistics |= {
        f"after_admission.{rule}.{name}": found
        for rule, metrics in selective.items()
        for name, found in metrics.items()
    }
    by_score = _by_score(evaluation, estimate, settings)
    statistics |= {
        f"after_admission.{rule}.{score}": area.statistic()
        for (rule, score), area in by_score.items()
    }
    return StudyResult(
        statistics,
        tables=[
            Table(
                "after_admission",
                "Complete rules with their own scores, at the operating target",
                _frame(curves, areas, settings),
                "Cutoffs target the operating coverage on outer-training rows and are applied "
                "unchanged to held-out scenes. Zero wrong admissions means none was observed.",
            ),
            Table(
                "selective_metrics",
                "Selective metrics after admission",
                _selective_frame(selective, settings),
            ),
            Table(
                "after_admission_scores",
                "ncsAURC after admission, by score",
                _pivot(by_score, settings),
            ),
            Table(
                "curves",
                "Counts along the risk–coverage curves",
                curve_table(evaluation, settings.rules),
            ),
            Table(
                "concentrations",
                "Selection of the concentration in each outer-training set",
                evaluation.choice.frame,
                "Cost 5 per wrong and 0.5 per withheld decision, averaged over the targets "
                "0.10, 0.13 and 0.15.",
            ),
        ],
        figures=_figures(curves, areas, settings),
        reading="Equal error counts at one operating point can hide different risks along the "
        "curve: compare the areas.",
    )


def curve_table(evaluation: Evaluation, rules: Sequence[str] = RULES) -> pd.DataFrame:
    """Return retained and wrong counts of every rule, stage and target coverage."""
    frames = []
    for stage, short in STAGES.items():
        for rule in rules:
            curve = evaluation.curve(rule, stage="after" if short == "after" else "before")
            frame = curve.frame()
            frame.insert(0, "rule", rule)
            frame.insert(0, "stage", stage)
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _concentrations(evaluation: Evaluation) -> dict[str, Statistic]:
    """Return the concentration of each outer fold, chosen or held, and its training rows."""
    benchmark = evaluation.benchmark
    return {
        f"after_admission.concentration.fold_{fold}": Statistic(
            float(kappa), n=int(np.count_nonzero(benchmark.fold != fold))
        )
        for fold, kappa in enumerate(evaluation.kappa)
    }


def _operating_point(
    rule: str, curve: Curve, estimate: Estimator, settings: Settings
) -> dict[str, Statistic]:
    """Return coverage, wrong and correct shares and counts at the operating target."""
    position = curve.index(settings.operating_target)
    admitted, wrong = curve.admitted[:, position], curve.wrong[:, position]
    prefix = f"after_admission.{rule}"
    suffix = f"at_{round(100 * settings.operating_target):03d}"
    return {
        f"{prefix}.coverage_{suffix}": estimate.share(admitted, curve.n),
        f"{prefix}.wrong_all_{suffix}": estimate.share(wrong, curve.n),
        f"{prefix}.correct_all_{suffix}": estimate.share(admitted - wrong, curve.n),
        f"{prefix}.risk_{suffix}": estimate.share(wrong, admitted),
        f"{prefix}.retained_{suffix}": estimate.total(admitted, curve.n),
        f"{prefix}.wrong_{suffix}": estimate.total(wrong, curve.n),
    }


def _by_score(
    evaluation: Evaluation, estimate: Estimator, settings: Settings
) -> dict[tuple[str, str], Area]:
    """Return the areas after admission under the scores that are not native."""
    return {
        (rule, score): estimate.area(evaluation.curve(rule, score=score, stage="after"))
        for rule in settings.rules
        for score in SCORES
        if score != "native"
    }


def _pivot(areas: dict[tuple[str, str], Area], settings: Settings) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"rule": rule_label(rule)}
            | {
                SCORE_LABELS[score]: areas[rule, score].value
                for score in SCORES
                if (rule, score) in areas
            }
            for rule in settings.rules
        ]
    )


def _frame(curves: dict[str, Curve], areas: dict[str, Area], settings: Settings) -> pd.DataFrame:
    rows = []
    for rule, curve in curves.items():
        point = curve.at(settings.operating_target)
        rows.append(
            {
                "rule": rule_label(rule),
                "ncsAURC": areas[rule].value,
                "coverage": point.coverage,
                "R_all": point.wrong_all,
                "R_cond": point.risk,
                "C_all": point.correct_all,
                "retained": point.admitted,
                "wrong": point.wrong,
            }
        )
    return pd.DataFrame(rows)


def _selective(curve: Curve, estimate: Estimator) -> dict[str, Statistic]:
    """Return AUGRC, risk at coverages and coverage at risks, by the names of their statistics."""
    return (
        {"augrc": estimate.generalised_area(curve)}
        | {f"risk_at_coverage_{100 * c:03.0f}": estimate.risk_at(curve, c) for c in COVERAGES}
        | {f"coverage_at_risk_{100 * r:03.0f}": estimate.coverage_at(curve, r) for r in RISKS}
    )


def _selective_frame(
    selective: dict[str, dict[str, Statistic]], settings: Settings
) -> pd.DataFrame:
    low, high = settings.support
    heads = [
        f"AUGRC [{low:.2f}, {high:.2f}]",
        *(f"risk at {coverage:.2f}" for coverage in COVERAGES),
        *(f"coverage at risk {risk:.2f}" for risk in RISKS),
    ]
    return pd.DataFrame(
        [
            {"rule": rule_label(rule)}
            | {head: s.value for head, s in zip(heads, metrics.values(), strict=True)}
            for rule, metrics in selective.items()
        ]
    )


def _figures(curves: dict[str, Curve], areas: dict[str, Area], settings: Settings) -> list[Figure]:
    values = {rule: area.statistic() for rule, area in areas.items()}
    return [
        Figure(
            "risk_coverage_after",
            "Selective risk after admission",
            "Conditional risk against coverage for every complete rule, after typed admission; "
            "a dashed line marks the operating coverage.",
            partial(figures.risk_coverage, curves, settings.operating_target, "After admission"),
        ),
        Figure(
            "areas_after",
            "ncsAURC after admission",
            "ncsAURC of every complete rule with its scene-bootstrap interval.",
            partial(figures.areas, values, settings.support),
        ),
    ]
