"""Carb settings below one root, with change notification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import carb.settings


def read(root: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the values below `root` that are set; lists come back as lists of plain values."""
    settings = carb.settings.get_settings()
    values = {name: settings.get(f"{root}/{name}") for name in names}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None
    }


def write(root: str, values: Mapping[str, Any]) -> None:
    """Store values below `root`."""
    settings = carb.settings.get_settings()
    for name, value in values.items():
        settings.set(f"{root}/{name}", value)


class SettingsWatch:
    """Calls back when anything below `root` changes, until closed."""

    def __init__(self, root: str, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._subscription: Any = carb.settings.get_settings().subscribe_to_tree_change_events(
            root, self._changed
        )

    def _changed(self, *_event: object) -> None:
        self._on_change()

    def close(self) -> None:
        """Stop watching; closing twice is allowed."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            carb.settings.get_settings().unsubscribe_to_change_events(subscription)
