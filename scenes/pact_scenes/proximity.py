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

    The arm's items are its capsules, then its boxes. Capsules and boxes of the arm are kept for the
    path in rows 1 to the end; row 0 holds them as they are now.

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
        self._hand = np.flatnonzero(capsule_names == model.hand_name)
        palm = self._links[np.isin(capsule_names[self._links], GRIPPER_BODIES)]
        held = np.flatnonzero(capsule_groups == Group.OBJECT.value)
        self._near_capsules = np.concatenate([palm, held])
        self._near_boxes = np.concatenate(
            [self._fingers, np.flatnonzero(box_groups == Group.OBJECT.value)]
        )
        self._held_is_box = len(held) == 0
        self._radius, self._half = shapes.capsule_radius, shapes.box_half
        self._path_times = path_times
        self._prepare_path(model)
        self._prepare_bounds(model)

    def _prepare_path(self, model: SceneModel) -> None:
        shapes = model.primitives
        position, rotation = model.planned_poses(self._path_times)
        start, end = shapes.capsules(position, rotation)
        centre, turn = shapes.boxes(position, rotation)
        links, fingers = self._links, self._fingers
        self._start, self._end = _with_row(start[:, links]), _with_row(end[:, links])
        self._centre, self._turn = _with_row(centre[:, fingers]), _with_row(turn[:, fingers])
        self._middle = np.concatenate([(self._start + self._end) / 2.0, self._centre], axis=1)
        rows = np.arange(len(self._path_times) + 1)
        self._rows = [np.concatenate([rows[:1], rows[first + 1 :]]) for first in rows]

    def _prepare_bounds(self, model: SceneModel) -> None:
        """Store the radii within which items surely are, and which they surely fill."""
        shapes, links, human = model.primitives, self._links, self._human
        reach = np.linalg.norm(shapes.capsule_end - shapes.capsule_start, axis=-1) / 2.0
        reach += shapes.capsule_radius
        boxes = np.linalg.norm(self._half[self._fingers], axis=-1)
        inner = np.concatenate([self._radius[links], np.zeros(len(boxes))])
        outer = np.concatenate([reach[links], boxes])
        self._inner = inner[:, None] + self._radius[human]
        self._outer = outer[:, None] + reach[human]

    def measure(self, time: float, capsules: Pair, boxes: Pair) -> Distances:
        """Return the distances now and along the rest of the path.

        Args:
            time: Now [s].
            capsules: World end points of all capsules, each of shape [C, 3].
            boxes: World centres [D, 3] and rotations [D, 3, 3] of all moving boxes.
        """
        lower, upper, rows = self._bounds(time, capsules, boxes)
        aside = self._bystander
        item, person = np.nonzero(lower[0] <= upper[0].min())
        row_ahead, item_ahead, person_ahead = np.nonzero(
            lower[..., aside] <= upper[..., aside].min()
        )
        now = len(item)
        row = np.concatenate([np.zeros(now, dtype=np.intp), rows[row_ahead]])
        item = np.concatenate([item, item_ahead])
        person = self._human[np.concatenate([person, aside[person_ahead]])]
        gap, hand_object, hand_gripper = self._exact(row, item, person, capsules, boxes)
        return Distances(hand_object, hand_gripper, float(gap[:now].min()), float(gap[now:].min()))

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
        return distance - self._outer, distance - self._inner, rows

    def _exact(
        self, row: Index, item: Index, person: Index, capsules: Pair, boxes: Pair
    ) -> tuple[Array, float, float]:
        """Return exact distances of pairs of an arm item and a human capsule, and the hand's own.

        The hand's distances from object and gripper join the same two computations.
        """
        count, near, solid = len(self._links), self._near_capsules, self._near_boxes
        link, finger = np.flatnonzero(item < count), np.flatnonzero(item >= count)
        body = person[link]
        r, i = row[link], item[link]
        hand = np.concatenate([body, np.repeat(self._hand, len(near))])
        to_capsules = segment_distance(
            capsules[0][hand],
            capsules[1][hand],
            np.concatenate([self._start[r, i], capsules[0][near]]),
            np.concatenate([self._end[r, i], capsules[1][near]]),
        ) - (self._radius[np.concatenate([self._links[i], near])] + self._radius[hand])
        r, i = row[finger], item[finger] - count
        hand = np.concatenate([person[finger], np.repeat(self._hand, len(solid))])
        to_boxes = (
            segment_box_distance(
                capsules[0][hand],
                capsules[1][hand],
                np.concatenate([self._centre[r, i], boxes[0][solid]]),
                np.concatenate([self._turn[r, i], boxes[1][solid]]),
                self._half[np.concatenate([self._fingers[i], solid])],
            )
            - self._radius[hand]
        )
        gap = np.empty(len(item))
        gap[link], gap[finger] = to_capsules[: len(link)], to_boxes[: len(finger)]
        own_capsules, own_boxes = to_capsules[len(link) :], to_boxes[len(finger) :]
        held = own_boxes[-1] if self._held_is_box else own_capsules[-1]
        palm = own_capsules if self._held_is_box else own_capsules[:-1]
        tips = own_boxes[:-1] if self._held_is_box else own_boxes
        return gap, float(held), float(min(palm.min(), tips.min()))

    def closest(self, capsules: Pair, boxes: Pair) -> tuple[Array, Array]:
        """Return the closest points of arm and human now [m], on axes of capsules or in boxes."""
        lower, upper, _ = self._bounds(np.inf, capsules, boxes)
        items, people = np.nonzero(lower[0] <= upper[0].min())
        row = np.zeros(len(items), dtype=np.intp)
        gap, _, _ = self._exact(row, items, self._human[people], capsules, boxes)
        best = int(np.argmin(gap))
        item, person = int(items[best]), self._human[people[best]]
        start, end = capsules[0][person], capsules[1][person]
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
    """Return an array with a row for the present before those of the path."""
    return np.concatenate([path[:1], path])
