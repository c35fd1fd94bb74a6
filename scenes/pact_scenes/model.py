"""The geometric model of a scene: its bodies and primitives, shared by all backends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pact_scenes.arm import ARM_LINKS, LINK_SHAPES, TCP_OFFSET, arm_frames
from pact_scenes.catalogue import SceneSpec
from pact_scenes.human import HUMAN_BODIES, capsule_of
from pact_scenes.plan import ScenePlan, Transfer, plan_of
from pact_scenes.transforms import quaternion_from_matrix, rotation_z

Array = NDArray[np.float64]
Index = NDArray[np.intp]

__all__ = ["Body", "Group", "Primitive", "PrimitiveSet", "SceneModel", "build_model"]

OBJECT_PATH: Final = "/World/Object"


class Group(StrEnum):
    """What a body belongs to."""

    ROBOT = "robot"
    OBJECT = "object"
    HUMAN = "human"
    STATIC = "static"


@dataclass(frozen=True, slots=True)
class Primitive:
    """A capsule (end points in the body frame and radius) or a box (centre, half extents).

    Attributes:
        start: End point of a capsule or centre of a box [m].
        end: Other end point of a capsule; unused for a box.
        radius: Radius of a capsule [m]; a sphere has coinciding end points.
        half: Half extents of a box [m]; None for a capsule.
    """

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float
    half: tuple[float, float, float] | None = None


_VISUALS: Final[dict[str, tuple[Primitive, ...]]] = {
    "link4": (Primitive((0.0, 0.0, 0.0), (-0.0825, 0.07, 0.0), 0.05),),
    "torso": (Primitive((0.0, -0.2, 0.2), (0.0, 0.2, 0.2), 0.05),),
}
"""Joints between neighbours that the colliding shapes leave open: elbow and shoulders."""


@dataclass(frozen=True, slots=True)
class Body:
    """A named rigid body with its USD path.

    Attributes:
        name: Name within its group.
        path: Prim path.
        group: What it belongs to.
        primitives: Shapes that collide and are observed.
        visuals: Shapes that are only drawn.
    """

    name: str
    path: str
    group: Group
    primitives: tuple[Primitive, ...]
    visuals: tuple[Primitive, ...] = ()


@dataclass(frozen=True, slots=True)
class PrimitiveSet:
    """Primitives of many bodies as arrays in body frames."""

    capsule_body: Index
    capsule_start: Array
    capsule_end: Array
    capsule_radius: Array
    box_body: Index
    box_centre: Array
    box_half: Array

    @classmethod
    def of(cls, bodies: tuple[Body, ...]) -> PrimitiveSet:
        """Collect the primitives of bodies; indices refer to this tuple."""
        capsules = [(i, p) for i, b in enumerate(bodies) for p in b.primitives if p.half is None]
        boxes = [(i, p) for i, b in enumerate(bodies) for p in b.primitives if p.half is not None]
        return cls(
            np.array([i for i, _ in capsules], dtype=np.intp),
            np.array([p.start for _, p in capsules], dtype=np.float64).reshape(-1, 3),
            np.array([p.end for _, p in capsules], dtype=np.float64).reshape(-1, 3),
            np.array([p.radius for _, p in capsules], dtype=np.float64),
            np.array([i for i, _ in boxes], dtype=np.intp),
            np.array([p.start for _, p in boxes], dtype=np.float64).reshape(-1, 3),
            np.array([p.half for _, p in boxes], dtype=np.float64).reshape(-1, 3),
        )

    def capsules(self, position: Array, rotation: Array) -> tuple[Array, Array]:
        """World end points [..., C, 3] for body poses [..., B, 3] and [..., B, 3, 3]."""
        p, r = position[..., self.capsule_body, :], rotation[..., self.capsule_body, :, :]
        start = p + np.einsum("...cij,cj->...ci", r, self.capsule_start)
        end = p + np.einsum("...cij,cj->...ci", r, self.capsule_end)
        return start, end

    def boxes(self, position: Array, rotation: Array) -> tuple[Array, Array]:
        """World centres [..., D, 3] and rotations [..., D, 3, 3]."""
        p, r = position[..., self.box_body, :], rotation[..., self.box_body, :, :]
        return p + np.einsum("...dij,dj->...di", r, self.box_centre), r


@dataclass(frozen=True)
class SceneModel:
    """Bodies, planned motion and static surroundings of one scene."""

    spec: SceneSpec
    plan: ScenePlan

    @property
    def base(self) -> Array:
        """World position of the arm's base [m]."""
        return np.array([0.0, 0.0, self.spec.mount_height])

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """Moving bodies: the arm, the object, the human. The order of every pose array."""
        arm = tuple(
            Body(
                name,
                f"/World/Robot/{name}",
                Group.ROBOT,
                _link_primitives(name),
                _VISUALS.get(name, ()),
            )
            for name in ARM_LINKS
        )
        human = tuple(
            Body(
                name,
                f"/World/Human/{name}",
                Group.HUMAN,
                (_human_primitive(name),),
                _VISUALS.get(name, ()),
            )
            for name in HUMAN_BODIES
        )
        held = Body("object", OBJECT_PATH, Group.OBJECT, (_object_primitive(self.spec),))
        return (*arm, held, *human)

    @cached_property
    def statics(self) -> tuple[Body, ...]:
        """Fixed bodies: table, pedestal, stool, obstacle, screen."""
        return tuple(
            Body(
                box.name,
                f"/World/Surroundings/{box.name}",
                Group.STATIC,
                (Primitive((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, box.half),),
            )
            for box in self.plan.boxes
        )

    @cached_property
    def primitives(self) -> PrimitiveSet:
        """Primitives of the moving bodies."""
        return PrimitiveSet.of(self.bodies)

    @cached_property
    def static_boxes(self) -> tuple[Array, Array, Array]:
        """World centres [D, 3], rotations [D, 3, 3] and half extents [D, 3] of static boxes."""
        boxes = self.plan.boxes
        return (
            np.array([b.centre for b in boxes]).reshape(-1, 3),
            rotation_z(np.array([b.yaw for b in boxes])),
            np.array([b.half for b in boxes]).reshape(-1, 3),
        )

    def index(self, name: str) -> int:
        """Position of a moving body in the pose arrays."""
        return self._names[name]

    @cached_property
    def _names(self) -> dict[str, int]:
        return {body.name: i for i, body in enumerate(self.bodies)}

    @property
    def hand_name(self) -> str:
        """Name of the body that receives the object."""
        return f"hand_{self.spec.receiving_hand}"

    def robot_poses(self, joints: Array) -> tuple[Array, Array]:
        """Poses of the arm's bodies in the world for joint angles [..., 7]."""
        frames = arm_frames(joints, self.plan.finger)
        return frames[..., :3, 3] + self.base, frames[..., :3, :3]

    def planned_poses(
        self, time: float | Array, transfer: Transfer | None = None
    ) -> tuple[Array, Array]:
        """Planned positions [..., B, 3] and rotations [..., B, 3, 3] at times [s].

        The object follows the gripper for all times.
        """
        position, rotation = self.robot_poses(self.plan.joints(time))
        hand = ARM_LINKS.index("hand")
        held_rotation = rotation[..., hand, :, :]
        held = position[..., hand, :] + self.grasp_depth * held_rotation[..., :, 2]
        left, right = self.plan.hands(self.spec, time, transfer)
        human_position, human_rotation = self.plan.figure(self.spec).poses(left, right)
        return (
            np.concatenate([position, held[..., None, :], human_position], axis=-2),
            np.concatenate([rotation, held_rotation[..., None, :, :], human_rotation], axis=-3),
        )

    @property
    def grasp_depth(self) -> float:
        """Distance of the object's centre from the hand frame along its z axis [m]."""
        return TCP_OFFSET + self.plan.grasp_offset

    def planned_tcp(self, time: float | Array) -> Array:
        """Planned tool centre point in the world [m], shape [..., 3]."""
        position, rotation = self.robot_poses(self.plan.joints(time))
        hand = ARM_LINKS.index("hand")
        return np.asarray(position[..., hand, :] + TCP_OFFSET * rotation[..., hand, :, 2])

    def pose_in_hand(self, position: Array, rotation: Array) -> tuple[Array, Array]:
        """Pose of the object in the frame of the receiving hand, [3] and [3, 3].

        Args:
            position: Positions of all bodies [m], shape [B, 3].
            rotation: Their rotations, shape [B, 3, 3].
        """
        hand, held = self.index(self.hand_name), self.index("object")
        turn = rotation[hand].T
        return turn @ (position[held] - position[hand]), turn @ rotation[held]

    def initial_state(self) -> tuple[Array, Array]:
        """Positions [B, 3] and quaternions [B, 4] (xyzw) at time zero."""
        position, rotation = self.planned_poses(0.0)
        return position, quaternion_from_matrix(rotation)


def build_model(spec: SceneSpec, plan: ScenePlan | None = None) -> SceneModel:
    """Model of a scene; the stored plan is used unless one is given."""
    return SceneModel(spec, plan if plan is not None else plan_of(spec))


def _link_primitives(name: str) -> tuple[Primitive, ...]:
    return tuple(
        Primitive(s.start, s.end, s.radius)
        if s.radius > 0.0
        else Primitive(s.start, s.start, 0.0, s.end)
        for s in LINK_SHAPES[name]
    )


def _human_primitive(name: str) -> Primitive:
    half, radius = capsule_of(name)
    return Primitive((0.0, 0.0, -half), (0.0, 0.0, half), radius)


def _object_primitive(spec: SceneSpec) -> Primitive:
    length, grip, depth = spec.object_extent
    origin = (0.0, 0.0, 0.0)
    if spec.object_shape == "box":
        return Primitive(origin, origin, 0.0, (length, grip, depth))
    straight = length - grip
    return Primitive((-straight, 0.0, 0.0), (straight, 0.0, 0.0), grip)
