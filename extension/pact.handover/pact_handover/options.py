"""What the user can set, checked once, in one frozen object."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from pact_core import HANDOVER, RULES
from pact_scenes.catalogue import load_catalogue
from pact_scenes.conditions import ROLES, load_conditions

from .partition import PARTITIONS, Partition, PartitionError, parse_parents

COMPARED_RULES = (
    "pact",
    "quality_weighted",
    "product",
    "nested_dirichlet",
    "global_cautious",
    "hierarchy_cautious",
    "pooling",
    "provenance_pooling",
)


class OptionError(ValueError):
    """A value that cannot be used; the text says which, why and what would do."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings below `/exts/pact.handover`; `docs/SETTINGS.md` describes each.

    Raises:
        OptionError: If a value is unknown or out of range.
    """

    scene: str = "scene_001"
    condition: str = "clean_control"
    label: str = "N"
    rules: tuple[str, ...] = COMPARED_RULES
    kappa: float = 8.0
    threshold: float = 0.0
    partition: str = "reference"
    custom_parents: str = ""
    seed: int = 20260719
    decide_every: int = 1
    history: int = 4096
    record_on_play: bool = False
    folder: str = ""
    overlay: bool = False

    def __post_init__(self) -> None:
        _known("scene", self.scene, scene_ids())
        _known("condition", self.condition, condition_names())
        _known("label", self.label, HANDOVER.names)
        _known("partition", self.partition, PARTITIONS)
        if not self.rules:
            raise OptionError("rules: choose at least one")
        for rule in self.rules:
            _known("rules", rule, tuple(RULES))
        _check(
            "kappa", self.kappa, math.isfinite(self.kappa) and self.kappa > 0, "a positive number"
        )
        _check("threshold", self.threshold, 0 <= self.threshold <= 1, "between 0 and 1")
        _check("seed", self.seed, self.seed >= 0, "0 or more")
        _check("decide_every", self.decide_every, self.decide_every >= 1, "1 or more")
        _check("history", self.history, self.history >= 1, "1 or more")
        try:
            self.resolved_partition()
        except PartitionError as error:
            raise OptionError(f"custom_parents: {error}") from error

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all settings."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Options:
        """Build options from settings; a setting that is not given keeps its default."""
        return cls().changed(**values)

    def changed(self, **values: Any) -> Options:
        """Return a copy with other values, converted to the type of the setting."""
        for name in values:
            _known("setting", name, self.names())
        return replace(
            self, **{name: _converted(name, getattr(self, name), v) for name, v in values.items()}
        )

    def to_settings(self) -> dict[str, Any]:
        """Return plain values, as carb stores them."""
        values = {name: getattr(self, name) for name in self.names()}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    def resolved_partition(self) -> Partition:
        """Return the partition in the form of the step pipeline."""
        if self.partition == "custom":
            return parse_parents(self.custom_parents, ROLES)
        return self.partition

    def resolved_folder(self) -> Path:
        """Return the folder for recordings and authored stages."""
        return Path(self.folder).expanduser() if self.folder else Path.home() / "pact-handover"


@cache
def scene_ids() -> tuple[str, ...]:
    """Return the ids of all scenes in their order."""
    return tuple(spec.scene_id for spec in load_catalogue())


@cache
def condition_names() -> tuple[str, ...]:
    """Return the names of the source conditions in their order."""
    return tuple(condition.name for condition in load_conditions())


def _known(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        near = difflib.get_close_matches(str(value), known, n=1, cutoff=0.5)
        listed = ", ".join(known) if len(known) <= 20 else f"{known[0]} to {known[-1]}"
        hint = f"did you mean {near[0]!r}?" if near else f"known: {listed}"
        raise OptionError(f"{what}: {value!r} is unknown; {hint}")


def _check(name: str, value: object, fits: bool, wanted: str) -> None:
    if not fits:
        raise OptionError(f"{name}: {value!r} must be {wanted}")


def _converted(name: str, default: Any, value: Any) -> Any:
    try:
        if isinstance(default, tuple):
            return tuple(str(item) for item in value)
        if isinstance(default, bool):
            return bool(value)
        return type(default)(value)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{name}: {value!r} must be a {type(default).__name__}") from error
