"""The resolved configuration of a command: every section, and the root seed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from pact_benchmark import plugins
from pact_benchmark.errors import UsageError
from pact_benchmark.store import digest
from pact_core import CHECKS, CORROBORATIONS, RULES
from pact_scenes import configuration
from pact_scenes.catalogue import load_catalogue
from pact_scenes.conditions import parse_conditions
from pact_scenes.configuration import ConfigurationError
from pact_scenes.reading import OpinionParams
from pact_scenes.settings import SimulationSettings

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Config:
    """All sections by name; sections are plain tables, parsed by the modules that use them."""

    sections: dict[str, dict[str, Any]]

    def section(self, name: str) -> dict[str, Any]:
        """Return one section."""
        return self.sections[name]

    @property
    def seed(self) -> int:
        """Root of every random draw of the generator."""
        return int(self.sections["run"]["seed"])

    def key(self, *names: str) -> str:
        """Return a digest of the named sections, for deciding what must be made anew."""
        return digest({name: self.sections[name] for name in names})

    def under(self, stored: Mapping[str, Any]) -> Config:
        """Return it with the stored sections of a run over it; a key that is new since stays."""
        return Config(_laid_over(self.sections, stored))


def _laid_over(known: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(known)
    for key, value in stored.items():
        before = merged.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            value = _laid_over(before, value)
        merged[key] = value
    return merged


def load_config(path: Path | None = None, *, seed: int | None = None) -> Config:
    """Return the defaults with the user's file and the `--seed` option laid over them."""
    try:
        sections = configuration.load(path)
        if path is not None:
            _check_values(sections, path)
    except ConfigurationError as error:
        raise UsageError(str(error)) from error
    if seed is not None:
        sections["run"]["seed"] = seed
    return Config(sections)


def _check_values(sections: Mapping[str, dict[str, Any]], path: Path) -> None:
    """Read what the user's file may have made unusable, before any work; errors name the line."""
    plugins.load("pact.rules", "pact.checks")
    try:
        _check_seeds(sections)
        _check_concentrations(sections)
        for place, known in (
            (("admission", "checks"), CHECKS),
            (("admission", "corroboration"), CORROBORATIONS),
            (("evaluation", "extra_rules"), RULES),
            (("sweep", "rules"), RULES),
        ):
            _check_names(sections, place, known)
        parse_conditions(sections["conditions"])
        OpinionParams.from_section(sections["opinions"])
        SimulationSettings.from_mapping(sections["simulation"])
        load_catalogue(sections["scenes"])
    except ConfigurationError as error:
        raise configuration.located(error, path) from error


def _check_seeds(table: Mapping[str, Any], where: tuple[str, ...] = ()) -> None:
    """Refuse a negative seed, in whatever section it is."""
    for name, value in table.items():
        here = (*where, name)
        if isinstance(value, Mapping):
            _check_seeds(value, here)
        elif isinstance(value, int) and value < 0 and "seed" in ".".join(here):
            raise ConfigurationError(f"{'.'.join(here)} = {value} is negative", here)


def _check_concentrations(sections: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse concentrations that are not positive numbers, and candidates that are none."""
    for name in ("concentrations", "fold_concentrations"):
        place, given = ("evaluation", name), sections["evaluation"][name]
        if not all(type(value) in (int, float) and 0 < value < inf for value in given):
            raise ConfigurationError(f"{'.'.join(place)} = {given}: give positive numbers", place)
        if name == "concentrations" and not given:
            raise ConfigurationError(f"{'.'.join(place)} is empty: give at least one", place)


def _check_names(
    sections: Mapping[str, Mapping[str, Any]], place: tuple[str, str], known: Iterable[str]
) -> None:
    """Refuse a name, or a list of names, that is not all known."""
    given = sections[place[0]][place[1]]
    choices = list(known)
    for name in [given] if isinstance(given, str) else given:
        if name not in choices:
            near = difflib.get_close_matches(str(name), choices, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(choices)}"
            raise ConfigurationError(f"unknown name {name!r} in {'.'.join(place)}; {hint}", place)


def changes(sections: Mapping[str, Any]) -> list[str]:
    """Return what a resolved configuration changes in the defaults, one text per change.

    A changed value reads "run.seed = 7 (default 20260719)", an entry that the defaults do not have
    "conditions.foggy added". Defaults are those of this version.
    """
    return list(_changes(sections, configuration.load(), ()))


def _changes(ours: Any, default: Any, where: tuple[str, ...]) -> Iterator[str]:
    name = ".".join(where).replace("conditions.conditions.", "conditions.")
    if isinstance(ours, Mapping) and isinstance(default, Mapping):
        for key in sorted({*ours, *default}):
            yield from _changes(ours.get(key, _ABSENT), default.get(key, _ABSENT), (*where, key))
    elif default is _ABSENT:
        yield f"{name} added"
    elif ours is _ABSENT:
        yield f"{name} left out"
    elif ours != default:
        yield f"{name} = {ours} (default {default})"
