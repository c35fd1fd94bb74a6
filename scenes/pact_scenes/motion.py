"""What arm and human aim for at any time of a rollout: interpolation of the stored plan."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pact_scenes.model import SceneModel
from pact_scenes.plan import Transfer
from pact_scenes.settings import SimulationSettings, simulation_settings
from pact_scenes.transforms import quaternion_from_matrix

Array = NDArray[np.float64]

__all__ = ["Motion", "MotionTarget"]


@dataclass(frozen=True, slots=True)
class MotionTarget:
    """Targets at one time, or at many with a leading axis.

    Attributes:
        joints: Arm joints [rad], shape [..., 7].
        finger: Opening of each finger [m].
        human_position: Human bodies [m], shape [..., 13, 3] in the order of `HUMAN_BODIES`.
        human_quaternion: Their orientations (xyzw), shape [..., 13, 4].
        released: Whether the grasp is open, shape [...].
    """

    joints: Array
    finger: float
    human_position: Array
    human_quaternion: Array
    released: NDArray[np.bool_]


@dataclass
class Motion:
    """Phases of a rollout: approach with decisions, hold, transfer, withdrawal.

    During the transfer the hand closes on the object; then the grasp opens and the hand
    withdraws to where it waited.
    """

    model: SceneModel
    settings: SimulationSettings = field(default_factory=simulation_settings)

    @property
    def transfer_start(self) -> float:
        """When the hand begins to close on the object [s]."""
        return self.model.plan.approach_time + self.settings.rollout.hold_time

    @property
    def release_time(self) -> float:
        """When the grasp opens [s]."""
        return self.transfer_start + self.settings.rollout.transfer_time

    @property
    def end(self) -> float:
        """When the rollout ends [s]."""
        return self.release_time + self.settings.rollout.withdraw_time

    def at(self, time: float | Array) -> MotionTarget:
        """Targets at times [s] of shape [...]."""
        model, rollout = self.model, self.settings.rollout
        transfer = Transfer(
            self.transfer_start,
            max(rollout.transfer_time, 1e-3),
            self.release_time,
            max(rollout.withdraw_time, 1e-3),
        )
        position, rotation = model.planned_poses(time, transfer)
        first = model.index("object") + 1
        return MotionTarget(
            joints=model.plan.joints(time),
            finger=model.plan.finger,
            human_position=position[..., first:, :],
            human_quaternion=quaternion_from_matrix(rotation[..., first:, :, :]),
            released=np.asarray(np.asarray(time) > self.release_time - 1e-9),
        )
