"""Score cutoffs that are fitted once and then held while something else changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.evaluation import Evaluation
from pact_benchmark.selection import OPERATING_TARGET, Ranking, target_counts, threshold

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def fold_cutoffs(
    evaluation: Evaluation,
    rankings: Sequence[Ranking],
    target: float = OPERATING_TARGET,
    rows: Bools | None = None,
) -> Floats:
    """Return the cutoff of each outer fold, fitted on the rows of the other folds [F].

    Args:
        evaluation: the rules on a benchmark.
        rankings: the rule's order of all rows, one per outer fold.
        target: target coverage.
        rows: rows of a stratum, the others being left out of the fit [n]; `None` takes all.
    """
    fold = evaluation.benchmark.fold
    limits = []
    for index, ranking in enumerate(rankings):
        train = fold != index if rows is None else (fold != index) & rows
        count = int(target_counts(target, int(np.count_nonzero(train)))[0])
        limits.append(threshold(ranking.score, ranking.available & train, count))
    return np.array(limits)


def above_cutoff(evaluation: Evaluation, score: Floats, cutoffs: Floats) -> Bools:
    """Return whether each row's score reaches the cutoff of its own fold [n]."""
    return np.asarray(score >= cutoffs[evaluation.benchmark.fold])
