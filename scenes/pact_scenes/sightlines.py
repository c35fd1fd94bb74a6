"""What the cameras see of the receiving hand and the object: free and blocked sight lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pact_scenes.geometry import segment_distance, segment_enters_box
from pact_scenes.model import Group, SceneModel

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

__all__ = ["SightLines"]

SPREAD = 0.75
"""Sight lines end at this share of the extent of hand and object, inside their surface."""


class SightLines:
    """Sight lines from every camera to points of hand and object; prepared once per scene.

    Args:
        model: The scene.
        points: Sight lines per camera and target.
    """

    def __init__(self, model: SceneModel, points: int) -> None:
        shapes, bodies = model.primitives, model.bodies
        names = np.array([body.name for body in bodies])
        groups = np.array([body.group.value for body in bodies])
        capsule_names = names[shapes.capsule_body]
        side = model.spec.receiving_hand
        sphere = _fibonacci_sphere(points)
        hand = bodies[model.index(model.hand_name)].primitives[0]
        extent = np.array([hand.radius, hand.radius, hand.end[2] + hand.radius])
        self.eyes = np.array([camera.eye for camera in model.plan.cameras])
        self._bodies = np.array([model.index(model.hand_name), model.index("object")])
        self._points = (
            np.stack([sphere * extent, sphere * np.array(model.spec.object_extent)]) * SPREAD
        )
        own = np.isin(capsule_names, (f"hand_{side}", f"forearm_{side}"))
        self._capsule_blocks = np.repeat([~own, capsule_names != "object"], points, axis=0)
        self._static_centre, self._static_turn, self._static_half = model.static_boxes
        still = np.ones(len(self._static_centre), dtype=bool)
        # Gripper and object hide the hand; nothing that moves as a box hides the object.
        moving = np.full(len(shapes.box_body), True)
        fixed = groups[shapes.box_body] == Group.STATIC.value
        blocks = [np.concatenate([moving, still]), np.concatenate([fixed, still])]
        self._box_blocks = np.repeat(blocks, points, axis=0)
        self._radius = shapes.capsule_radius
        length = np.linalg.norm(shapes.capsule_end - shapes.capsule_start, axis=-1)
        self._reach = (self._radius + length / 2.0) ** 2 * (1.0 + 1e-9)
        self._box_half = np.concatenate([shapes.box_half, self._static_half])

    def targets(self, position: Array, rotation: Array) -> Array:
        """Return the points that are looked at [m], first on the hand, then on the object."""
        turned = self._points @ np.swapaxes(rotation[self._bodies], -1, -2)
        return np.asarray((position[self._bodies][:, None] + turned).reshape(-1, 3))

    def blocked(
        self,
        position: Array,
        rotation: Array,
        capsules: tuple[Array, Array],
        boxes: tuple[Array, Array],
    ) -> Mask:
        """Return which sight lines are blocked, shape [cameras, points of hand and object]."""
        targets = self.targets(position, rotation)
        ray = targets - self.eyes[:, None]
        return self._behind_boxes(targets, boxes) | self._behind_capsules(targets, ray, capsules)

    def _behind_capsules(self, targets: Array, ray: Array, capsules: tuple[Array, Array]) -> Mask:
        """Test bounding spheres first, then the capsules that these leave."""
        start, end = capsules
        to_centre = (start + end) / 2.0 - self.eyes[:, None]
        along = ray @ np.swapaxes(to_centre, -1, -2)
        length = (ray * ray).sum(axis=-1)[..., None]
        share = np.clip(along / length, 0.0, 1.0)
        away = (to_centre * to_centre).sum(axis=-1)[:, None] + share * (share * length - 2 * along)
        eye, point, shape = np.nonzero((away <= self._reach) & self._capsule_blocks)
        hidden = np.zeros(ray.shape[:2], dtype=bool)
        if len(eye):
            gap = segment_distance(self.eyes[eye], targets[point], start[shape], end[shape])
            hit = gap <= self._radius[shape]
            hidden[eye[hit], point[hit]] = True
        return hidden

    def _behind_boxes(self, targets: Array, boxes: tuple[Array, Array]) -> Mask:
        centre = np.concatenate([boxes[0], self._static_centre])
        turn = np.concatenate([boxes[1], self._static_turn])
        eye = ((self.eyes[:, None] - centre)[..., None, :] @ turn)[..., 0, :]
        target = ((targets[:, None] - centre)[..., None, :] @ turn)[..., 0, :]
        hits = segment_enters_box(eye[:, None], target - eye[:, None], self._box_half)
        return np.asarray((hits & self._box_blocks).any(axis=-1))


def _fibonacci_sphere(count: int) -> Array:
    """Evenly spread unit vectors, shape [count, 3]."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=-1)
