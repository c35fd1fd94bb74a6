"""Closed-form distances and sight lines between capsules, spheres and boxes.

Everything is vectorised NumPy over broadcast leading shapes. A capsule is a segment with a
radius; a sphere is a capsule whose end points coincide; a box has a centre, a rotation
(columns are its axes) and half extents.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

__all__ = [
    "capsule_box_distance",
    "capsule_distance",
    "ray_hits_box",
    "ray_hits_capsule",
    "segment_box_distance",
    "segment_distance",
    "segment_enters_box",
]

_TINY = 1e-12


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("...i,...i->...", a, b))


def segment_distance(p0: Array, p1: Array, q0: Array, q1: Array) -> Array:
    """Distance [m] between segments p0-p1 and q0-q1, each of shape [..., 3] (broadcast).

    Degenerate segments (points) and parallel ones are exact.
    """
    d1, d2, r = p1 - p0, q1 - q0, p0 - q0
    a, e = _dot(d1, d1), _dot(d2, d2)
    b, c, f = _dot(d1, d2), _dot(d1, r), _dot(d2, r)
    denominator = a * e - b * b
    skew = denominator > _TINY * np.maximum(a * e, _TINY)
    s = np.where(skew, (b * f - c * e) / np.where(skew, denominator, 1.0), 0.0)
    s = np.clip(s, 0.0, 1.0)
    t = np.where(e > _TINY, (b * s + f) / np.where(e > _TINY, e, 1.0), 0.0)
    t = np.clip(t, 0.0, 1.0)
    s = np.where(a > _TINY, (b * t - c) / np.where(a > _TINY, a, 1.0), 0.0)
    s = np.clip(s, 0.0, 1.0)
    gap = r + s[..., None] * d1 - t[..., None] * d2
    return np.asarray(np.sqrt(_dot(gap, gap)))


def capsule_distance(
    p0: Array, p1: Array, p_radius: Array, q0: Array, q1: Array, q_radius: Array
) -> Array:
    """Surface distance [m] between capsules; negative by the overlap of their radii."""
    return segment_distance(p0, p1, q0, q1) - p_radius - q_radius


def _into_box(points: Array, centre: Array, rotation: Array) -> Array:
    """Coordinates of world points in the box frame."""
    return np.asarray(np.einsum("...ji,...j->...i", rotation, points - centre))


def segment_box_distance(
    p0: Array, p1: Array, centre: Array, rotation: Array, half: Array
) -> Array:
    """Distance [m] between segments and solid boxes; 0 where they touch or intersect.

    The squared distance along the segment is convex and piecewise quadratic with at most six
    break points, so its derivative is piecewise linear: the root between two neighbouring
    break points is exact.
    """
    a = _into_box(p0, centre, rotation)
    d = _into_box(p1, centre, rotation) - a
    half = np.broadcast_to(half, a.shape)
    moving = np.abs(d) > _TINY
    slope = np.where(moving, d, 1.0)
    breaks = np.concatenate([(half - a) / slope, (-half - a) / slope], axis=-1)
    breaks = np.where(np.concatenate([moving, moving], axis=-1), breaks, 0.0)
    ends = np.broadcast_to(np.array([0.0, 1.0]), (*breaks.shape[:-1], 2))
    t = np.sort(np.concatenate([np.clip(breaks, 0.0, 1.0), ends], axis=-1), axis=-1)

    def excess(at: Array) -> Array:
        x = a[..., None, :] + at[..., None] * d[..., None, :]
        return x - np.clip(x, -half[..., None, :], half[..., None, :])

    derivative = np.einsum("...ki,...i->...k", excess(t), d)
    low, high = derivative[..., :-1], derivative[..., 1:]
    crossing = (low <= 0.0) & (high > 0.0)
    rise = np.where(crossing, high - low, 1.0)
    roots = np.where(crossing, t[..., :-1] - low / rise * (t[..., 1:] - t[..., :-1]), t[..., :-1])
    candidates = np.concatenate([roots, t], axis=-1)
    gap = excess(candidates)
    return np.asarray(np.sqrt(np.min(np.einsum("...ki,...ki->...k", gap, gap), axis=-1)))


def capsule_box_distance(
    p0: Array, p1: Array, radius: Array, centre: Array, rotation: Array, half: Array
) -> Array:
    """Surface distance [m] between capsules and solid boxes; at least minus the radius."""
    return segment_box_distance(p0, p1, centre, rotation, half) - radius


def ray_hits_capsule(origin: Array, target: Array, q0: Array, q1: Array, radius: Array) -> Mask:
    """Tell whether the sight line origin-target (a segment) meets the capsule."""
    return np.asarray(segment_distance(origin, target, q0, q1) <= radius)


def ray_hits_box(origin: Array, target: Array, centre: Array, rotation: Array, half: Array) -> Mask:
    """Tell whether the sight line origin-target (a segment) meets the solid box."""
    a = _into_box(origin, centre, rotation)
    return segment_enters_box(a, _into_box(target, centre, rotation) - a, half)


def segment_enters_box(a: Array, d: Array, half: Array) -> Mask:
    """Tell whether the segment from `a` to `a + d`, in box frames, meets the boxes (slab test)."""
    moving = np.abs(d) > _TINY
    slope = np.where(moving, d, 1.0)
    near = (-half - a) / slope
    far = (half - a) / slope
    near, far = np.minimum(near, far), np.maximum(near, far)
    if not moving.all():
        inside = np.abs(a) <= half
        near = np.where(moving, near, np.where(inside, -np.inf, np.inf))
        far = np.where(moving, far, np.where(inside, np.inf, -np.inf))
    enter = np.maximum(near.max(axis=-1), 0.0)
    leave = np.minimum(far.min(axis=-1), 1.0)
    return np.asarray(enter <= leave)
