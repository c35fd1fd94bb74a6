"""How far the observations of two backends are apart, and how far they may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pact_scenes.observation import Observation

__all__ = ["TOLERANCES", "Difference", "agreement"]

TOLERANCES: Final[dict[str, float]] = {
    "hand_object_distance": 0.005,
    "hand_gripper_distance": 0.005,
    "closing_speed": 0.05,
    "clearance": 0.005,
    "path_clearance": 0.005,
    "separation_margin": 0.03,
    "occlusion_robot": 0.10,
    "occlusion_human": 0.10,
    "occlusion_overhead": 0.10,
    "tracking_error": 0.005,
}
"""Largest allowed difference between PhysX and the kinematic oracle, in the column's unit.

Distances may differ by the tracking error of 5 mm. The margin also holds a term quadratic in
speed. Occlusion counts sight lines: a tenth is two of the 24.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """Absolute differences of one quantity over all decisions."""

    quantity: str
    median: float
    largest: float
    tolerance: float
    where: str


def agreement(
    observations: Sequence[Observation], reference: Sequence[Observation]
) -> tuple[Difference, ...]:
    """Compare observations of the same scenes and steps from two backends.

    Raises:
        ValueError: The two do not list the same decisions in the same order.
    """
    keys = [(o.scene_id, o.step) for o in observations]
    if keys != [(o.scene_id, o.step) for o in reference]:
        raise ValueError("the observations are not of the same scenes and steps")
    rows = []
    for name, tolerance in TOLERANCES.items():
        ours = np.array([getattr(o, name) for o in observations])
        gap = np.abs(ours - np.array([getattr(o, name) for o in reference]))
        worst = int(gap.argmax())
        scene, step = keys[worst]
        rows.append(
            Difference(
                name, float(np.median(gap)), float(gap[worst]), tolerance, f"{scene} step {step}"
            )
        )
    return tuple(rows)
