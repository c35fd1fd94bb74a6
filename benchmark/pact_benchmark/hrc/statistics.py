"""Statistics of the offline study: selective risk, stratified bootstraps, permutations, AUROC."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

COVERAGE_LOW, COVERAGE_HIGH, COVERAGE_POINTS = 0.10, 0.90, 36
DRAWS = 2_000
PERMUTATIONS = 10_000
_CHUNK = 500


def target_coverages() -> Floats:
    """Return the 36 target coverages from 0.10 to 0.90, rounded to twelve digits."""
    return np.round(np.linspace(COVERAGE_LOW, COVERAGE_HIGH, COVERAGE_POINTS), 12)


def _area(risk: Floats) -> Floats:
    """Integrate risk over the common support (trapezoids) and divide by its width."""
    grid = target_coverages()
    width = np.diff(grid)
    inside = 0.5 * (risk[..., 1:] + risk[..., :-1]) * width
    return np.asarray(inside.sum(axis=-1) / (grid[-1] - grid[0]))


def ncsaurc(score: Floats, error: Floats) -> float:
    """Return the area under the risk–coverage curve on [0.10, 0.90], divided by its width.

    Higher scores are kept first. A group of tied scores at a coverage boundary counts by the
    fraction that is needed, with its mean error. Lower is better; NaN without rows.
    """
    unit = np.zeros(len(score), dtype=np.int64)
    return float(ncsaurc_draws(score, error, unit, np.ones((1, 1)))[0])


def ncsaurc_draws(score: Floats, error: Floats, unit: Ints, counts: Floats) -> Floats:
    """Return `ncsaurc` for every resample.

    Args:
        score, error: One value per row, shape [n].
        unit: Index of the resampled unit of each row, shape [n].
        counts: How often each unit is drawn, shape [draws, units].
    """
    if not len(score):
        return np.full(len(counts), np.nan)
    order = np.argsort(-score, kind="stable")
    sorted_score = score[order]
    start = np.flatnonzero(np.r_[True, sorted_score[1:] != sorted_score[:-1]])
    grid = target_coverages()
    risk = np.empty((len(counts), len(grid)))
    for first in range(0, len(counts), _CHUNK):
        weight = counts[first : first + _CHUNK][:, unit[order]]
        mass = _running(weight, start)
        wrong = _running(weight * error[order], start)
        kept = grid * mass[:, -1:]
        risk[first : first + len(weight)] = _interpolate(kept, mass, wrong) / kept
    return _area(risk)


def _running(weight: Floats, start: npt.NDArray[np.intp]) -> Floats:
    """Return running totals over groups of columns, from zero, shape [draws, groups + 1]."""
    total = np.cumsum(np.add.reduceat(weight, start, axis=1), axis=1)
    return np.pad(total, ((0, 0), (1, 0)))


def _interpolate(x: Floats, known_x: Floats, known_y: Floats) -> Floats:
    """Interpolate linearly row by row.

    Args:
        x: Shape [rows, points], inside the range of its row.
        known_x: Non-decreasing in each row, from 0, shape [rows, knots].
        known_y: Shape [rows, knots].
    """
    rows, knots = known_x.shape
    # One sorted array for all rows: each row is lifted above the one before it.
    lift = np.arange(rows)[:, None] * (known_x.max() + 1.0)
    at = np.searchsorted((known_x + lift).ravel(), (x + lift).ravel(), side="right") - 1
    column = np.clip(at.reshape(x.shape) - np.arange(rows)[:, None] * knots, 0, knots - 2)
    left_x, right_x = (np.take_along_axis(known_x, column + k, axis=1) for k in (0, 1))
    left_y, right_y = (np.take_along_axis(known_y, column + k, axis=1) for k in (0, 1))
    width = right_x - left_x
    share = np.divide(x - left_x, width, out=np.zeros_like(x), where=width > 0)
    return np.asarray(left_y + np.clip(share, 0.0, 1.0) * (right_y - left_y))


@dataclass(frozen=True, slots=True)
class Strata:
    """Episodes within tasks, the units of resampling.

    Attributes:
        tasks: Task keys in name order.
        episodes: For every task its episode keys in name order.
    """

    tasks: tuple[str, ...]
    episodes: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Strata:
        """Return the strata of a frame with columns task and episode."""
        grouped = frame.groupby("task")["episode"].unique()
        tasks = tuple(sorted(str(task) for task in grouped.index))
        return cls(tasks, {task: tuple(sorted(grouped[task])) for task in tasks})

    def unit(self, task: str, episodes: pd.Series) -> Ints:
        """Return the index of each episode within its task."""
        index = {episode: i for i, episode in enumerate(self.episodes[task])}
        return np.array([index[episode] for episode in episodes], dtype=np.int64)

    def counts(self, seed: int, draws: int = DRAWS) -> dict[str, Floats]:
        """Draw episodes within each task with replacement, draw by draw and task by task.

        Returns:
            For every task how often each episode was drawn, shape [draws, episodes].
        """
        rng = np.random.default_rng(seed)
        sizes = [len(self.episodes[task]) for task in self.tasks]
        index = [np.empty((draws, size), dtype=np.int64) for size in sizes]
        for draw in range(draws):
            for row, size in zip(index, sizes, strict=True):
                row[draw] = rng.integers(0, size, size)
        return {
            task: _tally(row, size)
            for task, row, size in zip(self.tasks, index, sizes, strict=True)
        }

    def counts_standard_library(self, seed: int, draws: int) -> dict[str, Floats]:
        """Draw as the release does: `random.Random(seed).choice`, draw by draw, task by task."""
        rng = random.Random(seed)
        sizes = [len(self.episodes[task]) for task in self.tasks]
        index = [np.empty((draws, size), dtype=np.int64) for size in sizes]
        ranges = [range(size) for size in sizes]
        for draw in range(draws):
            for row, options in zip(index, ranges, strict=True):
                row[draw] = [rng.choice(options) for _ in options]
        return {
            task: _tally(row, size)
            for task, row, size in zip(self.tasks, index, sizes, strict=True)
        }


def _tally(chosen: Ints, size: int) -> Floats:
    draws = len(chosen)
    flat = chosen + size * np.arange(draws)[:, None]
    return np.bincount(flat.ravel(), minlength=draws * size).reshape(draws, size).astype(float)


def percentile_interval(values: Floats) -> tuple[float, float]:
    """Return the 95 % percentile interval."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def order_interval(values: Floats) -> tuple[float, float]:
    """Return the order statistics int(0.025 n) and int(0.975 n), as the release does."""
    ranked, size = np.sort(values), len(values)
    return float(ranked[int(0.025 * size)]), float(ranked[int(0.975 * size)])


