"""Parameters that the rules share, checked when they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pact_core._array import Array, asarray, namespace
from pact_core.sources import number

MISSING_CONVENTIONS = ("zero", "exclude", "remove", "isolate")

SCALE_LIMIT = 1e100
"""Largest scale, and one over the smallest prior strength: products of a few stay finite."""


@dataclass(frozen=True, slots=True)
class FusionOptions:
    """Parameters that the rules share.

    Attributes:
        kappa: Evidence scale in [0, 1e100], a number or an array of the batch's leading shape
            [...].
        source_scale: Factor per source on kappa, length J, each in [0, 1e100]; None = all 1.
        base_rate: a, length K, not negative, sums to one; None = uniform.
        prior_strength: W in [1e-100, 1e100]; None = K.
        missing: What PACT does with an expected source that is not observed: ``zero`` keeps it as
            a zero vector in its component, ``exclude`` leaves it out of the meet but keeps its
            links, ``remove`` drops it before components are built, ``isolate`` makes it a
            component of its own.

    Raises:
        ValueError: A value outside its range.
    """

    kappa: float | Array = 8.0
    source_scale: tuple[float, ...] | None = None
    base_rate: tuple[float, ...] | None = None
    prior_strength: float | None = None
    missing: str = "zero"

    def __post_init__(self) -> None:
        if getattr(self.kappa, "shape", ()) or isinstance(self.kappa, (list, tuple)):
            object.__setattr__(self, "kappa", _checked_kappas(self.kappa))
        else:
            object.__setattr__(self, "kappa", checked_kappa(self.kappa))
        if self.missing not in MISSING_CONVENTIONS:
            raise ValueError(f"missing must be one of {MISSING_CONVENTIONS}, got {self.missing!r}")
        strength = self.prior_strength
        if strength is not None and not 1.0 / SCALE_LIMIT <= number(strength) <= SCALE_LIMIT:
            raise ValueError(
                f"prior_strength must be positive, within [1e-100, 1e100], got {strength}"
            )
        if self.source_scale is not None and not _all_within(self.source_scale, SCALE_LIMIT):
            raise ValueError(
                f"source_scale must be finite and not negative, got {self.source_scale}"
            )
        rate = self.base_rate
        if rate is not None and not (_all_within(rate, 1.0) and abs(sum(rate) - 1.0) <= 1e-9):
            raise ValueError(f"base_rate must be nonnegative and sum to one, got {rate}")

    def check_fit(self, sources: int, contracts: int) -> None:
        """Raise ValueError unless there is one scale per source and one rate per contract."""
        for name, values, length in (
            ("source_scale", self.source_scale, sources),
            ("base_rate", self.base_rate, contracts),
        ):
            if values is not None and len(values) != length:
                raise ValueError(f"{name} has {len(values)} entries, expected {length}")


def checked_kappa(value: object) -> float:
    """Return an evidence scale as a float; ValueError unless it is one number in [0, 1e100]."""
    kappa = number(value)
    if not 0.0 <= kappa <= SCALE_LIMIT:
        raise ValueError(f"kappa must be finite and not negative (at most 1e100), got {value!r}")
    return kappa


def _checked_kappas(values: Array) -> Array:
    kappa = asarray(values)
    xp = namespace(kappa)
    if not bool(xp.all((kappa >= 0.0) & (kappa <= SCALE_LIMIT))):
        raise ValueError("kappa must be finite and not negative (at most 1e100) everywhere")
    return kappa


def _all_within(values: Sequence[float], highest: float) -> bool:
    return all(0.0 <= number(value) <= highest for value in values)


DEFAULT_OPTIONS = FusionOptions()
