"""Which JSON values a column of a stored table can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT, NUMBER, BOOLEAN, TEXTS, NUMBERS = "text", "number", "boolean", "texts", "numbers"


def is_text(value: Any) -> bool:
    """Tell whether a value is text; a lone surrogate is none, for UTF-8 cannot hold it."""
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def text_or_none(value: Any) -> str | None:
    """Return a text as it is and None for anything else."""
    return value if is_text(value) else None


def is_integer(value: Any) -> bool:
    """Tell whether a value is an integer of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def is_number(value: Any) -> bool:
    """Tell whether a value is a number that a float column takes, NaN and infinity included."""
    return isinstance(value, float) or is_integer(value)


def kind_of(value: Any) -> str | None:
    """Return the kind of column that a value belongs to; None where no column can hold it."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, list):
        if all(map(is_text, value)):
            return TEXTS
        return NUMBERS if all(map(is_number, value)) else None
    if is_number(value):
        return NUMBER
    return TEXT if is_text(value) else None


def misfit(row: Mapping[str, Any], kinds: dict[str, str]) -> str | None:
    """Return the first column of a row whose value is not of the column's kind, or None.

    Null fits everywhere. A column that is not in `kinds` takes the kind of its first value.
    """
    for name, value in row.items():
        if value is None and is_text(name):
            continue
        kind = kind_of(value)
        if kind is None or not is_text(name) or kinds.setdefault(name, kind) != kind:
            return name
    return None
