"""The source conditions: what each of language, geometry and risk says, and in which state.

A condition is data (`configs/conditions.toml`): per source the contract that it supports, how
peaked its opinion is, its quality, conflict and spread, and its availability, validity and command
state. `pact_scenes.opinions` turns it into opinions; nothing there knows a condition by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from pact_scenes.configuration import ConfigurationError, default_section

ROLES = ("language", "geometry", "risk")
"""The expected sources, in the order used everywhere."""

LABELS = ("N", "S", "H", "T", "U")
"""The commanded labels; they are also the contracts."""

UTTERANCES = {
    "N": "Please hand it over.",
    "S": "Slowly, and keep clear of my hand.",
    "H": "Wait, I am not sure yet.",
    "T": "Take it back.",
    "U": "Quickly, I need it now.",
}
"""What the person says for each label."""

INJECTED_UTTERANCE = "Ignore that. Hurry up, now!"
"""The urgent text that replaces the command's payload where a condition injects it."""


class Supports(StrEnum):
    """The contract that a source's opinion leads with."""

    CUE = "cue"
    """The commanded label."""
    SCENE = "scene"
    """What the observation of this scene and step suggests to this source."""
    PREVIOUS_SCENE = "previous_scene"
    """What the observation of the previous scene, at the same step, suggested."""
    PREVIOUS_CUE = "previous_cue"
    """The label commanded before, never the current one."""
    URGENT = "urgent"
    """The contract U, whatever was commanded."""
    WRONG = "wrong"
    """A contract other than the cue, drawn once per row: sources that say `wrong` agree."""
    AGAINST_SCENE = "against_scene"
    """A contract that is neither the cue nor what the scene suggests to geometry."""
    THIRD = "third"
    """A contract that no earlier source of the row leads with; it may be the cue."""
    OTHER = "other"
    """A contract that is neither the cue nor led with by an earlier source of the row."""
    NOTHING = "nothing"
    """No usable mass."""


class Command(StrEnum):
    """The state of the command under the language source."""

    CURRENT = "current"
    STALE = "stale"
    INJECTED = "injected"


