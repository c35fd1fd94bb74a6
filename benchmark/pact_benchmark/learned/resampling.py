"""Bootstrap weights: class-stratified over records, and two-stage over realisations and records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.learned.evidence import IntArray

BLOCK_VALUES = 20_000_000
OUTCOME_SEED = 20260731
BUDGET_SEED = 20260726
LATTICE_SEED = 20260810


def stratified_weights(label: IntArray, draws: int, seed: int) -> NDArray[np.int32]:
    """How often each record is drawn when every class keeps its size, shape [n, draws]."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((len(label), draws), dtype=np.int32)
    for value in np.unique(label):
        member = np.flatnonzero(label == value)
        share = np.full(len(member), 1.0 / len(member))
        weights[member] = rng.multinomial(len(member), share, size=draws).T
    return weights


def resamples(
    runs: int, records: int, same_records: bool, draws: int, seed: int
) -> Iterator[NDArray[np.int32]]:
    """Yield blocks of how often each record of each run is drawn, shape [block, runs, records].

    Runs that hold the same records are resampled by record, all runs together. Otherwise runs are
    drawn with replacement, then records within every drawn run; a run that is drawn twice has its
    records drawn twice, independently.
    """
    rng = np.random.default_rng(seed)
    share = np.full(records, 1.0 / records)
    block = max(1, min(draws, BLOCK_VALUES // (runs * records)))
    for start in range(0, draws, block):
        count = min(block, draws - start)
        weights = np.zeros((count, runs, records), dtype=np.int32)
        if same_records:
            weights += rng.multinomial(records, share, size=count)[:, None].astype(np.int32)
        else:
            chosen = rng.integers(runs, size=(count, runs))
            for slot in range(runs):
                drawn = rng.multinomial(records, share, size=count)
                weights[np.arange(count), chosen[:, slot]] += drawn.astype(np.int32)
        yield weights
