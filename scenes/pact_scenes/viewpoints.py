"""Place the cameras and the screen around a planned scene."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pact_scenes.catalogue import Geometry, SceneSpec
from pact_scenes.model import Group, SceneModel
from pact_scenes.observation import Observer, SceneState
from pact_scenes.placement import PlanningError, as_vector, box_arrays
from pact_scenes.plan import Box, Camera, ScenePlan, Vector3
from pact_scenes.planning_checks import static_clearance
from pact_scenes.transforms import quaternion_from_matrix, rotation_z, unit

Array = NDArray[np.float64]

__all__ = ["LEAST_OCCLUSION", "place_cameras", "place_screen"]

LEAST_OCCLUSION: Final = 0.05
"""Wanted shares of hidden sight lines below this need no screen."""


def place_cameras(spec: SceneSpec, plan: ScenePlan) -> ScenePlan:
    """Three cameras: on the robot's side, over the human's shoulder, overhead.

    The robot's camera stands where it sees most of hand and object over the approach; with the
    human at the robot's side it stands opposite.
    """
    sides = (-spec.mirror,) if spec.geometry is Geometry.SIDE_BY_SIDE else (1.0, -1.0)
    trials = [_cameras(spec, plan, place) for place in _camera_places(sides)]
    return min(trials, key=lambda trial: _mean_occlusion(spec, trial))


def _camera_places(sides: tuple[float, ...]) -> list[Vector3]:
    """Places of the robot's camera about the arm's base, above the mounting plane."""
    return [
        (x, side * 0.95, z) for side in sides for x in (0.02, 0.2, -0.2) for z in (0.62, 0.42, 0.85)
    ]


def _cameras(spec: SceneSpec, plan: ScenePlan, place: Vector3) -> ScenePlan:
    transfer = np.array(plan.transfer)
    robot = np.array(place) + np.array([0.0, 0.0, spec.mount_height])
    figure = plan.figure(spec)
    over = figure.to_world(np.array([-0.30, 0.0, figure.shoulder_height + 0.62]))
    overhead = transfer + np.array([0.12, 0.0, 1.5])
    target = as_vector(transfer)
    return replace(
        plan,
        cameras=(
            Camera("robot", as_vector(robot), target),
            Camera("human", as_vector(over), target),
            Camera("overhead", as_vector(overhead), target),
        ),
    )


def _occlusion(spec: SceneSpec, plan: ScenePlan, time: float) -> float:
    """Occlusion of the robot's camera at a time of the approach."""
    model = SceneModel(spec, plan)
    position, rotation = model.planned_poses(time)
    zero = np.zeros_like(position)
    state = SceneState(time, position, quaternion_from_matrix(rotation), zero, zero)
    return Observer(model).observe(state).occlusion_robot


def _mean_occlusion(spec: SceneSpec, plan: ScenePlan) -> float:
    times = np.linspace(0.1, 1.0, 10) * plan.approach_time
    return float(np.mean([_occlusion(spec, plan, float(t)) for t in times]))


def place_screen(spec: SceneSpec, plan: ScenePlan) -> ScenePlan:
    """Put up a screen that hides about the wanted share of sight lines at the transfer.

    Where it finds no room, the robot's camera moves to the other side.
    """
    if spec.occluder < LEAST_OCCLUSION:
        return plan
    best, error = _slide_screen(spec, plan)
    if error > 0.1 and spec.geometry is not Geometry.SIDE_BY_SIDE:
        for place in _camera_places((-float(np.sign(plan.cameras[0].eye[1])),))[:3]:
            moved, moved_error = _slide_screen(spec, _cameras(spec, plan, place))
            if moved_error < error:
                best, error = moved, moved_error
    if error > 0.25:
        raise PlanningError(f"{spec.scene_id}: no place for the screen ({error:.2f} off)")
    return best


def _slide_screen(spec: SceneSpec, plan: ScenePlan) -> tuple[ScenePlan, float]:
    """The plan with the best screen before its camera, and how far off the share is."""
    eye, target = np.array(plan.cameras[0].eye), np.array(plan.transfer)
    flat = unit((target - eye) * np.array([1.0, 1.0, 0.0]))
    across = np.array([-flat[1], flat[0], 0.0])
    width, model = 0.16, SceneModel(spec, plan)
    best, best_error = plan, np.inf
    for share in (0.42, 0.36, 0.30, 0.24, 0.18, 0.50):
        for slide in (s * d for d in np.arange(0.26, 0.0, -0.01) for s in (1.0, -1.0)):
            point = eye + share * (target - eye) + slide * across
            box = _screen(point, width, spec, float(np.arctan2(across[1], across[0])))
            if _blocked_place(model, box):
                continue
            trial = replace(plan, boxes=(*plan.boxes, box))
            error = abs(_occlusion(spec, trial, plan.approach_time) - spec.occluder)
            if error < best_error - 1e-9:
                best, best_error = trial, error
        if best_error < 0.06:
            break
    return best, best_error


def _screen(point: Array, width: float, spec: SceneSpec, yaw: float) -> Box:
    height = spec.mount_height + 0.85
    return Box(
        "screen",
        as_vector(np.array([point[0], point[1], height / 2])),
        as_vector(np.array([width, 0.008, height / 2])),
        round(yaw, 6),
    )


def _blocked_place(model: SceneModel, box: Box) -> bool:
    """Whether a screen would stand in the table or within 3 cm of arm or human."""
    corners = _corners(box)
    for other in model.plan.boxes:
        low = np.array(other.centre[:2]) - np.array(other.half[:2]) - 0.02
        high = np.array(other.centre[:2]) + np.array(other.half[:2]) + 0.02
        if np.any(np.all((corners > low) & (corners < high), axis=-1)):
            return True
    arrays = box_arrays(box)
    return (
        static_clearance(model, arrays, Group.ROBOT, None) < 0.03
        or static_clearance(model, arrays, Group.HUMAN, None) < 0.03
    )


def _corners(box: Box) -> Array:
    """Points along the foot of a box, shape [n, 2]."""
    along = np.linspace(-1.0, 1.0, 17)[:, None] * np.array([box.half[0], 0.0, 0.0])
    edges = np.concatenate([along + np.array([0.0, s * box.half[1], 0.0]) for s in (-1.0, 1.0)])
    turned = edges @ rotation_z(box.yaw).T
    return np.asarray(turned[:, :2] + np.array(box.centre[:2]))
