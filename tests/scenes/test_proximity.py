"""Pruned distances and sight lines against all pairs computed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from pact_scenes.arm import GRIPPER_BODIES
from pact_scenes.catalogue import load_catalogue
from pact_scenes.geometry import (
    capsule_box_distance,
    capsule_distance,
    ray_hits_box,
    ray_hits_capsule,
)
from pact_scenes.model import Group, build_model
from pact_scenes.observation import Observer, SceneState
from pact_scenes.transforms import matrix_from_quaternion, quaternion_from_matrix

SCENES = load_catalogue()[::7]


def disturbed_state(model, rng, time):
    """Return a state near the plan: every body moved a little, so that orders of pairs change."""
    position, rotation = model.planned_poses(time)
    quaternion = quaternion_from_matrix(rotation) + rng.normal(0, 0.05, (len(position), 4))
    quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
    position = position + rng.normal(0, 0.05, position.shape)
    still = np.zeros_like(position)
    return SceneState(time, position, quaternion, still, still)


def shapes_at(model, position, rotation):
    """Return all capsules (name, group, start, end, radius) and boxes of a model at poses."""
    shapes, bodies = model.primitives, model.bodies
    start, end = shapes.capsules(position, rotation)
    centre, turn = shapes.boxes(position, rotation)
    capsules = [
        (bodies[b].name, bodies[b].group, start[i], end[i], shapes.capsule_radius[i])
        for i, b in enumerate(shapes.capsule_body)
    ]
    boxes = [
        (bodies[b].name, bodies[b].group, centre[i], turn[i], shapes.box_half[i])
        for i, b in enumerate(shapes.box_body)
    ]
    return capsules, boxes


def smallest(people, capsules, boxes):
    """Return the smallest distance between some human capsules and other shapes, pair by pair."""
    gaps = [
        float(capsule_distance(p[2], p[3], p[4], c[2], c[3], c[4]))
        for p in people
        for c in capsules
    ]
    gaps += [
        float(capsule_box_distance(p[2], p[3], p[4], b[2], b[3], b[4]))
        for p in people
        for b in boxes
    ]
    return min(gaps)


@pytest.mark.parametrize("spec", SCENES, ids=lambda spec: spec.scene_id)
def test_distances_equal_the_minimum_over_all_pairs(spec):
    """Leaving pairs out by their bounds changes no distance."""
    model, rng = build_model(spec), np.random.default_rng(spec.index)
    observer = Observer(model)
    for time in rng.uniform(0, 1.2 * model.plan.approach_time, 3):
        state = disturbed_state(model, rng, time)
        seen = observer.observe(state)
        capsules, boxes = shapes_at(model, state.position, matrix_from_quaternion(state.quaternion))
        people = [c for c in capsules if c[1] is Group.HUMAN]
        hand = [c for c in people if c[0] == model.hand_name]
        reaching = (model.hand_name, f"forearm_{spec.receiving_hand}")
        others = [c for c in people if c[0] not in reaching]
        arm = [c for c in capsules if c[1] is Group.ROBOT]
        tips = [b for b in boxes if b[1] is Group.ROBOT]
        assert seen.clearance == pytest.approx(smallest(people, arm, tips), abs=1e-12)
        grip = [c for c in arm if c[0] in GRIPPER_BODIES]
        assert seen.hand_gripper_distance == pytest.approx(smallest(hand, grip, tips), abs=1e-12)
        held = ([c for c in capsules if c[0] == "object"], [b for b in boxes if b[0] == "object"])
        assert seen.hand_object_distance == pytest.approx(smallest(hand, *held), abs=1e-12)
        path = smallest(others, arm, tips)
        for moment in np.linspace(0, model.plan.approach_time, observer.settings.path.samples):
            if moment >= time:
                planned, turned = shapes_at(model, *model.planned_poses(moment))
                robot = [c for c in planned if c[1] is Group.ROBOT]
                fingers = [b for b in turned if b[1] is Group.ROBOT]
                path = min(path, smallest(others, robot, fingers))
        assert seen.path_clearance == pytest.approx(path, abs=1e-12)
        near, far = observer.closest_points(state)
        assert np.linalg.norm(near - far) >= seen.clearance - 1e-9


@pytest.mark.parametrize("spec", SCENES, ids=lambda spec: spec.scene_id)
def test_blocked_lines_equal_ray_by_ray(spec):
    """Every sight line of every camera is blocked exactly when one of the shapes is in its way."""
    model, rng = build_model(spec), np.random.default_rng(100 + spec.index)
    observer = Observer(model)
    state = disturbed_state(model, rng, 0.5 * model.plan.approach_time)
    capsules, boxes = shapes_at(model, state.position, matrix_from_quaternion(state.quaternion))
    own = (model.hand_name, f"forearm_{spec.receiving_hand}")
    seen = observer.observe(state)
    for camera, share in enumerate(
        (seen.occlusion_robot, seen.occlusion_human, seen.occlusion_overhead)
    ):
        eye, points, blocked = observer.sight_lines(state, camera)
        for number, (point, hidden) in enumerate(zip(points, blocked, strict=True)):
            on_hand = number < len(points) // 2
            hits = [
                bool(ray_hits_capsule(eye, point, c[2], c[3], c[4]))
                for c in capsules
                if (c[0] not in own if on_hand else c[0] != "object")
            ]
            hits += [bool(ray_hits_box(eye, point, *b[2:])) for b in boxes if on_hand]
            hits += [
                bool(ray_hits_box(eye, point, *b)) for b in zip(*model.static_boxes, strict=True)
            ]
            assert hidden == any(hits)
        assert share == pytest.approx(blocked.mean())
