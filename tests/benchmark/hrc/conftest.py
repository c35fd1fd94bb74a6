"""Fixtures of the offline HRC study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.simulate import simulate_recordings

GEOMETRIES = ("face_to_face", "side_by_side", "table_mediated")


def reaching(scenes: int = 48, steps: int = 10) -> pd.DataFrame:
    """Return observations of hands that reach towards the object, without a simulator."""
    rng = np.random.default_rng(7)
    rows = []
    for scene in range(scenes):
        start, speed = rng.uniform(0.3, 0.7), rng.uniform(0.8, 1.2)
        hidden = rng.uniform(0.0, 0.6, 3) * (rng.random(3) < 0.5)
        for step in range(steps):
            phase = step / (steps - 1)
            distance = start * (1 - phase) ** speed + 0.02
            rows.append(
                {
                    "scene_id": f"scene_{scene + 1:03d}",
                    "geometry": GEOMETRIES[scene % 3],
                    "step": step,
                    "time": 0.5 * step,
                    "hand_object_distance": distance,
                    "hand_gripper_distance": distance + 0.05,
                    "closing_speed": 0.2,
                    "clearance": 0.3 * (1 - phase) + 0.05,
                    "occlusion_robot": hidden[0] * phase,
                    "occlusion_human": hidden[1],
                    "occlusion_overhead": hidden[2],
                }
            )
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def observations() -> pd.DataFrame:
    """Return rollouts of 48 scenes."""
    return reaching()


@pytest.fixture(scope="session")
def simulated(observations: pd.DataFrame) -> Recordings:
    """Return simulated recordings of those rollouts."""
    return simulate_recordings(observations)


@pytest.fixture(scope="session")
def real_folder(shared: Path) -> Path:
    """Return the folder with real recordings, or skip."""
    folder = shared / "data" / "hrc"
    if not folder.is_dir():
        pytest.skip("the real recordings are not here")
    return folder
