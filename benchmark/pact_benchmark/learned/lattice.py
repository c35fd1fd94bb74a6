"""Every partition of the views and every single merge: budget contraction and selective risk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.bootstrap import interval
from pact_benchmark.errors import UsageError
from pact_benchmark.learned import arms
from pact_benchmark.learned.evidence import EvidenceSet, FloatArray, IntArray
from pact_benchmark.learned.ordering import SUPPORT, area, area_draws, exact_table, order_by
from pact_benchmark.learned.outcome import run_weights
from pact_benchmark.study import Statistic
from pact_core import blocks

MAXIMUM_VIEWS = 8
MAXIMUM_TABLE = 200_000_000
TIE = 1e-12
MERGE_BLOCK = 2000
SCORES = ("selection", "posterior")


def partitions(views: int) -> list[tuple[int, ...]]:
    """All set partitions of the views as restricted growth strings, in lexicographic order."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(views):
        found = [(*head, label) for head in found for label in range(max(head, default=-1) + 2)]
    return found


def single_merges(every: Sequence[tuple[int, ...]]) -> IntArray:
    """All pairs (fine, coarse) of positions in `every` where coarse joins two blocks of fine."""
    position = {partition: index for index, partition in enumerate(every)}
    pairs = []
    for index, fine in enumerate(every):
        count = max(fine) + 1
        for first in range(count):
            for second in range(first + 1, count):
                joined = [first if label == second else label for label in fine]
                pairs.append((index, position[_growth_string(joined)]))
    return np.asarray(pairs, dtype=np.int64).reshape(-1, 2)


def _growth_string(labels: Sequence[int]) -> tuple[int, ...]:
    names: dict[int, int] = {}
    return tuple(names.setdefault(label, len(names)) for label in labels)


def partition_name(partition: Sequence[int], views: Sequence[str]) -> str:
    """A partition in words, such as `pix+fou | fac`."""
    return " | ".join("+".join(views[i] for i in block) for block in blocks(partition))


@dataclass(frozen=True, slots=True)
class Surface:
    """The lattice of one data set and model.

    Attributes:
        partitions: Restricted growth strings.
        merges: Positions (fine, coarse), shape [merges, 2].
        budget: Mean budget per partition.
        monotone: Whether no record's budget rises, per merge.
        area: ncsAURC per score and partition, averaged over runs, shape [2, partitions].
        accuracy: Share right per partition.
        draws: Resampled ncsAURC, shape [2, partitions, draws].
        view_names: One per view.
        title: What the figure calls it.
    """

    partitions: list[tuple[int, ...]]
    merges: IntArray
    budget: FloatArray
    monotone: NDArray[np.bool_]
    area: FloatArray
    accuracy: FloatArray
    draws: FloatArray
    view_names: tuple[str, ...]
    title: str

    @property
    def components(self) -> IntArray:
        """Number of components per partition."""
        return np.array([max(partition) + 1 for partition in self.partitions])

    def changes(self, score: int) -> FloatArray:
        """Change of ncsAURC per merge under one of the two scores."""
        fine, coarse = self.merges.T
        return np.asarray(self.area[score, coarse] - self.area[score, fine])

    def share(self, score: int, direction: int) -> Statistic:
        """Percentage of the merges that lower (-1), keep (0) or raise (+1) ncsAURC."""
        value = _count(self.changes(score)[:, None], direction)[0]
        counts = np.zeros(self.draws.shape[2])
        for start in range(0, len(self.merges), MERGE_BLOCK):
            fine, coarse = self.merges[start : start + MERGE_BLOCK].T
            counts += _count(self.draws[score, coarse] - self.draws[score, fine], direction)
        percent = 100.0 / len(self.merges)
        return Statistic(float(percent * value), *interval(percent * counts), len(self.merges))

    def frame(self) -> pd.DataFrame:
        """One row per partition."""
        names = [partition_name(p, self.view_names) for p in self.partitions]
        columns = {
            "partition": names,
            "components": self.components,
            "mean budget": self.budget,
            "accuracy": self.accuracy,
            "ncsAURC (selection score)": self.area[0],
            "ncsAURC (posterior)": self.area[1],
        }
        return pd.DataFrame(columns)

    def merge_frame(self) -> pd.DataFrame:
        """One row per merge and score."""
        names = [partition_name(p, self.view_names) for p in self.partitions]
        fine, coarse = self.merges.T
        parts = []
        for index, score in enumerate(SCORES):
            delta = self.changes(index)
            direction = np.select([delta < -TIE, delta > TIE], ["lower", "higher"], "tie")
            columns = {
                "score": score,
                "fine": [names[i] for i in fine],
                "coarse": [names[i] for i in coarse],
                "components": self.components[coarse],
                "budget change": self.budget[coarse] - self.budget[fine],
                "ncsAURC change": delta,
                "direction": direction,
            }
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    def dispersion(self) -> pd.DataFrame:
        """Spread of the selection-score ncsAURC among partitions with equally many components."""
        rows = []
        for count in np.unique(self.components):
            values = self.area[0, self.components == count]
            quartiles = np.quantile(values, [0.25, 0.5, 0.75])
            rows.append(
                {
                    "components": int(count),
                    "partitions": len(values),
                    "median": quartiles[1],
                    "interquartile range": quartiles[2] - quartiles[0],
                    "range": values.max() - values.min(),
                    "median absolute deviation": np.median(np.abs(values - quartiles[1])),
                }
            )
        return pd.DataFrame(rows)


