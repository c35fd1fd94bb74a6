"""Two other ways to combine a component: coordinatewise maximum and a fixed representative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark import figures
from pact_benchmark.bootstrap import SEED_MAIN, interval
from pact_benchmark.estimates import Estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.metrics import summarise
from pact_benchmark.plotting import RULE_STYLE
from pact_benchmark.selection import OPERATING_TARGET, Curve
from pact_benchmark.studies._arms import (
    GEOMETRY,
    RISK,
    EvidenceArm,
    row_kappa,
    rule_arm,
    source_evidence,
)
from pact_benchmark.studies._intervals import row_mean
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study
from pact_core import admissible

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Combine = Callable[[Floats, Floats], Floats]

SEED_MAXIMUM = 59001
INCREASE_TOLERANCE = 1e-12
SCORE_TOLERANCE = 1e-12


def budget_raised(evidence: Floats, combine: Combine) -> Bools:
    """Return where inserting risk beside geometry raises the component's budget [n].

    Args:
        evidence: evidence per source of rows whose geometry and risk are observed [n, 3, K].
        combine: coordinatewise operator of the component.
    """
    alone = evidence[:, GEOMETRY]
    joined = combine(alone, evidence[:, RISK])
    return np.asarray(joined.sum(axis=-1) - alone.sum(axis=-1) > INCREASE_TOLERANCE)


@study(
    "maximum",
    title="Coordinatewise maximum",
    purpose="What changes when a component keeps the maximum of its members instead of the meet?",
    order=220,
)
def maximum(context: StudyContext) -> StudyResult:
    """Replace the meet by the maximum, before admission."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    benchmark = evaluation.benchmark
    estimate = Estimator(settings.draws, SEED_MAXIMUM, settings.support)
    evidence = source_evidence(benchmark.sources)
    joined, meet = rule_arm(evaluation, "maximum"), rule_arm(evaluation)
    curves = {
        name: evaluation.curve_of(arm.rankings(evaluation, benchmark.base_eligible))
        for name, arm in (("maximum", joined), ("pact", meet))
    }
    areas = {name: estimate.area(curve) for name, curve in curves.items()}
    kappa = row_kappa(evaluation)
    both = benchmark.observed[:, GEOMETRY] & benchmark.observed[:, RISK]
    scene, scenes = benchmark.scene, benchmark.scenes
    raised = budget_raised(evidence[both], np.maximum)
    statistics = {
        "maximum.budget_raised_share": row_mean(estimate, raised, scene[both], scenes),
        "maximum.budget_increase": _ratio_of_sums(
            kappa * joined.budget, kappa * meet.budget, scene, estimate.weights(scenes)
        ),
        "maximum.contract_changed": row_mean(
            estimate, joined.contract != meet.contract, scene, scenes
        ),
        "maximum.before_admission": areas["maximum"].statistic(),
        "maximum.minus_meet": areas["maximum"].minus(areas["pact"]),
        "maximum.ece10": _ece(joined, kappa, evaluation, estimate),
        "maximum.meet.ece10": _ece(meet, kappa, evaluation, estimate),
        "maximum.meet.budget_raised_share": row_mean(
            estimate, budget_raised(evidence[both], np.minimum), scene[both], scenes
        ),
    }
    frame = pd.DataFrame(
        {
            "operator": ["meet", "maximum"],
            "ncsAURC before admission": [areas["pact"].value, areas["maximum"].value],
            "ECE10": [statistics[f"maximum.{k}ece10"].value for k in ("meet.", "")],
            "summed budget": [(kappa * arm.budget).sum() for arm in (meet, joined)],
            "budget raised by a member": [
                statistics[f"maximum.{k}budget_raised_share"].value for k in ("meet.", "")
            ],
        }
    )
    table = Table("maximum", "Meet and maximum within the scene component", frame)
    figure = Figure(
        "maximum",
        "Risk–coverage before admission: meet and maximum",
        "Risk against coverage for PACT and for the coordinatewise maximum.",
        lambda: figures.risk_coverage(curves, settings.operating_target, "Before admission"),
    )
    reading = (
        "The maximum ignores copies too, but a different member can raise a component's budget;"
        " the meet's share is zero by construction and measured here."
    )
    return StudyResult(statistics, [table], [figure], reading)


