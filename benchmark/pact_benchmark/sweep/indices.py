"""First-order and total Sobol indices from finished evaluations, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.bootstrap import interval
from pact_benchmark.study import Statistic
from pact_benchmark.sweep.design import FACTORS

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Indices:
    """How much of the variance of one output each factor explains.

    Attributes:
        first: alone, by factor.
        total: with all its interactions, by factor.
    """

    first: dict[str, Statistic]
    total: dict[str, Statistic]


def sensitivity(values: Mapping[str, Floats], *, resamples: int, seed: int) -> Indices:
    """Return the indices of one output.

    Args:
        values: the output on the sample matrices `A`, `B`, `AB0` …, each [n], n a power of two.
        resamples: bootstrap draws of the n sample rows; 0 gives no intervals.
        seed: seed of those draws.
    """
    base, other = values["A"], values["B"]
    mixed = np.stack([values[f"AB{factor}"] for factor in range(len(FACTORS))])
    first, total = _estimate(base, other, mixed)
    rng = np.random.default_rng(seed)
    draws = np.empty((2, resamples, len(FACTORS)))
    for draw in range(resamples):
        rows = rng.integers(0, base.size, base.size)
        draws[:, draw] = _estimate(base[rows], other[rows], mixed[:, rows])
    evaluations = base.size * (len(FACTORS) + 2)
    made = []
    for order, point in enumerate((first, total)):
        made.append(
            {
                name: Statistic(float(point[place]), *interval(draws[order, :, place]), evaluations)
                for place, name in enumerate(FACTORS)
            }
        )
    return Indices(*made)


def _estimate(base: Floats, other: Floats, mixed: Floats) -> tuple[Floats, Floats]:
    """Return first-order and total indices [factors]; an output that never varies has none."""
    from scipy.stats import sobol_indices

    if np.ptp(np.concatenate([base, other])) == 0.0:
        return np.zeros(mixed.shape[0]), np.zeros(mixed.shape[0])
    result = sobol_indices(
        func={"f_A": base[None], "f_B": other[None], "f_AB": mixed[:, None]}, n=base.size
    )
    return np.ravel(result.first_order), np.ravel(result.total_order)
