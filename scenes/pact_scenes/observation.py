"""What a scene shows at one moment, computed from poses and geometry alone.

The same functions score every backend. They need NumPy only, so they also run inside Kit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_scenes.arm import ARM_LINKS, TCP_OFFSET
from pact_scenes.model import SceneModel
from pact_scenes.proximity import Proximity
from pact_scenes.settings import SeparationSettings, SimulationSettings, simulation_settings
from pact_scenes.sightlines import SightLines
from pact_scenes.transforms import matrix_from_quaternion, unit

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

__all__ = ["Observation", "Observer", "SceneState", "observe", "protective_distance"]


@dataclass(frozen=True, slots=True)
class SceneState:
    """Poses and velocities of all moving bodies at one time, in `SceneModel.bodies` order.

    Attributes:
        time: Simulated time [s].
        position: Body positions [m], shape [B, 3].
        quaternion: Body orientations (xyzw), shape [B, 4].
        linear_velocity: Velocities of the body origins [m/s], shape [B, 3].
        angular_velocity: Angular velocities [rad/s], shape [B, 3].
        contact_force: Largest normal force on a human body [N]; 0 without contact.
    """

    time: float
    position: Array
    quaternion: Array
    linear_velocity: Array
    angular_velocity: Array
    contact_force: float = 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """One row of the observations; see the data dictionary for units and meaning.

    `clearance` counts every part of the human; `path_clearance` leaves out the receiving hand
    and its forearm, because meeting them is the task. Distances are between surfaces, negative
    where bodies overlap.
    """

    scene_id: str
    geometry: str
    step: int
    time: float
    hand_object_distance: float
    hand_gripper_distance: float
    closing_speed: float
    clearance: float
    path_clearance: float
    separation_margin: float
    occlusion_robot: float
    occlusion_human: float
    occlusion_overhead: float
    occlusion: float
    contact_force: float
    contact: bool
    tracking_error: float
    backend: str

    def as_dict(self) -> dict[str, Any]:
        """Column names and values."""
        return asdict(self)


def protective_distance(
    human_speed: float, robot_speed: float, settings: SeparationSettings
) -> float:
    """Protective separation distance of ISO/TS 15066 [m] for speeds of approach [m/s].

    The sum of the human's and the arm's travel during reaction and stopping, the intrusion
    distance and the two position uncertainties.
    """
    stopping_time = robot_speed / settings.deceleration
    return (
        human_speed * (settings.reaction_time + stopping_time)
        + robot_speed * settings.reaction_time
        + robot_speed * stopping_time / 2.0
        + settings.intrusion_distance
        + settings.human_uncertainty
        + settings.robot_uncertainty
    )


@dataclass
class Observer:
    """Computes observations of one scene; index sets and the path are prepared once."""

    model: SceneModel
    settings: SimulationSettings = field(default_factory=simulation_settings)

    def __post_init__(self) -> None:
        model, settings = self.model, self.settings
        self._hand_body = model.index(model.hand_name)
        self._tool_body = ARM_LINKS.index("hand")
        path = np.linspace(0.0, model.plan.approach_time, settings.path.samples)
        self._proximity = Proximity(model, path)
        self._sight = SightLines(model, settings.occlusion.points)
        self._rate = settings.rollout.physics_rate
        ticks = np.arange(round(model.plan.approach_time * self._rate) + 2)
        self._planned_tools = model.planned_tcp(ticks / self._rate)

    def observe(self, state: SceneState, step: int = 0, backend: str = "kinematic") -> Observation:
        """Score one state."""
        model, contact = self.model, self.settings.contact
        rotation = matrix_from_quaternion(state.quaternion)
        capsules = model.primitives.capsules(state.position, rotation)
        boxes = model.primitives.boxes(state.position, rotation)
        gaps = self._proximity.measure(state.time, capsules, boxes)
        tool, tool_velocity = self._tool(state, rotation)
        hand_velocity = state.linear_velocity[self._hand_body]
        to_hand = unit(state.position[self._hand_body] - tool)
        robot_speed = max(float(tool_velocity @ to_hand), 0.0)
        human_speed = max(
            float(-hand_velocity @ to_hand), self.settings.separation.human_speed_floor
        )
        separation = protective_distance(human_speed, robot_speed, self.settings.separation)
        hidden = self._sight.blocked(state.position, rotation, capsules, boxes).mean(axis=-1)
        touching = min(gaps.hand_object, gaps.clearance) <= contact.gap
        return Observation(
            scene_id=model.spec.scene_id,
            geometry=model.spec.geometry.value,
            step=step,
            time=float(state.time),
            hand_object_distance=gaps.hand_object,
            hand_gripper_distance=gaps.hand_gripper,
            closing_speed=float((tool_velocity - hand_velocity) @ to_hand),
            clearance=gaps.clearance,
            path_clearance=gaps.path_clearance,
            separation_margin=gaps.clearance - separation,
            occlusion_robot=float(hidden[0]),
            occlusion_human=float(hidden[1]),
            occlusion_overhead=float(hidden[2]),
            occlusion=float(hidden[0]),
            contact_force=float(state.contact_force),
            contact=bool(touching or state.contact_force > contact.force),
            tracking_error=float(np.linalg.norm(tool - self._planned_tool(state.time))),
            backend=backend,
        )

    def sight_lines(self, state: SceneState, camera: int = 0) -> tuple[Array, Array, Mask]:
        """Return a camera's eye [3], the points it looks at [P, 3] and which are blocked [P]."""
        rotation = matrix_from_quaternion(state.quaternion)
        shapes = self.model.primitives
        capsules = shapes.capsules(state.position, rotation)
        boxes = shapes.boxes(state.position, rotation)
        blocked = self._sight.blocked(state.position, rotation, capsules, boxes)
        targets = self._sight.targets(state.position, rotation)
        return self._sight.eyes[camera], targets, blocked[camera]

    def closest_points(self, state: SceneState) -> tuple[Array, Array]:
        """Return the closest points of arm and human [m], each of shape [3].

        They lie on the axes of capsules; `clearance` is their distance less the radii.
        """
        rotation = matrix_from_quaternion(state.quaternion)
        shapes = self.model.primitives
        return self._proximity.closest(
            shapes.capsules(state.position, rotation), shapes.boxes(state.position, rotation)
        )

    def _planned_tool(self, time: float) -> Array:
        """Return the planned tool centre point; steps of the physics rate are looked up."""
        tick = round(time * self._rate)
        if abs(tick / self._rate - time) > 1e-9:
            return self.model.planned_tcp(time)
        return np.asarray(self._planned_tools[min(tick, len(self._planned_tools) - 1)])

    def _tool(self, state: SceneState, rotation: Array) -> tuple[Array, Array]:
        """Position and velocity of the tool centre point."""
        arm = TCP_OFFSET * rotation[self._tool_body][:, 2]
        tool = state.position[self._tool_body] + arm
        spin = np.cross(state.angular_velocity[self._tool_body], arm)
        return tool, state.linear_velocity[self._tool_body] + spin


def observe(
    model: SceneModel,
    state: SceneState,
    *,
    step: int = 0,
    backend: str = "kinematic",
    settings: SimulationSettings | None = None,
) -> Observation:
    """Score one state of a scene; keep an `Observer` to score many."""
    observer = Observer(model, settings) if settings is not None else Observer(model)
    return observer.observe(state, step, backend)
