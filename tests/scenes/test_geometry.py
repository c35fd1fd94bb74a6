"""Closed-form distances and sight lines against a maintained geometry library."""

from __future__ import annotations

import coal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_scenes.geometry import (
    capsule_box_distance,
    capsule_distance,
    ray_hits_box,
    ray_hits_capsule,
    segment_box_distance,
    segment_distance,
)
from pact_scenes.transforms import (
    matrix_from_quaternion,
    matrix_from_z,
    quaternion_from_matrix,
    rotation_x,
    rotation_z,
    unit,
)

RNG = np.random.default_rng(11)
COUNT = 400


def _rotations(count: int) -> np.ndarray:
    return matrix_from_quaternion(unit(RNG.normal(size=(count, 4))))


def _coal_pose(rotation: np.ndarray, position: np.ndarray) -> coal.Transform3s:
    return coal.Transform3s(np.asfortranarray(rotation), position)


def _coal_distance(one, pose_one, two, pose_two) -> float:
    return coal.distance(
        one, pose_one, two, pose_two, coal.DistanceRequest(), coal.DistanceResult()
    )


def test_capsules_agree_with_coal():
    """Capsule-capsule distances equal coal's for random pairs that are apart."""
    a, b, c, d = RNG.uniform(-1, 1, (4, COUNT, 3))
    r1, r2 = RNG.uniform(0.02, 0.2, (2, COUNT))
    ours = capsule_distance(a, b, r1, c, d, r2)
    compared = 0
    for i in np.flatnonzero(ours > 1e-3):
        shapes = []
        for p, q, r in ((a[i], b[i], r1[i]), (c[i], d[i], r2[i])):
            pose = _coal_pose(matrix_from_z(q - p, np.array([1.0, 0, 0])), (p + q) / 2)
            shapes += [coal.Capsule(r, float(np.linalg.norm(q - p))), pose]
        assert _coal_distance(*shapes) == pytest.approx(ours[i], abs=1e-6)
        compared += 1
    assert compared > COUNT / 2


def test_capsule_and_box_agree_with_coal():
    """Capsule-box distances equal coal's for random pairs that are apart."""
    a, b, centre = RNG.uniform(-1, 1, (3, COUNT, 3))
    radius, half = RNG.uniform(0.02, 0.1, COUNT), RNG.uniform(0.05, 0.4, (COUNT, 3))
    turn = _rotations(COUNT)
    ours = capsule_box_distance(a, b, radius, centre, turn, half)
    compared = 0
    for i in np.flatnonzero(ours > 1e-3):
        pose = _coal_pose(matrix_from_z(b[i] - a[i], np.array([1.0, 0, 0])), (a[i] + b[i]) / 2)
        capsule = coal.Capsule(radius[i], float(np.linalg.norm(b[i] - a[i])))
        box = coal.Box(*(2 * half[i]))
        theirs = _coal_distance(capsule, pose, box, _coal_pose(turn[i], centre[i]))
        assert theirs == pytest.approx(ours[i], abs=1e-5)
        compared += 1
    assert compared > COUNT / 3


@pytest.mark.parametrize(
    ("p0", "p1", "q0", "q1", "wanted"),
    [
        ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), 1.0),
        ((0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0), 2**0.5),
        ((0, 0, 0), (1, 0, 0), (0.5, -1, 1), (0.5, 1, 1), 1.0),
        ((0, 0, 0), (0, 0, 0), (3, 4, 0), (3, 4, 0), 5.0),
        ((0, 0, 0), (1, 0, 0), (0.25, 0, 0), (0.75, 0, 0), 0.0),
        ((0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 0, 0), 1.0),
    ],
)
def test_segments_parallel_crossing_and_degenerate(p0, p1, q0, q1, wanted):
    """Parallel, crossing, collinear and point-like segments have known distances."""
    arrays = [np.array(v, dtype=float) for v in (p0, p1, q0, q1)]
    assert segment_distance(*arrays) == pytest.approx(wanted, abs=1e-12)


points = st.lists(st.floats(-2, 2), min_size=3, max_size=3).map(np.array)


@settings(max_examples=150, deadline=None)
@given(points, points, points, points, st.floats(-3, 3), points)
def test_distance_is_symmetric_and_rigid(a, b, c, d, angle, shift):
    """Distances do not change when segments swap or the world moves."""
    turn = rotation_z(angle) @ rotation_x(angle / 2)
    base = float(segment_distance(a, b, c, d))
    assert float(segment_distance(c, d, a, b)) == pytest.approx(base, abs=1e-7)
    moved = [turn @ p + shift for p in (a, b, c, d)]
    assert float(segment_distance(*moved)) == pytest.approx(base, abs=1e-7)


@settings(max_examples=150, deadline=None)
@given(points, points, points)
def test_segment_box_distance_is_the_least_over_the_segment(a, b, half):
    """No point of the segment is nearer to the box than the distance found."""
    half = np.abs(half) + 0.05
    share = np.linspace(0, 1, 201)[:, None]
    samples = a + share * (b - a)
    outside = np.maximum(np.abs(samples) - half, 0.0)
    brute = np.linalg.norm(outside, axis=-1).min()
    found = float(segment_box_distance(a, b, np.zeros(3), np.eye(3), half))
    assert found <= brute + 1e-12
    assert brute - found <= np.linalg.norm(b - a) / 200 + 1e-9


def test_sight_lines_agree_with_distances():
    """A sight line is blocked exactly where its segment comes within the shape."""
    eye, target = RNG.uniform(-1, 1, (2, 3000, 3))
    centre, other = RNG.uniform(-0.3, 0.3, (2, 3000, 3))
    half, turn = RNG.uniform(0.05, 0.3, (3000, 3)), _rotations(3000)
    gap = segment_box_distance(eye, target, centre, turn, half)
    hits = ray_hits_box(eye, target, centre, turn, half)
    assert np.array_equal(hits, gap < 1e-9)
    assert 200 < np.count_nonzero(hits) < 2700
    radius = RNG.uniform(0.05, 0.3, 3000)
    hits = ray_hits_capsule(eye, target, centre, other, radius)
    assert np.array_equal(hits, segment_distance(eye, target, centre, other) <= radius)


def test_quaternions_and_matrices_are_inverse():
    """Matrix and quaternion convert into each other, half turns included."""
    turns = np.concatenate([_rotations(200), [rotation_x(np.pi), rotation_z(np.pi), np.eye(3)]])
    again = matrix_from_quaternion(quaternion_from_matrix(turns))
    assert np.allclose(again, turns, atol=1e-12)
