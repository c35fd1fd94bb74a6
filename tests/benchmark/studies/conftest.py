"""A small stand-in for the benchmark: thirteen conditions with fixed peaks and random noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pact_benchmark.config import load_config
from pact_benchmark.data import Benchmark, assemble
from pact_benchmark.study import StudyContext
from pact_core import HANDOVER_ROLES, SourceBatch

# condition: (peak, quality, conflict) of language, geometry and risk; None = unavailable.
CLEAN = ((0.90, 0.91, 0.05), (0.32, 0.71, 0.17), (0.31, 0.86, 0.17))
CONDITIONS = {
    "adversarial_consensus_wrong": ((0.95, 0.95, 0.01),) * 3,
    "all_sources_missing": (None, None, None),
    "clean_control": CLEAN,
    "conflict_bit_dropout_all_wrong": ((0.97, 0.91, np.nan),) * 3,
    "geometry_missing_language_low_quality": ((0.76, 0.33, 0.23), None, (0.70, 0.62, 0.23)),
    "language_missing_context_noisy": (None, (0.37, 0.32, 0.39), (0.61, 0.53, 0.39)),
    "overconfident_contradictory_sources": (
        (0.65, 0.49, 0.62),
        (0.45, 0.55, 0.62),
        (0.64, 0.39, 0.62),
    ),
    "partial_disagreement_low_quality": (
        (0.44, 0.53, 0.53),
        (0.31, 0.63, 0.53),
        (0.33, 0.60, 0.53),
    ),
    "risk_missing_language_overconfident_wrong": ((0.96, 0.94, 0.01), CLEAN[1], None),
    "schema_invalid_language_distribution": ((0.90, 0.56, 0.05), CLEAN[1], CLEAN[2]),
    "stale_context_previous_scene": CLEAN,
    "stale_language_previous_cue": ((0.90, 0.81, 0.05), CLEAN[1], CLEAN[2]),
    "unsafe_urgency_injection": CLEAN,
}
WRONG_LANGUAGE = (
    "adversarial_consensus_wrong",
    "conflict_bit_dropout_all_wrong",
    "overconfident_contradictory_sources",
    "risk_missing_language_overconfident_wrong",
    "stale_language_previous_cue",
)


def make_benchmark(scenes: int = 10, steps: int = 2, seed: int = 0) -> Benchmark:
    """Return scenes × conditions × five labels × steps rows."""
    rng = np.random.default_rng(seed)
    names = sorted(CONDITIONS)
    grid = np.meshgrid(range(scenes), range(len(names)), range(5), range(steps), indexing="ij")
    scene, condition, label, step = (axis.ravel() for axis in grid)
    count = scene.size
    condition_name = np.array(names)[condition]
    top = np.stack([label, rng.integers(0, 5, scenes)[scene], rng.integers(0, 5, scenes)[scene]], 1)
    wrong = np.isin(condition_name, WRONG_LANGUAGE)
    top[wrong, 0] = (label[wrong] + 1) % 5
    top[condition_name == "unsafe_urgency_injection", 0] = 4
    for offset, role in enumerate((1, 2), start=0):
        rows = condition_name == "adversarial_consensus_wrong"
        top[rows, role] = top[rows, 0]
        rows = condition_name == "conflict_bit_dropout_all_wrong"
        top[rows, role] = (label[rows] + 2 + offset) % 5
    table = np.array(
        [[(np.nan,) * 3 if s is None else s for s in CONDITIONS[name]] for name in names]
    )[condition]
    unavailable = np.isnan(table[..., 0])
    peak = np.where(unavailable, 0.2, table[..., 0])
    mean = np.repeat(((1.0 - peak) / 4.0)[..., None], 5, axis=-1)
    np.put_along_axis(mean, top[..., None], peak[..., None], axis=-1)
    draws = rng.standard_gamma(100.0 * mean)
    opinion = draws / draws.sum(axis=-1, keepdims=True)
    opinion[unavailable] = np.nan
    noise = rng.normal(0.0, 0.03, (2, count, 3))
    invalid = np.zeros((count, 3), dtype=bool)
    invalid[:, 0] = condition_name == "schema_invalid_language_distribution"
    sources = SourceBatch.build(
        opinion,
        np.where(unavailable, np.nan, np.clip(table[..., 1] + noise[0], 0.0, 1.0)),
        np.where(unavailable, np.nan, np.clip(table[..., 2] + noise[1], 0.0, 1.0)),
        component=np.array([0, 1, 1]),
        roles=HANDOVER_ROLES,
        unavailable=unavailable,
        declared_invalid=invalid,
        command_mismatch=condition_name == "unsafe_urgency_injection",
        command_stale=condition_name == "stale_language_previous_cue",
    )
    scene_id = np.array([f"scene_{index + 1:03d}" for index in range(scenes)])[scene]
    record = [
        f"{s}-{k}__{c}__seed{t:02d}"
        for s, k, c, t in zip(scene_id, label, condition_name, step, strict=True)
    ]
    return assemble(
        sources,
        label=label,
        scene_id=scene_id,
        condition=condition_name,
        record_id=np.array(record),
        step=step,
    )


@pytest.fixture(scope="session")
def benchmark_rows() -> Benchmark:
    """Return ten scenes with two steps: 1,300 rows."""
    return make_benchmark()


@pytest.fixture(scope="session")
def new_benchmark() -> Callable[..., Benchmark]:
    """Return the function that makes stand-in benchmarks."""
    return make_benchmark


@pytest.fixture(scope="session")
def context(benchmark_rows: Benchmark) -> StudyContext:
    """Return a study context on the small benchmark."""
    return StudyContext(benchmark_rows, load_config())
