"""Cutoffs, curves and areas, against hand-made cases and slow, plain implementations."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_benchmark.curve_metrics import (
    SupportError,
    coverage_at_risk,
    generalised_risk_area,
    ncsaurc,
    ncsaurc_draws,
    risk_at_coverage,
)
from pact_benchmark.selection import (
    TARGETS,
    Curve,
    Ranking,
    cutoffs,
    risk_coverage,
    target_counts,
    threshold,
)


def curve_from(admitted, wrong, n):
    """Return a curve of one scene."""
    targets = np.arange(1, len(admitted) + 1) / 100
    return Curve(targets, np.array([n]), np.array([admitted]), np.array([wrong]))


def test_targets_are_sixty_two_decimal_floats():
    """The grid of target coverages is 0.01 … 0.60, exactly as written."""
    assert TARGETS.tolist() == [float(f"0.{i:02d}") for i in range(1, 61)]


@pytest.mark.parametrize(("n", "expected"), [(1, 0), (3, 2), (5, 2), (7, 4), (9, 4)])
def test_target_count_rounds_half_to_even(n, expected):
    """Half of an odd number of rows goes to the even neighbour."""
    assert target_counts(0.5, n)[0] == expected


def test_threshold_hand_cases():
    """The cutoff is the count-th largest available score, capped, and infinite for none."""
    scores = np.array([0.9, 0.8, 0.8, 0.3, 0.99])
    available = np.array([True, True, True, True, False])
    assert threshold(scores, available, 1) == 0.9
    assert threshold(scores, available, 2) == 0.8
    assert threshold(scores, available, 4) == 0.3
    assert threshold(scores, available, 100) == 0.3
    assert threshold(scores, available, 0) == math.inf
    assert threshold(scores, np.zeros(5, dtype=bool), 3) == math.inf


def plain_curve(rankings, fold, scene, rows, targets):
    """Count retained and wrong rows by loops over folds, targets and rows."""
    scenes = int(scene.max()) + 1
    admitted = np.zeros((scenes, len(targets)), dtype=int)
    wrong = np.zeros_like(admitted)
    for f in range(int(fold.max()) + 1):
        r = rankings[f]
        train = [i for i in range(len(fold)) if rows[i] and fold[i] != f]
        ranked = sorted((r.score[i] for i in train if r.available[i]), reverse=True)
        for t, target in enumerate(targets):
            rank = min(round(target * len(train)), len(ranked))
            cutoff = ranked[rank - 1] if rank else math.inf
            for i in range(len(fold)):
                if fold[i] == f and rows[i] and r.available[i] and r.score[i] >= cutoff:
                    admitted[scene[i], t] += 1
                    wrong[scene[i], t] += not r.correct[i]
    return admitted, wrong


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_curve_equals_plain_loops(seed, per_fold, filtered):
    """Counts equal those of plain loops, with ties, strata and fold-specific scores."""
    rng = np.random.default_rng(seed)
    n, scenes = 90, 9
    scene = rng.integers(scenes, size=n)
    scene[:scenes] = np.arange(scenes)
    fold = scene % 3
    rows = rng.random(n) < 0.7 if filtered else np.ones(n, dtype=bool)

    def ranking():
        return Ranking(
            rng.integers(0, 12, n) / 12.0, rng.random(n) < rng.random(), rng.random(n) < 0.5
        )

    rankings = [ranking() for _ in range(3)] if per_fold else [ranking()] * 3
    curve = risk_coverage(rankings, fold, scene, rows=rows if filtered else None)
    admitted, wrong = plain_curve(rankings, fold, scene, rows, TARGETS.tolist())
    np.testing.assert_array_equal(curve.admitted, admitted)
    np.testing.assert_array_equal(curve.wrong, wrong)
    np.testing.assert_array_equal(curve.n, np.bincount(scene[rows], minlength=scenes))


def test_one_ranking_serves_every_fold():
    """A single ranking gives the same curve as the same ranking once per fold."""
    rng = np.random.default_rng(1)
    scene = np.arange(200) % 10
    ranking = Ranking(rng.random(200), rng.random(200) < 0.8, rng.random(200) < 0.5)
    once = risk_coverage(ranking, scene % 5, scene)
    many = risk_coverage([ranking] * 5, scene % 5, scene)
    np.testing.assert_array_equal(once.admitted, many.admitted)


def test_operating_point_of_a_hand_made_curve():
    """Rates follow from counts: coverage, R_all, R_cond and C_all."""
    curve = curve_from([0, 20, 50], [0, 5, 20], 100)
    point = curve.at(0.02)
    assert (point.coverage, point.wrong_all, point.correct_all) == (0.20, 0.05, 0.15)
    assert point.risk == 0.25
    assert curve.at(0.01).risk is None
    with pytest.raises(KeyError, match=r"0\.77"):
        curve.at(0.77)


def plain_area(coverage, risk, low, high, points):
    """Average risks of equal coverage, interpolate and integrate, point by point."""
    groups: dict[float, list[float]] = {}
    for c, r in zip(coverage, risk, strict=True):
        groups.setdefault(float(c), []).append(float(r))
    xs = sorted(groups)
    ys = [sum(groups[x]) / len(groups[x]) for x in xs]
    grid = [low + (high - low) * i / (points - 1) for i in range(points)]
    heights = [float(np.interp(g, xs, ys)) for g in grid]
    area = sum((heights[i] + heights[i + 1]) / 2 for i in range(points - 1)) / (points - 1)
    return area


def test_area_of_constant_and_linear_risk():
    """A constant risk is its own average; a linear one averages to its middle."""
    admitted = [10 * i for i in range(1, 61)]
    half = [5 * i for i in range(1, 61)]
    assert ncsaurc(curve_from(admitted, half, 1000)) == pytest.approx(0.5)
    scaled = [1000 * a for a in admitted]
    linear = [round(1000 * a * a / 1000) for a in admitted]
    assert ncsaurc(curve_from(scaled, linear, 1_000_000)) == pytest.approx((0.10 + 0.39) / 2)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_area_equals_plain_implementation(seed):
    """The area agrees with a plain implementation, repeated coverages included."""
    rng = np.random.default_rng(seed)
    n = 500
    admitted = np.sort(rng.integers(0, 260, 60))
    admitted[0], admitted[-1] = rng.integers(0, 50), 260
    admitted = np.sort(np.where(rng.random(60) < 0.3, np.roll(admitted, 1), admitted))
    wrong = np.minimum(admitted, np.sort(rng.integers(0, 260, 60)))
    curve = curve_from(admitted, wrong, n)
    for low, high, points in ((0.10, 0.39, 36), (0.10, 0.35, 36), (0.10, 0.39, 30)):
        expected = plain_area(curve.coverage, curve.risk, low, high, points)
        assert ncsaurc(curve, low, high, points) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("admitted", [[20, 50], [5, 30]])
def test_area_outside_the_support_is_an_error(admitted):
    """A curve that starts too high or ends too low has no area on the support."""
    with pytest.raises(SupportError, match="does not contain"):
        ncsaurc(curve_from(admitted, [0, 0], 100))


def test_area_without_rows_is_an_error():
    """An empty stratum has no area, and says so."""
    with pytest.raises(SupportError, match="no row"):
        ncsaurc(curve_from([0, 0], [0, 0], 0))


def test_draws_equal_curves_of_resampled_scenes():
    """Weighting scenes gives the area of the curve with those scenes repeated."""
    rng = np.random.default_rng(5)
    scene = np.repeat(np.arange(12), 40)
    ranking = Ranking(rng.random(480), np.ones(480, dtype=bool), rng.random(480) < 0.4)
    curve = risk_coverage(ranking, scene % 4, scene)
    weights = rng.multinomial(12, np.full(12, 1 / 12), size=20).astype(float)
    draws = ncsaurc_draws(curve, weights)
    for weight, drawn in zip(weights, draws, strict=True):
        again = np.repeat(np.arange(12), weight.astype(int))
        repeated = Curve(curve.targets, curve.n[again], curve.admitted[again], curve.wrong[again])
        assert drawn == pytest.approx(ncsaurc(repeated), abs=1e-12)
    assert ncsaurc_draws(curve, np.ones((1, 12)))[0] == pytest.approx(ncsaurc(curve), abs=1e-15)


def test_draws_that_do_not_span_are_undefined():
    """A resample whose curve misses the support gives no number."""
    curve = Curve(
        np.array([0.1, 0.5]),
        np.array([100, 100]),
        np.array([[5, 50], [15, 50]]),
        np.array([[1, 9], [3, 9]]),
    )
    draws = ncsaurc_draws(curve, np.array([[2.0, 0.0], [0.0, 2.0]]))
    assert not np.isnan(draws[0])
    assert np.isnan(draws[1])


def test_risk_at_coverage_and_coverage_at_risk():
    """Both read the curve; outside it there is no risk, and no coverage below every risk."""
    curve = curve_from([10, 20, 40], [1, 4, 20], 100)
    assert risk_at_coverage(curve, 0.15) == pytest.approx((0.1 + 0.2) / 2)
    assert risk_at_coverage(curve, 0.5) is None
    assert coverage_at_risk(curve, 0.2) == pytest.approx(0.2)
    assert coverage_at_risk(curve, 0.05) == 0.0


def test_generalised_risk_area_of_a_line():
    """With one error in two retained rows the generalised risk is half of the coverage."""
    admitted = [10 * i for i in range(1, 61)]
    half = [5 * i for i in range(1, 61)]
    area = generalised_risk_area(curve_from(admitted, half, 1000))
    assert area == pytest.approx((0.10 + 0.39) / 4)
    with pytest.raises(SupportError):
        generalised_risk_area(curve_from([1, 2], [0, 0], 100))


def test_a_monotone_change_of_score_changes_nothing():
    """Only the order of the scores matters: a monotone function of them gives the same counts."""
    rng = np.random.default_rng(8)
    scene = np.arange(300) % 15
    score, available, correct = rng.random(300), rng.random(300) < 0.9, rng.random(300) < 0.5
    first = risk_coverage(Ranking(score, available, correct), scene % 5, scene)
    second = risk_coverage(Ranking(np.exp(3 * score), available, correct), scene % 5, scene)
    np.testing.assert_array_equal(first.admitted, second.admitted)
    np.testing.assert_array_equal(first.wrong, second.wrong)


def test_cutoffs_take_any_order_of_scores():
    """Cutoffs depend on the set of scores, not on the order of the rows."""
    scores = [random.Random(3).random() for _ in range(50)]
    counts = np.arange(0, 60)
    forward, backward = cutoffs(np.array(scores), counts), cutoffs(np.array(scores[::-1]), counts)
    np.testing.assert_array_equal(forward, backward)
