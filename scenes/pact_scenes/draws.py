"""Random draws keyed by identity, vectorised.

Every number is a pure function of a 64-bit key and a counter (SplitMix64: a Weyl sequence started
at the key, and a finalising mix), so a row draws the same numbers alone, in a table, in any order
and in any worker. Keys are made from names by `key_of` and combined by `join`.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

_WEYL = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = (np.uint64(s) for s in (30, 27, 31, 11))
_PER_ATTEMPT = 3
_ATTEMPTS = 64


@lru_cache(maxsize=4096)
def key_of(name: str) -> int:
    """Return the 64-bit key of a name."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def keys_of(names: npt.ArrayLike) -> Keys:
    """Return the keys of an array of names, shape as given."""
    array = np.asarray(names)
    if array.size == 1:
        return np.full(array.shape, key_of(str(array.reshape(-1)[0])), dtype=np.uint64)
    unique, inverse = np.unique(array, return_inverse=True)
    table = np.array([key_of(str(name)) for name in unique], dtype=np.uint64)
    return table[inverse].reshape(array.shape)


def bits(key: Keys, counter: int) -> Keys:
    """Return the 64 random bits number `counter` of every key."""
    z = key + np.uint64(((counter + 1) * int(_WEYL)) & 0xFFFFFFFFFFFFFFFF)
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


def join(first: Keys, *more: Keys | np.uint64) -> Keys:
    """Combine keys, broadcasting; the order of the arguments matters."""
    joined = bits(np.atleast_1d(np.asarray(first, dtype=np.uint64)), 0)
    for key in more:
        joined = bits(joined ^ (np.asarray(key, dtype=np.uint64) * _MIX_2), 0)
    return joined


def uniform(key: Keys, counter: int) -> Floats:
    """Return uniforms in the open interval (0, 1), one per key."""
    return ((bits(key, counter) >> _S11).astype(np.float64) + 0.5) * 2.0**-53


def normal(key: Keys, counter: int) -> Floats:
    """Return standard normals, one per key; uses the counters `counter` and `counter + 1`."""
    radius = np.sqrt(-2.0 * np.log(uniform(key, counter)))
    return radius * np.cos(2.0 * np.pi * uniform(key, counter + 1))


def gamma(shape: Floats, key: Keys) -> Floats:
    """Return gamma variates of unit scale (Marsaglia and Tsang 2000), one per key.

    Args:
        shape: Shape parameters, positive, same shape as `key`.
        key: One key per variate.
    """
    small = shape < 1.0
    d = np.where(small, shape + 1.0, shape) - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    result = np.zeros_like(d)
    pending = np.ones(d.shape, dtype=bool)
    for attempt in range(_ATTEMPTS):
        dp, cp, kp = d[pending], c[pending], key[pending]
        start = attempt * _PER_ATTEMPT
        x = normal(kp, start)
        v = 1.0 + cp * x
        v = v * v * v
        positive = v > 0.0
        log_v = np.log(np.where(positive, v, 1.0))
        accept = positive & (
            np.log(uniform(kp, start + 2)) < 0.5 * x * x + dp - dp * v + dp * log_v
        )
        where = np.flatnonzero(pending.reshape(-1))
        result.reshape(-1)[where[accept]] = (dp * v)[accept]
        pending.reshape(-1)[where[accept]] = False
        if accept.all():
            break
    if small.any():
        boost = uniform(key[small], _ATTEMPTS * _PER_ATTEMPT) ** (1.0 / shape[small])
        result[small] *= boost
    return result


def dirichlet(alpha: Floats, key: Keys) -> Floats:
    """Return Dirichlet draws.

    Args:
        alpha: Parameters, shape [..., K]; a row of zeros gives a row of zeros.
        key: One key per draw, shape [...].
    """
    classes = np.arange(1, alpha.shape[-1] + 1, dtype=np.uint64)
    keys: Keys = bits(np.add(key[..., None], classes * _MIX_1, dtype=np.uint64), 0)
    present = alpha.sum(axis=-1) > 0.0
    draw = np.zeros(alpha.shape)
    parameters = np.maximum(alpha[present], 1e-3)
    variates = np.maximum(gamma(parameters, keys[present]), 1e-300)
    draw[present] = variates / variates.sum(axis=-1, keepdims=True)
    return draw
