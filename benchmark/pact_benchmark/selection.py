"""Cutoffs and the risk–coverage curves that they give on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TARGETS: Floats = np.round(np.arange(1, 61) / 100, 2)
OPERATING_TARGET = 0.13
SPAN_TOLERANCE = 1e-12


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
        return ratio(wrong, admitted)

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
                "wrong_admitted": ratio(wrong, admitted),
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


def _share(part: int, whole: int) -> float:
    """Return part / whole, 0 where the whole is 0."""
    return part / whole if whole else 0.0


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Return part / whole, 0 where the whole is 0."""
    return np.asarray(np.divide(part, whole, out=np.zeros(whole.shape), where=whole > 0))
