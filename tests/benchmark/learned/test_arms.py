"""Counting assignments: what must hold exactly, and metrics against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pact_benchmark.learned import arms
from pact_benchmark.learned.arms import Arm, Rule
from pact_benchmark.learned.outcome import copies_invariant
from pact_core import ContractSet, FusionOptions, SourceBatch, fuse

EVIDENCE = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(2, 7)),
    elements=st.floats(0.0, 1e4, allow_subnormal=False),
)


@given(EVIDENCE)
def test_copies_within_their_component_change_no_bit(evidence: np.ndarray) -> None:
    """Exact copies leave posterior, score and budget bitwise unchanged up to multiplicity 8."""
    assert copies_invariant(evidence) == 8


def test_copies_invariant_can_fail() -> None:
    """The check of invariance does see a change: a copy that is counted anew."""
    evidence = np.ones((3, 2, 2))
    original = arms.assign(evidence, Arm.ORIGINAL)
    refined = arms.assign(evidence, Arm.REFINE, multiplicity=2)
    assert not np.array_equal(original.posterior.sum(), refined.budget.sum())
    assert (refined.budget > original.budget).all()


@given(EVIDENCE, st.integers(1, 8))
def test_refinement_adds_the_view_again(evidence: np.ndarray, multiplicity: int) -> None:
    """False refinement of view v at multiplicity m gives the evidence E + (m - 1) e_v."""
    for view in range(evidence.shape[1]):
        found = arms.assign(evidence, Arm.REFINE, view=view, multiplicity=multiplicity)
        expected = evidence.sum(1) + (multiplicity - 1) * evidence[:, view]
        np.testing.assert_allclose(found.budget, expected.sum(-1), rtol=1e-12, atol=1e-12)
        posterior = (expected + 1) / (expected.sum(-1, keepdims=True) + evidence.shape[2])
        np.testing.assert_allclose(found.posterior, posterior, rtol=1e-11)


@given(EVIDENCE)
def test_mean_budget_ratio_over_views_is_fixed_by_algebra(evidence: np.ndarray) -> None:
    """Averaged over the replicated view, the budget grows by 1 + 7/V exactly."""
    views = evidence.shape[1]
    original = arms.assign(evidence, Arm.ORIGINAL).budget.sum()
    refined = [arms.assign(evidence, Arm.REFINE, view=v).budget.sum() for v in range(views)]
    assert np.mean(refined) == pytest.approx((1 + 7 / views) * original, rel=1e-12)


@given(EVIDENCE)
def test_merge_is_the_coordinatewise_minimum(evidence: np.ndarray) -> None:
    """All views in one component leave the minimum of each coordinate, never a larger budget."""
    merged = arms.assign(evidence, Arm.MERGE)
    np.testing.assert_array_equal(merged.budget, evidence.min(1).sum(-1))
    assert (merged.budget <= arms.assign(evidence, Arm.ORIGINAL).budget).all()


@given(EVIDENCE, st.sampled_from([Arm.COPIES, Arm.REFINE]), st.integers(1, 8))
def test_round_robin_equals_one_view_at_a_time(
    evidence: np.ndarray, arm: Arm, multiplicity: int
) -> None:
    """A replicated view per record gives what replicating that view for all records gives."""
    views = evidence.shape[1]
    donor = arms.donors(np.arange(len(evidence)), views)
    together = arms.assign_by_record(evidence, arm, donor, multiplicity)
    for view in range(views):
        alone = arms.assign(evidence, arm, view=view, multiplicity=multiplicity)
        rows = donor == view
        np.testing.assert_array_equal(together.posterior[rows], alone.posterior[rows])


@given(EVIDENCE)
def test_agrees_with_opinions_in_the_core(evidence: np.ndarray) -> None:
    """Direct evidence gives the posterior that the core gives for the equivalent opinions."""
    evidence = evidence + 1e-3
    total = evidence.sum(-1)
    kappa = total.max(-1)
    views, classes = evidence.shape[1:]
    batch = SourceBatch.build(
        evidence / total[..., None],
        total / kappa[:, None],
        np.zeros_like(total),
        component=list(range(views)),
        roles=tuple(f"view{v}" for v in range(views)),
        contracts=ContractSet(tuple(f"c{k}" for k in range(classes))),
    )
    expected = fuse(batch, "pact", FusionOptions(kappa=kappa))
    found = arms.assign(evidence, Arm.ORIGINAL)
    np.testing.assert_allclose(found.posterior, expected.posterior, rtol=1e-9)
    np.testing.assert_allclose(found.score, expected.score, rtol=1e-9)


@settings(max_examples=50)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(2, 6)),
        elements=st.floats(0.0, 50.0, allow_subnormal=False),
    )
)
def test_closed_form_equals_the_loop_of_dempster(views: np.ndarray) -> None:
    """The closed form of the nested composition equals the pairwise rule, in any order."""
    classes = views.shape[1]

    def compose(order: list[int]) -> np.ndarray:
        strength = views.sum(1) + classes
        belief, frame = views / strength[:, None], classes / strength
        b, u = belief[order[0]], frame[order[0]]
        for v in order[1:]:
            conflict = b.sum() * belief[v].sum() - (b * belief[v]).sum()
            b = (b * belief[v] + b * frame[v] + belief[v] * u) / (1 - conflict)
            u = u * frame[v] / (1 - conflict)
        return b * classes / u

    order = list(range(len(views)))
    expected = compose(order)
    np.testing.assert_allclose(compose(order[::-1]), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(arms.nested_evidence(views), expected, rtol=1e-6, atol=1e-9)


def test_product_rule_by_hand() -> None:
    """The product multiplies the views' mean probabilities and normalises."""
    evidence = np.array([[[3.0, 0.0], [0.0, 1.0]]])
    mean = np.array([[4 / 5, 1 / 5], [1 / 3, 2 / 3]])
    expected = mean.prod(0) / mean.prod(0).sum()
    found = arms.compare_rule(evidence, Rule.PRODUCT)
    np.testing.assert_allclose(found.posterior[0], expected, rtol=1e-14)
    assert found.score[0] == pytest.approx(expected.max())


def test_probability_metrics_by_hand() -> None:
    """NLL, Brier and ECE10 follow their definitions on three records."""
    posterior = np.array([[0.7, 0.3], [0.4, 0.6], [0.05, 0.95]])
    label = np.array([0, 0, 1])
    np.testing.assert_allclose(
        arms.negative_log_likelihood(posterior, label), -np.log([0.7, 0.4, 0.95])
    )
    np.testing.assert_allclose(arms.brier(posterior, label), [0.18, 0.72, 0.005], rtol=1e-12)
    correct = np.array([True, False, True])
    expected = (abs(0.7 - 1) + abs(0.6 - 0) + abs(0.95 - 1)) / 3
    found = arms.expected_calibration_error(posterior.max(1), correct)
    assert found == pytest.approx(expected)
    twice = arms.expected_calibration_error(posterior.max(1), correct, np.full((3, 2), 1.0))
    np.testing.assert_allclose(twice, [expected, expected])


@pytest.mark.parametrize(("peak", "expected"), [(0.0, 0), (0.1, 1), (0.95, 9), (1.0, 9), (0.5, 5)])
def test_confidence_bins_are_closed_below(peak: float, expected: int) -> None:
    """A confidence on a bin's lower edge belongs to that bin; one belongs to the last."""
    assert arms.confidence_bin(np.array([peak]))[0] == expected
