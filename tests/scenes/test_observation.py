"""Observations of states with known answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pact_scenes.catalogue import load_catalogue
from pact_scenes.configuration import ConfigurationError
from pact_scenes.model import SceneModel, build_model
from pact_scenes.observation import Observer, SceneState, observe, protective_distance
from pact_scenes.plan import Box
from pact_scenes.settings import SeparationSettings, SimulationSettings
from pact_scenes.transforms import quaternion_from_matrix, rotation_z

CATALOGUE = load_catalogue()
SPHERE = next(
    s for s in CATALOGUE if s.object_shape == "sphere" and s.occluder < 0 and s.obstacle == "none"
)


def _state(model: SceneModel, time: float, **changes) -> SceneState:
    position, rotation = model.planned_poses(time)
    zero = np.zeros_like(position)
    state = SceneState(time, position, quaternion_from_matrix(rotation), zero, zero.copy())
    return replace(state, **changes)


def test_hand_distance_of_a_sphere_is_known():
    """Hand and sphere: distance of the hand's axis to the centre, less both radii."""
    model = build_model(SPHERE)
    state = _state(model, 0.0)
    hand, held = model.index(model.hand_name), model.index("object")
    position = state.position.copy()
    position[held] = position[hand] + np.array([0.0, 0.0, 0.4])
    quaternion = state.quaternion.copy()
    quaternion[hand] = quaternion_from_matrix(np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]))
    seen = observe(model, replace(state, position=position, quaternion=quaternion))
    assert seen.hand_object_distance == pytest.approx(0.4 - 0.032 - SPHERE.object_extent[0])


def test_closing_speed_is_the_relative_speed():
    """A hand that moves straight to the tool closes at its own speed; sideways at none."""
    model = build_model(SPHERE)
    state = _state(model, 0.0)
    observer = Observer(model)
    hand = model.index(model.hand_name)
    to_tool = model.planned_tcp(0.0) - state.position[hand]
    to_tool = to_tool / np.linalg.norm(to_tool)
    velocity = np.zeros_like(state.position)
    velocity[hand] = 0.7 * to_tool
    assert observer.observe(replace(state, linear_velocity=velocity)).closing_speed == (
        pytest.approx(0.7)
    )
    side = np.cross(to_tool, [0.0, 0.0, 1.0])
    velocity[hand] = 0.7 * side / np.linalg.norm(side)
    sideways = observer.observe(replace(state, linear_velocity=velocity))
    assert sideways.closing_speed == pytest.approx(0.0, abs=1e-12)


def test_protective_distance_adds_the_terms_of_the_standard():
    """At rest only the constants remain; speeds add travel, reaction and stopping distance."""
    s = SeparationSettings(0.1, 2.0, 0.04, 0.02, 0.005)
    assert protective_distance(0.0, 0.0, s) == pytest.approx(0.065)
    assert protective_distance(1.0, 0.0, s) == pytest.approx(0.165)
    # Human 1 m/s for 0.1 + 0.25 s, robot 0.5 m/s for 0.1 s, braking 0.5^2 / (2 * 2).
    assert protective_distance(1.0, 0.5, s) == pytest.approx(0.35 + 0.05 + 0.0625 + 0.065)


def test_margin_falls_with_speed_towards_the_arm():
    """The separation margin shrinks when the hand comes nearer to the arm faster."""
    model = build_model(SPHERE)
    state = _state(model, 0.5)
    observer = Observer(model)
    hand = model.index(model.hand_name)
    towards = model.planned_tcp(0.5) - state.position[hand]
    margins = []
    for speed in (0.0, 0.4, 0.8):
        velocity = np.zeros_like(state.position)
        velocity[hand] = speed * towards / np.linalg.norm(towards)
        margins.append(observer.observe(replace(state, linear_velocity=velocity)).separation_margin)
    assert margins[0] - margins[1] == pytest.approx(0.4 * 0.1, abs=1e-9)
    assert margins[1] > margins[2]


