"""One expected source of a decision, as the caller describes it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import nan
from operator import add

STALE = "stale_previous_command"
"""Command status of a language source that carries the previous command over."""

LANGUAGE, GEOMETRY, RISK = HANDOVER_ROLES = ("language", "geometry", "risk")


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
        ValueError: The parent set is empty, or is one string instead of a collection of names.
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
        if isinstance(self.parents, str):
            raise ValueError(f"parents of {self.role!r} must be a collection, not one string")
        if not self.parents:
            raise ValueError(
                f"source {self.role!r} has no parents; every source needs at least one"
            )


def total(values: Iterable[float]) -> float:
    """Return the plain left-to-right sum, the batched kernels' (``sum`` compensates since 3.12)."""
    return reduce(add, values, 0.0)


def number(value: object) -> float:
    """Return a value as a float, NaN for anything that is not a real number."""
    if isinstance(value, (bool, str, bytes)) or value is None:
        return nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return nan


def opinion_vector(opinion: object, names: tuple[str, ...]) -> list[float]:
    """Return an opinion in contract order; all NaN when labels or length do not fit."""
    if isinstance(opinion, Mapping):
        if len(opinion) == len(names) and all(name in opinion for name in names):
            return [number(opinion[name]) for name in names]
    elif opinion is not None and not isinstance(opinion, (str, bytes)):
        try:
            values = [number(value) for value in opinion]  # type: ignore[attr-defined]
        except TypeError:
            values = []
        if len(values) == len(names):
            return values
    return [nan] * len(names)
