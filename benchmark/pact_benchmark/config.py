"""The resolved configuration of a command: every section, and the root seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pact_benchmark.errors import UsageError
from pact_benchmark.store import digest
from pact_scenes import configuration
from pact_scenes.catalogue import load_catalogue
from pact_scenes.conditions import parse_conditions
from pact_scenes.reading import OpinionParams
from pact_scenes.settings import SimulationSettings


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


def load_config(path: Path | None = None, *, seed: int | None = None) -> Config:
    """Return the defaults with the user's file and the `--seed` option laid over them."""
    try:
        sections = configuration.load(path)
        if path is not None:
            _check_values(sections, path)
    except configuration.ConfigurationError as error:
        raise UsageError(str(error)) from error
    if seed is not None:
        sections["run"]["seed"] = seed
    return Config(sections)


def _check_values(sections: Mapping[str, dict[str, Any]], path: Path) -> None:
    """Read what the user's file may have made unusable, before any work; errors name the line."""
    try:
        parse_conditions(sections["conditions"])
        OpinionParams.from_section(sections["opinions"])
        SimulationSettings.from_mapping(sections["simulation"])
        load_catalogue(sections["scenes"])
    except configuration.ConfigurationError as error:
        raise configuration.located(error, path) from error
