"""Cutoffs, risk–coverage curves and the area under them.

Every function is vectorised over target coverages and over scenes: a curve is a table of counts
per scene and target, so that resampling scenes is one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.errors import PactError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TARGETS: Floats = np.round(np.arange(1, 61) / 100, 2)
OPERATING_TARGET = 0.13
SUPPORT = (0.10, 0.39)
NARROW_SUPPORT = (0.10, 0.35)
GRID_POINTS = 36
STRATA_GRID_POINTS = 30
SPAN_TOLERANCE = 1e-12
_CURVES_AT_ONCE = 128


class SupportError(PactError):
    """A curve does not reach the coverage interval over which its area was asked for."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """How one rule orders the rows: scores, which rows may be retained, which are right.

    Attributes:
        score: selection score [n], larger is retained first.
        available: rows that are eligible at this stage [n].
        correct: rows whose contract is the reference contract [n].
    """

    score: Floats
    available: Bools
    correct: Bools


def target_counts(targets: float | Floats, n: int) -> Ints:
    """Return how many of `n` training rows each target coverage asks for (half to even)."""
    return np.asarray(np.rint(np.atleast_1d(targets) * n), dtype=np.int64)


def cutoffs(scores: Floats, counts: Ints) -> Floats:
    """Return the `counts`-th largest of `scores`, for each count.

    A count beyond the number of scores is capped at it; a count of zero, or no score at all,
    gives `+inf`, which retains nothing.
    """
    ascending = np.sort(scores)
    rank = np.minimum(counts, ascending.size)
    taken = np.full(rank.shape, np.inf)
    some = rank >= 1
    taken[some] = ascending[ascending.size - rank[some]]
    return taken


def threshold(scores: Floats, available: Bools, count: int) -> float:
    """Return the cutoff that retains `count` of the available rows; ties at it are retained."""
    return float(cutoffs(scores[available], np.array([count]))[0])


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Counts at one target coverage, and the rates that follow from them."""

    n: int
    admitted: int
    wrong: int

    @property
    def correct(self) -> int:
        """Retained decisions that are right."""
        return self.admitted - self.wrong

    @property
    def coverage(self) -> float:
        """Retained share of all rows."""
        return _share(self.admitted, self.n)

    @property
    def wrong_all(self) -> float:
        """Retained errors as a share of all rows (R_all)."""
        return _share(self.wrong, self.n)

    @property
    def correct_all(self) -> float:
        """Correct retained decisions as a share of all rows (C_all)."""
        return _share(self.correct, self.n)

    @property
    def risk(self) -> float | None:
        """Retained errors as a share of the retained rows (R_cond); none without any."""
        return self.wrong / self.admitted if self.admitted else None


@dataclass(frozen=True, slots=True)
class Curve:
    """Held-out counts of one rule along the target coverages, scene by scene.

    Attributes:
        targets: increasing target coverages [T].
        n: rows of each scene, eligible or not [S].
        admitted: rows retained, per scene and target [S, T].
        wrong: of those, the rows whose contract is wrong [S, T].
    """

    targets: Floats
    n: Ints
    admitted: Ints
    wrong: Ints

    def totals(self) -> tuple[int, Ints, Ints]:
        """Return the sums over scenes: rows, retained [T], wrong [T]."""
        return int(self.n.sum()), self.admitted.sum(axis=0), self.wrong.sum(axis=0)

    @property
    def coverage(self) -> Floats:
        """Retained share of all rows at each target [T]."""
        n, admitted, _ = self.totals()
        return admitted / max(n, 1)

    @property
    def risk(self) -> Floats:
        """Conditional risk at each target [T]; 0 where nothing is retained."""
        _, admitted, wrong = self.totals()
        return _ratio(wrong, admitted)

    def index(self, target: float) -> int:
        """Return the position of a target coverage."""
        position = int(np.argmin(np.abs(self.targets - target)))
        if abs(self.targets[position] - target) > SPAN_TOLERANCE:
            raise KeyError(f"target coverage {target} is not on this curve")
        return position

    def at(self, target: float) -> OperatingPoint:
        """Return the pooled counts at one target coverage."""
        n, admitted, wrong = self.totals()
        position = self.index(target)
        return OperatingPoint(n, int(admitted[position]), int(wrong[position]))

    def scene(self, index: int) -> Curve:
        """Return the curve of one scene."""
        part = slice(index, index + 1)
        return Curve(self.targets, self.n[part], self.admitted[part], self.wrong[part])

    def frame(self) -> pd.DataFrame:
        """Return one row per target: counts, coverage and risks."""
        n, admitted, wrong = self.totals()
        return pd.DataFrame(
            {
                "target": self.targets,
                "n": n,
                "admitted": admitted,
                "wrong": wrong,
                "correct": admitted - wrong,
                "coverage": admitted / max(n, 1),
                "wrong_all": wrong / max(n, 1),
                "correct_all": (admitted - wrong) / max(n, 1),
                "wrong_admitted": _ratio(wrong, admitted),
            }
        )


