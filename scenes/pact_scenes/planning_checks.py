"""Clearances of a planned scene over its whole motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pact_scenes.geometry import capsule_box_distance, capsule_distance
from pact_scenes.model import Group, SceneModel
from pact_scenes.plan import Transfer

Array = NDArray[np.float64]

__all__ = ["clearance_report", "closing", "own_clearance", "path_clearance", "static_clearance"]

_SAMPLES = 60
_ARM_PARTS = ("upper_arm", "forearm", "hand")


def closing(model: SceneModel) -> Transfer:
    """A transfer that begins when arm and hand are both at rest."""
    rest = max(model.plan.approach_time, model.plan.reach_start + model.plan.reach_time)
    return Transfer(rest, 1.0, rest + 1.0, 1.0)


def _groups(model: SceneModel) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    names = np.array([b.name for b in model.bodies])
    groups = np.array([b.group.value for b in model.bodies])
    return names, groups


def path_clearance(
    model: SceneModel,
    *,
    whole: bool = False,
    held: bool = False,
    samples: int = _SAMPLES,
    transfer: Transfer | None = None,
) -> float:
    """Smallest distance [m] between the moving arm and the human, at equal times.

    Args:
        model: The scene.
        whole: Count the receiving hand and forearm too.
        held: Measure the held object in place of the arm.
        samples: Times that are checked.
        transfer: Check this transfer in place of the approach.
    """
    times = np.linspace(0.0, model.plan.approach_time, samples)
    if transfer is not None:
        times = np.linspace(transfer.close_start, transfer.back_start, samples)
    shapes = model.primitives
    position, rotation = model.planned_poses(times, transfer)
    start, end = shapes.capsules(position, rotation)
    names, groups = _groups(model)
    side = model.spec.receiving_hand
    reaching = np.isin(names, (f"hand_{side}", f"forearm_{side}"))
    human = np.flatnonzero((groups == Group.HUMAN.value) & (whole | ~reaching))
    robot = np.flatnonzero(groups == (Group.OBJECT if held else Group.ROBOT).value)
    h = np.flatnonzero(np.isin(shapes.capsule_body, human))
    r = np.flatnonzero(np.isin(shapes.capsule_body, robot))
    radius = shapes.capsule_radius
    gaps = [np.inf]
    if len(r):
        links = capsule_distance(
            start[:, r, None],
            end[:, r, None],
            radius[r, None],
            start[:, None, h],
            end[:, None, h],
            radius[h],
        )
        gaps.append(float(links.min()))
    box = np.flatnonzero(np.isin(shapes.box_body, robot))
    if len(box):
        centre, turn = shapes.boxes(position, rotation)
        fingers = capsule_box_distance(
            start[:, None, h],
            end[:, None, h],
            radius[h],
            centre[:, box, None],
            turn[:, box, None],
            shapes.box_half[box, None],
        )
        gaps.append(float(fingers.min()))
    return float(min(gaps))


def own_clearance(model: SceneModel, *, samples: int = _SAMPLES // 2) -> tuple[float, float]:
    """Smallest distances [m] of the arm to itself and of the human to itself.

    Neighbours in a chain touch by construction and are left out; so are the upper arms and the
    trunk, which overlap at the shoulders.
    """
    times = np.linspace(0.0, model.plan.approach_time, samples)
    shapes = model.primitives
    position, rotation = model.planned_poses(times)
    start, end = shapes.capsules(position, rotation)
    names = [model.bodies[b].name for b in shapes.capsule_body]

    def least(pairs: list[tuple[str, str]]) -> float:
        one = np.array([names.index(a) for a, _ in pairs])
        two = np.array([names.index(b) for _, b in pairs])
        radius = shapes.capsule_radius
        gap = capsule_distance(
            start[:, one], end[:, one], radius[one], start[:, two], end[:, two], radius[two]
        )
        return float(gap.min())

    arm = [("hand", f"link{i}") for i in range(5)] + [
        (f"link{i}", f"link{j}") for i in range(8) for j in range(i + 4, 8)
    ]
    lower = ("forearm", "hand")
    human = [(f"{a}_left", f"{b}_right") for a in lower for b in lower]
    human += [("upper_arm_left", f"{b}_right") for b in lower]
    human += [(f"{a}_left", "upper_arm_right") for a in lower]
    for side in ("left", "right"):
        human += [
            (f"{a}_{side}", trunk)
            for a in lower
            for trunk in ("torso", "head", "pelvis", "thigh_left", "thigh_right")
        ]
    return least(arm), least(human)


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

    `human` counts the whole figure, `bystander` leaves the receiving hand and forearm out, as
    does `object` for the held object; `transfer` is the arm while the hand closes;
    `surroundings` is the arm and `reach` the human's arms against static boxes; `own_arm` and
    `own_human` are each against itself.
    """
    arms = tuple(f"{part}_{side}" for part in _ARM_PARTS for side in ("left", "right"))
    links = tuple(b.name for b in model.bodies if b.group is Group.ROBOT and b.name != "link0")
    own_arm, own_human = own_clearance(model)
    values = {
        "own_arm": own_arm,
        "own_human": own_human,
        "human": path_clearance(model, whole=True),
        "bystander": path_clearance(model),
        "object": path_clearance(model, held=True),
        "transfer": path_clearance(model, whole=True, transfer=closing(model)),
        "surroundings": min(
            static_clearance(model, model.static_boxes, Group.ROBOT, links),
            static_clearance(model, model.static_boxes, Group.OBJECT, None),
        ),
        "reach": static_clearance(model, model.static_boxes, Group.HUMAN, arms),
    }
    return {name: round(value, 6) for name, value in values.items()}