def test_wall_before_the_camera_hides_everything():
    """A wall before one camera hides hand and object from it and from no other camera."""
    model = build_model(SPHERE)
    plan = model.plan
    eye, target = np.array(plan.cameras[0].eye), np.array(plan.transfer)
    towards = target - eye
    yaw = float(np.arctan2(towards[1], towards[0]) + np.pi / 2)
    place = eye + 0.15 * towards
    wall = Box("screen", (place[0], place[1], place[2]), (0.6, 0.005, 0.6), yaw)
    hidden = SceneModel(SPHERE, replace(plan, boxes=(*plan.boxes, wall)))
    free = observe(model, _state(model, plan.approach_time))
    seen = observe(hidden, _state(hidden, plan.approach_time))
    assert seen.occlusion_robot == 1.0
    assert seen.occlusion == seen.occlusion_robot
    assert seen.occlusion_overhead == free.occlusion_overhead
    assert free.occlusion_robot < 0.5


@pytest.mark.parametrize("spec", CATALOGUE[::5], ids=lambda s: s.scene_id)
def test_observation_does_not_depend_on_where_the_world_is(spec):
    """Distances and occlusion are the same when everything moves and turns together."""
    model = build_model(spec)
    plan, turn, shift = model.plan, rotation_z(0.8), np.array([1.3, -0.4, 0.0])
    state = _state(model, 1.1)
    boxes = tuple(
        replace(b, centre=tuple(turn @ np.array(b.centre) + shift), yaw=b.yaw + 0.8)
        for b in plan.boxes
    )
    cameras = tuple(replace(c, eye=tuple(turn @ np.array(c.eye) + shift)) for c in plan.cameras)
    moved = SceneModel(spec, replace(plan, boxes=boxes, cameras=cameras))
    rotation = turn @ model.planned_poses(1.1)[1]
    there = replace(
        state,
        position=state.position @ turn.T + shift,
        quaternion=quaternion_from_matrix(rotation),
    )
    one, two = Observer(model).observe(state), Observer(moved).observe(there)
    for name in ("hand_object_distance", "hand_gripper_distance", "clearance"):
        assert getattr(two, name) == pytest.approx(getattr(one, name), abs=1e-9)
    for name in ("occlusion_robot", "occlusion_human", "occlusion_overhead"):
        assert getattr(two, name) == getattr(one, name)


@pytest.mark.parametrize("spec", CATALOGUE[::3], ids=lambda s: s.scene_id)
def test_path_clearance_is_the_least_of_the_way_ahead(spec):
    """The remaining path can only get clearer; at its end it is the clearance now."""
    model = build_model(spec)
    observer = Observer(model)
    frozen = _state(model, 0.0)
    first = observer.observe(frozen)
    later = [
        observer.observe(replace(frozen, time=t)).path_clearance
        for t in np.linspace(0.0, model.plan.approach_time + 0.1, 6)
    ]
    assert first.path_clearance == later[0]
    assert np.all(np.diff(later) >= -1e-12)


def test_contact_needs_a_force_or_no_gap():
    """Contact is a force above the threshold, or bodies that touch."""
    model = build_model(SPHERE)
    state = _state(model, 0.0)
    observer = Observer(model)
    assert not observer.observe(state).contact
    assert not observer.observe(replace(state, contact_force=0.4)).contact
    assert observer.observe(replace(state, contact_force=0.6)).contact
    position = state.position.copy()
    position[model.index(model.hand_name)] = position[model.index("object")]
    assert observer.observe(replace(state, position=position)).contact


def test_observation_is_quick_enough_for_every_step():
    """One observation takes milliseconds at most, so that it can run at every physics step."""
    import time

    model = build_model(CATALOGUE[0])
    observer, state = Observer(model), _state(model, 1.0)
    observer.observe(state)
    best = np.inf
    for _ in range(20):
        start = time.perf_counter()
        observer.observe(state)
        best = min(best, time.perf_counter() - start)
    assert best < 0.005


@pytest.mark.parametrize(
    ("section", "word"),
    [
        ({"rolout": {}}, "rollout"),
        ({"rollout": {"decision": 3}}, "decisions"),
        ({"rollout": {"decisions": 2.5}}, "whole number"),
        ({"rollout": {"target_rate": 50}}, "divide"),
        ({"rollout": {"decisions": 0}}, "at least 1"),
        ({"separation": {"reaction_time": "soon"}}, "reaction_time"),
    ],
)
def test_wrong_setting_is_named(section, word):
    """A wrong setting is an error that names it and the nearest right one."""
    with pytest.raises(ConfigurationError, match=word):
        SimulationSettings.from_mapping(section)
