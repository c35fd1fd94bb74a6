"""Differences between two JSON values as a list of edits."""

from __future__ import annotations

import copy
from typing import Any

Edit = list[Any]
"""[path] removes what is at the path, [path, value] puts a value there; a path is a key list."""


def edits_between(base: Any, target: Any) -> list[Edit]:
    """Return the edits that turn one JSON object into another, exactly (1 and 1.0 differ)."""
    return _edits(base, target, [])


def _edits(base: Any, target: Any, path: list[str]) -> list[Edit]:
    if not (isinstance(base, dict) and isinstance(target, dict)):
        return [] if _same(base, target) else [[path, target]]
    edits: list[Edit] = [[[*path, key]] for key in base if key not in target]
    for key, value in target.items():
        if key in base:
            edits += _edits(base[key], value, [*path, key])
        else:
            edits.append([[*path, key], value])
    return edits


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(_same(a, b) for a, b in pairs)
    return type(left) is type(right) and bool(left == right)


def apply_edits(base: dict[str, Any], edits: list[Edit]) -> dict[str, Any]:
    """Return a copy of a JSON object with the edits made."""
    result: Any = copy.deepcopy(base)
    for path, *value in edits:
        if not path:
            result = value[0]
            continue
        place = result
        for key in path[:-1]:
            place = place[key]
        if value:
            place[path[-1]] = value[0]
        else:
            place.pop(path[-1], None)
    return dict(result)
