"""A small stored run: ten scenes, two steps, made from invented observations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pact_benchmark.config import load_config
from pact_benchmark.store import RunFolder
from pact_scenes.conditions import LABELS, parse_conditions
from pact_scenes.opinions import OpinionParams, synthesise


def make_run(path: Path, scenes: int = 10, steps: int = 2) -> RunFolder:
    """Store observations and the instances that follow from them."""
    rng = np.random.default_rng(5)
    count = scenes * steps
    observations = pd.DataFrame(
        {
            "scene_id": [f"scene_{s + 1:03d}" for s in range(scenes) for _ in range(steps)],
            "geometry": "face_to_face",
            "step": list(range(steps)) * scenes,
            "hand_gripper_distance": rng.uniform(0.1, 0.9, count),
            "path_clearance": rng.uniform(0.0, 0.5, count),
            "separation_margin": rng.uniform(-0.1, 0.6, count),
            "closing_speed": rng.uniform(0.0, 0.4, count),
            "occlusion": rng.choice([0.0, 0.4, 0.8], count),
        }
    )
    config = load_config()
    table = synthesise(
        {name: observations[name].to_numpy() for name in observations},
        parse_conditions(config.section("conditions")),
        LABELS,
        OpinionParams.from_section(config.section("opinions")),
        config.seed,
    )
    run = RunFolder.create(path)
    with run.part("observations", "invented") as part:
        part.frame("observations.parquet", observations)
    with run.part("instances", "invented") as part:
        part.frame("instances.parquet", pd.DataFrame(table.to_columns()))
    return run


@pytest.fixture
def new_run(tmp_path: Path) -> Callable[[str], RunFolder]:
    """Return a function that makes small runs under the test's folder."""
    return lambda name: make_run(tmp_path / name)
