"""Place the human and the surroundings around a solved approach."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pact_scenes.catalogue import Geometry, SceneSpec
from pact_scenes.geometry import capsule_box_distance, capsule_distance
from pact_scenes.human import ARM_REACH, Figure
from pact_scenes.model import Group, SceneModel
from pact_scenes.plan import Box, ScenePlan, Vector3
from pact_scenes.planning_checks import closing, own_clearance, path_clearance, static_clearance
from pact_scenes.transforms import rotation_z, unit

Array = NDArray[np.float64]

__all__ = [
    "PlanningError",
    "as_vector",
    "box_arrays",
    "place_human",
    "place_obstacle",
    "surroundings",
]

_TOUCH_GAP: Final = 0.002
"""Surface distance of hand and object when the hand has closed on it [m]."""
_LEAST_CLEARANCE: Final = 0.015
"""Smallest planned distance between arm and human, other than by design [m]."""
_HELD_CLEARANCE: Final = 0.025
"""Smallest planned distance of the held object from the human, but for the reaching arm [m]."""
_SIDES: Final = (0.0, 30.0, -30.0, 60.0, -60.0)
"""From where the hand may touch the object, about the vertical [deg]."""
_LONGEST_REACH: Final = 0.99
"""Largest share of the arm's length that a hand may be away from its shoulder."""
_OWN_CLEARANCE: Final = 0.008
"""Smallest distance of the human's arms to each other and to the trunk [m]."""


class PlanningError(RuntimeError):
    """A scene cannot be solved as specified."""


def as_vector(values: Array) -> Vector3:
    """Three numbers rounded to micrometres."""
    x, y, z = (round(float(v), 6) for v in values)
    return x, y, z


def place_human(spec: SceneSpec, plan: ScenePlan) -> ScenePlan:
    """Stand or seat the human so that the hand reaches the object, and time the reach.

    Stretch and bearing are relaxed step by step until arm and human keep their distance.
    """
    best, best_gap = plan, -np.inf
    for turn in (0.0, 8.0, -8.0, 16.0, -16.0):
        for stretch in (0.0, 0.06, 0.12, 0.18):
            for side in _SIDES:
                candidate = _arrange(
                    spec, plan, min(spec.reach_stretch + stretch, 0.97), turn, side
                )
                gap = _approach_gap(SceneModel(spec, candidate))
                if gap > best_gap:
                    best, best_gap = candidate, gap
                if gap >= _LEAST_CLEARANCE:
                    return _rest_free_hand(spec, candidate)
    if best_gap < _LEAST_CLEARANCE / 2:
        raise PlanningError(f"{spec.scene_id}: the human is {best_gap:.3f} m from the moving arm")
    return _rest_free_hand(spec, best)


def _approach_gap(model: SceneModel) -> float:
    """Least distance of arm and human over the approach and while the hand closes [m].

    While it closes half the distance will do. Places that the hand cannot reach count as lost.
    """
    shoulder = model.plan.figure(model.spec).shoulder(model.spec.receiving_hand)
    wanted = np.array([model.plan.hand_start, model.plan.hand_goal, model.plan.hand_touch])
    if np.linalg.norm(wanted - shoulder, axis=-1).max() > _LONGEST_REACH * ARM_REACH:
        return -1.0
    approach = path_clearance(model, whole=True, samples=30)
    if approach < _LEAST_CLEARANCE / 2:
        return approach
    return min(
        approach, 2.0 * path_clearance(model, whole=True, samples=8, transfer=closing(model))
    )


def _bearing(spec: SceneSpec, plan: ScenePlan, turn: float) -> tuple[float, float]:
    """Direction from the object to the human, and the human's heading [rad]."""
    if spec.geometry is Geometry.SIDE_BY_SIDE:
        sign = spec.mirror
        return sign * np.deg2rad(spec.human_bearing + turn), -sign * np.deg2rad(25.0)
    azimuth = np.arctan2(plan.transfer[1], plan.transfer[0])
    bearing = float(azimuth) + np.deg2rad(spec.human_bearing + turn)
    return bearing, bearing + np.pi


