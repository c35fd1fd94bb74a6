"""The pooled study: budgets, accuracy and full-support ordering with a round-robin replicated view.

Rows of all runs are pooled. The replicated view of a record is its id modulo the number of views.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.bootstrap import interval
from pact_benchmark.learned import arms
from pact_benchmark.learned.arms import MULTIPLICITIES, MULTIPLICITY, Arm, Outcome
from pact_benchmark.learned.evidence import EvidenceSet, FloatArray, IntArray
from pact_benchmark.learned.ordering import BoolArray, full_support_area, interpolated_area
from pact_benchmark.learned.resampling import BUDGET_SEED, resamples
from pact_benchmark.study import Statistic

NEAR_SEED = 4242
NEAR_SPREAD = 0.01


@dataclass(frozen=True, slots=True)
class PooledArm:
    """One arm at one multiplicity.

    Attributes:
        outcome: Per run and record.
        correct: Shape [runs, records].
        ncsaurc: Full-support area of the pooled rows.
    """

    outcome: Outcome
    correct: BoolArray
    ncsaurc: float

    @property
    def budget(self) -> float:
        """Mean budget of the pooled rows."""
        return float(self.outcome.budget.mean())

    @property
    def accuracy(self) -> float:
        """Share of the pooled rows that are right."""
        return float(self.correct.mean())


@dataclass(frozen=True, slots=True)
class PooledStudy:
    """Results of one data set and model.

    Attributes:
        arms: By (arm, multiplicity); original and merge under multiplicity 1.
        near: Mean budget with near copies inside the component, by multiplicity.
        changes: Per arm (refinement at multiplicity 8, and merge): intervals of the changes of
            budget, accuracy and ncsAURC against the original views.
        mean_ratio: Refined over original budget, averaged over every choice of the replicated view.
    """

    arms: dict[tuple[Arm, int], PooledArm]
    near: dict[int, float]
    changes: dict[Arm, dict[str, Statistic]]
    mean_ratio: float

    @property
    def original(self) -> PooledArm:
        """The original views."""
        return self.arms[Arm.ORIGINAL, 1]

    @property
    def refined(self) -> PooledArm:
        """False refinement at multiplicity eight."""
        return self.arms[Arm.REFINE, MULTIPLICITY]

    @property
    def merged(self) -> PooledArm:
        """All views in one component."""
        return self.arms[Arm.MERGE, 1]

    def ratio(self, arm: PooledArm) -> float:
        """Budget of an arm over the budget of the original views (ratio of sums)."""
        return float(arm.outcome.budget.sum() / self.original.outcome.budget.sum())

    def intervals_exclude_zero(self) -> bool:
        """Whether both budget-change intervals exclude zero."""
        for found in self.changes.values():
            low, high = found["budget"].low, found["budget"].high
            if low is None or high is None or low <= 0.0 <= high:
                return False
        return True


def study_pooled(data: EvidenceSet, *, draws: int, seed: int = BUDGET_SEED) -> PooledStudy:
    """Run all arms and resample records (runs that share them) or runs, then records."""
    donor = arms.donors(data.record_id, data.views)
    chosen = arms.choose_donor(data.evidence, donor)
    original = arms.assign(data.evidence, Arm.ORIGINAL)
    found = {
        (Arm.ORIGINAL, 1): _arm(original, data),
        (Arm.MERGE, 1): _arm(arms.assign(data.evidence, Arm.MERGE), data),
    }
    for arm in (Arm.COPIES, Arm.REFINE):
        for multiplicity in MULTIPLICITIES:
            outcome = arms.assign_by_record(data.evidence, arm, donor, multiplicity)
            found[arm, multiplicity] = _arm(outcome, data)
    changes = {
        Arm.REFINE: _changes(found[Arm.REFINE, MULTIPLICITY], found, data, draws, seed),
        Arm.MERGE: _changes(found[Arm.MERGE, 1], found, data, draws, seed),
    }
    every = [
        arms.assign(data.evidence, Arm.REFINE, view=view).budget.sum() for view in range(data.views)
    ]
    ratio = float(np.mean(every) / found[Arm.ORIGINAL, 1].outcome.budget.sum())
    near = {m: _near_budget(data, original.budget, chosen, m) for m in MULTIPLICITIES}
    return PooledStudy(found, near, changes, ratio)


def _arm(outcome: Outcome, data: EvidenceSet) -> PooledArm:
    correct = outcome.prediction == data.label
    area = full_support_area(outcome.score.ravel(), ~correct.ravel())
    return PooledArm(outcome, correct, area)


def _near_budget(
    data: EvidenceSet, budget: FloatArray, chosen: FloatArray, multiplicity: int
) -> float:
    """Mean budget when the copies are perturbed by one percent and stay in the component."""
    meet = np.empty_like(chosen)
    for run, record in np.ndindex(*data.label.shape):
        key = data.seed[run] * 100003 + int(data.record_id[run, record]) * 101
        rng = np.random.default_rng(abs(NEAR_SEED + key + multiplicity))
        factor = np.exp(rng.normal(0.0, NEAR_SPREAD, (multiplicity - 1, data.classes)))
        meet[run, record] = chosen[run, record] * np.minimum(factor.min(axis=0), 1.0)
    return float((budget + (meet - chosen).sum(axis=-1)).mean())


def _changes(
    arm: PooledArm,
    found: dict[tuple[Arm, int], PooledArm],
    data: EvidenceSet,
    draws: int,
    seed: int,
) -> dict[str, Statistic]:
    """Intervals of an arm's changes against the original views."""
    base = found[Arm.ORIGINAL, 1]
    budget = arm.outcome.budget - base.outcome.budget
    hits = arm.correct.astype(np.float64) - base.correct
    area = arm.ncsaurc - base.ncsaurc
    rows = data.runs * data.records
    sorted_errors = [_sorted_errors(item) for item in (arm, base)]
    resampled: dict[str, list[FloatArray]] = {"budget": [], "accuracy": [], "ncsaurc": []}
    for weights in resamples(data.runs, data.records, data.same_records, draws, seed):
        flat = weights.reshape(len(weights), rows)
        resampled["budget"].append(flat @ budget.ravel() / rows)
        resampled["accuracy"].append(flat @ hits.ravel() / rows)
        left, right = (_area_draws(order, errors, flat) for order, errors in sorted_errors)
        resampled["ncsaurc"].append(left - right)
    values = {"budget": budget.mean(), "accuracy": hits.mean(), "ncsaurc": area}
    return {
        name: Statistic(float(values[name]), *interval(np.concatenate(drawn)), rows)
        for name, drawn in resampled.items()
    }


def _sorted_errors(arm: PooledArm) -> tuple[IntArray, BoolArray]:
    """Order of the pooled rows, best-scored first, and which of them are wrong in that order."""
    order = np.argsort(-arm.outcome.score.ravel(), kind="stable")
    return order, ~arm.correct.ravel()[order]


def _area_draws(order: IntArray, errors: BoolArray, flat: NDArray[np.int32]) -> FloatArray:
    """Full-support areas of resamples with weights [draws, rows]."""
    return np.array([interpolated_area(np.repeat(errors, row[order])) for row in flat])
