"""Which settings a sweep visits: a scrambled Sobol sequence, and the matrices of Sobol indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FACTORS = (
    "language_peak",
    "generation_concentration",
    "quality_multiplier",
    "conflict_multiplier",
    "occlusion_strength",
)
"""The factors in the column order of the published design."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the opinion generator."""

    language_peak: float
    generation_concentration: float
    quality_multiplier: float
    conflict_multiplier: float
    occlusion_strength: float

    def to_json(self) -> dict[str, float]:
        """Return the factors by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SweepDesign:
    """Factors, seed and what is measured; see `configs/sweep.toml`."""

    seed: int
    points: int
    rules: tuple[str, ...]
    support: tuple[float, float]
    operating_target: float
    index_points: int
    index_resamples: int
    values: Mapping[str, tuple[float, ...]]
    ranges: Mapping[str, tuple[float, float]]

    @classmethod
    def from_section(cls, section: Mapping[str, Any]) -> SweepDesign:
        """Read the configuration section `sweep`."""
        given = dict(section)
        values = {name: tuple(map(float, v)) for name, v in given.pop("values").items()}
        ranges = {name: (float(v[0]), float(v[1])) for name, v in given.pop("ranges").items()}
        low, high = given.pop("support")
        return cls(
            **{**given, "rules": tuple(given["rules"])},
            support=(float(low), float(high)),
            values=values,
            ranges=ranges,
        )

    def setting(self, unit: NDArray[np.float64]) -> Setting:
        """Map a point of the unit cube, shape [5] in the order of `FACTORS`, to a setting.

        A discrete factor takes the value whose equal share of [0, 1) holds the coordinate.
        """
        return Setting(
            **{name: self._level(name, float(u)) for name, u in zip(FACTORS, unit, strict=True)}
        )

    def _level(self, name: str, u: float) -> float:
        if name in self.values:
            levels = self.values[name]
            return levels[min(int(u * len(levels)), len(levels) - 1)]
        low, high = self.ranges[name]
        return low + (high - low) * u


def sobol_points(count: int, seed: int) -> NDArray[np.float64]:
    """Return the first `count` points of the scrambled Sobol sequence, shape [count, 5].

    A larger count extends a smaller one, so a sweep can be lengthened later.
    """
    from scipy.stats import qmc  # slow to import, and workers need no design

    exponent = max(int(np.ceil(np.log2(max(count, 1)))), 0)
    # `seed`, not `rng`: SciPy spawns a child of `rng`, which would be another published design.
    engine = qmc.Sobol(d=len(FACTORS), scramble=True, seed=seed)
    points: NDArray[np.float64] = engine.random_base2(exponent)[:count]
    return points


def index_matrices(count: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Return the sample matrices of Sobol indices, each of shape [count, 5].

    `A` and `B` are the two halves of a ten-dimensional scrambled Sobol sequence; `AB0` … `AB4`
    are `A` with one column taken from `B` (Saltelli's design: count × 7 evaluations).

    Args:
        count: Points per matrix; a power of two.
        seed: Seed of the sequence.
    """
    from scipy.stats import qmc

    factors = len(FACTORS)
    engine = qmc.Sobol(d=2 * factors, scramble=True, seed=seed)
    both = engine.random_base2(int(np.log2(count)))
    first, second = both[:, :factors], both[:, factors:]
    matrices = {"A": first, "B": second}
    for factor in range(factors):
        mixed = first.copy()
        mixed[:, factor] = second[:, factor]
        matrices[f"AB{factor}"] = mixed
    return matrices