def _count(delta: FloatArray, direction: int) -> IntArray:
    """Number of rows of `delta` that go in a direction, per column."""
    if direction == 0:
        return np.asarray((np.abs(delta) <= TIE).sum(axis=0))
    return np.asarray((direction * delta > TIE).sum(axis=0))


def study_lattice(
    data: EvidenceSet,
    *,
    title: str,
    draws: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Surface:
    """Evaluate every partition of the views.

    Raises:
        UsageError: More than eight views, or more values than fit in memory.
    """
    if data.views > MAXIMUM_VIEWS:
        raise UsageError(
            f"{data.pair} has {data.views} views; the lattice takes at most {MAXIMUM_VIEWS}"
        )
    if 2**data.views * data.records * data.classes > MAXIMUM_TABLE:
        raise UsageError(
            f"{data.pair}: {data.records} records of {data.classes} classes are too many for the "
            f"lattice of {data.views} views; give fewer records or use --no-lattice"
        )
    every = partitions(data.views)
    merges = single_merges(every)
    weights = run_weights(data, draws, seed)
    found = np.zeros((2, len(every)))
    resampled = np.zeros((2, len(every), draws))
    budget, accuracy = np.zeros(len(every)), np.zeros(len(every))
    monotone = np.ones(len(merges), dtype=bool)
    table = exact_table(data.records, *SUPPORT)
    for run in range(data.runs):
        meets = _subset_meets(data.evidence[run])
        monotone &= _monotone(meets.sum(axis=-1), every, merges)
        for index, partition in enumerate(every):
            outcome = arms.from_cumulative(_cumulative(meets, partition))
            wrong = outcome.prediction != data.label[run]
            budget[index] += outcome.budget.mean() / data.runs
            accuracy[index] += (~wrong).mean() / data.runs
            for score, values in enumerate((outcome.score, outcome.peak)):
                ordering = order_by(values, wrong)
                found[score, index] += area(ordering, table) / data.runs
                resampled[score, index] += area_draws(ordering, table, weights[run]) / data.runs
            if progress is not None:
                progress(1)
    return Surface(
        every, merges, budget, monotone, found, accuracy, resampled, data.view_names, title
    )


def _subset_meets(evidence: FloatArray) -> FloatArray:
    """Minimum over every non-empty set of views, by bit mask, shape [2**V, records, K]."""
    views = evidence.shape[1]
    meets = np.zeros((2**views, evidence.shape[0], evidence.shape[2]))
    for view in range(views):
        bit = 1 << view
        meets[bit] = evidence[:, view]
        for rest in range(1, bit):
            np.minimum(meets[rest], meets[bit], out=meets[rest | bit])
    return meets


def _masks(partition: Sequence[int]) -> list[int]:
    return [sum(1 << view for view in block) for block in blocks(partition)]


def _cumulative(meets: FloatArray, partition: Sequence[int]) -> FloatArray:
    """Sum of the meets of the components, in the order of their smallest member."""
    total = np.zeros(meets.shape[1:])
    for mask in _masks(partition):
        total = total + meets[mask]
    return total


def _monotone(
    budget: FloatArray, every: Sequence[tuple[int, ...]], merges: IntArray
) -> NDArray[np.bool_]:
    """Whether the joined component's budget exceeds the sum of the two for no record, per merge.

    The other components are the same on both sides, so this is the change of the whole budget.
    """
    known: dict[tuple[int, int], bool] = {}
    result = np.zeros(len(merges), dtype=bool)
    masks = [set(_masks(partition)) for partition in every]
    for index, (fine, coarse) in enumerate(merges):
        first, second = sorted(masks[fine] - masks[coarse])
        if (first, second) not in known:
            joined, apart = budget[first | second], budget[first] + budget[second]
            known[first, second] = bool((joined <= apart).all())
        result[index] = known[first, second]
    return result