def _arrange(
    spec: SceneSpec, plan: ScenePlan, stretch: float, turn: float, side_turn: float
) -> ScenePlan:
    """One placement: root, rest pose, goal and touch of the receiving hand, timing.

    Args:
        spec: The scene.
        plan: Its plan so far.
        stretch: Share of the arm's length at the transfer.
        turn: Added to the bearing of the human [deg].
        side_turn: From which side the hand touches the object, about the vertical [deg].
    """
    bearing, yaw = _bearing(spec, plan, turn)
    side = 1.0 if spec.receiving_hand == "left" else -1.0
    figure = Figure((0.0, 0.0), yaw, spec.posture == "seated")
    centre = np.array(plan.transfer)
    towards = np.array([np.cos(bearing), np.sin(bearing), 0.0])
    contact = centre + 0.11 * towards
    drop = figure.shoulder_height - contact[2]
    level = np.sqrt(max((stretch * ARM_REACH) ** 2 - drop**2, 0.28**2))
    shoulder = contact + level * towards
    root = shoulder[:2] - (rotation_z(yaw) @ np.array([0.0, side * 0.2, 0.0]))[:2]
    figure = replace(figure, root=(round(float(root[0]), 6), round(float(root[1]), 6)))
    low = figure.shoulder_height - 0.38
    if spec.geometry is not Geometry.FACE_TO_FACE:
        low = max(low, spec.mount_height + 0.06)
    rest = figure.to_world(np.array([0.20, side * 0.30, low]))
    draft = replace(
        plan,
        root=figure.root,
        yaw=round(float(yaw), 6),
        hand_start=as_vector(rest),
        free_hand=as_vector(figure.to_world(np.array([0.22, -side * 0.27, low]))),
    )
    straight = unit(rest - centre)
    if spec.geometry is Geometry.TABLE_MEDIATED:
        straight = unit(straight + np.array([0.0, 0.0, 0.12]))
    turned = rotation_z(np.deg2rad(side_turn)) @ straight
    touch = _hand_at(spec, draft, centre, turned, _TOUCH_GAP)
    farthest = _gap(spec, replace(draft, hand_goal=as_vector(rest)))
    wanted = min(spec.hand_distance, farthest - 0.01)
    goal = _hand_at(spec, draft, centre, turned if wanted < 0.06 else straight, wanted)
    distance = float(np.linalg.norm(goal - rest))
    reach_time = min(max(1.875 * distance / spec.reach_speed, 0.4), plan.approach_time)
    share = 0.95 if spec.early_touch else spec.reach_end
    end = max(share * plan.approach_time, reach_time)
    return replace(
        draft,
        hand_goal=as_vector(goal),
        hand_touch=as_vector(touch if not spec.early_touch else goal),
        reach_start=round(end - reach_time, 6),
        reach_time=round(reach_time, 6),
    )


def _gap(spec: SceneSpec, plan: ScenePlan) -> float:
    """Surface distance of hand and object at the end of the approach."""
    model = SceneModel(spec, replace(plan, reach_start=-10.0, reach_time=1.0))
    position, rotation = model.planned_poses(plan.approach_time)
    shapes = model.primitives
    capsules, boxes = shapes.capsules(position, rotation), shapes.boxes(position, rotation)
    h = int(np.flatnonzero(shapes.capsule_body == model.index(model.hand_name))[0])
    start, end, radius = capsules[0][h], capsules[1][h], shapes.capsule_radius[h]
    body = model.index("object")
    box = np.flatnonzero(shapes.box_body == body)
    if len(box):
        b = int(box[0])
        gap = capsule_box_distance(start, end, radius, boxes[0][b], boxes[1][b], shapes.box_half[b])
    else:
        c = int(np.flatnonzero(shapes.capsule_body == body)[0])
        gap = capsule_distance(
            start, end, radius, capsules[0][c], capsules[1][c], shapes.capsule_radius[c]
        )
    return float(gap)


def _hand_at(
    spec: SceneSpec, plan: ScenePlan, centre: Array, direction: Array, gap: float
) -> Array:
    """Point in a direction from the object with a given surface distance of hand and object."""
    low, high = 0.0, 0.9
    for _ in range(32):
        middle = (low + high) / 2.0
        trial = replace(plan, hand_goal=as_vector(centre + middle * direction))
        if _gap(spec, trial) < gap:
            low = middle
        else:
            high = middle
    return np.asarray(centre + high * direction)