def _ratio_of_sums(
    numerator: Floats, denominator: Floats, scene: NDArray[np.int64], weights: Floats
) -> Statistic:
    """Return Σ numerator / Σ denominator − 1 with its scene-bootstrap interval."""
    scenes = weights.shape[1]
    above = np.bincount(scene, numerator, scenes)
    below = np.bincount(scene, denominator, scenes)
    low, high = interval((weights @ above) / (weights @ below) - 1.0)
    return Statistic(float(above.sum() / below.sum() - 1.0), low, high, scene.size)


def _ece(arm: EvidenceArm, kappa: Floats, evaluation: Evaluation, estimate: Estimator) -> Statistic:
    benchmark = evaluation.benchmark
    summary = summarise(
        arm.posterior(kappa), arm.contract, benchmark.label, benchmark.scene, benchmark.scenes
    )
    low, high = interval(summary.metrics(estimate.weights(benchmark.scenes))["ece10"])
    return Statistic(float(summary.metrics()["ece10"][0]), low, high, benchmark.n)


@study(
    "representative",
    title="Fixed representative",
    purpose="Does keeping one designated source per component recover the conserved support?",
    order=230,
)
def representative(context: StudyContext) -> StudyResult:
    """Keep the first source of each component, before and after admission."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    benchmark = evaluation.benchmark
    estimate = Estimator(settings.draws, SEED_MAIN, settings.support)
    chosen, meet = rule_arm(evaluation, "representative"), rule_arm(evaluation)
    eligible = benchmark.base_eligible
    before: dict[str, Curve] = {}
    after: dict[str, Curve] = {}
    for name, arm in (("representative", chosen), ("pact", meet)):
        passing = eligible & np.asarray(
            admissible(benchmark.sources, arm.contract, evaluation.policy)
        )
        before[name] = evaluation.curve_of(arm.rankings(evaluation, eligible))
        after[name] = evaluation.curve_of(arm.rankings(evaluation, passing))
    kappa = row_kappa(evaluation)
    differs = np.abs(chosen.score(kappa) - meet.score(kappa)) > SCORE_TOLERANCE
    same = chosen.contract == meet.contract
    point = after["representative"].at(OPERATING_TARGET)
    statistics = {
        "representative.before_admission": estimate.area(before["representative"]).statistic(),
        "representative.minus_pact": estimate.area(before["representative"]).minus(
            estimate.area(before["pact"])
        ),
        "representative.after_admission": estimate.area(after["representative"]).statistic(),
        "representative.wrong_at_013": Statistic(point.wrong, n=point.n),
        "representative.retained_at_013": Statistic(point.admitted, n=point.n),
        "representative.score_changed": row_mean(
            estimate, differs, benchmark.scene, benchmark.scenes
        ),
        "representative.score_changed_same_contract": row_mean(
            estimate, differs[same], benchmark.scene[same], benchmark.scenes
        ),
    }
    pact_point = after["pact"].at(OPERATING_TARGET)
    frame = pd.DataFrame(
        {
            "rule": [RULE_STYLE[name].label for name in ("pact", "representative")],
            "before admission": [estimate.area(before[n]).statistic().value for n in after][::-1],
            "after admission": [estimate.area(after[n]).statistic().value for n in after][::-1],
            "retained at 0.13": [pact_point.admitted, point.admitted],
            "wrong at 0.13": [pact_point.wrong, point.wrong],
        }
    )
    table = Table("representative", "PACT and the fixed representative: ncsAURC and counts", frame)
    figure = Figure(
        "representative",
        "Risk–coverage after admission: PACT and the fixed representative",
        "Risk against coverage after admission for PACT and the fixed representative.",
        lambda: figures.risk_coverage(after, settings.operating_target, "After admission"),
    )
    reading = (
        "A representative equals the meet only where it is the smallest member in every"
        " coordinate; its larger budgets reorder the decisions."
    )
    return StudyResult(statistics, [table], [figure], reading)
