"""The lattice of partitions: counts, monotone budgets, agreement with direct fusion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_benchmark.errors import UsageError
from pact_benchmark.learned import arms
from pact_benchmark.learned.analysis import lattice_steps
from pact_benchmark.learned.lattice import (
    partition_name,
    partitions,
    single_merges,
    study_lattice,
)
from pact_benchmark.learned.ordering import area, exact_table, order_by
from pact_core import is_coarsening
from tests.benchmark.learned.conftest import make_evidence

BELL = {1: 1, 2: 2, 3: 5, 4: 15, 5: 52, 6: 203, 7: 877, 8: 4140}


@pytest.mark.parametrize(("views", "count"), BELL.items())
def test_number_of_partitions(views: int, count: int) -> None:
    """The partitions of V views are as many as the Bell number, without repeats and in order."""
    found = partitions(views)
    assert len(found) == len(set(found)) == count
    assert found == sorted(found)


def test_single_merges_of_six_views() -> None:
    """Six views have 856 single merges; each joins exactly two components of the finer one."""
    every = partitions(6)
    merges = single_merges(every)
    assert len(merges) == 856
    assert len({tuple(pair) for pair in merges.tolist()}) == 856
    for fine, coarse in merges:
        assert max(every[fine]) == max(every[coarse]) + 1
        assert is_coarsening(every[coarse], every[fine])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(2, 5))
def test_every_merge_is_budget_monotone(seed: int, views: int, classes: int) -> None:
    """No single merge raises any record's budget, whatever the evidences."""
    data = make_evidence(runs=1, records=12, views=views, classes=classes, seed=seed)
    surface = study_lattice(data, title="t", draws=3, seed=0)
    assert surface.monotone.all()
    fine, coarse = surface.merges.T
    assert (surface.budget[coarse] <= surface.budget[fine]).all()


def test_surface_equals_direct_fusion() -> None:
    """Budgets, accuracies and areas of all partitions equal those of fusing them one by one."""
    data = make_evidence(runs=2, records=30, views=4, classes=3)
    surface = study_lattice(data, title="t", draws=5, seed=1)
    table = exact_table(30, 0.1, 0.9)
    for index, partition in enumerate(surface.partitions):
        outcome = arms.fuse_views(data.evidence, partition)
        assert surface.budget[index] == pytest.approx(outcome.budget.mean(), rel=1e-12)
        right = outcome.prediction == data.label
        assert surface.accuracy[index] == pytest.approx(right.mean())
        for score, values in enumerate((outcome.score, outcome.peak)):
            areas = [area(order_by(values[r], ~right[r]), table) for r in range(2)]
            assert surface.area[score, index] == pytest.approx(np.mean(areas), rel=1e-9)


def test_shares_add_up() -> None:
    """Lowering, keeping and raising merges are all of the merges, also in the table."""
    surface = study_lattice(make_evidence(views=4), title="t", draws=20, seed=1)
    for score in (0, 1):
        shares = [surface.share(score, direction) for direction in (-1, 0, 1)]
        assert sum(share.value for share in shares) == pytest.approx(100.0)
        assert all(0 <= share.low <= share.high <= 100 for share in shares)
    frame = surface.merge_frame()
    lower = (frame[frame.score == "selection"].direction == "lower").mean()
    assert 100 * lower == pytest.approx(surface.share(0, -1).value)
    assert surface.dispersion().partitions.tolist() == [1, 7, 6, 1]


def test_too_many_views_is_an_error() -> None:
    """More than eight views are refused with the reason."""
    data = make_evidence(runs=1, records=4, views=9)
    with pytest.raises(UsageError, match="at most 8"):
        study_lattice(data, title="t", draws=2, seed=0)
    assert lattice_steps(data) == 0
    assert lattice_steps(make_evidence(views=6)) == 2 * 203


def test_partition_in_words() -> None:
    """A partition is named by its views."""
    assert partition_name((0, 1, 0), ("a", "b", "c")) == "a+c | b"
