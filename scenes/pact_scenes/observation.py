"""What a scene shows at one moment, computed from poses and geometry alone.

The same functions score every backend. They need NumPy only, so they also run inside Kit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_scenes.arm import ARM_LINKS, GRIPPER_BODIES, TCP_OFFSET
from pact_scenes.geometry import (
    capsule_box_distance,
    capsule_distance,
    ray_hits_box,
    ray_hits_capsule,
)
from pact_scenes.model import Group, SceneModel
from pact_scenes.settings import SeparationSettings, SimulationSettings, simulation_settings
from pact_scenes.transforms import matrix_from_quaternion, unit

Array = NDArray[np.float64]
Index = NDArray[np.intp]
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
        model, shapes = self.model, self.model.primitives
        bodies = model.bodies
        side = model.spec.receiving_hand
        groups = np.array([b.group.value for b in bodies])
        names = np.array([b.name for b in bodies])
        capsule_names, box_names = names[shapes.capsule_body], names[shapes.box_body]
        capsule_groups, box_groups = groups[shapes.capsule_body], groups[shapes.box_body]
        self._human = np.flatnonzero(capsule_groups == Group.HUMAN.value)
        reaching = (f"hand_{side}", f"forearm_{side}")
        self._bystander = self._human[~np.isin(capsule_names[self._human], reaching)]
        self._robot = np.flatnonzero(capsule_groups == Group.ROBOT.value)
        self._fingers = np.flatnonzero(box_groups == Group.ROBOT.value)
        self._object_capsule = np.flatnonzero(capsule_groups == Group.OBJECT.value)
        self._object_box = np.flatnonzero(box_groups == Group.OBJECT.value)
        self._hand = np.flatnonzero(capsule_names == model.hand_name)
        self._gripper = np.flatnonzero(np.isin(capsule_names, GRIPPER_BODIES))
        self._hand_body, self._object_body = model.index(model.hand_name), model.index("object")
        self._tool_body = ARM_LINKS.index("hand")
        own = (*reaching,)
        self._hand_blockers = ~np.isin(capsule_names, own), np.ones(len(box_names), dtype=bool)
        self._object_blockers = capsule_names != "object", box_groups == Group.STATIC.value
        sphere = _fibonacci_sphere(self.settings.occlusion.points)
        self._hand_points = sphere * _hand_extent(model) * 0.75
        self._object_points = sphere * np.array(model.spec.object_extent) * 0.75
        self._path_times = np.linspace(0.0, model.plan.approach_time, self.settings.path.samples)
        position, rotation = model.planned_poses(self._path_times)
        self._path_capsules = shapes.capsules(position, rotation)
        self._path_boxes = shapes.boxes(position, rotation)

    def observe(self, state: SceneState, step: int = 0, backend: str = "kinematic") -> Observation:
        """Score one state."""
        model, shapes = self.model, self.model.primitives
        rotation = matrix_from_quaternion(state.quaternion)
        capsules = shapes.capsules(state.position, rotation)
        boxes = shapes.boxes(state.position, rotation)
        hand_object = self._hand_object_distance(capsules, boxes)
        clearance = self._robot_distance(self._human, capsules, boxes)
        tool, tool_velocity = self._tool(state, rotation)
        hand = state.position[self._hand_body]
        hand_velocity = state.linear_velocity[self._hand_body]
        to_hand = unit(hand - tool)
        robot_speed = max(float(tool_velocity @ to_hand), 0.0)
        human_speed = max(
            float(-hand_velocity @ to_hand), self.settings.separation.human_speed_floor
        )
        seen = [
            self._occlusion(np.array(camera.eye), state.position, rotation, capsules, boxes)
            for camera in model.plan.cameras
        ]
        touching = min(hand_object, clearance) <= self.settings.contact.gap
        return Observation(
            scene_id=model.spec.scene_id,
            geometry=model.spec.geometry.value,
            step=step,
            time=float(state.time),
            hand_object_distance=hand_object,
            hand_gripper_distance=self._gripper_distance(capsules, boxes),
            closing_speed=float((tool_velocity - hand_velocity) @ to_hand),
            clearance=clearance,
            path_clearance=self._path_clearance(state.time, capsules, boxes),
            separation_margin=clearance
            - protective_distance(human_speed, robot_speed, self.settings.separation),
            occlusion_robot=seen[0],
            occlusion_human=seen[1],
            occlusion_overhead=seen[2],
            occlusion=seen[0],
            contact_force=float(state.contact_force),
            contact=bool(touching or state.contact_force > self.settings.contact.force),
            tracking_error=float(np.linalg.norm(tool - model.planned_tcp(state.time))),
            backend=backend,
        )

    def _tool(self, state: SceneState, rotation: Array) -> tuple[Array, Array]:
        """Position and velocity of the tool centre point."""
        arm = TCP_OFFSET * rotation[self._tool_body][:, 2]
        tool = state.position[self._tool_body] + arm
        spin = np.cross(state.angular_velocity[self._tool_body], arm)
        return tool, state.linear_velocity[self._tool_body] + spin

    def _hand_object_distance(
        self, capsules: tuple[Array, Array], boxes: tuple[Array, Array]
    ) -> float:
        shapes, hand = self.model.primitives, self._hand
        start, end = capsules[0][hand], capsules[1][hand]
        radius = shapes.capsule_radius[hand]
        if len(self._object_box):
            box = self._object_box
            gap = capsule_box_distance(
                start, end, radius, boxes[0][box], boxes[1][box], shapes.box_half[box]
            )
        else:
            other = self._object_capsule
            gap = capsule_distance(
                start,
                end,
                radius,
                capsules[0][other],
                capsules[1][other],
                shapes.capsule_radius[other],
            )
        return float(gap.min())

    def _gripper_distance(self, capsules: tuple[Array, Array], boxes: tuple[Array, Array]) -> float:
        shapes, hand, palm = self.model.primitives, self._hand, self._gripper
        start, end = capsules[0][hand], capsules[1][hand]
        radius = shapes.capsule_radius[hand]
        body = capsule_distance(
            start, end, radius, capsules[0][palm], capsules[1][palm], shapes.capsule_radius[palm]
        )
        finger = self._fingers
        tips = capsule_box_distance(
            start, end, radius, boxes[0][finger], boxes[1][finger], shapes.box_half[finger]
        )
        return float(min(body.min(), tips.min()))

    def _robot_distance(
        self,
        human: Index,
        capsules: tuple[Array, Array],
        boxes: tuple[Array, Array],
        robot_capsules: tuple[Array, Array] | None = None,
        robot_boxes: tuple[Array, Array] | None = None,
    ) -> float:
        """Smallest distance between the arm (now, or along its path) and human capsules."""
        shapes = self.model.primitives
        links, fingers = self._robot, self._fingers
        start, end = capsules[0][human], capsules[1][human]
        radius = shapes.capsule_radius[human]
        arm = robot_capsules if robot_capsules is not None else capsules
        tips = robot_boxes if robot_boxes is not None else boxes
        body = capsule_distance(
            start,
            end,
            radius,
            arm[0][..., links, None, :],
            arm[1][..., links, None, :],
            shapes.capsule_radius[links, None],
        )
        finger = capsule_box_distance(
            start,
            end,
            radius,
            tips[0][..., fingers, None, :],
            tips[1][..., fingers, None, :, :],
            shapes.box_half[fingers, None],
        )
        return float(min(body.min(), finger.min()))

    def _path_clearance(
        self, time: float, capsules: tuple[Array, Array], boxes: tuple[Array, Array]
    ) -> float:
        now = self._robot_distance(self._bystander, capsules, boxes)
        ahead = self._path_times >= time
        if not ahead.any():
            return now
        path = (self._path_capsules[0][ahead], self._path_capsules[1][ahead])
        tips = (self._path_boxes[0][ahead], self._path_boxes[1][ahead])
        return min(now, self._robot_distance(self._bystander, capsules, boxes, path, tips))

    def _occlusion(
        self,
        eye: Array,
        position: Array,
        rotation: Array,
        capsules: tuple[Array, Array],
        boxes: tuple[Array, Array],
    ) -> float:
        """Share of the sight lines from a camera to hand and object that are blocked."""
        blocked = [
            self._blocked(eye, points, which, capsules, boxes)
            for points, which in (
                (
                    position[self._hand_body] + self._hand_points @ rotation[self._hand_body].T,
                    self._hand_blockers,
                ),
                (
                    position[self._object_body]
                    + self._object_points @ rotation[self._object_body].T,
                    self._object_blockers,
                ),
            )
        ]
        return float(np.mean(np.concatenate(blocked)))

    def _blocked(
        self,
        eye: Array,
        points: Array,
        which: tuple[Mask, Mask],
        capsules: tuple[Array, Array],
        boxes: tuple[Array, Array],
    ) -> Mask:
        shapes = self.model.primitives
        keep, keep_box = which
        target = points[:, None, :]
        hit = ray_hits_capsule(
            eye, target, capsules[0][keep], capsules[1][keep], shapes.capsule_radius[keep]
        ).any(axis=1)
        if keep_box.any():
            hit |= ray_hits_box(
                eye, target, boxes[0][keep_box], boxes[1][keep_box], shapes.box_half[keep_box]
            ).any(axis=1)
        centre, turn, half = self.model.static_boxes
        if len(centre):
            hit |= ray_hits_box(eye, target, centre, turn, half).any(axis=1)
        return np.asarray(hit)


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


def _hand_extent(model: SceneModel) -> Array:
    primitive = model.bodies[model.index(model.hand_name)].primitives[0]
    return np.array([primitive.radius, primitive.radius, primitive.end[2] + primitive.radius])


def _fibonacci_sphere(count: int) -> Array:
    """Evenly spread unit vectors, shape [count, 3]."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=-1)
