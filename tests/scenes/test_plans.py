"""All planned motion: within joint limits, reaching its goals, clear of the human."""

from __future__ import annotations

import numpy as np
import pytest

from pact_scenes.arm import JOINT_LOWER, JOINT_UPPER, JOINT_VELOCITY, TCP_OFFSET, tcp_frame
from pact_scenes.catalogue import Geometry, load_catalogue
from pact_scenes.human import (
    ARM_REACH,
    HUMAN_BODIES,
    Figure,
    minimum_jerk,
    minimum_jerk_rate,
)
from pact_scenes.model import SceneModel, build_model
from pact_scenes.motion import Motion
from pact_scenes.observation import Observer, SceneState
from pact_scenes.planning import PlanningError, plan_scene, solve_joints
from pact_scenes.planning_checks import clearance_report
from pact_scenes.transforms import quaternion_from_matrix

CATALOGUE = load_catalogue()
MODELS = [build_model(spec) for spec in CATALOGUE]
IDS = [spec.scene_id for spec in CATALOGUE]


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_approach_is_within_the_limits_of_the_joints(model: SceneModel):
    """Angles and rates of the whole approach are within limits, at rest at both ends."""
    times = np.linspace(0.0, model.plan.approach_time, 300)
    joints, rates = model.plan.joints(times), model.plan.joint_rates(times)
    assert np.all(joints >= JOINT_LOWER)
    assert np.all(joints <= JOINT_UPPER)
    assert np.all(np.abs(rates) <= JOINT_VELOCITY)
    assert np.abs(rates[[0, -1]]).max() < 1e-12
    assert np.allclose(np.gradient(joints, times, axis=0)[2:-2], rates[2:-2], atol=2e-3)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_transfer_pose_is_reached(model: SceneModel):
    """Forward kinematics of the goal puts the object's centre on the transfer point."""
    frame = tcp_frame(np.array(model.plan.joints_goal), TCP_OFFSET + model.plan.grasp_offset)
    reached = frame[:3, 3] + model.base
    assert np.linalg.norm(reached - np.array(model.plan.transfer)) < 1e-4
    assert model.plan.approach_time >= 2.0


def _held(model: SceneModel, time: float) -> SceneState:
    position, rotation = model.planned_poses(time)
    zero = np.zeros_like(position)
    return SceneState(time, position, quaternion_from_matrix(rotation), zero, zero)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_hand_waits_where_the_scene_says(model: SceneModel):
    """The hand's goal has the distance of the scene, and the arm can reach it."""
    end = max(model.plan.approach_time, model.plan.reach_start + model.plan.reach_time)
    seen = Observer(model).observe(_held(model, end))
    wanted = model.spec.hand_distance
    assert seen.hand_object_distance <= wanted + 2e-4
    if wanted < 0.15:
        assert seen.hand_object_distance == pytest.approx(wanted, abs=2e-4)
    shoulder = model.plan.figure(model.spec).shoulder(model.spec.receiving_hand)
    for point in (model.plan.hand_start, model.plan.hand_goal, model.plan.hand_touch):
        assert np.linalg.norm(np.array(point) - shoulder) < ARM_REACH


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_nothing_interpenetrates(model: SceneModel):
    """Arm, object, human and surroundings keep apart over approach and transfer."""
    report = clearance_report(model)
    assert report["human"] > 0.01
    assert report["transfer"] > 0.004
    assert report["object"] > 0.02
    assert report["surroundings"] > 0.005
    assert report["reach"] > 0.0
    assert report["own_arm"] > 0.0
    assert report["own_human"] > 0.0
    assert report == pytest.approx(dict(model.plan.achieved), abs=2e-6)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_everything_stands_on_something(model: SceneModel):
    """Boxes stand on the floor or on the table; feet reach the floor; nobody sits on air."""
    for box in model.plan.boxes:
        bottom = box.centre[2] - box.half[2]
        table = model.spec.mount_height
        allowed = (0.0, table) if box.name != "table" else (table - 0.04,)
        assert min(abs(bottom - level) for level in allowed) < 1e-6, box.name
    position, rotation = model.planned_poses(0.0)
    start, end = model.primitives.capsules(position, rotation)
    lowest = np.minimum(start[:, 2], end[:, 2]) - model.primitives.capsule_radius
    names = [model.bodies[i].name for i in model.primitives.capsule_body]
    human = {n: z for n, z in zip(names, lowest, strict=True) if n.startswith("shin")}
    assert all(abs(z) < 0.01 for z in human.values())
    if model.spec.posture == "seated":
        stool = next(b for b in model.plan.boxes if b.name == "stool")
        assert lowest[names.index("pelvis")] == pytest.approx(2 * stool.half[2], abs=1e-6)


