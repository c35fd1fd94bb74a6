"""The panel's own settings, below `/exts/pact.handover.ui`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Preferences:
    """How often and what the user interface shows; `docs/SETTINGS.md` describes each."""

    refresh_period: float = 0.1
    open_on_startup: bool = True
    banner: bool = True
    legend: bool = True
    overlay: bool = True
    timeline_length: int = 240

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all settings."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Preferences:
        """Build preferences; a setting that is not given keeps its default."""
        default = cls()
        known = {name: value for name, value in values.items() if name in cls.names()}
        return cls(**{name: type(getattr(default, name))(v) for name, v in known.items()})
