"""Figures of a risk–coverage curve: areas under it, risk at a coverage, coverage at a risk.

Every function is vectorised over target coverages and over resamples: a curve is a table of counts
per scene and target, so that resampling scenes is one matrix product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.errors import PactError
from pact_benchmark.selection import SPAN_TOLERANCE, Curve, ratio

Floats = NDArray[np.float64]

SUPPORT = (0.10, 0.39)
NARROW_SUPPORT = (0.10, 0.35)
GRID_POINTS = 36
STRATA_GRID_POINTS = 30
_CURVES_AT_ONCE = 128


class SupportError(PactError):
    """A curve does not reach the coverage interval over which its area was asked for."""


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
    coverage = ratio(admitted, np.broadcast_to(n[:, None], admitted.shape))
    return np.asarray(np.where(ratio(wrong, admitted) <= risk, coverage, 0.0).max(axis=1))


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
    return _along(n, admitted, _average_ties(admitted, ratio(wrong, admitted)), grid)


def _generalised(
    n: NDArray[Any], admitted: NDArray[Any], wrong: NDArray[Any], grid: Floats
) -> Floats:
    """Return the share of all rows that is retained and wrong at coverages [B, P]."""
    return _along(n, admitted, ratio(wrong, np.broadcast_to(n[:, None], wrong.shape)), grid)


def _along(n: NDArray[Any], admitted: NDArray[Any], risk: Floats, grid: Floats) -> Floats:
    """Return each curve's risk [B, T] at the grid [B, P]; NaN at coverages that it misses."""
    coverage = ratio(admitted, np.broadcast_to(n[:, None], admitted.shape))
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
    share = ratio(np.minimum(grid, stop) - start, stop - start)
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
