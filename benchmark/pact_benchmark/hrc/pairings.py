"""Pairings of checkpoints ranked by the association of their errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Pair = frozenset[str]
Pairing = tuple[Pair, ...]

CHECKPOINT_LIMIT = 12
_TOLERANCE = 1e-14


def phi(n00: Floats, n01: Floats, n10: Floats, n11: Floats) -> Floats:
    """Return the φ coefficient of two-by-two tables; 0 where a margin is empty."""
    top = n00 * n11 - n01 * n10
    margins = (n00 + n01) * (n10 + n11) * (n00 + n10) * (n01 + n11)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(margins > 0, top / np.sqrt(margins), 0.0)


def error_tables(
    wrong: npt.NDArray[np.bool_], weight: Floats, checkpoints: Sequence[str]
) -> pd.DataFrame:
    """Return the table of joint errors of every pair of checkpoints.

    Args:
        wrong: Binary errors, shape [rows, checkpoints].
        weight: Weight of each row, shape [rows]; ones for pooled weighting.
        checkpoints: Names of the columns.
    """
    w = wrong.astype(float)
    both = (w * weight[:, None]).T @ w
    left_only = (w * weight[:, None]).T @ (1.0 - w)
    neither = ((1.0 - w) * weight[:, None]).T @ (1.0 - w)
    rows = []
    for i, j in combinations(range(len(checkpoints)), 2):
        rows.append(
            {
                "left": checkpoints[i],
                "right": checkpoints[j],
                "n00": neither[i, j],
                "n01": left_only[j, i],
                "n10": left_only[i, j],
                "n11": both[i, j],
            }
        )
    return pd.DataFrame(rows)


def equal_task_weights(tasks: npt.NDArray[np.object_]) -> Floats:
    """Return row weights that give every task the same total."""
    _, code, number = np.unique(tasks.astype(str), return_inverse=True, return_counts=True)
    return np.asarray(len(tasks) / (len(number) * number[code]), dtype=np.float64)


def pair_phi(pairs: pd.DataFrame) -> dict[Pair, float]:
    """Return φ of every pair in a table of joint errors."""
    cells = [pairs[name].to_numpy(dtype=float) for name in ("n00", "n01", "n10", "n11")]
    names = zip(pairs["left"], pairs["right"], strict=True)
    return {frozenset(pair): float(value) for pair, value in zip(names, phi(*cells), strict=True)}


def checkpoints_of(pairs: pd.DataFrame) -> tuple[str, ...]:
    """Return the checkpoints of a pair table in the order of their first mention."""
    return tuple(dict.fromkeys([*pairs["left"], *pairs["right"]]))


def all_pairings(names: Sequence[str]) -> Iterator[Pairing]:
    """Yield every way to split an even number of names into pairs."""
    if not names:
        yield ()
        return
    head, rest = names[0], list(names[1:])
    for index, partner in enumerate(rest):
        for others in all_pairings(rest[:index] + rest[index + 1 :]):
            yield (frozenset((head, partner)), *others)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Where the family pairing stands among all pairings.

    Attributes:
        pairings: Every pairing.
        statistic: Mean within-pair minus mean between-pair φ of each, shape [pairings].
        family: Index of the family pairing.
        rank: One plus the number of pairings strictly above it.
        tied_or_higher: The number of pairings at or above it, itself included.
    """

    pairings: tuple[Pairing, ...]
    statistic: Floats
    family: int
    rank: int
    tied_or_higher: int

    @property
    def tail(self) -> float:
        """Share of pairings at or above the family pairing."""
        return self.tied_or_higher / len(self.pairings)


def family_pairing(names: Sequence[str], families: Mapping[str, str]) -> Pairing | None:
    """Return the pairing by family, or None when the families are not pairs of these names."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(families.get(name, f"of {name} alone"), []).append(name)
    if any(len(group) != 2 for group in groups.values()):
        return None
    return tuple(frozenset(group) for group in groups.values())


def rank_pairings(
    association: Mapping[Pair, float], names: Sequence[str], family: Pairing
) -> Ranking:
    """Rank all pairings of `names` by mean within-pair minus mean between-pair φ."""
    if len(names) % 2 or not 2 < len(names) <= CHECKPOINT_LIMIT:
        raise ValueError(f"pairings need an even number of checkpoints up to {CHECKPOINT_LIMIT}")
    everything = [association[frozenset(pair)] for pair in combinations(names, 2)]
    total, number = sum(everything), len(everything)
    pairings = tuple(all_pairings(names))
    size = len(names) // 2
    within = np.array([sum(association[pair] for pair in pairing) for pairing in pairings])
    statistic = within / size - (total - within) / (number - size)
    wanted = set(family)
    index = next(i for i, pairing in enumerate(pairings) if set(pairing) == wanted)
    above = int(np.count_nonzero(statistic > statistic[index] + _TOLERANCE))
    tied = int(np.count_nonzero(statistic >= statistic[index] - _TOLERANCE))
    return Ranking(pairings, statistic, index, 1 + above, tied)