def test_table_mediated_object_is_just_above_the_table():
    """In table-mediated scenes the object ends one to three centimetres above the table."""
    for model in MODELS:
        if model.spec.geometry is not Geometry.TABLE_MEDIATED:
            continue
        position, rotation = model.planned_poses(model.plan.approach_time)
        body = model.index("object")
        shape = model.bodies[body].primitives[0]
        if shape.half is not None:
            reach = np.abs(rotation[body][2]) @ np.array(shape.half)
        else:
            reach = abs(rotation[body][2, 0]) * shape.end[0] + shape.radius
        gap = position[body][2] - reach - model.spec.mount_height
        assert gap == pytest.approx(model.spec.transfer_height, abs=1e-4)


def test_stored_plan_is_what_planning_gives():
    """Planning a scene again gives the stored plan."""
    again = plan_scene(CATALOGUE[0])
    stored = MODELS[0].plan
    assert np.allclose(again.joints_goal, stored.joints_goal, atol=1e-4)
    assert np.allclose(again.hand_goal, stored.hand_goal, atol=1e-3)
    assert again.achieved == pytest.approx(dict(stored.achieved), abs=2e-3)


def test_unreachable_transfer_is_refused():
    """A transfer point beyond the arm is an error that names the scene."""
    from dataclasses import replace

    far = replace(CATALOGUE[0], transfer_radius=1.4)
    with pytest.raises(PlanningError, match=r"scene_001.*out of reach"):
        plan_scene(far)


def test_inverse_kinematics_returns_to_known_poses():
    """Solutions reproduce position and direction of random poses inside the limits."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        q = np.array([0.0, -0.2, 0.0, -2.0, 0.0, 2.0, 0.8]) + rng.uniform(-0.15, 0.15, 7)
        frame = tcp_frame(q)
        found, residual = solve_joints(frame[:3, 3], frame[:3, 2], TCP_OFFSET, [q])
        assert residual < 1e-6
        assert np.linalg.norm(tcp_frame(found)[:3, 3] - frame[:3, 3]) < 1e-6


def test_arms_of_the_figure_keep_their_lengths():
    """Upper arm, forearm and hand stay connected wherever the hand goes."""
    figure = Figure((0.4, 0.1), 0.7, seated=False)
    rng = np.random.default_rng(5)
    shoulder = figure.shoulder("right")
    goals = shoulder + rng.uniform(0.2, 0.6, (50, 1)) * _directions(rng, 50)
    position, rotation = figure.poses(figure.shoulder("left") + np.array([0.2, 0.0, -0.3]), goals)
    hand = HUMAN_BODIES.index("hand_right")
    forearm = HUMAN_BODIES.index("forearm_right")
    upper = HUMAN_BODIES.index("upper_arm_right")
    assert np.allclose(position[:, hand], goals)
    elbow_a = position[:, upper] + 0.155 * rotation[:, upper, :, 2]
    elbow_b = position[:, forearm] - 0.135 * rotation[:, forearm, :, 2]
    assert np.allclose(elbow_a, elbow_b, atol=1e-9)
    assert np.allclose(np.linalg.norm(elbow_a - shoulder, axis=-1), 0.31, atol=1e-9)


def _directions(rng: np.random.Generator, count: int) -> np.ndarray:
    v = rng.normal(size=(count, 3))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def test_minimum_jerk_starts_and_ends_at_rest():
    """Progress runs from 0 to 1 with no speed at the ends, and stays there outside."""
    phase = np.linspace(-0.5, 1.5, 401)
    progress = minimum_jerk(phase)
    assert progress[0] == 0.0
    assert progress[-1] == 1.0
    assert np.all(np.diff(progress) >= 0.0)
    assert minimum_jerk_rate(np.array([0.0, 1.0])).max() == 0.0
    assert np.allclose(
        np.gradient(progress, phase)[5:-5], minimum_jerk_rate(phase)[5:-5], atol=1e-3
    )


def test_motion_goes_through_its_phases():
    """The hand touches at the release and has withdrawn at the end; the arm waits."""
    model = MODELS[6]
    motion = Motion(model)
    hand = HUMAN_BODIES.index(model.hand_name)
    at_release, at_end = motion.at(motion.release_time), motion.at(motion.end)
    assert np.allclose(at_release.human_position[hand], model.plan.hand_touch, atol=1e-9)
    away = np.linalg.norm(at_end.human_position[hand] - np.array(model.plan.hand_touch))
    assert away > 0.05
    assert np.allclose(at_end.joints, model.plan.joints_goal)
    assert not motion.at(motion.release_time - 0.01).released
    assert at_end.released
