"""Smallest distances between arm, hand, object and human, exact and fast.

Bounding spheres give a lower and an upper bound of every distance; only pairs whose lower bound
does not exceed the smallest upper bound can be the closest, and only these are computed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pact_scenes.arm import GRIPPER_BODIES
from pact_scenes.geometry import segment_box_distance, segment_distance
from pact_scenes.model import Group, SceneModel

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Pair = tuple[Array, Array]

__all__ = ["Distances", "Proximity"]


@dataclass(frozen=True, slots=True)
class Distances:
    """Distances between surfaces [m]; see `Observation` for their meaning."""

    hand_object: float
    hand_gripper: float
    clearance: float
    path_clearance: float


class Proximity:
    """Distances of one scene; index sets and the planned path are prepared once.

    Args:
        model: The scene.
        path_times: Times [s], ascending, at which the planned path of the arm is looked at.
    """

    def __init__(self, model: SceneModel, path_times: Array) -> None:
        shapes, bodies = model.primitives, model.bodies
        names = np.array([body.name for body in bodies])
        groups = np.array([body.group.value for body in bodies])
        capsule_names, capsule_groups = names[shapes.capsule_body], groups[shapes.capsule_body]
        box_groups = groups[shapes.box_body]
        reaching = tuple(f"{part}_{model.spec.receiving_hand}" for part in ("hand", "forearm"))
        self._links = np.flatnonzero(capsule_groups == Group.ROBOT.value)
        self._fingers = np.flatnonzero(box_groups == Group.ROBOT.value)
        self._human = np.flatnonzero(capsule_groups == Group.HUMAN.value)
        self._bystander = np.flatnonzero(~np.isin(capsule_names[self._human], reaching))
        self._hand = int(np.flatnonzero(capsule_names == model.hand_name)[0])
        self._palm = np.flatnonzero(np.isin(capsule_names[self._links], GRIPPER_BODIES))
        self._object_capsule = np.flatnonzero(capsule_groups == Group.OBJECT.value)
        self._object_box = np.flatnonzero(box_groups == Group.OBJECT.value)
        self._radius, self._half = shapes.capsule_radius, shapes.box_half
        self._path_times = path_times
        self._prepare_path(model)

    def _prepare_path(self, model: SceneModel) -> None:
        """Store the arm along its path; row 0 is kept free for the arm as it is now."""
        shapes = model.primitives
        position, rotation = model.planned_poses(self._path_times)
        start, end = shapes.capsules(position, rotation)
        centre, turn = shapes.boxes(position, rotation)
        links, fingers = self._links, self._fingers
        self._start, self._end = _with_row(start[:, links]), _with_row(end[:, links])
        self._centre, self._turn = _with_row(centre[:, fingers]), _with_row(turn[:, fingers])
        self._middle = np.concatenate([(self._start + self._end) / 2.0, self._centre], axis=1)
        radius = self._radius[links]
        half_length = np.linalg.norm(self._end[1] - self._start[1], axis=-1) / 2.0
        boxes = np.linalg.norm(self._half[fingers], axis=-1)
        self._inner = np.concatenate([radius, np.zeros(len(fingers))])[:, None]
        self._outer = np.concatenate([radius + half_length, boxes])[:, None]
        human = self._human
        length = np.linalg.norm(shapes.capsule_end - shapes.capsule_start, axis=-1)[human]
        self._human_inner = self._radius[human]
        self._human_outer = self._radius[human] + length / 2.0
        rows = np.arange(len(self._path_times) + 1)
        self._rows = [np.concatenate([rows[:1], rows[first + 1 :]]) for first in rows]

    def measure(self, time: float, capsules: Pair, boxes: Pair) -> Distances:
        """Return the distances now and along the rest of the path.

        Args:
            time: Now [s].
            capsules: World end points of all capsules, each of shape [C, 3].
            boxes: World centres [D, 3] and rotations [D, 3, 3] of all moving boxes.
        """
        lower, upper, rows = self._bounds(time, capsules, boxes)
        near = np.argwhere(lower[0] <= upper[0].min())
        aside_lower, aside_upper = lower[..., self._bystander], upper[..., self._bystander]
        ahead = np.argwhere(aside_lower <= aside_upper.min())
        row = np.concatenate([np.zeros(len(near), dtype=np.intp), rows[ahead[:, 0]]])
        item = np.concatenate([near[:, 0], ahead[:, 1]])
        person = self._human[np.concatenate([near[:, 1], self._bystander[ahead[:, 2]]])]
        gap = self._exact(row, item, person, capsules)
        hand_object, hand_gripper = self._hand_gaps(capsules, boxes)
        return Distances(
            hand_object, hand_gripper, float(gap[: len(near)].min()), float(gap[len(near) :].min())
        )

    def _bounds(self, time: float, capsules: Pair, boxes: Pair) -> tuple[Array, Array, Index]:
        """Place the arm as it is now and bound all distances, shape [rows, items, human]."""
        links, fingers, human = self._links, self._fingers, self._human
        self._start[0], self._end[0] = capsules[0][links], capsules[1][links]
        self._centre[0], self._turn[0] = boxes[0][fingers], boxes[1][fingers]
        self._middle[0, : len(links)] = (self._start[0] + self._end[0]) / 2.0
        self._middle[0, len(links) :] = self._centre[0]
        rows = self._rows[int(np.searchsorted(self._path_times, time))]
        middle = (capsules[0][human] + capsules[1][human]) / 2.0
        apart = self._middle[rows][:, :, None, :] - middle
        distance = np.sqrt((apart * apart).sum(axis=-1))
        lower = distance - (self._outer + self._human_outer)
        return lower, distance - (self._inner + self._human_inner), rows

    def _exact(self, row: Index, item: Index, person: Index, capsules: Pair) -> Array:
        """Return the exact distances of chosen pairs of an arm item and a human capsule."""
        start, end = capsules[0][person], capsules[1][person]
        gap = np.empty(len(row))
        count = len(self._links)
        link, finger = item < count, item >= count
        if link.any():
            r, i = row[link], item[link]
            gap[link] = (
                segment_distance(start[link], end[link], self._start[r, i], self._end[r, i])
                - (self._radius[self._links[i]])
            )
        if finger.any():
            r, i = row[finger], item[finger] - count
            gap[finger] = segment_box_distance(
                start[finger],
                end[finger],
                self._centre[r, i],
                self._turn[r, i],
                self._half[self._fingers[i]],
            )
        return np.asarray(gap - self._radius[person])

    def _hand_gaps(self, capsules: Pair, boxes: Pair) -> tuple[float, float]:
        """Return the distances of the receiving hand from the object and from the gripper."""
        start, end = capsules[0][self._hand], capsules[1][self._hand]
        radius = self._radius[self._hand]
        others = np.concatenate([self._links[self._palm], self._object_capsule])
        to_capsules = (
            segment_distance(start, end, capsules[0][others], capsules[1][others])
            - self._radius[others]
        )
        solids = np.concatenate([self._fingers, self._object_box])
        to_boxes = segment_box_distance(
            start, end, boxes[0][solids], boxes[1][solids], self._half[solids]
        )
        palm, tips = len(self._palm), len(self._fingers)
        gripper = min(to_capsules[:palm].min(), to_boxes[:tips].min())
        held = min(to_capsules[palm:].min(initial=np.inf), to_boxes[tips:].min(initial=np.inf))
        return float(held - radius), float(gripper - radius)

    def closest(self, capsules: Pair, boxes: Pair) -> tuple[Array, Array]:
        """Return the closest points of arm and human now [m], on axes of capsules or in boxes."""
        lower, upper, _ = self._bounds(np.inf, capsules, boxes)
        near = np.argwhere(lower[0] <= upper[0].min())
        person = self._human[near[:, 1]]
        row = np.zeros(len(near), dtype=np.intp)
        best = int(np.argmin(self._exact(row, near[:, 0], person, capsules)))
        item, start, end = int(near[best, 0]), capsules[0][person[best]], capsules[1][person[best]]
        share = np.linspace(0.0, 1.0, 65)[:, None]
        on_human = start + share * (end - start)
        if item < len(self._links):
            on_arm = self._start[0, item] + share * (self._end[0, item] - self._start[0, item])
        else:
            finger = item - len(self._links)
            turn, half = self._turn[0, finger], self._half[self._fingers[finger]]
            inside = np.clip((on_human - self._centre[0, finger]) @ turn, -half, half)
            on_arm = self._centre[0, finger] + inside @ turn.T
        apart = np.linalg.norm(on_arm[:, None] - on_human[None], axis=-1)
        arm, human = np.unravel_index(int(np.argmin(apart)), apart.shape)
        return on_arm[arm], on_human[human]


def _with_row(path: Array) -> Array:
    """Return an array with a free row before those of the path."""
    return np.concatenate([path[:1], path])
