"""One expected source of a decision, as the caller describes it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import nan
from operator import add
from typing import Any

import numpy as np

STALE = "stale_previous_command"
"""Command status of a language source that carries the previous command over."""

_NOT_REAL = (bool, np.bool_, np.complexfloating, np.flexible)
"""Types that ``float`` takes although they hold no real number."""

LANGUAGE, GEOMETRY, RISK = HANDOVER_ROLES = ("language", "geometry", "risk")

MINIMUM_OBSERVED = 2
"""Base eligibility: observed valid sources that a decision needs."""


@dataclass(frozen=True, slots=True)
class CommandState:
    """Which command a language source speaks about.

    Timing is missing when ``current_hash``, ``evidence_hash`` or ``status`` is empty.
    """

    current_hash: str | None = None
    evidence_hash: str | None = None
    status: str | None = None
    previous_hash: str | None = None
    carried_over_from: str | None = None

    @property
    def missing(self) -> bool:
        """Whether the timing information is incomplete."""
        return not (self.current_hash and self.evidence_hash and self.status)

    @property
    def mismatch(self) -> bool:
        """Whether the evidence speaks about another command than the current one."""
        return bool(
            self.current_hash and self.evidence_hash and self.current_hash != self.evidence_hash
        )

    @property
    def stale(self) -> bool:
        """Whether the previous command is carried over."""
        return bool(self.status == STALE and self.previous_hash and self.carried_over_from)


@dataclass(frozen=True, slots=True)
class Source:
    """One expected source: what it says, how good it is, and where it comes from.

    Attributes:
        role: What the source is about, for example ``"geometry"``.
        opinion: Probability per contract, as a mapping from label or a sequence in contract
            order; None when the source says nothing.
        quality: q in [0, 1]; None = absent.
        conflict: d in [0, 1]; None = absent.
        parents: Acquisitions or derivations behind the source; never empty, also for a source
            that is unavailable.
        available: False for an expected source that did not arrive (z = 1).
        declared_valid: False when the supplier itself marks the source as malformed.
        command: Timing of a language source.

    Raises:
        ValueError: The parent set is empty, or is no collection of names: one string, say, or an
            iterator, which would name its parents only once. Or the command is no CommandState.
    """

    role: str
    opinion: Mapping[str, float] | Sequence[float] | None
    quality: float | None
    conflict: float | None
    parents: Collection[Hashable]
    available: bool = True
    declared_valid: bool = True
    command: CommandState | None = None

    def __post_init__(self) -> None:
        if isinstance(self.parents, (str, bytes)) or not isinstance(self.parents, Collection):
            raise ValueError(
                f"parents of {self.role!r} must be a collection of names, not {self.parents!r}"
            )
        if len(self.parents) == 0:
            raise ValueError(
                f"source {self.role!r} has no parents; every source needs at least one"
            )
        if self.command is not None and not isinstance(self.command, CommandState):
            kind = type(self.command).__name__
            raise ValueError(f"command of {self.role!r} must be a CommandState, not {kind}")


def total(values: Iterable[float]) -> float:
    """Return the plain left-to-right sum, the batched kernels' (``sum`` compensates since 3.12)."""
    return reduce(add, values, 0.0)


def number(value: Any) -> float:
    """Return a value as a float, NaN for anything that is not one real number.

    An array with an axis is not, even if it holds one number only: NumPy 1 would convert it.
    """
    if type(value) is float:
        return value
    if isinstance(value, _NOT_REAL) or not hasattr(value, "__float__"):
        return nan
    try:
        return nan if getattr(value, "ndim", 0) > 0 else float(value)
    except Exception:  # whatever the conversion of a foreign type raises
        return nan


def opinion_vector(opinion: Any, names: tuple[str, ...]) -> list[float]:
    """Return an opinion in contract order; all NaN when labels, length or order do not fit."""
    try:
        if isinstance(opinion, Mapping):
            if len(opinion) == len(names) and all(name in opinion for name in names):
                return [number(opinion[name]) for name in names]
        elif (
            hasattr(opinion, "__getitem__")  # sets have no order, iterators are read only once
            and not isinstance(opinion, (str, bytes, bytearray))
            and len(opinion) == len(names)
        ):
            values = [number(value) for value in opinion]
            if len(values) == len(names):  # a data frame is as long as its rows, but gives columns
                return values
    except Exception:  # whatever a foreign container raises
        pass
    return [nan] * len(names)
