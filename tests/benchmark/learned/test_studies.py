"""Outcome and pooled studies on synthetic evidences."""

from __future__ import annotations

import numpy as np
import pytest

from pact_benchmark.learned import arms
from pact_benchmark.learned.analysis import analyse, pair_statistics, structure_statistics
from pact_benchmark.learned.arms import Arm
from pact_benchmark.learned.evidence import EvidenceSet
from pact_benchmark.learned.ordering import area, grid_table, order_by
from pact_benchmark.learned.outcome import study_outcomes
from pact_benchmark.learned.pooled import study_pooled
from tests.benchmark.learned.conftest import make_evidence


def other_records(data: EvidenceSet) -> EvidenceSet:
    """The same evidences, with records of their own in each run."""
    record_id = data.record_id + 1000 * np.arange(data.runs)[:, None]
    return EvidenceSet(
        data.evidence, data.label, record_id, data.seed, "own", "model", data.view_names
    )


def test_contrasts_are_means_over_views_then_runs() -> None:
    """Each contrast equals the metric computed one run and one replicated view at a time."""
    data = make_evidence(runs=3, records=60, views=4)
    study = study_outcomes(data, draws=50, seed=0)
    table = grid_table(60, *study.support)

    def ncsaurc(outcome: arms.Outcome) -> np.ndarray:
        wrong = outcome.prediction != data.label
        return np.array([area(order_by(outcome.score[r], wrong[r]), table) for r in range(3)])

    original = arms.assign(data.evidence, Arm.ORIGINAL)
    refined = [arms.assign(data.evidence, Arm.REFINE, view=v) for v in range(4)]
    drift = [arms.l1_distance(o.posterior, original.posterior).mean() for o in refined]
    assert study.contrast(Arm.REFINE, "l1").value == pytest.approx(np.mean(drift))
    hits = [(o.prediction == data.label).mean() for o in refined]
    change = np.mean(hits) - (original.prediction == data.label).mean()
    assert study.contrast(Arm.REFINE, "accuracy", 100).value == pytest.approx(100 * change)
    areas = np.mean([ncsaurc(o) for o in refined]) - ncsaurc(original).mean()
    assert study.contrast(Arm.REFINE, "ncsaurc").value == pytest.approx(areas)
    assert study.donor_changes("l1") == pytest.approx(drift)
    assert study.invariant == 8


@pytest.mark.parametrize("shared", [True, False])
def test_intervals_hold_the_value(shared: bool) -> None:
    """Intervals surround the point value, and shrink with more records."""
    widths = []
    for records in (40, 640):
        data = make_evidence(records=records)
        data = data if shared else other_records(data)
        found = study_outcomes(data, draws=200, seed=1).contrast(Arm.MERGE, "l1")
        assert found.low < found.value < found.high
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] / 2


def test_copies_are_the_reference_of_refinement() -> None:
    """Copies inside their component measure exactly what the original views measure."""
    study = study_outcomes(make_evidence(), draws=20, seed=0)
    for metric, values in study.measures[Arm.ORIGINAL].point.items():
        copies = study.measures[Arm.COPIES].point[metric]
        np.testing.assert_array_equal(copies, np.broadcast_to(values, copies.shape))


def test_better_scores_worse_ordering_needs_all_three() -> None:
    """A replicated view counts only if NLL and Brier fall while ncsAURC rises."""
    study = study_outcomes(make_evidence(records=200, views=5, seed=4), draws=5, seed=0)
    nll, brier = study.donor_changes("nll"), study.donor_changes("brier")
    expected = (nll < 0) & (brier < 0) & (study.donor_changes("ncsaurc") > 0)
    np.testing.assert_array_equal(study.better_scores_worse_ordering(), expected)


def test_ties_at_the_top_move_the_support() -> None:
    """When a fifth of the records share the best score, the support starts there."""
    data = make_evidence(runs=1, records=50, views=2)
    data.evidence[:, :10] = 0.0
    data.evidence[:, :10, :, 0] = 100.0
    assert study_outcomes(data, draws=5, seed=0).support == (0.2, 0.9)


@pytest.mark.parametrize("shared", [True, False])
def test_pooled_budgets(shared: bool) -> None:
    """Copies keep the budget, refinement raises it, merging lowers it, near copies lose little."""
    data = make_evidence(records=90)
    data = data if shared else other_records(data)
    study = study_pooled(data, draws=100)
    for multiplicity in (2, 4, 8):
        assert study.ratio(study.arms[Arm.COPIES, multiplicity]) == 1.0
        loss = 1 - study.near[multiplicity] / study.original.budget
        assert 0 < loss < 0.02
    assert study.ratio(study.refined) > 1.5
    assert study.ratio(study.merged) < 0.5
    assert study.mean_ratio == pytest.approx(1 + 7 / 3, rel=1e-12)
    assert study.intervals_exclude_zero()
    for arm, sign in ((Arm.REFINE, 1), (Arm.MERGE, -1)):
        change = study.changes[arm]["budget"]
        assert sign * change.value > 0
        assert change.low < change.value < change.high


def test_two_stage_intervals_are_wider_when_runs_differ() -> None:
    """Runs that differ widen the interval of the budget change beyond that of their records."""
    data = make_evidence(runs=5, records=80)
    data.evidence[:] *= np.array([1, 2, 3, 4, 5.0])[:, None, None, None]
    one_stage = study_pooled(data, draws=300).changes[Arm.MERGE]["budget"]
    two_stage = study_pooled(other_records(data), draws=300).changes[Arm.MERGE]["budget"]
    assert two_stage.high - two_stage.low > 1.5 * (one_stage.high - one_stage.low)


def test_one_view_one_record() -> None:
    """The smallest possible evidences give finite figures and no lattice."""
    data = make_evidence(runs=1, records=1, views=1, classes=2)
    found = analyse(data, title="t", index=0, draws=10)
    assert found.surface is None
    statistics = {**pair_statistics(found), **structure_statistics(found)}
    assert all(np.isfinite(item.value) for item in statistics.values())


def test_result_does_not_depend_on_the_order_of_records() -> None:
    """Shuffled records give the same point values."""
    data = make_evidence(records=50)
    shuffled = data.take_records(np.random.default_rng(0).permutation(50))
    left, right = (
        pair_statistics(analyse(d, title="t", index=0, draws=5)) for d in (data, shuffled)
    )
    for name in left:
        assert left[name].value == pytest.approx(right[name].value, rel=1e-9, abs=1e-12), name
