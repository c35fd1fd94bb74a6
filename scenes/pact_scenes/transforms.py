"""Rotations and rigid transforms on NumPy arrays; quaternions are scalar-last (xyzw)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

__all__ = [
    "matrix_from_quaternion",
    "matrix_from_z",
    "quaternion_from_matrix",
    "rotation_x",
    "rotation_y",
    "rotation_z",
    "unit",
]


def unit(vector: Array) -> Array:
    """Scale vectors of shape [..., 3] to length one; the zero vector stays zero."""
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.asarray(vector / np.where(length > 0.0, length, 1.0))


def _axis_rotation(angle: float | Array, axis: int) -> Array:
    a = np.asarray(angle, dtype=np.float64)
    c, s = np.cos(a), np.sin(a)
    out = np.zeros((*a.shape, 3, 3))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    out[..., axis, axis] = 1.0
    out[..., i, i] = c
    out[..., j, j] = c
    out[..., i, j] = -s
    out[..., j, i] = s
    return out


def rotation_x(angle: float | Array) -> Array:
    """Rotation matrices [..., 3, 3] about x by an angle in radians."""
    return _axis_rotation(angle, 0)


def rotation_y(angle: float | Array) -> Array:
    """Rotation matrices [..., 3, 3] about y by an angle in radians."""
    return _axis_rotation(angle, 1)


def rotation_z(angle: float | Array) -> Array:
    """Rotation matrices [..., 3, 3] about z by an angle in radians."""
    return _axis_rotation(angle, 2)


def matrix_from_z(direction: Array, reference: Array) -> Array:
    """Build rotations [..., 3, 3] whose third column is `direction`.

    The first column is `reference` made orthogonal to it; where the two are parallel,
    the coordinate axis least aligned with the direction replaces the reference.
    """
    z = unit(np.asarray(direction, dtype=np.float64))
    ref = np.broadcast_to(np.asarray(reference, dtype=np.float64), z.shape)
    x = ref - np.sum(ref * z, axis=-1, keepdims=True) * z
    fallback = np.eye(3)[np.argmin(np.abs(z), axis=-1)]
    fallback = fallback - np.sum(fallback * z, axis=-1, keepdims=True) * z
    parallel = np.linalg.norm(x, axis=-1, keepdims=True) < 1e-9
    x = unit(np.where(parallel, fallback, x))
    return np.stack([x, np.cross(z, x), z], axis=-1)


def matrix_from_quaternion(quaternion: Array) -> Array:
    """Rotation matrices [..., 3, 3] of unit quaternions [..., 4] (xyzw)."""
    x, y, z, w = np.moveaxis(np.asarray(quaternion, dtype=np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_matrix(matrix: Array) -> Array:
    """Unit quaternions [..., 4] (xyzw, w >= 0) of rotation matrices [..., 3, 3].

    All four candidate forms are evaluated and the best conditioned one is taken, so the
    result is smooth near half turns.
    """
    m = np.asarray(matrix, dtype=np.float64)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    squares = np.stack([1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz], -1)
    xy, xz, yz = (
        m[..., 0, 1] + m[..., 1, 0],
        m[..., 0, 2] + m[..., 2, 0],
        m[..., 1, 2] + m[..., 2, 1],
    )
    wx, wy, wz = (
        m[..., 2, 1] - m[..., 1, 2],
        m[..., 0, 2] - m[..., 2, 0],
        m[..., 1, 0] - m[..., 0, 1],
    )
    forms = np.stack(
        [
            np.stack([squares[..., 0], xy, xz, wx], -1),
            np.stack([xy, squares[..., 1], yz, wy], -1),
            np.stack([xz, yz, squares[..., 2], wz], -1),
            np.stack([wx, wy, wz, squares[..., 3]], -1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)
    q = np.take_along_axis(forms, best[..., None, None], axis=-2)[..., 0, :]
    q = unit(q)
    return np.where(q[..., 3:] < 0.0, -q, q)
