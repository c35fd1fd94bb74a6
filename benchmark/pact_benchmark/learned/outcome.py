"""The outcome study: what false refinement and merging do to drift, accuracy, scores and ordering.

Every view is the replicated view in turn. Each metric is computed per run and replicated view,
averaged over the views, then over the runs. Resamples keep runs, views and arms together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.bootstrap import interval
from pact_benchmark.learned import arms
from pact_benchmark.learned.arms import MULTIPLICITY, Arm, Outcome
from pact_benchmark.learned.evidence import EvidenceSet, FloatArray, IntArray
from pact_benchmark.learned.ordering import SUPPORT, area_draws, grid_table, order_by, risk_at
from pact_benchmark.learned.resampling import stratified_weights
from pact_benchmark.study import Statistic

METRICS = ("ncsaurc", "l1", "accuracy", "nll", "brier", "ece10", "risk10", "budget")
Weights = Sequence[NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class ArmMeasures:
    """Metrics of one arm.

    Attributes:
        point: Per metric, shape [replicated views or 1, runs].
        draws: Per metric, the mean over views and runs in each resample, shape [draws];
            `risk10` is not resampled.
    """

    point: dict[str, FloatArray]
    draws: dict[str, FloatArray]

    def mean(self, metric: str) -> float:
        """Mean over replicated views, then over runs."""
        return float(self.point[metric].mean(axis=0).mean())


@dataclass(frozen=True, slots=True)
class OutcomeStudy:
    """Results of one data set and model.

    Attributes:
        measures: Per arm.
        support: Coverage interval of ncsAURC.
        invariant: Largest multiplicity up to which copies inside their component changed no bit of
            posterior, budget and score, for any replicated view; 1 if none.
        records: Number of records.
    """

    measures: dict[Arm, ArmMeasures]
    support: tuple[float, float]
    invariant: int
    records: int

    def contrast(self, arm: Arm, metric: str, factor: float = 1.0) -> Statistic:
        """An arm minus its reference (copies for refinement, original views otherwise)."""
        reference = self.measures[Arm.COPIES if arm is Arm.REFINE else Arm.ORIGINAL]
        chosen = self.measures[arm]
        value = factor * (chosen.mean(metric) - reference.mean(metric))
        low, high = interval(factor * (chosen.draws[metric] - reference.draws[metric]))
        return Statistic(value, low, high, self.records)

    def donor_changes(self, metric: str) -> FloatArray:
        """Refinement minus copies per replicated view, averaged over runs, shape [views]."""
        refine, copies = self.measures[Arm.REFINE], self.measures[Arm.COPIES]
        return np.asarray((refine.point[metric] - copies.point[metric]).mean(axis=1))

    def better_scores_worse_ordering(self) -> NDArray[np.bool_]:
        """Replicated views whose refinement lowers NLL and Brier while ncsAURC rises."""
        nll, brier = self.donor_changes("nll"), self.donor_changes("brier")
        return (nll < 0) & (brier < 0) & (self.donor_changes("ncsaurc") > 0)


def run_weights(data: EvidenceSet, draws: int, seed: int) -> Weights:
    """Class-stratified weights per run; one and the same array when all runs share the records."""
    if data.same_records:
        return [stratified_weights(data.label[0], draws, seed)] * data.runs
    return [stratified_weights(row, draws, seed + 1000 * run) for run, row in enumerate(data.label)]


def study_outcomes(data: EvidenceSet, *, draws: int, seed: int) -> OutcomeStudy:
    """Run all arms at multiplicity eight and resample them together."""
    views = range(data.views)
    outcomes = {
        Arm.ORIGINAL: [arms.assign(data.evidence, Arm.ORIGINAL)],
        Arm.COPIES: [arms.assign(data.evidence, Arm.COPIES, view=v) for v in views],
        Arm.REFINE: [arms.assign(data.evidence, Arm.REFINE, view=v) for v in views],
        Arm.MERGE: [arms.assign(data.evidence, Arm.MERGE)],
    }
    original = outcomes[Arm.ORIGINAL][0]
    low = _support_low([*outcomes[Arm.COPIES], *outcomes[Arm.REFINE]], data.label)
    table = grid_table(data.records, low, SUPPORT[1])
    weights = run_weights(data, draws, seed)
    measures = {
        arm: _measure(found, data.label, original.posterior, table, weights)
        for arm, found in outcomes.items()
    }
    return OutcomeStudy(measures, (low, SUPPORT[1]), copies_invariant(data.evidence), data.records)


def copies_invariant(evidence: FloatArray) -> int:
    """Largest m <= 8 up to which copies within their component change no bit of the result."""
    original = arms.assign(evidence, Arm.ORIGINAL)
    for multiplicity in range(2, MULTIPLICITY + 1):
        for view in range(evidence.shape[-2]):
            copied = arms.assign(evidence, Arm.COPIES, view=view, multiplicity=multiplicity)
            same = (
                np.array_equal(copied.posterior, original.posterior)
                and np.array_equal(copied.score, original.score)
                and np.array_equal(copied.budget, original.budget)
            )
            if not same:
                return multiplicity - 1
    return MULTIPLICITY


def _support_low(outcomes: Sequence[Outcome], label: IntArray) -> float:
    """The lower coverage bound: at least .10, and no group of best-scored ties is cut."""
    top = 0
    for outcome in outcomes:
        for score, prediction, truth in zip(outcome.score, outcome.prediction, label, strict=True):
            top = max(top, order_by(score, prediction != truth).top_tie)
    return float(min(max(SUPPORT[0], top / label.shape[1]), SUPPORT[1] - 0.01))


def _measure(
    outcomes: Sequence[Outcome],
    label: IntArray,
    reference: FloatArray,
    table: FloatArray,
    weights: Weights,
) -> ArmMeasures:
    """Metrics of an arm, one outcome per replicated view, each of shape [runs, records]."""
    runs, records = label.shape
    linear = {name: np.stack(values) for name, values in _linear(outcomes, label, reference)}
    point = {name: values.mean(axis=2) for name, values in linear.items()}
    draws = {
        name: sum(values.mean(axis=0)[run] @ weights[run] for run in range(runs)) / (records * runs)
        for name, values in linear.items()
    }
    shape = (len(outcomes), runs)
    for name in ("ncsaurc", "ece10", "risk10"):
        point[name] = np.zeros(shape)
    draws["ncsaurc"] = np.zeros(weights[0].shape[1])
    draws["ece10"] = np.zeros(weights[0].shape[1])
    once = np.ones((records, 1), dtype=np.int32)
    for index in np.ndindex(*shape):
        outcome, run = outcomes[index[0]], index[1]
        correct = outcome.prediction[run] == label[run]
        ordering = order_by(outcome.score[run], ~correct)
        peak = outcome.peak[run]
        point["ncsaurc"][index] = area_draws(ordering, table, once)[0]
        point["risk10"][index] = risk_at(ordering, SUPPORT[0])
        point["ece10"][index] = arms.expected_calibration_error(peak, correct)
        draws["ncsaurc"] += area_draws(ordering, table, weights[run]) / np.prod(shape)
        resampled = arms.expected_calibration_error(peak, correct, weights[run].astype(np.float64))
        draws["ece10"] += resampled / np.prod(shape)
    return ArmMeasures(point, draws)


def _linear(
    outcomes: Sequence[Outcome], label: IntArray, reference: FloatArray
) -> list[tuple[str, list[FloatArray]]]:
    """Per-record values of the metrics that are means over records."""
    return [
        ("l1", [arms.l1_distance(o.posterior, reference) for o in outcomes]),
        ("accuracy", [(o.prediction == label).astype(np.float64) for o in outcomes]),
        ("nll", [arms.negative_log_likelihood(o.posterior, label) for o in outcomes]),
        ("brier", [arms.brier(o.posterior, label) for o in outcomes]),
        ("budget", [o.budget for o in outcomes]),
    ]
