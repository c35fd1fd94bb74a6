"""The oracle: bodies follow their commands exactly, with NumPy only."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pact_scenes.arm import ARM_LINKS
from pact_scenes.human import HUMAN_BODIES
from pact_scenes.model import SceneModel
from pact_scenes.observation import SceneState
from pact_scenes.simulators.protocol import SimulationError
from pact_scenes.transforms import matrix_from_quaternion, quaternion_from_matrix

Array = NDArray[np.float64]

__all__ = ["KinematicSimulator"]


class KinematicSimulator:
    """Places every body where it is told; velocities are differences over the last step.

    Nothing collides and no force acts: contact shows only in the distances.
    """

    name = "kinematic"

    def __init__(self) -> None:
        self._model: SceneModel | None = None
        self._time = 0.0
        self._dt = 1.0
        self._position = np.empty((0, 3))
        self._rotation = np.empty((0, 3, 3))
        self._velocity = np.empty((0, 3))
        self._spin = np.empty((0, 3))
        self._target: tuple[Array, Array] | None = None
        self._grip: tuple[Array, Array] | None = None

    def open(self, model: SceneModel, physics_rate: int) -> None:
        """Place all bodies at their start."""
        self._model, self._time, self._dt = model, 0.0, 1.0 / physics_rate
        self._position, self._rotation = model.planned_poses(0.0)
        self._velocity = np.zeros_like(self._position)
        self._spin = np.zeros_like(self._position)
        self._target, self._grip = None, None

    def command(self, joints: Array, human_position: Array, human_quaternion: Array) -> None:
        """Set the poses that the next step reaches."""
        model = self._opened()
        position, rotation = model.robot_poses(np.asarray(joints, dtype=np.float64))
        hand = ARM_LINKS.index("hand")
        held = position[hand] + model.grasp_depth * rotation[hand][:, 2]
        held_rotation = rotation[hand]
        human_rotation = matrix_from_quaternion(human_quaternion)
        if self._grip is not None:
            palm = HUMAN_BODIES.index(model.hand_name)
            held = human_position[palm] + human_rotation[palm] @ self._grip[0]
            held_rotation = human_rotation[palm] @ self._grip[1]
        self._target = (
            np.concatenate([position, held[None], human_position]),
            np.concatenate([rotation, held_rotation[None], human_rotation]),
        )

    def step(self, count: int = 1) -> None:
        """Advance time; the commanded poses are reached at the end of the last step.

        Velocities are the mean over these steps.
        """
        self._opened()
        span = count * self._dt
        self._time += span
        if self._target is None:
            self._velocity[...] = 0.0
            self._spin[...] = 0.0
            return
        position, rotation = self._target
        self._velocity = (position - self._position) / span
        turn = np.einsum("bij,bkj->bik", rotation, self._rotation)
        self._spin = _rotation_vector(turn) / span
        self._position, self._rotation, self._target = position, rotation, None

    def release(self) -> None:
        """Let the object follow the receiving hand from where it is."""
        self._grip = self._opened().pose_in_hand(self._position, self._rotation)

    def state(self) -> SceneState:
        """The current state; there are no contact forces."""
        self._opened()
        return SceneState(
            self._time,
            self._position.copy(),
            quaternion_from_matrix(self._rotation),
            self._velocity.copy(),
            self._spin.copy(),
        )

    def close(self) -> None:
        """Forget the scene."""
        self._model = None

    def _opened(self) -> SceneModel:
        if self._model is None:
            raise SimulationError("no scene is open")
        return self._model

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _rotation_vector(matrix: Array) -> Array:
    """Rotation vectors [..., 3] of rotation matrices."""
    quaternion = quaternion_from_matrix(matrix)
    axis, real = quaternion[..., :3], quaternion[..., 3:]
    size = np.linalg.norm(axis, axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, real)
    return np.asarray(axis * np.where(size > 1e-12, angle / np.where(size > 0.0, size, 1.0), 2.0))
