"""The robot: a 7-DoF arm with Franka-like kinematics, a parallel gripper and capsule links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pact_scenes.transforms import rotation_z

Array = NDArray[np.float64]

__all__ = [
    "ARM_JOINTS",
    "ARM_LINKS",
    "FINGER_BASE",
    "FINGER_JOINTS",
    "FINGER_TRAVEL",
    "GRIPPER_BODIES",
    "HAND_OFFSET",
    "JOINT_FRAMES",
    "JOINT_LOWER",
    "JOINT_UPPER",
    "JOINT_VELOCITY",
    "LINK_SHAPES",
    "TCP_OFFSET",
    "LinkShape",
    "arm_frames",
    "tcp_frame",
]

JOINT_LOWER: Final = np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973])
JOINT_UPPER: Final = np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973])
JOINT_VELOCITY: Final = np.array([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61])
"""Velocity limits [rad/s]."""
FINGER_TRAVEL: Final = 0.04
"""Stroke of one finger [m]."""
TCP_OFFSET: Final = 0.1034
"""Distance of the tool centre point along the z axis of the hand frame [m]."""

JOINT_FRAMES: Final = np.array(
    [
        [0.0, 0.333, 0.0],
        [0.0, 0.0, -np.pi / 2],
        [0.0, 0.316, np.pi / 2],
        [0.0825, 0.0, np.pi / 2],
        [-0.0825, 0.384, -np.pi / 2],
        [0.0, 0.0, np.pi / 2],
        [0.088, 0.0, np.pi / 2],
    ]
)
"""Modified Denavit-Hartenberg parameters (a, d, alpha) of the seven joints."""
HAND_OFFSET: Final = 0.107
"""Distance of the hand frame from the last link along z [m]; it is turned by -45 degrees."""
FINGER_BASE: Final = 0.0584
"""Distance of the fingers from the hand frame along z [m]."""

ARM_LINKS: Final = (*(f"link{i}" for i in range(8)), "hand", "finger_left", "finger_right")
"""Bodies of the arm from the base to the fingers; the order of `arm_frames`."""
ARM_JOINTS: Final = tuple(f"joint{i}" for i in range(1, 8))
FINGER_JOINTS: Final = ("finger_joint_left", "finger_joint_right")
GRIPPER_BODIES: Final = ("hand", "finger_left", "finger_right")


@dataclass(frozen=True, slots=True)
class LinkShape:
    """A primitive in a link frame: a capsule from `start` to `end`, or a box about `start`.

    Attributes:
        start: First end point or box centre [m].
        end: Second end point, or the half extents of a box [m].
        radius: Capsule radius [m]; 0 marks a box.
    """

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float


LINK_SHAPES: Final[dict[str, tuple[LinkShape, ...]]] = {
    "link0": (LinkShape((-0.03, 0.0, 0.075), (0.0, 0.0, 0.075), 0.07),),
    "link1": (LinkShape((0.0, 0.0, -0.17), (0.0, 0.0, 0.0), 0.06),),
    "link2": (LinkShape((0.0, 0.0, -0.05), (0.0, 0.0, 0.05), 0.06),),
    "link3": (LinkShape((0.0, 0.0, -0.24), (0.05, 0.0, -0.02), 0.056),),
    "link4": (LinkShape((0.0, 0.0, -0.045), (0.0, 0.0, 0.045), 0.056),),
    "link5": (LinkShape((0.05, 0.0, -0.33), (0.0, 0.04, -0.05), 0.052),),
    "link6": (LinkShape((0.0, 0.0, -0.01), (0.07, 0.0, 0.0), 0.048),),
    "link7": (LinkShape((0.0, 0.0, 0.01), (0.0, 0.0, 0.07), 0.042),),
    "hand": (LinkShape((0.0, -0.07, 0.032), (0.0, 0.07, 0.032), 0.03),),
    "finger_left": (LinkShape((0.0, 0.008, 0.027), (0.009, 0.008, 0.027), 0.0),),
    "finger_right": (LinkShape((0.0, -0.008, 0.027), (0.009, 0.008, 0.027), 0.0),),
}


def arm_frames(joints: Array, finger: float | Array = 0.0) -> Array:
    """World-free poses of all bodies relative to the arm's base.

    Args:
        joints: Joint angles [rad], shape [..., 7].
        finger: Opening of each finger [m], broadcast over the leading shape.

    Returns:
        Homogeneous transforms, shape [..., 11, 4, 4], in the order of `ARM_LINKS`.
    """
    q = np.asarray(joints, dtype=np.float64)
    lead = q.shape[:-1]
    frames = np.zeros((*lead, len(ARM_LINKS), 4, 4))
    frames[..., 0, :, :] = np.eye(4)
    current = frames[..., 0, :, :].copy()
    for i, (a, d, alpha) in enumerate(JOINT_FRAMES):
        current = current @ _joint_transform(q[..., i], a, d, alpha)
        frames[..., i + 1, :, :] = current
    tool = np.eye(4)
    tool[:3, :3] = rotation_z(-np.pi / 4)
    tool[2, 3] = HAND_OFFSET
    hand = current @ tool
    frames[..., 8, :, :] = hand
    opening = np.broadcast_to(np.asarray(finger, dtype=np.float64), lead)
    for index, sign in ((9, 1.0), (10, -1.0)):
        offset = np.zeros((*lead, 4, 4))
        offset[..., :, :] = np.eye(4)
        offset[..., 1, 3] = sign * opening
        offset[..., 2, 3] = FINGER_BASE
        frames[..., index, :, :] = hand @ offset
    return frames


def _joint_transform(theta: Array, a: float, d: float, alpha: float) -> Array:
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    out = np.zeros((*np.shape(theta), 4, 4))
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 3] = ct, -st, a
    out[..., 1, 0], out[..., 1, 1], out[..., 1, 2], out[..., 1, 3] = st * ca, ct * ca, -sa, -d * sa
    out[..., 2, 0], out[..., 2, 1], out[..., 2, 2], out[..., 2, 3] = st * sa, ct * sa, ca, d * ca
    out[..., 3, 3] = 1.0
    return out


def tcp_frame(joints: Array, offset: float = TCP_OFFSET) -> Array:
    """Pose [..., 4, 4] of the tool centre point (`offset` along the hand's z) in the base."""
    frame = arm_frames(joints)[..., 8, :, :].copy()
    frame[..., :3, 3] += offset * frame[..., :3, 2]
    return frame
