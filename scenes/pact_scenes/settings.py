"""Settings of rollouts and observations: the section `simulation` of the configuration."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from pact_scenes.configuration import ConfigurationError, default_section

__all__ = [
    "ContactSettings",
    "OcclusionSettings",
    "PathSettings",
    "RolloutSettings",
    "SeparationSettings",
    "SimulationSettings",
    "simulation_settings",
]


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Timing of a rollout; rates in hertz, times in seconds."""

    decisions: int = 10
    physics_rate: int = 120
    target_rate: int = 120
    hold_time: float = 0.4
    transfer_time: float = 0.6
    withdraw_time: float = 0.6


@dataclass(frozen=True, slots=True)
class SeparationSettings:
    """Terms of the protective separation distance of ISO/TS 15066; SI units."""

    reaction_time: float = 0.10
    deceleration: float = 2.5
    intrusion_distance: float = 0.04
    human_uncertainty: float = 0.02
    robot_uncertainty: float = 0.005
    human_speed_floor: float = 0.0


@dataclass(frozen=True, slots=True)
class PathSettings:
    """Sampling of the remaining path."""

    samples: int = 24


@dataclass(frozen=True, slots=True)
class OcclusionSettings:
    """Sight lines per target."""

    points: int = 12


@dataclass(frozen=True, slots=True)
class ContactSettings:
    """What counts as contact: a force [N] or a surface distance [m]."""

    force: float = 0.5
    gap: float = 0.0005


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """All settings of `simulation.toml`."""

    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    separation: SeparationSettings = field(default_factory=SeparationSettings)
    path: PathSettings = field(default_factory=PathSettings)
    occlusion: OcclusionSettings = field(default_factory=OcclusionSettings)
    contact: ContactSettings = field(default_factory=ContactSettings)

    @classmethod
    def from_mapping(cls, data: dict[str, Any], where: str = "simulation") -> SimulationSettings:
        """Build from nested tables; an unknown key is an error that names the nearest one."""
        parts = {f.name: f.default_factory for f in fields(cls)}
        _reject_unknown(data, set(parts), where)
        built: dict[str, Any] = {
            name: _table(parts[name], data.get(name, {}), f"{where}: [{name}]") for name in parts
        }
        settings = cls(**built)
        rollout = settings.rollout
        if rollout.physics_rate % rollout.target_rate:
            raise ConfigurationError(
                f"{where}: target_rate must divide physics_rate",
                ("simulation", "rollout", "target_rate"),
            )
        if rollout.decisions < 1:
            raise ConfigurationError(
                f"{where}: decisions must be at least 1", ("simulation", "rollout", "decisions")
            )
        return settings


def _reject_unknown(data: dict[str, Any], known: set[str], where: str) -> None:
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(key, sorted(known), n=1)
            hint = (
                f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(sorted(known))}"
            )
            raise ConfigurationError(f"{where}: unknown key {key!r}{hint}")


def _table(factory: Any, data: dict[str, Any], where: str) -> Any:
    default = factory()
    _reject_unknown(data, {f.name for f in fields(default)}, where)
    values: dict[str, Any] = {}
    for name, value in data.items():
        kind = type(getattr(default, name))
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ConfigurationError(f"{where}: {name} must be a number, not {value!r}")
        if kind is int and not isinstance(value, int):
            raise ConfigurationError(f"{where}: {name} must be a whole number, not {value!r}")
        values[name] = kind(value)
    return type(default)(**values)


@cache
def simulation_settings() -> SimulationSettings:
    """Return the shipped settings."""
    return SimulationSettings.from_mapping(default_section("simulation"))
