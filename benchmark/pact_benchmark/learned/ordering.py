"""Selective risk of an ordering: areas under risk-coverage curves with fractional ties.

At coverage c the best-scored share c of the records is kept; a group of equal scores is entered
evenly, so that its errors come in proportion. With r_j the error share of group j, which occupies
coverages [a_j, b_j], the risk is the sum of r_j ((c - a_j)+ - (c - b_j)+) / c. Every weighted mean
of it over coverages is therefore the sum of r_j (T(a_j) - T(b_j)) for one table T(x), the mean of
(c - x)+ / c: the grid of 36 points and the exact integral differ in their table only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.learned.evidence import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

SUPPORT = (0.10, 0.90)
GRID_POINTS = 36
FULL_POINTS = 101
BLOCK_VALUES = 2_000_000


def grid_table(records: int, low: float, high: float, points: int = GRID_POINTS) -> FloatArray:
    """Table T at coverages 0, 1/n, ..., 1 for the trapezoid over equally spaced coverages."""
    grid = np.linspace(low, high, points)
    share = np.full(points, 1.0 / (points - 1))
    share[[0, -1]] *= 0.5
    position = np.arange(records + 1)[:, None] / records
    return np.asarray(np.maximum(grid - position, 0.0) @ (share / grid))


def exact_table(records: int, low: float, high: float) -> FloatArray:
    """Table T at coverages 0, 1/n, ..., 1 for the exact mean over coverages [low, high]."""
    x = np.arange(records + 1) / records
    start = np.maximum(x, low)
    inside = np.where(x < high, (high - start) - x * np.log(high / start), 0.0)
    return np.asarray(inside / (high - low))


@dataclass(frozen=True, slots=True)
class Ordering:
    """Records sorted by descending score, and where groups of equal scores start and end.

    Attributes:
        order: Positions of the records, best first, shape [n].
        start: First sorted position of each group that holds an error, shape [groups].
        stop: One past the last sorted position of these groups, shape [groups].
        wrong: Whether each sorted record is wrong, shape [n].
        top_tie: Number of records that share the best score.
    """

    order: IntArray
    start: IntArray
    stop: IntArray
    wrong: BoolArray
    top_tie: int


def order_by(score: FloatArray, wrong: BoolArray) -> Ordering:
    """Sort records by descending score and find the groups of bitwise equal scores."""
    order = np.argsort(-score, kind="stable")
    ordered, errors = score[order], wrong[order]
    edge = np.flatnonzero(np.diff(ordered) != 0) + 1
    start = np.concatenate([[0], edge])
    stop = np.concatenate([edge, [len(score)]])
    holds = np.add.reduceat(errors.astype(np.int64), start) > 0
    return Ordering(order, start[holds], stop[holds], errors, int(stop[0]))


def area(ordering: Ordering, table: FloatArray) -> float:
    """Normalised area of the records themselves, for a table of `grid_table` or `exact_table`."""
    weights = np.ones((len(ordering.order), 1), dtype=np.int64)
    return float(area_draws(ordering, table, weights)[0])


def area_draws(ordering: Ordering, table: FloatArray, weights: NDArray[np.integer]) -> FloatArray:
    """Normalised areas of resamples, shape [draws].

    Args:
        ordering: The sorted records.
        table: Table T with n + 1 entries.
        weights: How often each record is drawn, integers, shape [n, draws]; columns sum to n.
    """
    block = max(1, BLOCK_VALUES // len(ordering.order))
    parts = [
        _area_block(ordering, table, weights[:, start : start + block])
        for start in range(0, weights.shape[1], block)
    ]
    return np.concatenate(parts)


def _area_block(ordering: Ordering, table: FloatArray, weights: NDArray[np.integer]) -> FloatArray:
    if len(ordering.start) == 0:
        return np.zeros(weights.shape[1])
    drawn = weights[ordering.order]
    reached = np.zeros((drawn.shape[0] + 1, drawn.shape[1]), dtype=np.int32)
    np.cumsum(drawn, axis=0, out=reached[1:])
    before, after = reached[ordering.start], reached[ordering.stop]
    gain = table[before] - table[after]
    tied = np.flatnonzero(ordering.stop - ordering.start > 1)
    for group in tied:
        inside = slice(ordering.start[group], ordering.stop[group])
        errors = (drawn[inside] * ordering.wrong[inside, None]).sum(axis=0)
        size = np.maximum(after[group] - before[group], 1)
        gain[group] *= errors / size
    return np.asarray(gain.sum(axis=0))


def risk_at(ordering: Ordering, coverage: float) -> float:
    """Risk at one coverage, ties entered evenly."""
    records = len(ordering.order)
    position = np.arange(records + 1) / records
    return area(ordering, np.maximum(coverage - position, 0.0) / coverage)


def full_support_area(
    score: FloatArray, wrong: BoolArray, repeats: NDArray[np.integer] | None = None
) -> float:
    """Area over [max(.01, 1/n), 1] of the full-support design.

    Scores are sorted in descending order with stable ties; the cumulative risk after each record is
    interpolated linearly at 101 coverages and integrated by the trapezoid.

    Args:
        score: Shape [n].
        wrong: Shape [n].
        repeats: How often each record is drawn; None = once.
    """
    order = np.argsort(-score, kind="stable")
    errors = wrong[order]
    if repeats is not None:
        errors = np.repeat(errors, repeats[order])
    return interpolated_area(errors)


def interpolated_area(errors: BoolArray) -> float:
    """The full-support area of errors that are sorted already, best-scored first."""
    count = np.arange(1, len(errors) + 1)
    low = max(0.01, 1.0 / len(errors))
    if low >= 1.0:
        return float(errors.mean())
    grid = np.linspace(low, 1.0, FULL_POINTS)
    risk = np.interp(grid, count / len(errors), np.cumsum(errors) / count)
    return float(np.trapezoid(risk, grid) / (1.0 - low))
