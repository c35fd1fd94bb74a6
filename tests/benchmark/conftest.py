"""Synthetic rows with the thirteen conditions, small enough for quick tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pact_benchmark.data import from_instances
from pact_benchmark.estimates import Settings
from pact_benchmark.evaluation import Evaluation

CONTRACTS = "NSHTU"
ROLES = ("language", "geometry", "risk")
CLEAN = (("cue", 0.9, 0.91, 0.05), ("near", 0.32, 0.71, 0.17), ("path", 0.31, 0.86, 0.17))
ABSENT = float("nan")

# Per condition and source: what leads, its mean probability, quality and conflict.
CONDITIONS = {
    "clean_control": CLEAN,
    "stale_context_previous_scene": CLEAN,
    "partial_disagreement_low_quality": (
        ("cue", 0.44, 0.53, 0.53),
        ("near", 0.31, 0.63, 0.53),
        ("other", 0.33, 0.60, 0.53),
    ),
    "overconfident_contradictory_sources": (
        ("wrong", 0.7, 0.49, 0.62),
        ("near", 0.5, 0.55, 0.62),
        ("other", 0.7, 0.39, 0.62),
    ),
    "adversarial_consensus_wrong": (("wrong", 0.95, 0.95, 0.01),) * 3,
    "conflict_bit_dropout_all_wrong": (
        ("wrong", 0.97, 0.91, ABSENT),
        ("other", 0.97, 0.92, ABSENT),
        ("third", 0.97, 0.90, ABSENT),
    ),
    "stale_language_previous_cue": (("wrong", 0.9, 0.81, 0.05), *CLEAN[1:]),
    "unsafe_urgency_injection": (("urgent", 0.9, 0.97, 0.05), *CLEAN[1:]),
    "geometry_missing_language_low_quality": (
        ("cue", 0.76, 0.33, 0.23),
        None,
        ("path", 0.7, 0.62, 0.23),
    ),
    "language_missing_context_noisy": (
        None,
        ("near", 0.37, 0.32, 0.39),
        ("path", 0.61, 0.53, 0.39),
    ),
    "risk_missing_language_overconfident_wrong": (("wrong", 0.96, 0.94, 0.01), CLEAN[1], None),
    "schema_invalid_language_distribution": (("invalid", 0.0, 0.56, 0.05), *CLEAN[1:]),
    "all_sources_missing": (None, None, None),
}


def synthetic_instances(scenes: int, steps: int, seed: int = 0) -> pd.DataFrame:
    """Return rows with the columns of `instances.parquet`, one per cell of the design."""
    rng = np.random.default_rng(seed)
    rows = []
    for scene in range(scenes):
        near, path = rng.integers(4), rng.integers(5)
        for cue in range(5):
            for condition, states in CONDITIONS.items():
                for step in range(steps):
                    other = rng.permutation([k for k in range(5) if k != cue])
                    leads = {
                        "cue": cue,
                        "near": near,
                        "path": path,
                        "urgent": 4,
                        "invalid": 0,
                        **dict(zip(("wrong", "other", "third"), other, strict=False)),
                    }
                    rows.append(_row(rng, f"scene_{scene + 1:03d}", cue, condition, step))
                    for role, state in zip(ROLES, states, strict=True):
                        rows[-1] |= _source(rng, role, state, leads)
    return pd.DataFrame(rows)


def _row(rng, scene, cue, condition, step):
    current, previous = f"hash{cue}", f"hash{(cue + 1) % 5}"
    stale = condition.startswith("stale_language")
    injected = condition.startswith("unsafe_urgency")
    return {
        "record_id": f"{scene}-{CONTRACTS[cue]}__{condition}__seed{step:02d}",
        "scene_id": scene,
        "geometry": ("face_to_face", "side_by_side", "table_mediated")[int(scene[-3:]) % 3],
        "condition": condition,
        "label": CONTRACTS[cue],
        "step": step,
        "language_parents": [f"command:{current}"],
        "geometry_parents": [scene, f"{scene}:relation", f"{scene}:occlusion"],
        "risk_parents": [scene, f"{scene}:band", f"{scene}:occlusion"],
        "command_current_hash": current,
        "command_evidence_hash": previous if stale else "injected" if injected else current,
        "command_status": "stale_previous_command" if stale else "current",
        "command_previous_hash": previous if stale else None,
        "command_carried_over_from": "an earlier record" if stale else None,
    }


def _source(rng, role, state, leads):
    row = {f"{role}_unavailable": state is None, f"{role}_invalid": False}
    opinion, quality, conflict = np.full(5, np.nan), np.nan, np.nan
    if state is not None:
        lead, peak, mean_quality, mean_conflict = state
        row[f"{role}_invalid"] = lead == "invalid"
        mean = np.full(5, (1 - peak) / 4)
        mean[leads[lead]] = peak
        opinion = np.zeros(5) if lead == "invalid" else rng.dirichlet(100 * mean)
        quality = float(np.clip(mean_quality + 0.03 * rng.standard_normal(), 0, 1))
        conflict = float(np.clip(mean_conflict + 0.03 * rng.standard_normal(), 0, 1))
    row |= {f"{role}_p_{name}": float(p) for name, p in zip(CONTRACTS, opinion, strict=True)}
    return row | {f"{role}_quality": quality, f"{role}_conflict": conflict}


@pytest.fixture(scope="session")
def instances() -> pd.DataFrame:
    """Return 1,560 rows: 12 scenes, five contracts, thirteen conditions, two steps."""
    return synthetic_instances(12, 2)


@pytest.fixture(scope="session")
def benchmark_rows(instances):
    """Return those rows as a benchmark."""
    return from_instances(instances)


@pytest.fixture(scope="session")
def evaluation(benchmark_rows) -> Evaluation:
    """Return their evaluation, with the concentration chosen by inner folds."""
    return Evaluation(benchmark_rows)


@pytest.fixture(scope="session")
def settings() -> Settings:
    """Return the protocol with 200 resamples."""
    return Settings(draws=200)
