"""Choice of the evidence concentration inside each outer-training set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.selection import Ranking, cutoffs, target_counts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CONCENTRATIONS = (4.0, 8.0, 12.0, 16.0, 24.0)
SELECTION_TARGETS: Floats = np.array([0.10, 0.13, 0.15])
WRONG_COST = 5.0
WITHHELD_COST = 0.5
FIXED_CANDIDATES = (
    "quality_weighted",
    "product",
    "global_cautious",
    "pooling",
    "provenance_pooling",
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule that takes part in the choice.

    Attributes:
        rule: its name.
        kappa: its concentration, or `None` for a rule that has none.
        ranking: its order of all rows, available = natively eligible and admitted by the checks.
    """

    rule: str
    kappa: float | None
    ranking: Ranking


@dataclass(frozen=True, slots=True)
class ConcentrationChoice:
    """The concentration of each outer fold, and how every candidate fared.

    Attributes:
        kappa: chosen concentration of each outer fold [F].
        frame: one row per fold and candidate: cost, wrong and correct rates, place.
        winner: name of the best candidate of each fold, nested or not.
    """

    kappa: Floats
    frame: pd.DataFrame
    winner: tuple[str, ...]

    @property
    def passed_over(self) -> str | None:
        """Where a candidate without a concentration won, and the best one with it was taken."""
        others = [name for name in self.winner if "@" not in name]
        if not others:
            return None
        return (
            f"{', '.join(dict.fromkeys(others))} cost least in {len(others)} of "
            f"{len(self.winner)} folds; the concentration is the best nested variant's"
        )


def choose_concentrations(candidates: Sequence[Candidate], fold: Ints) -> ConcentrationChoice:
    """Choose each outer fold's concentration by inner folds of its training set.

    Each of the other folds validates in turn while the cutoffs come from the remaining ones;
    counts are pooled over them. The cost (5 per wrong and 0.5 per withheld decision, over all)
    is averaged over three target coverages. Ties go to fewer wrong, then more correct, then the
    order of `candidates`. The concentration is that of the best candidate that has one.

    Args:
        candidates: rules in tie order.
        fold: outer fold of each row [n].
    """
    folds = int(fold.max()) + 1
    counts = np.array([_inner_counts(item.ranking, fold, folds) for item in candidates])
    size = np.bincount(fold, minlength=folds)
    n = size.sum() - size
    trials = n * SELECTION_TARGETS.size
    admitted, wrong = counts[..., 0, :].sum(axis=-1), counts[..., 1, :].sum(axis=-1)
    # The ranking is in whole decisions, so that equal costs compare as equal.
    penalty = WRONG_COST / WITHHELD_COST * wrong - admitted
    cost = WITHHELD_COST * (penalty + trials) / trials
    kappa = np.empty(folds)
    winners, records = [], []
    for outer in range(folds):
        keys = [
            (penalty[index, outer], wrong[index, outer], -admitted[index, outer], index)
            for index in range(len(candidates))
        ]
        order = [key[3] for key in sorted(keys)]
        winners.append(_name(candidates[order[0]]))
        kappa[outer] = next(
            concentration
            for index in order
            if (concentration := candidates[index].kappa) is not None
        )
        records += [
            {
                "fold": outer,
                "place": place + 1,
                "candidate": _name(candidates[index]),
                "cost": cost[index, outer],
                "wrong_rate": wrong[index, outer] / trials[outer],
                "correct_rate": (admitted - wrong)[index, outer] / trials[outer],
            }
            for place, index in enumerate(order)
        ]
    return ConcentrationChoice(kappa, pd.DataFrame.from_records(records), tuple(winners))


def _name(candidate: Candidate) -> str:
    """Return how a candidate is listed."""
    return candidate.rule if candidate.kappa is None else f"{candidate.rule}@{candidate.kappa:g}"


def _inner_counts(ranking: Ranking, fold: Ints, folds: int) -> Floats:
    """Return admitted and wrong counts pooled over validation folds [F, 2, targets]."""
    counts = np.zeros((folds, 2, SELECTION_TARGETS.size))
    for first in range(folds):
        for second in range(first + 1, folds):
            train = (fold != first) & (fold != second)
            limits = cutoffs(
                ranking.score[train & ranking.available],
                target_counts(SELECTION_TARGETS, int(np.count_nonzero(train))),
            )
            # The same training set serves both: one fold is held out, the other validates.
            for outer, validation in ((first, second), (second, first)):
                tested = (fold == validation) & ranking.available
                kept = ranking.score[tested][:, None] >= limits
                counts[outer, 0] += kept.sum(axis=0)
                counts[outer, 1] += kept[~ranking.correct[tested]].sum(axis=0)
    return counts
