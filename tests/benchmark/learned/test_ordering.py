"""Areas under risk-coverage curves against direct computation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from pact_benchmark.learned import ordering
from pact_benchmark.learned.ordering import (
    area,
    area_draws,
    exact_table,
    full_support_area,
    grid_table,
    order_by,
    risk_at,
)

RECORDS = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=30)


def direct_risk(score: np.ndarray, wrong: np.ndarray, coverage: float) -> float:
    """Risk at a coverage by entering groups of ties evenly, step by step."""
    left, errors = coverage * len(score), 0.0
    for value in sorted(set(score), reverse=True):
        inside = score == value
        taken = min(left, inside.sum())
        errors += taken * wrong[inside].mean()
        left -= taken
    return errors / (coverage * len(score))


@given(RECORDS)
def test_grid_area_is_the_trapezoid_of_the_risks(rows: list[tuple[int, bool]]) -> None:
    """The table form equals the trapezoid over 36 risks computed one by one."""
    score = np.array([float(s) for s, _ in rows])
    wrong = np.array([w for _, w in rows])
    grid = np.linspace(0.1, 0.9, 36)
    expected = np.trapezoid([direct_risk(score, wrong, c) for c in grid], grid) / 0.8
    found = area(order_by(score, wrong), grid_table(len(score), 0.1, 0.9))
    assert found == pytest.approx(expected, abs=1e-12)


def test_exact_area_is_the_integral() -> None:
    """The closed form equals numerical integration of the fractional-tie risk."""
    rng = np.random.default_rng(3)
    score, wrong = rng.integers(0, 6, 23).astype(float), rng.random(23) < 0.3
    edges = np.unique(np.concatenate([np.arange(24) / 23, [0.1, 0.9]]))
    edges = edges[(edges >= 0.1) & (edges <= 0.9)]
    pieces = [
        quad(lambda c: direct_risk(score, wrong, c), a, b)[0] for a, b in itertools.pairwise(edges)
    ]
    found = area(order_by(score, wrong), exact_table(23, 0.1, 0.9))
    assert found == pytest.approx(sum(pieces) / 0.8, abs=1e-9)


@given(RECORDS, st.integers(0, 2**32 - 1))
def test_weights_are_repeated_records(rows: list[tuple[int, bool]], seed: int) -> None:
    """A resample by weights has the area of the records written out as often as they are drawn."""
    score = np.array([float(s) for s, _ in rows])
    wrong = np.array([w for _, w in rows])
    n = len(score)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=3).T
    table = exact_table(n, 0.1, 0.9)
    found = area_draws(order_by(score, wrong), table, weights)
    for draw in range(3):
        again = np.repeat(np.arange(n), weights[:, draw])
        expected = area(order_by(score[again], wrong[again]), table)
        assert found[draw] == pytest.approx(expected, abs=1e-12)


def test_blocks_of_draws_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resamples computed in small blocks equal those computed at once."""
    rng = np.random.default_rng(0)
    sorted_records = order_by(rng.random(50), rng.random(50) < 0.2)
    weights = rng.multinomial(50, np.full(50, 0.02), size=40).T
    table = exact_table(50, 0.1, 0.9)
    whole = area_draws(sorted_records, table, weights)
    monkeypatch.setattr(ordering, "BLOCK_VALUES", 150)
    np.testing.assert_array_equal(area_draws(sorted_records, table, weights), whole)


def test_perfect_and_worst_ordering() -> None:
    """Errors at the end cost least, errors at the front most, all wrong costs one."""
    wrong = np.arange(20) >= 18
    score = -np.arange(20.0)
    table = grid_table(20, 0.1, 0.9)
    best, worst = area(order_by(score, wrong), table), area(order_by(-score, wrong), table)
    assert best == 0.0 < worst
    everything = area(order_by(score, np.ones(20, dtype=bool)), table)
    assert everything == pytest.approx(1.0, abs=1e-12)
    assert risk_at(order_by(-score, wrong), 0.1) == pytest.approx(1.0)


def test_full_support_area_by_definition() -> None:
    """Stable descending sort, cumulative risk at 101 interpolated points, trapezoid."""
    rng = np.random.default_rng(5)
    score, wrong = rng.integers(0, 9, 300).astype(float), rng.random(300) < 0.4
    order = sorted(range(300), key=lambda i: -score[i])
    risk = [np.mean(wrong[order[: k + 1]]) for k in range(300)]
    grid = np.linspace(0.01, 1.0, 101)
    at = np.interp(grid, np.arange(1, 301) / 300, risk)
    expected = np.trapezoid(at, grid) / 0.99
    assert full_support_area(score, wrong) == pytest.approx(expected, rel=1e-12)


def test_single_record() -> None:
    """One record has its own error as area instead of a division by zero."""
    assert full_support_area(np.array([0.3]), np.array([True])) == 1.0
