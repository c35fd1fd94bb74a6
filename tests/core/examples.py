"""Three agreeing sources in two components, the starting point of many tests."""

from __future__ import annotations

from dataclasses import replace

from pact_core import CommandState, Source

CURRENT = CommandState("now", "now", "current")


def sharp(peak=0.95, top=0):
    """Return an opinion with a peak on one contract and the rest spread evenly."""
    opinion = [(1.0 - peak) / 4] * 5
    opinion[top] = peak
    return opinion


def instance(**changes):
    """Return three agreeing sources in two components; keyword = replacements by role."""
    base = {
        "language": Source("language", sharp(), 0.95, 0.02, {"command"}, command=CURRENT),
        "geometry": Source("geometry", sharp(), 0.92, 0.02, {"scene", "relation"}),
        "risk": Source("risk", sharp(), 0.90, 0.02, {"scene", "band"}),
    }
    return [replace(source, **changes.get(role, {})) for role, source in base.items()]


APART = {"geometry": {"parents": {"g"}}, "risk": {"parents": {"r"}}}
"""Replacements that put the three sources into three components."""
