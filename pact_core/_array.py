"""The few array functions whose names differ between NumPy 1.26, NumPy 2 and the array API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import inf
from operator import add
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


def total(values: Iterable[Array]) -> Array:
    """Return the sum of arrays, or over the first axis of one, taken from left to right.

    A library's own sum chooses its order by the shape of the array, so that an instance alone would
    get other last bits than the same one among others, or than the scalar path.
    """
    return reduce(add, values)


def all_true(xp: Any, like: Array) -> Array:
    """Return a boolean array of another array's shape that is true everywhere."""
    return xp.ones_like(like, dtype=np.bool_ if xp is np else xp.bool)


def masked(xp: Any, values: Array, mask: Array, neutral: float | bool) -> Array:
    """Return the values where a mask is true and a neutral element elsewhere.

    In NumPy by a bound per instance: its ``where`` branches on every value, which on mixed masks is
    several times slower.

    Args:
        xp: Array namespace.
        values: In [0, inf], or boolean, shape [n] or [K, n].
        mask: Shape [n].
        neutral: 0 or infinity; False or True for booleans.
    """
    if xp is not np:
        return xp.where(mask, values, neutral)
    if values.dtype == np.bool_:
        return values | ~mask if neutral else values & mask
    bound = np.where(mask, -inf if neutral else inf, neutral).astype(values.dtype, copy=False)
    return np.maximum(values, bound) if neutral else np.minimum(values, bound)


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
