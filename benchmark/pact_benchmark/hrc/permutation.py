"""Permutation tests of early-to-proximal concordance over exchangeable episodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lcm

import numpy as np
import numpy.typing as npt
import pandas as pd

from pact_benchmark.hrc.schema import EARLY, PROXIMAL
from pact_benchmark.hrc.statistics import Floats, derangements, plus_one_p

_CHUNK = 500
EXACT_LIMIT = 12


@dataclass(frozen=True, slots=True)
class Block:
    """Episodes of one task with the same number of events.

    Attributes:
        early, proximal: Scores, shape [episodes, events].
    """

    task: str
    early: Floats
    proximal: Floats


@dataclass(frozen=True, slots=True)
class EventProfiles:
    """The blocks of exchangeable episodes."""

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, events: pd.DataFrame, *, by_occurrence: bool = True) -> EventProfiles:
        """Group episodes by task and event-occurrence profile.

        Args:
            events: Columns task, episode, event, early, proximal; the events of an episode are
                taken in the order of their keys.
            by_occurrence: The profile is which occurrences an episode has (the part of the event
                key after the episode key). Otherwise it is how many there are.
        """
        frame = events.sort_values(["task", "episode", "event"]).reset_index(drop=True)
        rank = frame.groupby(["task", "episode"]).cumcount().astype(str)
        if by_occurrence:
            rank = pd.Series(
                [
                    event[len(episode) :] if event.startswith(episode) else place
                    for event, episode, place in zip(
                        frame["event"], frame["episode"], rank, strict=True
                    )
                ],
                index=frame.index,
            )
        profile = rank.groupby([frame["task"], frame["episode"]]).transform(" ".join)
        size = frame.groupby(["task", "episode"])["event"].transform("size")
        blocks = []
        for (task, _), part in frame.groupby([frame["task"], profile], sort=True):
            shape = (-1, int(size.loc[part.index[0]]))
            early = part[EARLY].to_numpy(dtype=float).reshape(shape)
            proximal = part[PROXIMAL].to_numpy(dtype=float).reshape(shape)
            blocks.append(Block(str(task), early, proximal))
        return cls(tuple(blocks))

    def exchangeable(self) -> tuple[Block, ...]:
        """Return the blocks of two or more episodes."""
        return tuple(block for block in self.blocks if len(block.early) > 1)


@dataclass(frozen=True, slots=True)
class TestResult:
    """Observed concordance, its mean under permutation, and the upper-tail p-value."""

    observed: float
    null_mean: float
    p: float
    events: int
    episodes: int

    def row(self) -> dict[str, object]:
        """Return the result as a table row."""
        return {
            "Events": self.events,
            "Episodes": self.episodes,
            "Concordance": self.observed,
            "Permuted": self.null_mean,
            "p": self.p,
        }


def _result(blocks: tuple[Block, ...], observed: float, null: Floats) -> TestResult:
    events = sum(block.early.size for block in blocks)
    episodes = sum(len(block.early) for block in blocks)
    return TestResult(observed, float(null.mean()), plus_one_p(null, observed), events, episodes)


def permutation_test(profiles: EventProfiles, permutations: int, seed: int) -> TestResult:
    """Permute whole early profiles without fixed points within every block.

    The statistic is the equal-task mean of the episodes' share of events whose proximal score is
    strictly above the (permuted) early one. Its mean under permutation is computed exactly.
    """
    blocks = profiles.exchangeable()
    episodes: dict[str, int] = {}
    for block in blocks:
        episodes[block.task] = episodes.get(block.task, 0) + len(block.early)
    null, observed, expected = np.zeros(permutations), 0.0, 0.0
    for index, block in enumerate(blocks):
        weight = 1.0 / (episodes[block.task] * len(episodes))
        expected += weight * _other_donors(block)
        observed += weight * float((block.proximal > block.early).mean(axis=1).sum())
        rng = np.random.default_rng([seed, index])
        for start in range(0, permutations, _CHUNK):
            size = min(_CHUNK, permutations - start)
            donor = derangements(len(block.early), size, rng)
            rises = (block.proximal[None] > block.early[donor]).mean(axis=2)
            null[start : start + size] += weight * rises.sum(axis=1)
    return replace(_result(blocks, observed, null), null_mean=expected)


def _other_donors(block: Block) -> float:
    """Return the expected sum of concordance: every other episode is an equally likely donor."""
    size, total = len(block.early), 0.0
    for receiver in range(size):
        rises = (block.proximal[receiver] > block.early).mean(axis=1)
        total += float(rises.sum() - rises[receiver]) / (size - 1)
    return total


def exact_test(profiles: EventProfiles) -> TestResult | None:
    """Return the permutation test over all fixed-point-free permutations, without sampling.

    None when a block holds more than `EXACT_LIMIT` episodes.
    """
    blocks = profiles.exchangeable()
    if not blocks or max(len(block.early) for block in blocks) > EXACT_LIMIT:
        return None
    episodes: dict[str, int] = {}
    for block in blocks:
        episodes[block.task] = episodes.get(block.task, 0) + len(block.early)
    scale = lcm(*(block.early.shape[1] * episodes[block.task] for block in blocks))
    chances: dict[int, float] = {0: 1.0}
    observed = 0
    for block in blocks:
        step = scale // (block.early.shape[1] * episodes[block.task])
        rises = (block.proximal[:, None, :] > block.early[None, :, :]).sum(axis=2)
        observed += step * int(np.trace(rises))
        own = _derangement_chances(rises)
        joined: dict[int, float] = {}
        for value, chance in chances.items():
            for gain, share in enumerate(own):
                if share:
                    key = value + step * gain
                    joined[key] = joined.get(key, 0.0) + chance * share
        chances = joined
    whole = scale * len(episodes)
    mean = sum(value * chance for value, chance in chances.items()) / whole
    p = sum(chance for value, chance in chances.items() if value >= observed)
    size = sum(block.early.size for block in blocks)
    return TestResult(observed / whole, mean, p, size, sum(episodes.values()))


def _derangement_chances(gain: npt.NDArray[np.int64]) -> Floats:
    """Return the distribution of Σ gain[i, σ(i)] over uniform σ without fixed points.

    Counts by the set of donors used so far, which needs 2^n sets for n episodes.
    """
    size, top = len(gain), int(gain.max(initial=0)) * len(gain)
    ways = {0: np.eye(1, top + 1)[0]}
    for receiver in range(size):
        following: dict[int, Floats] = {}
        for used, counts in ways.items():
            for donor in range(size):
                if donor == receiver or used >> donor & 1:
                    continue
                moved = np.roll(counts, int(gain[receiver, donor]))
                key = used | 1 << donor
                following[key] = following[key] + moved if key in following else moved
        ways = following
    total = ways[(1 << size) - 1]
    return np.asarray(total / total.sum(), dtype=np.float64)


def cross_task_test(profiles: EventProfiles, draws: int, seed: int) -> TestResult:
    """Give every episode the early profile of an episode of another task, none used twice.

    Episodes are matched within equal event profiles. Where one task holds more than half of a
    profile, a random part of its episodes takes part in each draw. The observed value is that of
    the episodes that can take part in some draw.
    """
    strata: dict[int, list[Block]] = {}
    for block in profiles.blocks:
        strata.setdefault(block.early.shape[1], []).append(block)
    usable = {size: blocks for size, blocks in strata.items() if len(blocks) > 1}
    taking_part = tuple(block for blocks in usable.values() for block in blocks)
    if not taking_part:
        return TestResult(float("nan"), float("nan"), float("nan"), 0, 0)
    tasks = sorted({block.task for block in taking_part})
    rng = np.random.default_rng([seed, 2**16])
    null = np.array([_cross_draw(usable, tasks, rng) for _ in range(draws)])
    total: dict[str, list[float]] = {task: [] for task in tasks}
    for block in taking_part:
        total[block.task].extend((block.proximal > block.early).mean(axis=1))
    observed = float(np.mean([np.mean(total[task]) for task in tasks]))
    return _result(taking_part, observed, null)


def _cross_draw(
    strata: dict[int, list[Block]], tasks: list[str], rng: np.random.Generator
) -> float:
    gained: dict[str, float] = dict.fromkeys(tasks, 0.0)
    number: dict[str, int] = dict.fromkeys(tasks, 0)
    for blocks in strata.values():
        sizes = [len(block.early) for block in blocks]
        largest = int(np.argmax(sizes))
        cap = sum(sizes) - sizes[largest]
        order = rng.permutation(len(blocks))
        chosen = [rng.permutation(sizes[b])[: min(sizes[b], cap)] for b in order]
        early = np.concatenate([blocks[b].early[c] for b, c in zip(order, chosen, strict=True)])
        proximal = np.concatenate(
            [blocks[b].proximal[c] for b, c in zip(order, chosen, strict=True)]
        )
        # Episodes lie task by task: a shift by the largest task reaches another task for all.
        shift = max(len(c) for c in chosen)
        rises = (proximal > np.roll(early, shift, axis=0)).mean(axis=1)
        start = 0
        for b, c in zip(order, chosen, strict=True):
            gained[blocks[b].task] += float(rises[start : start + len(c)].sum())
            number[blocks[b].task] += len(c)
            start += len(c)
    return float(np.mean([gained[task] / number[task] for task in tasks if number[task]]))
