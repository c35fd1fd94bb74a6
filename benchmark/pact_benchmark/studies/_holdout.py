"""Joint holdout of scenes and one source condition: counts, support rule, resamples."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.data import Benchmark
from pact_benchmark.selection import SPAN_TOLERANCE, TARGETS, Curve, Ranking, cutoffs, target_counts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class HoldoutCounts:
    """Held-out counts of one rule by condition, scene and target coverage.

    Attributes:
        n: rows [C, S].
        admitted: rows retained [C, S, T].
        wrong: of those, the rows whose contract is wrong [C, S, T].
    """

    n: Ints
    admitted: Ints
    wrong: Ints

    def aggregate(self) -> Curve:
        """Return the curve over all held conditions."""
        return Curve(TARGETS, self.n.sum(axis=0), self.admitted.sum(axis=0), self.wrong.sum(axis=0))

    def condition(self, index: int) -> Curve:
        """Return the curve of one held condition."""
        return Curve(TARGETS, self.n[index], self.admitted[index], self.wrong[index])


def empty_counts(benchmark: Benchmark, rows: Bools | None = None) -> HoldoutCounts:
    """Return counts of zero with the numbers of rows (of all, or of those in `rows`) filled in."""
    conditions, scenes = len(benchmark.condition_names), benchmark.scenes
    cell = benchmark.condition * scenes + benchmark.scene
    if rows is not None:
        cell = cell[rows]
    n = np.bincount(cell, minlength=conditions * scenes).reshape(conditions, scenes)
    shape = (conditions, scenes, TARGETS.size)
    return HoldoutCounts(n, np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))


def count_retained(
    counts: HoldoutCounts,
    benchmark: Benchmark,
    condition: int,
    ranking: Ranking,
    fitting: Bools,
    test: Bools,
) -> None:
    """Fit cutoffs on `fitting` rows and add what they retain of the `test` rows.

    Args:
        counts: where to add.
        benchmark: the rows.
        condition: the held condition, to which all test rows belong.
        ranking: scores, availability and correctness of all rows.
        fitting: rows on which the cutoffs are fitted [n].
        test: held-out rows [n].
    """
    limits = cutoffs(
        ranking.score[fitting & ranking.available],
        target_counts(TARGETS, int(np.count_nonzero(fitting))),
    )
    rows = np.flatnonzero(test & ranking.available)
    kept = ranking.score[rows][:, None] >= limits
    np.add.at(counts.admitted[condition], benchmark.scene[rows], kept)
    wrong = kept & ~ranking.correct[rows][:, None]
    np.add.at(counts.wrong[condition], benchmark.scene[rows], wrong)


def joint_counts(
    benchmark: Benchmark, rankings: Sequence[Ranking], test_rows: Bools | None = None
) -> HoldoutCounts:
    """Hold out every condition with every outer fold.

    Args:
        benchmark: the rows.
        rankings: the rule's order of all rows, one per outer fold.
        test_rows: rows to count [n]; `None` counts all.
    """
    counts = empty_counts(benchmark, test_rows)
    for outer, ranking in enumerate(rankings):
        inside = benchmark.fold == outer
        for condition in range(len(benchmark.condition_names)):
            held = benchmark.condition == condition
            test = inside & held if test_rows is None else inside & held & test_rows
            count_retained(counts, benchmark, condition, ranking, ~inside & ~held, test)
    return counts


def unsupported_scenes(curve: Curve, support: tuple[float, float]) -> int:
    """Return in how many scenes the scene's own curve does not span the support."""
    coverage = curve.admitted / np.maximum(curve.n, 1)[:, None]
    starts = coverage[:, 0] <= support[0] + SPAN_TOLERANCE
    ends = coverage[:, -1] >= support[1] - SPAN_TOLERANCE
    return int(np.count_nonzero(~(starts & ends)))


def listed_weights(seed: int, draws: int, scenes: int) -> Floats:
    """Return scene weights from Python's generator: `draws` lists of `scenes` indices."""
    source = random.Random(seed)
    drawn = np.array([[source.randrange(scenes) for _ in range(scenes)] for _ in range(draws)])
    weights = np.zeros((draws, scenes))
    if draws:
        np.add.at(weights, (np.arange(draws)[:, None], drawn), 1.0)
    return weights