def task_mean_draws(
    frame: pd.DataFrame, value: Floats, strata: Strata, counts: Mapping[str, Floats]
) -> Floats:
    """Return, per resample, the equal mean over tasks of the weighted mean of `value`.

    Args:
        frame: Rows with columns task and episode.
        value: One number per row, shape [n].
        strata: The episodes of each task.
        counts: Draw counts per task, shape [draws, episodes] each.
    """
    parts = []
    tasks = frame["task"].to_numpy()
    for task in strata.tasks:
        rows = tasks == task
        unit = strata.unit(task, frame.loc[rows, "episode"])
        size = len(strata.episodes[task])
        summed = np.bincount(unit, value[rows], size)
        number = np.bincount(unit, minlength=size)
        parts.append((counts[task] @ summed) / (counts[task] @ number))
    return np.asarray(np.sum(parts, axis=0) / len(strata.tasks), dtype=np.float64)


def task_mean(frame: pd.DataFrame, value: Floats) -> float:
    """Return the equal mean over tasks of the mean of `value` within each task."""
    return float(pd.Series(value).groupby(frame["task"].to_numpy()).mean().mean())


def by_task(frame: pd.DataFrame, measure: Callable[[Flags], float]) -> dict[str, float]:
    """Return `measure(rows of the task)` for every task in name order."""
    tasks = frame["task"].to_numpy()
    return {str(task): measure(tasks == task) for task in sorted(set(tasks))}


