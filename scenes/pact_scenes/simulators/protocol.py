"""What a simulation backend provides; observations are computed above it."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pact_scenes.model import SceneModel
from pact_scenes.observation import SceneState

Array = NDArray[np.float64]

__all__ = ["BackendUnavailableError", "SimulationError", "Simulator"]


class BackendUnavailableError(RuntimeError):
    """A backend cannot run here; the message says what is missing and how to install it."""


class SimulationError(RuntimeError):
    """A scene could not be loaded or stepped."""


@runtime_checkable
class Simulator(Protocol):
    """Opens one scene at a time and steps it. SI units, radians, quaternions xyzw.

    The order of calls is `open`, then any number of `command` and `step`, with `state` where a
    state is wanted, then `close`. `open` may be called again after `close`; a closed simulator
    may be closed again. Everything is deterministic.
    """

    name: str

    def open(self, model: SceneModel, physics_rate: int) -> None:
        """Load a scene at its start pose; time is zero afterwards.

        Raises:
            SimulationError: The scene cannot be loaded.
        """
        ...

    def command(self, joints: Array, human_position: Array, human_quaternion: Array) -> None:
        """Set what the next steps aim for.

        Args:
            joints: Targets of the seven arm joints [rad], shape [7]. Fingers keep their opening.
            human_position: Kinematic targets of the human bodies [m], shape [13, 3] in the
                order of `HUMAN_BODIES`, to be reached at the end of the next step.
            human_quaternion: Their orientations (xyzw), shape [13, 4].
        """
        ...

    def step(self, count: int = 1) -> None:
        """Advance by `count` physics steps of `1 / physics_rate` seconds."""
        ...

    def release(self) -> None:
        """Open the grasp: from now on the object is attached to the receiving hand, where it is."""
        ...

    def state(self) -> SceneState:
        """Poses, velocities and the contact force now, in `SceneModel.bodies` order."""
        ...

    def close(self) -> None:
        """Unload the scene and free what it holds."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