def _rest_free_hand(spec: SceneSpec, plan: ScenePlan) -> ScenePlan:
    """Move the free hand towards the path until the wanted clearance is met."""
    rest = np.array(plan.free_hand)
    model = SceneModel(spec, plan)
    near = model.planned_tcp(0.6 * plan.approach_time)
    figure = plan.figure(spec)
    shoulder = figure.shoulder("right" if spec.receiving_hand == "left" else "left")
    low, high = 0.0, 1.0

    def at(share: float) -> ScenePlan:
        point = rest + share * (near - rest)
        reach = point - shoulder
        length = float(np.linalg.norm(reach))
        point = shoulder + reach * min(1.0, 0.95 * ARM_REACH / length)
        point[2] = max(point[2], rest[2])
        return replace(plan, free_hand=as_vector(point))

    if path_clearance(SceneModel(spec, at(0.0))) <= spec.path_clearance:
        return at(0.0)
    for _ in range(18):
        middle = (low + high) / 2.0
        trial = SceneModel(spec, at(middle))
        apart = own_clearance(trial)[1] > _OWN_CLEARANCE
        apart = apart and path_clearance(trial, held=True, samples=30) > _HELD_CLEARANCE
        if apart and path_clearance(trial, samples=30) > spec.path_clearance:
            low = middle
        else:
            high = middle
    return at(low)


def surroundings(spec: SceneSpec, plan: ScenePlan) -> tuple[Box, ...]:
    """Pedestal, table and, for a seated human, the stool."""
    top = spec.mount_height
    boxes = [Box("pedestal", (-0.03, 0.0, top / 2), (0.14, 0.14, top / 2))]
    thick = 0.02
    root = np.array(plan.root)
    if spec.geometry is Geometry.FACE_TO_FACE:
        near, far, left, right = 0.14, 0.46, 0.42, -0.42
    elif spec.geometry is Geometry.SIDE_BY_SIDE:
        near, far = 0.27, 0.85
        outer = abs(root[1]) + 0.35
        left, right = (outer, -0.42) if root[1] > 0 else (0.42, -outer)
        near = max(near, root[0] + 0.2)
    else:
        near, far = 0.14, root[0] - 0.20
        left, right = max(0.45, root[1] + 0.25), min(-0.45, root[1] - 0.25)
    centre = ((near + far) / 2, (left + right) / 2, top - thick)
    half = ((far - near) / 2, (left - right) / 2, thick)
    boxes.append(Box("table", as_vector(np.array(centre)), as_vector(np.array(half))))
    inset = 0.03
    for number, (x, y) in enumerate(((near, left), (near, right), (far, left), (far, right))):
        leg = (x + (inset if x == near else -inset), y - np.sign(y - centre[1]) * inset)
        boxes.append(
            Box(
                f"table_leg_{number}",
                as_vector(np.array([leg[0], leg[1], top / 2 - thick])),
                as_vector(np.array([0.02, 0.02, top / 2 - thick])),
            )
        )
    if spec.posture == "seated":
        height = 0.54 - 0.12
        boxes.append(
            Box(
                "stool",
                as_vector(np.array([root[0], root[1], height / 2])),
                (0.17, 0.17, height / 2),
                round(plan.yaw, 6),
            )
        )
    return tuple(boxes)


def place_obstacle(spec: SceneSpec, plan: ScenePlan) -> ScenePlan:
    """Stand an obstacle on the table, as near to the path as its clearances allow."""
    if spec.obstacle == "none":
        return plan
    half = (0.045, 0.045, 0.06) if spec.obstacle == "block" else (0.02, 0.02, 0.17)
    table = next(b for b in plan.boxes if b.name == "table")
    model = SceneModel(spec, plan)
    middle = model.planned_tcp(0.6 * plan.approach_time)
    top = spec.mount_height
    found: list[tuple[float, Box]] = []
    for x in np.arange(
        table.centre[0] - table.half[0] + 0.06, table.centre[0] + table.half[0] - 0.05, 0.03
    ):
        for y in np.arange(
            table.centre[1] - table.half[1] + 0.06, table.centre[1] + table.half[1] - 0.05, 0.03
        ):
            box = Box("obstacle", as_vector(np.array([x, y, top + half[2]])), half)
            found.append((float(np.hypot(x - middle[0], y - middle[1])), box))
    for _, box in sorted(found, key=lambda entry: entry[0]):
        arrays = box_arrays(box)
        if static_clearance(model, arrays, Group.ROBOT, None) < 0.05:
            continue
        if static_clearance(model, arrays, Group.OBJECT, None) < 0.05:
            continue
        if static_clearance(model, arrays, Group.HUMAN, None) < 0.04:
            continue
        return replace(plan, boxes=(*plan.boxes, box))
    raise PlanningError(f"{spec.scene_id}: no free place for the obstacle on the table")


def box_arrays(box: Box) -> tuple[Array, Array, Array]:
    """Centre [1, 3], rotation [1, 3, 3] and half extents [1, 3] of a box."""
    return (
        np.array([box.centre]),
        rotation_z(np.array([box.yaw])),
        np.array([box.half]),
    )
