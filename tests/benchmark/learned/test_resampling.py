"""Bootstrap weights keep what they must keep."""

from __future__ import annotations

import numpy as np
import pytest

from pact_benchmark.learned import resampling
from pact_benchmark.learned.resampling import resamples, stratified_weights


def test_every_class_keeps_its_size() -> None:
    """A class-stratified resample has as many records of each class as the data."""
    label = np.array([0] * 5 + [1] * 11 + [2])
    weights = stratified_weights(label, 200, 7)
    for value, count in ((0, 5), (1, 11), (2, 1)):
        assert (weights[label == value].sum(0) == count).all()
    assert weights.std() > 0


def test_same_seed_same_weights() -> None:
    """Seed 0 is a seed like any other, and another seed gives other weights."""
    label = np.zeros(20, dtype=int)
    first = stratified_weights(label, 10, 0)
    np.testing.assert_array_equal(first, stratified_weights(label, 10, 0))
    assert (first != stratified_weights(label, 10, 1)).any()


@pytest.mark.parametrize("same", [True, False])
def test_resamples_keep_the_number_of_rows(same: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every resample has as many rows as the data; runs with the same records move together."""
    monkeypatch.setattr(resampling, "BLOCK_VALUES", 300)
    blocks = list(resamples(3, 20, same, 17, 5))
    weights = np.concatenate(blocks)
    assert len(blocks) > 1
    assert weights.shape == (17, 3, 20)
    assert (weights.sum((1, 2)) == 60).all()
    assert bool((weights == weights[:, :1]).all()) is same
    if not same:
        assert (weights.sum(2) % 20 == 0).all()
        assert (weights.sum(2) == 0).any()
