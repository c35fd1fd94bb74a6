"""Two other ways to combine a component: coordinatewise maximum and a fixed representative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


def next_observed_arm(evaluation: Evaluation) -> EvidenceArm:
    """Return the evidence when the first *observed* source speaks for each component.

    A representative that is unavailable or invalid is replaced by the next source in the order
    of the sources, where the fixed one would contribute nothing.
    """
    sources = evaluation.benchmark.sources
    evidence, observed = source_evidence(sources), np.asarray(sources.observed())
    component = np.broadcast_to(np.asarray(sources.component), observed.shape)
    total = evidence[:, 0].copy()
    for place in range(1, observed.shape[1]):
        earlier = observed[:, :place] & (component[:, :place] == component[:, [place]])
        total += np.where(earlier.any(axis=1)[:, None], 0.0, evidence[:, place])
    return EvidenceArm(total, evaluation.benchmark.label)


@dataclass(frozen=True)
class ArmCurves:
    """One counting structure with its curves before and after admission."""

    arm: EvidenceArm
    before: Curve
    after: Curve


def _curves(evaluation: Evaluation, arm: EvidenceArm) -> ArmCurves:
    benchmark = evaluation.benchmark
    eligible = benchmark.base_eligible
    passing = eligible & np.asarray(admissible(benchmark.sources, arm.contract, evaluation.policy))
    return ArmCurves(
        arm,
        evaluation.curve_of(arm.rankings(evaluation, eligible)),
        evaluation.curve_of(arm.rankings(evaluation, passing)),
    )


def _against_meet(
    prefix: str, chosen: ArmCurves, meet: ArmCurves, evaluation: Evaluation, estimate: Estimator
) -> dict[str, Statistic]:
    """Return what a representative does, and where its scores are not those of the meet."""
    benchmark, kappa = evaluation.benchmark, row_kappa(evaluation)
    scene, scenes = benchmark.scene, benchmark.scenes
    differs = np.abs(chosen.arm.score(kappa) - meet.arm.score(kappa)) > SCORE_TOLERANCE
    same = chosen.arm.contract == meet.arm.contract
    place = chosen.after.index(OPERATING_TARGET)
    before, n = estimate.area(chosen.before), chosen.after.n
    return {
        f"{prefix}.before_admission": before.statistic(),
        f"{prefix}.minus_pact": before.minus(estimate.area(meet.before)),
        f"{prefix}.after_admission": estimate.area(chosen.after).statistic(),
        f"{prefix}.wrong_at_013": estimate.total(chosen.after.wrong[:, place], n),
        f"{prefix}.retained_at_013": estimate.total(chosen.after.admitted[:, place], n),
        f"{prefix}.score_changed": row_mean(estimate, differs, scene, scenes),
        f"{prefix}.score_changed_same_contract": row_mean(
            estimate, differs[same], scene[same], scenes
        ),
    }


@study(
    "representative",
    title="Fixed representative",
    purpose="Does keeping one designated source per component recover the conserved support?",
    order=230,
)
def representative(context: StudyContext) -> StudyResult:
    """Keep one source of each component, before and after admission."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    estimate = Estimator(settings.draws, SEED_MAIN, settings.support)
    curves = {
        "pact": _curves(evaluation, rule_arm(evaluation)),
        "representative": _curves(evaluation, rule_arm(evaluation, "representative")),
        "representative.next_observed": _curves(evaluation, next_observed_arm(evaluation)),
    }
    statistics: dict[str, Statistic] = {}
    for prefix in ("representative", "representative.next_observed"):
        statistics |= _against_meet(prefix, curves[prefix], curves["pact"], evaluation, estimate)
    points = [item.after.at(OPERATING_TARGET) for item in curves.values()]
    fixed = RULE_STYLE["representative"].label
    frame = pd.DataFrame(
        {
            "rule": [RULE_STYLE["pact"].label, fixed, f"{fixed}, next observed"],
            "before admission": [estimate.area(item.before).value for item in curves.values()],
            "after admission": [estimate.area(item.after).value for item in curves.values()],
            "retained at 0.13": [point.admitted for point in points],
            "wrong at 0.13": [point.wrong for point in points],
        }
    )
    table = Table(
        "representative",
        "PACT and the fixed representative: ncsAURC and counts",
        frame,
        "A representative that is not observed contributes nothing; in the last row the next"
        " observed source of its component takes its place.",
    )
    drawn = {name: curves[name].after for name in ("representative", "pact")}
    figure = Figure(
        "representative",
        "Risk–coverage after admission: PACT and the fixed representative",
        "Risk against coverage after admission for PACT and the fixed representative.",
        lambda: figures.risk_coverage(drawn, settings.operating_target, "After admission"),
    )
    reading = (
        "A representative equals the meet only where it is the smallest member in every"
        " coordinate; its larger budgets reorder the decisions."
    )
    return StudyResult(statistics, [table], [figure], reading)
