"""Small synthetic data for the tests of the study on learned predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from pact_benchmark.learned.datasets import HANDWRITTEN, PIE, DataFacts
from pact_benchmark.learned.evidence import EvidenceSet


def make_evidence(
    *, runs: int = 2, records: int = 40, views: int = 3, classes: int = 4, seed: int = 0
) -> EvidenceSet:
    """Evidences that lean towards the true class, the same records in every run."""
    rng = np.random.default_rng(seed)
    label = np.arange(records) % classes
    evidence = rng.exponential(1.0, (runs, records, views, classes))
    evidence += 2.0 * rng.random((runs, records, views, 1)) * np.eye(classes)[label][None, :, None]
    return EvidenceSet(
        evidence,
        np.tile(label, (runs, 1)),
        np.tile(np.arange(records), (runs, 1)),
        tuple(range(runs)),
        "own",
        "model",
        tuple(f"v{v}" for v in range(views)),
    )


@pytest.fixture
def write_mat(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a data set of the right sizes, with chosen defects."""

    def write(facts: DataFacts = PIE, *, drop: int = 0, short: int | None = None, **other) -> Path:
        rng = np.random.default_rng(1)
        label = np.arange(facts.records) % facts.classes + 1
        cells = np.empty((1, len(facts.views) - drop), dtype=object)
        for index in range(cells.shape[1]):
            size = facts.views[index][1]
            rows = facts.records - (5 if short == index else 0)
            cells[0, index] = rng.random((size, rows)).astype(np.float32)
        name = "Y" if facts is HANDWRITTEN else "gt"
        content = {"X": cells, name: label[:, None].astype(np.float64), **other}
        path = tmp_path / facts.file
        savemat(path, content, do_compression=True)
        return path

    return write
