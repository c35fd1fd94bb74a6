"""Extensions from other distributions, found through entry points."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import entry_points

GROUPS = ("pact.rules", "pact.checks", "pact.conditions", "pact.studies")


class PluginWarning(UserWarning):
    """A plug-in could not be loaded; the text names it and the reason."""


@cache
def load(group: str) -> tuple[str, ...]:
    """Import every plug-in of `group` and return the names of those that loaded.

    A plug-in registers itself on import. One that fails is reported by a `PluginWarning`
    and left out; the others stay usable.
    """
    loaded = []
    for entry in entry_points(group=group):
        try:
            entry.load()
        except Exception as error:  # a plug-in is foreign code: anything may come out of it
            warnings.warn(
                f"plug-in {entry.name!r} of group {group} ({entry.value}) failed to load: "
                f"{type(error).__name__}: {error}",
                PluginWarning,
                stacklevel=2,
            )
        else:
            loaded.append(entry.name)
    return tuple(loaded)
