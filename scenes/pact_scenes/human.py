"""The human: a capsule figure, seated or standing, with arms solved in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pact_scenes.transforms import matrix_from_z, rotation_z, unit

Array = NDArray[np.float64]

__all__ = [
    "ARM_REACH",
    "HAND_HALF",
    "HAND_OFFSET",
    "HAND_RADIUS",
    "HUMAN_BODIES",
    "SHOULDER_HALF_WIDTH",
    "Figure",
    "minimum_jerk",
    "minimum_jerk_rate",
]

UPPER_ARM: Final = 0.31
FOREARM: Final = 0.27
HAND_OFFSET: Final = 0.085
"""Distance from the wrist to the hand's centre [m]."""
HAND_HALF: Final = 0.045
HAND_RADIUS: Final = 0.032
SHOULDER_HALF_WIDTH: Final = 0.20
ARM_REACH: Final = UPPER_ARM + FOREARM + HAND_OFFSET
"""Longest distance from the shoulder to the hand's centre [m]."""

_SIDES: Final = ("left", "right")
_ARM_PARTS: Final = ("upper_arm", "forearm", "hand")
HUMAN_BODIES: Final = (
    "torso",
    "head",
    "pelvis",
    *(f"{part}_{side}" for side in _SIDES for part in ("thigh", "shin")),
    *(f"{part}_{side}" for side in _SIDES for part in _ARM_PARTS),
)
"""Bodies of the figure; the order of every pose array."""

_CAPSULES: Final[dict[str, tuple[float, float]]] = {
    "torso": (0.17, 0.13),
    "head": (0.03, 0.095),
    "pelvis": (0.07, 0.12),
    "thigh": (0.16, 0.07),
    "shin": (0.19, 0.055),
    "upper_arm": (UPPER_ARM / 2 - 0.01, 0.045),
    "forearm": (FOREARM / 2 - 0.01, 0.038),
    "hand": (HAND_HALF, HAND_RADIUS),
}


def minimum_jerk(phase: Array) -> Array:
    """Minimum-jerk progress in [0, 1] of a phase that is clipped to [0, 1]."""
    p = np.clip(phase, 0.0, 1.0)
    return np.asarray(p * p * p * (10.0 - 15.0 * p + 6.0 * p * p))


def minimum_jerk_rate(phase: Array) -> Array:
    """Derivative of `minimum_jerk` by the phase; zero outside [0, 1]."""
    p = np.clip(phase, 0.0, 1.0)
    return np.asarray(30.0 * p * p * (1.0 - p) ** 2)