def risk_coverage(
    rankings: Ranking | Sequence[Ranking],
    fold: Ints,
    scene: Ints,
    *,
    scenes: int | None = None,
    targets: Floats = TARGETS,
    rows: Bools | None = None,
) -> Curve:
    """Return the held-out curve of one rule over grouped folds.

    For each fold the cutoffs come from the rows of the other folds and are applied unchanged
    to the rows of the fold; counts are summed over folds at each target.

    Args:
        rankings: the rule's ordering [n], or one per fold when it depends on what the fold
            selected (the ordering then covers all rows, for training and test alike).
        fold: fold of each row, 0 … F−1 [n].
        scene: scene of each row, 0 … S−1 [n].
        scenes: number of scenes S; taken from `scene` when omitted.
        targets: increasing target coverages [T].
        rows: rows of the stratum; others are left out of training, test and denominator [n].
    """
    count = int(scene.max()) + 1 if scenes is None else scenes
    folds = int(fold.max()) + 1
    per_fold = [rankings] * folds if isinstance(rankings, Ranking) else list(rankings)
    width = targets.size + 1
    admitted = np.zeros((count, width), dtype=np.int64)
    right = np.zeros((count, width), dtype=np.int64)
    for index, ranking in enumerate(per_fold):
        inside = fold == index
        train = ~inside if rows is None else ~inside & rows
        test = inside & ranking.available if rows is None else inside & rows & ranking.available
        limits = cutoffs(
            ranking.score[train & ranking.available],
            target_counts(targets, int(np.count_nonzero(train))),
        )
        tested = np.flatnonzero(test)
        first = np.searchsorted(-limits, -ranking.score[tested], side="left")
        cell = scene[tested] * width + first
        admitted += np.bincount(cell, minlength=count * width).reshape(count, width)
        hits = cell[ranking.correct[tested]]
        right += np.bincount(hits, minlength=count * width).reshape(count, width)
    kept = np.cumsum(admitted[:, :-1], axis=1)
    kept_right = np.cumsum(right[:, :-1], axis=1)
    n = np.bincount(scene if rows is None else scene[rows], minlength=count)
    return Curve(targets, n.astype(np.int64), kept, kept - kept_right)


def ncsaurc(
    curve: Curve,
    low: float = SUPPORT[0],
    high: float = SUPPORT[1],
    points: int = GRID_POINTS,
) -> float:
    """Return the conditional risk averaged over the coverage interval [low, high].

    Risks at points of identical coverage are averaged; the curve is interpolated linearly at
    `points` equally spaced coverages and integrated by the trapezoidal rule.

    Raises:
        SupportError: if the curve starts above `low` or ends below `high`.
    """
    n, admitted, wrong = curve.totals()
    area = float(_areas(np.array([n]), admitted[None], wrong[None], low, high, points)[0])
    return _spanning(area, curve, low, high)


def ncsaurc_draws(
    curve: Curve,
    weights: Floats,
    low: float = SUPPORT[0],
    high: float = SUPPORT[1],
    points: int = GRID_POINTS,
) -> Floats:
    """Return the area in each resample of scenes [B]; NaN where the curve does not span.

    Args:
        curve: counts per scene.
        weights: how often each scene was drawn [B, S].
        low: lower end of the coverage interval.
        high: upper end of the coverage interval.
        points: equally spaced coverages of the grid.
    """
    return _areas(*_resampled(curve, weights), low, high, points)


def generalised_risk_area(
    curve: Curve, low: float = SUPPORT[0], high: float = SUPPORT[1], points: int = GRID_POINTS
) -> float:
    """Return the share of all rows that is retained and wrong, averaged over [low, high].

    Raises:
        SupportError: if the curve starts above `low` or ends below `high`.
    """
    n, admitted, wrong = curve.totals()
    grid = np.linspace(low, high, points)
    heights = _generalised(np.array([n]), admitted[None], wrong[None], grid)
    return _spanning(float(_average(heights, grid)[0]), curve, low, high)


def generalised_risk_area_draws(
    curve: Curve,
    weights: Floats,
    low: float = SUPPORT[0],
    high: float = SUPPORT[1],
    points: int = GRID_POINTS,
) -> Floats:
    """Return the generalised area in each resample of scenes [B] (see `ncsaurc_draws`)."""
    grid = np.linspace(low, high, points)
    return _average(_generalised(*_resampled(curve, weights), grid), grid)


def risk_at_coverage(curve: Curve, coverage: float) -> float | None:
    """Return the conditional risk at a coverage, interpolated; none outside the curve."""
    n, admitted, wrong = curve.totals()
    grid = np.array([coverage])
    risk = float(_conditional(np.array([n]), admitted[None], wrong[None], grid)[0, 0])
    return None if np.isnan(risk) else risk


def risk_at_coverage_draws(curve: Curve, weights: Floats, coverage: float) -> Floats:
    """Return the conditional risk at a coverage in each resample [B]; NaN outside the curve."""
    return _conditional(*_resampled(curve, weights), np.array([coverage]))[:, 0]