def auroc_matrix(score: Floats, positive: Flags, unit: Ints, units: int) -> Floats:
    """Return A[e, f]: wins (ties count one half) of positives of unit e over negatives of f."""
    up, down = score[positive], score[~positive]
    wins = (up[:, None] > down[None, :]) + 0.5 * (up[:, None] == down[None, :])
    left = np.zeros((units, wins.shape[1]))
    np.add.at(left, unit[positive], wins)
    matrix = np.zeros((units, units))
    np.add.at(matrix.T, unit[~positive], left.T)
    return matrix


def auroc_draws(score: Floats, positive: Flags, unit: Ints, counts: Floats) -> Floats:
    """Return the area under the ROC curve for every resample, shape [draws]."""
    units = counts.shape[1]
    matrix = auroc_matrix(score, positive, unit, units)
    up = counts @ np.bincount(unit[positive], minlength=units)
    down = counts @ np.bincount(unit[~positive], minlength=units)
    wins = np.einsum("de,de->d", counts @ matrix, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((up > 0) & (down > 0), wins / (up * down), np.nan)


def auroc(score: Floats, positive: Flags) -> float:
    """Return the area under the ROC curve; ties count one half; NaN when a class is empty."""
    unit = np.zeros(len(score), dtype=np.int64)
    return float(auroc_draws(score, positive, unit, np.ones((1, 1)))[0])


def equal_count_ece(confidence: Floats, correct: Flags, bins: int = 10) -> float:
    """Return the expected calibration error over `bins` bins of equal count (stable sort)."""
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    gaps = [abs(confidence[p].mean() - correct[p].mean()) * len(p) for p in parts]
    return float(sum(gaps) / max(len(order), 1))


def quantile_ece(confidence: Floats, correct: Flags, bins: int = 10) -> float:
    """Return the expected calibration error over bins between unique quantiles, the last closed."""
    edges = np.unique(np.quantile(confidence, np.linspace(0, 1, bins + 1)))
    at = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, max(len(edges) - 2, 0))
    number = np.bincount(at)
    gap = np.abs(np.bincount(at, confidence) - np.bincount(at, correct.astype(float)))
    return float(gap.sum() / number.sum())


def derangements(size: int, draws: int, rng: np.random.Generator) -> Ints:
    """Draw permutations without fixed points uniformly, shape [draws, size]; size is at least 2."""
    if size < 2:
        raise ValueError("a block of one has no permutation without a fixed point")
    result = np.empty((draws, size), dtype=np.int64)
    open_rows = np.arange(draws)
    here = np.arange(size)
    while len(open_rows):
        tried = np.argsort(rng.random((len(open_rows), size)), axis=1)
        good = (tried != here).all(axis=1)
        result[open_rows[good]] = tried[good]
        open_rows = open_rows[~good]
    return result


def plus_one_p(null: Floats, observed: float) -> float:
    """Return the one-sided upper-tail p-value with the plus-one correction."""
    return float((1 + np.count_nonzero(null >= observed - 1e-12)) / (1 + len(null)))


def calibration_intercept(
    score: Floats, positive: Flags, cluster: Ints, steps: int = 50
) -> tuple[float, float]:
    """Return the intercept a of P(positive) = σ(a + logit score) and its clustered error.

    Args:
        score: In [0, 1], shape [n].
        positive: Shape [n].
        cluster: Index of the cluster (episode) of each row, shape [n].
        steps: Newton steps at most.
    """
    p = np.clip(score, 1e-12, 1.0 - 1e-12)
    offset = np.log(p) - np.log1p(-p)
    a = 0.0
    for _ in range(steps):
        fitted = 1.0 / (1.0 + np.exp(-(offset + a)))
        slope = max(float((fitted * (1.0 - fitted)).sum()), 1e-12)
        move = float((positive - fitted).sum()) / slope
        a += float(np.clip(move, -2.0, 2.0))
        if abs(move) < 1e-10:
            break
    fitted = 1.0 / (1.0 + np.exp(-(offset + a)))
    slope = max(float((fitted * (1.0 - fitted)).sum()), 1e-12)
    residual = np.bincount(cluster, positive - fitted)
    return a, float(np.sqrt((residual**2).sum()) / slope)