@dataclass(frozen=True, slots=True)
class Figure:
    """Placement and proportions of one human.

    Attributes:
        root: Point on the floor below the hips [m], (x, y).
        yaw: Heading [rad]; the figure looks along +x at zero.
        seated: Whether it sits on a stool.
        swivel: Outward turn of the elbows about the line shoulder-hand [rad], (left, right).
    """

    root: tuple[float, float]
    yaw: float
    seated: bool
    swivel: tuple[float, float] = (0.5, 0.5)

    @property
    def shoulder_height(self) -> float:
        """Height of the shoulders above the floor [m]."""
        return 1.04 if self.seated else 1.42

    @property
    def hip_height(self) -> float:
        """Height of the hips above the floor [m]."""
        return 0.54 if self.seated else 0.92

    def to_world(self, points: Array) -> Array:
        """Carry points of the body frame (origin on the floor) into the world, [..., 3]."""
        rotated = np.einsum("ij,...j->...i", rotation_z(self.yaw), points)
        return np.asarray(rotated + np.array([self.root[0], self.root[1], 0.0]))

    def shoulder(self, side: str) -> Array:
        """World position [m] of a shoulder, `side` being left or right."""
        sign = 1.0 if side == "left" else -1.0
        local = np.array([0.0, sign * SHOULDER_HALF_WIDTH, self.shoulder_height])
        return self.to_world(local)

    def poses(self, left_hand: Array, right_hand: Array) -> tuple[Array, Array]:
        """Poses of all bodies for hand centres given in the world.

        Args:
            left_hand: Positions of the left hand's centre [m], shape [..., 3].
            right_hand: The same for the right hand.

        Returns:
            Positions [..., 13, 3] and rotations [..., 13, 3, 3] in the order of
            `HUMAN_BODIES`. The z axis of every body runs along its capsule.
        """
        left_hand, right_hand = np.broadcast_arrays(left_hand, right_hand)
        lead = left_hand.shape[:-1]
        position = np.zeros((*lead, len(HUMAN_BODIES), 3))
        rotation = np.zeros((*lead, len(HUMAN_BODIES), 3, 3))
        for name, (start, end) in self._trunk().items():
            _place(position, rotation, HUMAN_BODIES.index(name), start, end, self._forward())
        for side, hand in zip(_SIDES, (left_hand, right_hand), strict=True):
            for part, (start, end) in zip(_ARM_PARTS, self._arm(side, hand), strict=True):
                index = HUMAN_BODIES.index(f"{part}_{side}")
                _place(position, rotation, index, start, end, np.array([0.0, 0.0, 1.0]))
        return position, rotation

    def _forward(self) -> Array:
        return rotation_z(self.yaw)[:, 0]

    def _trunk(self) -> dict[str, tuple[Array, Array]]:
        hip, shoulder = self.hip_height, self.shoulder_height
        segments = {
            "torso": ([0.0, 0.0, hip + 0.06], [0.0, 0.0, shoulder + 0.02]),
            "head": ([0.02, 0.0, shoulder + 0.15], [0.02, 0.0, shoulder + 0.25]),
            "pelvis": ([0.0, -0.07, hip], [0.0, 0.07, hip]),
        }
        for side, sign in (("left", 1.0), ("right", -1.0)):
            y = sign * 0.1
            knee = [0.42, y * 1.2, hip - 0.02] if self.seated else [0.02, y, 0.48]
            ankle = [0.40, y * 1.2, -0.03] if self.seated else [0.0, y, 0.01]
            segments[f"thigh_{side}"] = ([0.0, y, hip], knee)
            segments[f"shin_{side}"] = (knee, ankle)
        return {
            name: (self.to_world(np.array(a)), self.to_world(np.array(b)))
            for name, (a, b) in segments.items()
        }

    def _arm(self, side: str, hand: Array) -> tuple[tuple[Array, Array], ...]:
        """End points of upper arm, forearm and hand for hand centres [..., 3]."""
        shoulder = self.shoulder(side)
        elbow = self._elbow(side, hand)
        along = unit(hand - elbow)
        wrist = elbow + FOREARM * along
        start = np.broadcast_to(shoulder, elbow.shape)
        return (start, elbow), (elbow, wrist), (hand - 0.08 * along, hand + 0.08 * along)

    def _elbow(self, side: str, hand: Array) -> Array:
        """Two-bone solution: the elbow hangs below the line to the hand, swivelled outward."""
        shoulder = self.shoulder(side)
        lower = FOREARM + HAND_OFFSET
        to_hand = hand - shoulder
        reach = np.linalg.norm(to_hand, axis=-1, keepdims=True)
        reach = np.clip(reach, abs(UPPER_ARM - lower) + 1e-6, UPPER_ARM + lower - 1e-6)
        axis = unit(to_hand)
        along = (reach**2 + UPPER_ARM**2 - lower**2) / (2.0 * reach)
        away = np.sqrt(np.maximum(UPPER_ARM**2 - along**2, 0.0))
        sign, swivel = (1.0, self.swivel[0]) if side == "left" else (-1.0, self.swivel[1])
        outward = rotation_z(self.yaw)[:, 1] * sign
        hint = -np.cos(swivel) * np.array([0.0, 0.0, 1.0]) + np.sin(swivel) * outward
        hint = hint - 0.15 * self._forward()
        bend = unit(hint - np.sum(hint * axis, axis=-1, keepdims=True) * axis)
        return np.asarray(shoulder + along * axis + away * bend)


def capsule_of(body: str) -> tuple[float, float]:
    """Half length of the segment and radius [m] of a body's capsule along its own z axis."""
    if body in _CAPSULES:
        return _CAPSULES[body]
    return _CAPSULES[body.rsplit("_", 1)[0]]


def _place(
    position: Array, rotation: Array, index: int, start: Array, end: Array, reference: Array
) -> None:
    position[..., index, :] = (start + end) / 2.0
    rotation[..., index, :, :] = matrix_from_z(end - start, reference)
