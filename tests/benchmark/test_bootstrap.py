"""Scene resamples and intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from pact_benchmark.bootstrap import clopper_pearson, interval, scene_weights, wilson


def test_weights_equal_one_draw_at_a_time():
    """The published procedure draws one resample after another from one generator."""
    rng = np.random.default_rng(1886)
    one_by_one = [rng.multinomial(48, np.full(48, 1 / 48)) for _ in range(30)]
    np.testing.assert_array_equal(scene_weights(1886, 30, 48), one_by_one)


def test_weights_draw_as_many_scenes_as_there_are():
    """Every resample holds as many scenes as the sample, and seed 0 is a seed like others."""
    weights = scene_weights(0, 100, 48)
    assert (weights.sum(axis=1) == 48).all()
    assert not np.array_equal(weights, scene_weights(1, 100, 48))
    assert not weights.flags.writeable


def test_interval_is_the_interpolated_percentile():
    """The interval's ends are numpy's linear 2.5 and 97.5 percentiles."""
    draws = np.random.default_rng(2).normal(size=1999)
    assert interval(draws) == pytest.approx(tuple(np.percentile(draws, [2.5, 97.5])))


def test_interval_with_an_undefined_draw_is_undefined():
    """One undefined resample leaves the whole interval undefined, and so does no resample."""
    assert interval(np.array([1.0, np.nan])) == (None, None)
    assert interval(np.empty(0)) == (None, None)


@pytest.mark.parametrize(("events", "n"), [(0, 48), (3, 48), (48, 48), (0, 31200), (7, 4043)])
def test_binomial_intervals_agree_with_scipy(events, n):
    """Both binomial intervals agree with an independent implementation."""
    test = binomtest(events, n)
    exact, score = test.proportion_ci(method="exact"), test.proportion_ci(method="wilson")
    assert clopper_pearson(events, n) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert wilson(events, n) == pytest.approx((score.low, score.high), abs=1e-12)


def test_no_event_leaves_room_for_events():
    """Zero of n has an upper end above zero, and it shrinks with n."""
    assert clopper_pearson(0, 48)[1] > clopper_pearson(0, 31200)[1] > 0


@pytest.mark.parametrize("bad", [(1, 0), (-1, 5), (6, 5)])
def test_impossible_shares_are_refused(bad):
    """More events than rows, fewer than none, or no rows, is an error."""
    with pytest.raises(ValueError, match="not a share"):
        clopper_pearson(*bad)
    with pytest.raises(ValueError, match="not a share"):
        wilson(*bad)
