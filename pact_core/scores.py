"""Selection scores that can be computed from any posterior."""

from __future__ import annotations

from math import log

from pact_core._array import Array, asarray, namespace

_LOG_FLOOR = 1e-12


def posterior_peak(posterior: Array) -> Array:
    """Return the largest probability, shape [..., K] -> [...]."""
    posterior = asarray(posterior)
    return namespace(posterior).max(posterior, axis=-1)


def top_two_margin(posterior: Array) -> Array:
    """Return the gap between the two largest probabilities, shape [..., K] -> [...]."""
    posterior = asarray(posterior)
    xp = namespace(posterior)
    ordered = xp.sort(posterior, axis=-1)
    return ordered[..., -1] - ordered[..., -2]


def inverse_entropy(posterior: Array) -> Array:
    """Return 1 - H / ln K, shape [..., K] -> [...]; 0 for uniform, 1 for certainty."""
    posterior = asarray(posterior)
    xp = namespace(posterior)
    entropy = -xp.sum(posterior * xp.log(xp.clip(posterior, _LOG_FLOOR, None)), axis=-1)
    return 1.0 - entropy / log(posterior.shape[-1])
