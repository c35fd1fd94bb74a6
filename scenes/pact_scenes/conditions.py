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
    available: bool = True
    valid: bool = True
    conflict_recorded: bool = True
    command: Command = Command.CURRENT
    says: str = ""

    def __post_init__(self) -> None:
        for name in ("peak", "quality", "conflict"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ConfigurationError(f"{name} = {value} is outside [0, 1]")
        if not self.spread > 0.0:
            raise ConfigurationError(f"spread = {self.spread} must be positive")


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


_NUMBERS = ("peak", "quality", "conflict", "spread")
_FLAGS = ("available", "valid", "conflict_recorded")
_SOURCE_KEYS = frozenset({"like", "quality_shift", *(f.name for f in fields(SourceState))})


def _parse_source(
    raw: Mapping[str, Any], base: SourceState | None, language_peak: float | None, where: str
) -> SourceState:
    unknown = sorted(set(raw) - _SOURCE_KEYS)
    if unknown:
        raise ConfigurationError(f"{where}: unknown key {unknown[0]!r}")
    values: dict[str, Any] = {}
    if base is not None:
        values = {f.name: getattr(base, f.name) for f in fields(SourceState)}
    for key in _NUMBERS:
        if key in raw:
            values[key] = float(raw[key])
    for key in _FLAGS:
        if key in raw:
            values[key] = bool(raw[key])
    if "says" in raw:
        values["says"] = str(raw["says"])
    try:
        if "supports" in raw:
            values["supports"] = Supports(raw["supports"])
        if "command" in raw:
            values["command"] = Command(raw["command"])
        values["quality"] = values.get("quality", 0.0) + float(raw.get("quality_shift", 0.0))
        if not values.get("available", True):
            values = {"supports": Supports.NOTHING, "peak": 0.0, "conflict": 0.0} | values
        if values.get("supports") is Supports.NOTHING:
            values.setdefault("peak", 0.0)
        if language_peak is not None:
            values["peak"] = language_peak
        return SourceState(**values)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{where}: {error}") from error


def parse_conditions(
    section: Mapping[str, Any], *, language_peak: float | None = None
) -> tuple[Condition, ...]:
    """Read conditions from the `conditions` section.

    Args:
        section: The section; its table `conditions` maps a name to an entry. A source entry may
            say `like = "<earlier condition>"` and then lists only what differs.
        language_peak: Replaces the peak of the first condition's language source, and with it
            that of every source that takes its peak from there.

    Raises:
        ConfigurationError: An entry is incomplete or out of range.
    """
    parsed: dict[str, Condition] = {}
    for name, entry in section["conditions"].items():
        sources = []
        for role in ROLES:
            where = f"condition {name}, {role}"
            raw = entry.get(role)
            if raw is None:
                raise ConfigurationError(f"{where}: missing")
            base = None
            if "like" in raw:
                if raw["like"] not in parsed:
                    raise ConfigurationError(
                        f"{where}: like = {raw['like']!r} is not defined above"
                    )
                base = parsed[raw["like"]].source(role)
            override = language_peak if role == "language" and not parsed else None
            sources.append(_parse_source(raw, base, override, where))
        parsed[name] = Condition(
            name=name,
            title=str(entry.get("title", name)),
            perturbs=str(entry.get("perturbs", "")),
            why=str(entry.get("why", "")),
            sources=tuple(sources),
        )
    return tuple(parsed.values())


def load_conditions(*, language_peak: float | None = None) -> tuple[Condition, ...]:
    """Return the shipped conditions."""
    return parse_conditions(default_section("conditions"), language_peak=language_peak)


def scaled(condition: Condition, *, quality: float = 1.0, conflict: float = 1.0) -> Condition:
    """Return the condition with every mean quality and conflict multiplied, kept within [0, 1]."""
    sources = tuple(
        replace(s, quality=min(1.0, s.quality * quality), conflict=min(1.0, s.conflict * conflict))
        for s in condition.sources
    )
    return replace(condition, sources=sources)