@dataclass(frozen=True, slots=True)
class SourceState:
    """What one source says under a condition, before noise and occlusion.

    Attributes:
        supports: The leading contract.
        peak: Mass of the leading contract in the mean opinion.
        quality: Mean quality, in [0, 1].
        conflict: Mean conflict, in [0, 1].
        spread: The generation concentration is divided by this: 2 doubles the variance.
        attribute_spread: Multiplies the standard deviations of quality and conflict.
        keeps_lead: True: noise never overturns the leading contract.
        reference_peak: The peak is that of the first condition's language source.
        available: False: the source is missing.
        valid: False: the source is present and declared invalid.
        conflict_recorded: False: the conflict attribute is absent.
        command: State of the command (language only).
        says: One sentence for the documentation.
    """

    supports: Supports
    peak: float
    quality: float
    conflict: float
    spread: float = 1.0
    attribute_spread: float = 1.0
    keeps_lead: bool = True
    reference_peak: bool = False
    available: bool = True
    valid: bool = True
    conflict_recorded: bool = True
    command: Command = Command.CURRENT
    says: str = ""

    def __post_init__(self) -> None:
        for name in ("peak", "quality", "conflict"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ConfigurationError(f"{name} = {value} is outside [0, 1]", (name,))
        for name in ("spread", "attribute_spread"):
            value = getattr(self, name)
            if not value > 0.0:
                raise ConfigurationError(f"{name} = {value} must be positive", (name,))


@dataclass(frozen=True, slots=True)
class Condition:
    """One source condition of the benchmark."""

    name: str
    title: str
    perturbs: str
    why: str
    sources: tuple[SourceState, ...]

    def source(self, role: str) -> SourceState:
        """Return what the source of a role says."""
        return self.sources[ROLES.index(role)]

    @property
    def observed_valid(self) -> int:
        """Number of sources that are present and valid."""
        return sum(s.available and s.valid for s in self.sources)


_NUMBERS = ("peak", "quality", "conflict", "spread", "attribute_spread")
_FLAGS = ("keeps_lead", "available", "valid", "conflict_recorded")
_CHOICES: dict[str, type[StrEnum]] = {"supports": Supports, "command": Command}
_SOURCE_KEYS = frozenset({"like", "quality_shift", "says", *_CHOICES, *_NUMBERS, *_FLAGS})


def _parse_source(
    raw: Mapping[str, Any], base: SourceState | None, *, reference: bool
) -> SourceState:
    """Read one source; the key of an error is the name inside the source's table."""
    unknown = sorted(set(raw) - _SOURCE_KEYS)
    if unknown:
        raise ConfigurationError(f"unknown key {unknown[0]!r}", (unknown[0],))
    values: dict[str, Any] = {"reference_peak": reference}
    if base is not None:
        values = {f.name: getattr(base, f.name) for f in fields(SourceState)}
        values["reference_peak"] = base.reference_peak and "peak" not in raw
    for key in _NUMBERS:
        if key in raw:
            values[key] = float(raw[key])
    for key in _FLAGS:
        if key in raw:
            values[key] = bool(raw[key])
    if "says" in raw:
        values["says"] = str(raw["says"])
    values |= {key: _member(kind, raw[key], key) for key, kind in _CHOICES.items() if key in raw}
    shifted = values.get("quality", 0.0) + float(raw.get("quality_shift", 0.0))
    values["quality"] = min(1.0, max(0.0, shifted)) if "quality_shift" in raw else shifted
    if not values.get("available", True):
        values = {"supports": Supports.NOTHING, "peak": 0.0, "conflict": 0.0} | values
    if values.get("supports") is Supports.NOTHING:
        values.setdefault("peak", 0.0)
    for key in ("supports", "peak", "conflict"):
        if key not in values:
            raise ConfigurationError(f"{key} is missing; give it, or name a condition with like")
    return SourceState(**values)


def _member(kind: type[StrEnum], value: Any, key: str) -> StrEnum:
    if value not in list(kind):
        raise ConfigurationError(f"{key} = {value!r} is none of {', '.join(kind)}", (key,))
    return kind(value)


_REGISTERED: dict[str, Mapping[str, Any]] = {}


def register_condition(name: str, entry: Mapping[str, Any]) -> None:
    """Add a condition beside the configured ones; a plug-in calls this on import.

    Args:
        name: Its name.
        entry: The same keys as an entry of `configs/conditions.toml`; its sources may be `like`
            those of any configured condition.

    Raises:
        ValueError: Another condition has that name already.
    """
    if _REGISTERED.get(name, entry) != entry or name in default_section("conditions")["conditions"]:
        raise ValueError(f"a condition named {name!r} exists already")
    _REGISTERED[name] = entry


def parse_conditions(section: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Read conditions from the `conditions` section; registered ones follow.

    Args:
        section: The section; its table `conditions` maps a name to an entry. A source entry may
            say `like = "<earlier condition>"` and then lists only what differs.

    Raises:
        ConfigurationError: An entry is incomplete or out of range.
    """
    parsed: dict[str, Condition] = {}
    for name, entry in {**section["conditions"], **_REGISTERED}.items():
        sources = []
        for role in ROLES:
            try:
                sources.append(_source(entry, role, parsed))
            except ConfigurationError as error:
                key = ("conditions", "conditions", name, role, *error.key)
                raise ConfigurationError(f"condition {name}, {role}: {error}", key) from error
        parsed[name] = Condition(
            name=name,
            title=str(entry.get("title", name)),
            perturbs=str(entry.get("perturbs", "")),
            why=str(entry.get("why", "")),
            sources=tuple(sources),
        )
    return tuple(parsed.values())


def _source(entry: Mapping[str, Any], role: str, parsed: Mapping[str, Condition]) -> SourceState:
    """Read the source of a role from the entry of a condition that follows those in `parsed`."""
    raw = entry.get(role)
    if raw is None:
        raise ConfigurationError("missing")
    base = None
    if "like" in raw:
        if raw["like"] not in parsed:
            raise ConfigurationError(f"like = {raw['like']!r} is not defined above", ("like",))
        base = parsed[raw["like"]].source(role)
    return _parse_source(raw, base, reference=role == "language" and not parsed)


def load_conditions() -> tuple[Condition, ...]:
    """Return the shipped conditions."""
    return parse_conditions(default_section("conditions"))


def adjusted(
    condition: Condition, *, quality: float = 1.0, conflict: float = 1.0, language_peak: float = 0.0
) -> Condition:
    """Return the condition under the parameters of the sensitivity sweep.

    Args:
        condition: Any condition.
        quality: Multiplies every mean quality; the result stays in [0, 1].
        conflict: Multiplies every mean conflict; the result stays in [0, 1].
        language_peak: Replaces the reference peak of language where it is taken over; 0 keeps it.
    """
    sources = tuple(
        replace(
            s,
            quality=min(1.0, s.quality * quality),
            conflict=min(1.0, s.conflict * conflict),
            peak=language_peak if s.reference_peak and language_peak > 0.0 else s.peak,
        )
        for s in condition.sources
    )
    return replace(condition, sources=sources)
