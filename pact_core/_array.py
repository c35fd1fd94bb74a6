"""The few array functions whose names differ between NumPy 1.26, NumPy 2 and the array API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A NumPy array, or an array of any library that the array API covers (torch, CuPy)."""


def namespace(*arrays: Array) -> Any:
    """Return the array namespace of the inputs; NumPy when they are NumPy or plain numbers."""
    for array in arrays:
        if array is None or isinstance(array, (np.ndarray, np.generic, int, float, Sequence)):
            continue
        return _foreign_namespace(array)
    return np


def _foreign_namespace(array: Array) -> Any:
    try:
        import array_api_compat
    except ImportError:
        if hasattr(array, "__array_namespace__"):
            return array.__array_namespace__()
        raise TypeError(
            f"arrays of type {type(array).__name__} need the array-api-compat package; "
            "install it or pass NumPy arrays"
        ) from None
    return array_api_compat.array_namespace(array)


def asarray(value: Array) -> Array:
    """Return the value as an array of its own library, lists and numbers as NumPy."""
    return np.asarray(value) if namespace(value) is np else value


def permute(xp: Any, array: Array, axes: tuple[int, ...]) -> Array:
    """Reorder the axes."""
    return np.transpose(array, axes) if xp is np else xp.permute_dims(array, axes)


def cast(xp: Any, array: Array, dtype: Any) -> Array:
    """Convert the element type, without a copy where there is nothing to convert."""
    if xp is np:
        return np.asarray(array).astype(dtype, copy=False)
    return xp.astype(array, dtype, copy=False)


def real(xp: Any, array: Array) -> Array:
    """Return the array with a floating element type (integers and booleans become float64)."""
    if xp is np:
        array = np.asarray(array)
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    return array if xp.isdtype(array.dtype, "real floating") else xp.astype(array, xp.float64)


def count(xp: Any, mask: Array, axis: int) -> Array:
    """Count the true entries along an axis."""
    if xp is np:
        return np.add.reduce(mask, axis=axis, dtype=np.int16)
    return xp.sum(xp.astype(mask, xp.int16), axis=axis)


def first_maximum(xp: Any, values: Array) -> tuple[Array, Array]:
    """Return the largest value along axis -2 and its first position (ordered ties).

    Args:
        values: Shape [..., K, n]; no NaN.

    Returns:
        The maximum and its index (int8 for K < 128), both of shape [..., n].
    """
    small = xp.int8 if values.shape[-2] < 128 else xp.int32
    best = values[..., 0, :]
    position = xp.zeros_like(best, dtype=small)
    for k in range(1, values.shape[-2]):
        candidate = values[..., k, :]
        better = cast(xp, candidate > best, small)
        position = xp.maximum(position, better * k)  # k only grows, so the last better one wins
        best = xp.maximum(best, candidate)
    return best, position