def coverage_at_risk(curve: Curve, risk: float) -> float:
    """Return the largest achieved coverage whose conditional risk is at most `risk` (else 0)."""
    return float(coverage_at_risk_draws(curve, np.ones((1, curve.n.size)), risk)[0])


def coverage_at_risk_draws(curve: Curve, weights: Floats, risk: float) -> Floats:
    """Return the coverage at a risk in each resample of scenes [B]."""
    n, admitted, wrong = _resampled(curve, weights)
    coverage = _ratio(admitted, np.broadcast_to(n[:, None], admitted.shape))
    return np.asarray(np.where(_ratio(wrong, admitted) <= risk, coverage, 0.0).max(axis=1))


def _share(part: int, whole: int) -> float:
    """Return part / whole, 0 where the whole is 0."""
    return part / whole if whole else 0.0


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Return part / whole, 0 where the whole is 0."""
    return np.asarray(np.divide(part, whole, out=np.zeros(whole.shape), where=whole > 0))


def _areas(
    n: NDArray[Any],
    admitted: NDArray[Any],
    wrong: NDArray[Any],
    low: float,
    high: float,
    points: int,
) -> Floats:
    """Return the normalised area of each of B curves [B]; NaN where it does not span.

    `n` is [B]; `admitted` and `wrong` are [B, T], non-decreasing along T.
    """
    grid = np.linspace(low, high, points)
    return _average(_conditional(n, admitted, wrong, grid), grid)


def _average(heights: Floats, grid: Floats) -> Floats:
    """Return the mean of each of B curves over the grid by the trapezoidal rule [B]."""
    return np.asarray(np.trapezoid(heights, grid, axis=1) / (grid[-1] - grid[0]))


def _spanning(area: float, curve: Curve, low: float, high: float) -> float:
    """Return an area that is defined; raise the reason for one that is not."""
    if not curve.n.any():
        raise SupportError("there is no row to draw a risk–coverage curve over")
    if np.isnan(area):
        coverage = curve.coverage
        raise SupportError(
            f"the risk–coverage curve spans coverage {coverage[0]:.4f} to {coverage[-1]:.4f}, "
            f"which does not contain [{low}, {high}]"
        )
    return area


def _resampled(curve: Curve, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rows [B], retained and wrong [B, T] in each resample of scenes."""
    return weights @ curve.n, weights @ curve.admitted, weights @ curve.wrong


def _conditional(
    n: NDArray[Any], admitted: NDArray[Any], wrong: NDArray[Any], grid: Floats
) -> Floats:
    """Return the share of retained rows that is wrong at coverages of each curve [B, P]."""
    return _along(n, admitted, _average_ties(admitted, _ratio(wrong, admitted)), grid)


def _generalised(
    n: NDArray[Any], admitted: NDArray[Any], wrong: NDArray[Any], grid: Floats
) -> Floats:
    """Return the share of all rows that is retained and wrong at coverages [B, P]."""
    return _along(n, admitted, _ratio(wrong, np.broadcast_to(n[:, None], wrong.shape)), grid)


def _along(n: NDArray[Any], admitted: NDArray[Any], risk: Floats, grid: Floats) -> Floats:
    """Return each curve's risk [B, T] at the grid [B, P]; NaN at coverages that it misses."""
    coverage = _ratio(admitted, np.broadcast_to(n[:, None], admitted.shape))
    heights = np.empty((n.size, grid.size))
    for start in range(0, n.size, _CURVES_AT_ONCE):
        part = slice(start, start + _CURVES_AT_ONCE)
        heights[part] = _interpolate(coverage[part], risk[part], grid)
    reached = (coverage[:, :1] <= grid + SPAN_TOLERANCE) & (
        coverage[:, -1:] >= grid - SPAN_TOLERANCE
    )
    return np.where(reached, heights, np.nan)


def _interpolate(coverage: Floats, risk: Floats, grid: Floats) -> Floats:
    """Return each curve's risk at the grid [B, P]; `coverage` and `risk` are [B, T]."""
    passed = np.count_nonzero(coverage[:, :, None] <= grid, axis=1)
    right = np.clip(passed, 1, coverage.shape[1] - 1)
    start = np.take_along_axis(coverage, right - 1, axis=1)
    stop = np.take_along_axis(coverage, right, axis=1)
    share = _ratio(np.minimum(grid, stop) - start, stop - start)
    left = np.take_along_axis(risk, right - 1, axis=1)
    return np.asarray(left + share * (np.take_along_axis(risk, right, axis=1) - left))


def _average_ties(position: NDArray[Any], value: Floats) -> Floats:
    """Average `value` over runs of equal `position` in each row; both are [B, T]."""
    fresh = np.ones(position.shape, dtype=bool)
    fresh[:, 1:] = position[:, 1:] != position[:, :-1]
    if fresh.all():
        return value
    run = np.cumsum(fresh, axis=None) - 1
    mean = np.bincount(run, weights=value.ravel()) / np.bincount(run)
    return np.asarray(mean[run].reshape(value.shape), dtype=np.float64)
