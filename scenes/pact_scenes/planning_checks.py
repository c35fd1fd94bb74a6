"""Clearances of a planned scene over its whole motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pact_scenes.geometry import capsule_box_distance, capsule_distance
from pact_scenes.model import Group, SceneModel

Array = NDArray[np.float64]

__all__ = ["clearance_report", "path_clearance", "static_clearance"]

_SAMPLES = 60
_ARM_PARTS = ("upper_arm", "forearm", "hand")


def _groups(model: SceneModel) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    names = np.array([b.name for b in model.bodies])
    groups = np.array([b.group.value for b in model.bodies])
    return names, groups


def path_clearance(model: SceneModel, *, whole: bool = False, samples: int = _SAMPLES) -> float:
    """Smallest distance [m] between the moving arm and the human, at equal times.

    The receiving hand and forearm are left out unless `whole` is set.
    """
    times = np.linspace(0.0, model.plan.approach_time, samples)
    shapes = model.primitives
    position, rotation = model.planned_poses(times)
    start, end = shapes.capsules(position, rotation)
    names, groups = _groups(model)
    side = model.spec.receiving_hand
    reaching = np.isin(names, (f"hand_{side}", f"forearm_{side}"))
    human = np.flatnonzero((groups == Group.HUMAN.value) & (whole | ~reaching))
    robot = np.flatnonzero(groups == Group.ROBOT.value)
    h = np.flatnonzero(np.isin(shapes.capsule_body, human))
    r = np.flatnonzero(np.isin(shapes.capsule_body, robot))
    radius = shapes.capsule_radius
    links = capsule_distance(
        start[:, r, None],
        end[:, r, None],
        radius[r, None],
        start[:, None, h],
        end[:, None, h],
        radius[h],
    )
    box = np.flatnonzero(np.isin(shapes.box_body, robot))
    centre, turn = shapes.boxes(position, rotation)
    fingers = capsule_box_distance(
        start[:, None, h],
        end[:, None, h],
        radius[h],
        centre[:, box, None],
        turn[:, box, None],
        shapes.box_half[box, None],
    )
    return float(min(links.min(), fingers.min()))


def static_clearance(
    model: SceneModel,
    boxes: tuple[Array, Array, Array],
    group: Group,
    names: tuple[str, ...] | None,
) -> float:
    """Smallest distance [m] of moving bodies to static boxes over the approach.

    Args:
        model: The scene.
        boxes: Centres [D, 3], rotations [D, 3, 3] and half extents [D, 3].
        group: Which bodies.
        names: Restrict to these bodies; None takes all of the group.
    """
    if not len(boxes[0]):
        return float("inf")
    times = np.linspace(0.0, model.plan.approach_time, _SAMPLES // 2)
    shapes = model.primitives
    position, rotation = model.planned_poses(times)
    start, end = shapes.capsules(position, rotation)
    chosen = [
        i
        for i, b in enumerate(model.bodies)
        if b.group is group and (names is None or b.name in names)
    ]
    c = np.flatnonzero(np.isin(shapes.capsule_body, chosen))
    gaps = [np.inf]
    if len(c):
        gap = capsule_box_distance(
            start[:, c, None], end[:, c, None], shapes.capsule_radius[c, None], *boxes
        )
        gaps.append(float(gap.min()))
    d = np.flatnonzero(np.isin(shapes.box_body, chosen))
    if len(d):
        gaps.append(_corner_clearance(shapes.boxes(position, rotation), shapes.box_half, d, boxes))
    return float(min(gaps))


def _corner_clearance(
    world: tuple[Array, Array],
    half: Array,
    which: NDArray[np.intp],
    boxes: tuple[Array, Array, Array],
) -> float:
    """Distance of the corners and centres of moving boxes to static boxes."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    offset = signs[None] * half[which][:, None]
    corners = world[0][:, which, None, :] + np.einsum("tdij,dkj->tdki", world[1][:, which], offset)
    points = corners[..., None, :]
    zero = np.zeros(points.shape[:-1])
    return float(capsule_box_distance(points, points, zero, *boxes).min())


def clearance_report(model: SceneModel) -> dict[str, float]:
    """Clearances over the approach [m], rounded to micrometres.

    `human` counts the whole figure, `bystander` leaves the receiving hand and forearm out,
    `surroundings` is the arm and `reach` the human's arms against static boxes.
    """
    arms = tuple(f"{part}_{side}" for part in _ARM_PARTS for side in ("left", "right"))
    links = tuple(b.name for b in model.bodies if b.group is Group.ROBOT and b.name != "link0")
    values = {
        "human": path_clearance(model, whole=True),
        "bystander": path_clearance(model),
        "surroundings": min(
            static_clearance(model, model.static_boxes, Group.ROBOT, links),
            static_clearance(model, model.static_boxes, Group.OBJECT, None),
        ),
        "reach": static_clearance(model, model.static_boxes, Group.HUMAN, arms),
    }
    return {name: round(value, 6) for name, value in values.items()}
