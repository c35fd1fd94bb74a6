"""Solve scenes when they are authored: inverse kinematics, approach, placement, clearance.

This module needs SciPy and is not used at run time: its result, a `ScenePlan`, is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from pact_scenes.arm import JOINT_LOWER, JOINT_UPPER, JOINT_VELOCITY, TCP_OFFSET, tcp_frame
from pact_scenes.catalogue import Geometry, SceneSpec
from pact_scenes.model import SceneModel
from pact_scenes.placement import (
    PlanningError,
    as_vector,
    place_human,
    place_obstacle,
    surroundings,
)
from pact_scenes.plan import MissingPlanError, ScenePlan, plan_of
from pact_scenes.planning_checks import clearance_report
from pact_scenes.viewpoints import place_cameras, place_screen

Array = NDArray[np.float64]

__all__ = ["PlanningError", "model_for", "plan_catalogue", "plan_scene", "solve_joints"]

_MARGIN: Final = 0.06
_LOWER: Final = JOINT_LOWER + _MARGIN
_UPPER: Final = JOINT_UPPER - _MARGIN
_COMFORT: Final = np.array([0.0, -0.3, 0.0, -2.1, 0.0, 2.0, 0.785])
_STARTS: Final = (
    _COMFORT,
    np.array([0.4, 0.1, 0.2, -1.8, -0.2, 2.2, 0.6]),
    np.array([-0.4, 0.1, -0.2, -1.8, 0.2, 2.2, 1.0]),
    np.array([0.0, 0.5, 0.0, -1.6, 0.0, 2.9, -0.8]),
    np.array([0.0, -0.6, 0.0, -2.5, 0.0, 2.6, 2.3]),
    np.array([0.3, -0.3, 0.3, -2.2, -0.8, 2.3, 0.2]),
    np.array([-0.3, -0.3, -0.3, -2.2, 0.8, 2.3, 1.4]),
)


def plan_catalogue(specs: Sequence[SceneSpec]) -> dict[str, ScenePlan]:
    """Plan every scene; raises `PlanningError` naming the first that cannot be solved."""
    return {spec.scene_id: plan_scene(spec) for spec in specs}


def solve_joints(
    position: Array, direction: Array, offset: float, starts: Sequence[Array], *, stay: float = 0.02
) -> tuple[Array, float]:
    """Joint angles that bring a point of the tool axis to a position.

    Args:
        position: Wanted position in the arm's base [m], shape [3].
        direction: Wanted unit tool direction, shape [3].
        offset: Distance of that point from the hand frame [m].
        starts: Joint angles to start from; each solution is drawn to its start.
        stay: Weight of that attraction.

    Returns:
        The best solution with the gripper level, inside the limits, and its residual: metres
        of position error plus radians of direction error.
    """
    best, best_cost, best_residual = np.array(starts[0]), np.inf, np.inf

    def task(q: Array) -> Array:
        frame = tcp_frame(q, offset)
        return np.concatenate(
            [10.0 * (frame[:3, 3] - position), 2.0 * (frame[:3, 2] - direction), [frame[2, 1]]]
        )

    for start in starts:
        inside = np.clip(start, _LOWER + 1e-3, _UPPER - 1e-3)
        anchor = inside.copy()
        first = least_squares(
            lambda q, a=anchor: np.concatenate([task(q), stay * (q - a)]),  # type: ignore[misc]
            inside,
            bounds=(_LOWER, _UPPER),
        )
        final = least_squares(task, first.x, bounds=(_LOWER, _UPPER), xtol=1e-12, ftol=1e-12)
        value = task(final.x)
        residual = float(np.linalg.norm(value[:3]) / 10.0 + np.linalg.norm(value[3:6]) / 2.0)
        strain = np.abs(2.0 * (final.x - _LOWER) / (_UPPER - _LOWER) - 1.0)
        cost = residual * 1e4 + abs(value[6]) * 10.0 + 8.0 * float(np.sum(strain**10))
        cost += 0.3 * float(np.sum((final.x - anchor) ** 2))
        if cost < best_cost:
            best, best_cost, best_residual = final.x, cost, residual
    return best, best_residual


def plan_scene(spec: SceneSpec) -> ScenePlan:
    """Solve one scene.

    Raises:
        PlanningError: The transfer pose is out of reach or no arrangement keeps the clearances.
    """
    _, grip, depth = spec.object_extent
    offset = max(0.0, depth - 0.02)
    goal, transfer = _transfer_joints(spec, offset)
    start = _start_joints(spec, offset, goal, transfer)
    base = np.array([0.0, 0.0, spec.mount_height])
    draft = ScenePlan(
        scene_id=spec.scene_id,
        joints_start=_rounded(start),
        joints_goal=_rounded(goal),
        joints_bend=(0.0,) * 7,
        finger=round(grip, 6),
        grasp_offset=round(offset, 6),
        approach_time=spec.approach_time,
        root=(0.0, 0.0),
        yaw=0.0,
        swivel=(0.5, 0.5),
        hand_start=(0.0, 0.0, 0.0),
        hand_goal=(0.0, 0.0, 0.0),
        hand_touch=(0.0, 0.0, 0.0),
        reach_start=0.0,
        reach_time=1.0,
        free_hand=(0.0, 0.0, 0.0),
        boxes=(),
        cameras=(),
        transfer=as_vector(transfer + base),
        achieved={},
    )
    draft = place_human(spec, draft)
    draft = replace(draft, boxes=surroundings(spec, draft))
    draft = _bend_clear(spec, draft)
    draft = place_human(spec, draft)
    draft = replace(draft, boxes=surroundings(spec, draft))
    draft = place_obstacle(spec, draft)
    draft = place_cameras(spec, draft)
    draft = place_screen(spec, draft)
    _check_rates(spec, draft)
    return replace(draft, achieved=clearance_report(SceneModel(spec, draft)))


def _tool_direction(pitch: float, azimuth: float) -> Array:
    p, a = np.deg2rad(pitch), np.deg2rad(azimuth)
    return np.array([np.sin(p) * np.cos(a), np.sin(p) * np.sin(a), -np.cos(p)])


def _transfer_joints(spec: SceneSpec, offset: float) -> tuple[Array, Array]:
    """Joint angles at the transfer and the object's centre there, in the arm's base."""
    sign = spec.mirror
    azimuth = sign * spec.transfer_azimuth
    flat = np.deg2rad(azimuth)
    direction = _tool_direction(spec.approach_pitch, azimuth + sign * spec.approach_azimuth)
    radius = spec.transfer_radius
    starts = [np.concatenate([[q[0] + flat], q[1:]]) for q in _STARTS]
    for _ in range(6):
        height = spec.transfer_height
        if spec.geometry is Geometry.TABLE_MEDIATED:
            height += float(np.linalg.norm(spec.object_extent)) * 0.75
        point = np.array([radius * np.cos(flat), radius * np.sin(flat), height])
        joints, residual = solve_joints(point, direction, TCP_OFFSET + offset, starts)
        if residual < 1e-6 and spec.geometry is Geometry.TABLE_MEDIATED:
            turn = tcp_frame(joints)[:3, :3]
            point[2] = spec.transfer_height + _lowest_reach(spec, turn)
            joints, residual = solve_joints(point, direction, TCP_OFFSET + offset, [joints])
        if residual < 1e-6:
            return joints, point
        radius -= 0.03
    raise PlanningError(f"{spec.scene_id}: the transfer pose is out of reach")


def _lowest_reach(spec: SceneSpec, turn: Array) -> float:
    """How far the held object reaches below its centre for a gripper orientation [m]."""
    length, grip, depth = spec.object_extent
    if spec.object_shape == "box":
        return float(np.abs(turn[2]) @ np.array([length, grip, depth]))
    return float(abs(turn[2, 0]) * (length - grip) + grip)


def _start_joints(spec: SceneSpec, offset: float, goal: Array, transfer: Array) -> Array:
    """Joint angles where the approach begins; shortened until they are reachable."""
    sign = spec.mirror
    azimuth = sign * (spec.transfer_azimuth + spec.approach_azimuth)
    lift = 0.45 if spec.geometry is Geometry.TABLE_MEDIATED else 0.2
    for attempt in range(10):
        side = spec.approach_side * 0.95**attempt
        bearing = np.deg2rad(sign * (spec.transfer_azimuth + side))
        back = np.array([-np.cos(bearing), -np.sin(bearing), lift + 0.05 * attempt])
        back /= np.linalg.norm(back)
        point = transfer + spec.approach_length * 0.95**attempt * back
        direction = _tool_direction(0.7 * spec.approach_pitch, azimuth)
        joints = _near_joints(point, direction, TCP_OFFSET + offset, goal)
        found = tcp_frame(joints, TCP_OFFSET + offset)[:3, 3]
        if np.linalg.norm(found - point) < 0.02 and np.hypot(point[0], point[1]) > 0.2:
            return joints
    raise PlanningError(f"{spec.scene_id}: no start of the approach is within reach")


def _near_joints(position: Array, direction: Array, offset: float, goal: Array) -> Array:
    """Joint angles near the goal that bring the tool about to a position and direction."""

    def task(q: Array) -> Array:
        frame = tcp_frame(q, offset)
        return np.concatenate(
            [
                10.0 * (frame[:3, 3] - position),
                0.3 * (frame[:3, 2] - direction),
                [0.3 * frame[2, 1]],
                0.05 * (q - goal),
            ]
        )

    inside = np.clip(goal, _LOWER + 1e-3, _UPPER - 1e-3)
    return np.asarray(least_squares(task, inside, bounds=(_LOWER, _UPPER)).x)


def _bend_clear(spec: SceneSpec, draft: ScenePlan) -> ScenePlan:
    """Bend the path upwards until it clears the surroundings."""
    middle = (np.array(draft.joints_start) + np.array(draft.joints_goal)) / 2.0
    lift = _lift_direction(middle)
    for height in (0.0, 0.04, 0.08, 0.12):
        plan = replace(draft, joints_bend=_rounded(lift * height))
        report = clearance_report(SceneModel(spec, plan))
        if report["surroundings"] >= 0.008:
            return plan
    raise PlanningError(f"{spec.scene_id}: the approach runs into its surroundings")


def _lift_direction(joints: Array) -> Array:
    """Joint displacement that raises the tool by one metre (linearised, least norm)."""
    step = 1e-6
    centre = tcp_frame(joints)[:3, 3]
    columns = [(tcp_frame(joints + step * np.eye(7)[i])[:3, 3] - centre) / step for i in range(7)]
    jacobian = np.stack(columns, axis=-1)
    return np.asarray(np.linalg.pinv(jacobian) @ np.array([0.0, 0.0, 1.0]))


def _check_rates(spec: SceneSpec, plan: ScenePlan) -> None:
    times = np.linspace(0.0, plan.approach_time, 200)
    joints, rates = plan.joints(times), plan.joint_rates(times)
    if np.any(joints < JOINT_LOWER) or np.any(joints > JOINT_UPPER):
        raise PlanningError(f"{spec.scene_id}: the approach leaves the joint limits")
    if np.any(np.abs(rates) > JOINT_VELOCITY):
        raise PlanningError(f"{spec.scene_id}: the approach is faster than the joints allow")


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(round(float(v), 7) for v in values)


def model_for(spec: SceneSpec) -> SceneModel:
    """Model of a scene with its stored plan, or a new one where none is stored."""
    try:
        return SceneModel(spec, plan_of(spec))
    except MissingPlanError:
        return SceneModel(spec, plan_scene(spec))
