"""Extensions from other distributions, found through entry points."""

from __future__ import annotations

import traceback
import warnings
from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple

GROUPS = ("pact.rules", "pact.checks", "pact.conditions", "pact.studies")


class PluginWarning(UserWarning):
    """A plug-in could not be loaded; the text names it and the reason."""


class Plugin(NamedTuple):
    """An entry point of another distribution; `error` says why it is broken, None if it is not."""

    name: str
    group: str
    error: str | None


@cache
def found(group: str) -> tuple[Plugin, ...]:
    """Import every plug-in of `group`, once per process; a plug-in registers itself on import."""
    plugins = []
    for entry in entry_points(group=group):
        error = None
        try:
            entry.load()
        except (Exception, SystemExit) as reason:  # foreign code: anything may come out of it
            error = f"{entry.value} failed to load: {_told(reason)}"
        plugins.append(Plugin(entry.name, group, error))
    return tuple(plugins)


@cache
def load(*groups: str) -> None:
    """Make the plug-ins of `groups` usable; a `PluginWarning` names each one that is broken."""
    for plugin in (plugin for group in groups for plugin in found(group)):
        if plugin.error is not None:
            warnings.warn(
                f"plug-in {plugin.name!r} of group {plugin.group} is left out: {plugin.error}",
                PluginWarning,
                stacklevel=2,
            )


def packages(*groups: str) -> dict[str, str]:
    """Return the top-level packages (or modules) of plug-ins, with the name of one of each.

    Args:
        groups: groups to look at; none for all.
    """
    return {
        entry.module.partition(".")[0]: entry.name
        for group in groups or GROUPS
        for entry in entry_points(group=group)
    }


def blame(error: BaseException) -> str | None:
    """Return in one line what went wrong in which plug-in; None for an error that is not of one.

    An error is of a plug-in if it came out of a call of the plug-in's package.
    """
    known = packages()
    names = [
        str(frame.f_globals.get("__name__", ""))
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    for module in reversed(names):
        plugin = known.get(module.partition(".")[0])
        if plugin is not None:
            return f"plug-in {plugin!r} ({module}) failed: {_told(error)}"
    return None


def _told(error: BaseException) -> str:
    """Return an error of foreign code in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
