"""Configuration: the shipped defaults of every section, and a user's file laid over them.

A section is one file of the `pact_configs` package (`scenes.toml` is the section `scenes`). A
user's file holds tables named after sections; it may change any value that the defaults have.
Entries of the tables in `OPEN_TABLES` are named by the user and have the keys of their siblings.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

Section = dict[str, Any]

OPEN_TABLES = frozenset({("conditions", "conditions"), ("folds", "folds")})
"""Tables whose entries are named by the user: a new condition or scene is a new entry."""


class ConfigurationError(ValueError):
    """A configuration that cannot be used; the text says what, where and what to do.

    Attributes:
        key: Section, tables and name of the value that is wrong; empty where it is not one value.
    """

    def __init__(self, text: str, key: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.key = key


@cache
def sections() -> tuple[str, ...]:
    """Return the names of all sections."""
    files = resources.files("pact_configs").iterdir()
    return tuple(sorted(Path(f.name).stem for f in files if f.name.endswith(".toml")))


def default_section(name: str) -> Section:
    """Return a fresh copy of the shipped defaults of a section."""
    text = resources.files("pact_configs").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def load(path: Path | None = None) -> dict[str, Section]:
    """Return every section: the defaults, with the user's file at `path` laid over them."""
    resolved = {name: default_section(name) for name in sections()}
    if path is None:
        return resolved
    try:
        text = path.read_text(encoding="utf-8")
        given = tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the configuration {path}: {error.strerror}"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: not valid TOML: {error}") from error
    except RecursionError:
        raise ConfigurationError(f"{path}: not valid TOML: nested too deeply") from None
    _lay_over(resolved, given, (), path, text)
    return resolved


def located(error: ConfigurationError, path: Path) -> ConfigurationError:
    """Return the error with the file at `path` and the line that sets the wrong value."""
    if not error.key:
        return error
    line = _line_of(path.read_text(encoding="utf-8"), error.key)
    return ConfigurationError(f"{path}, line {line}: {error}", error.key)


def _lay_over(
    base: dict[str, Any],
    given: Mapping[str, Any],
    where: tuple[str, ...],
    path: Path,
    text: str,
    schema: Mapping[str, Any] | None = None,
) -> None:
    """Lay `given` over `base`; `schema` holds the known keys where `base` need not have them."""
    known = base if schema is None else schema
    for key, value in given.items():
        here = (*where, key)
        place = f"{path}, line {_line_of(text, here)}"
        if where in OPEN_TABLES:
            like = _union(list(base.values()))
        elif key in known:
            like = known[key]
        else:
            raise ConfigurationError(f"{place}: {_unknown(key, known, where)}")
        if isinstance(like, dict) != isinstance(value, dict):
            wanted = "a table" if isinstance(like, dict) else "a value, not a table"
            raise ConfigurationError(f"{place}: {'.'.join(here)} must be {wanted}")
        if isinstance(like, dict):
            _lay_over(base.setdefault(key, {}), value, here, path, text, like)
        else:
            base[key] = _same_type(value, like, here, place)


def _union(entries: list[Any]) -> Any:
    """Return every key that any of the entries has, with one value for its type."""
    tables = [entry for entry in entries if isinstance(entry, dict)]
    if not tables:
        return entries[0]
    keys = {key: None for table in tables for key in table}
    return {key: _union([table[key] for table in tables if key in table]) for key in keys}


def _unknown(key: str, known: Mapping[str, Any], where: tuple[str, ...]) -> str:
    table = f"table [{'.'.join(where)}]" if where else "the top level"
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(known))}"
    return f"unknown key {key!r} in {table}; {hint}"


def _same_type(value: Any, default: Any, here: tuple[str, ...], place: str) -> Any:
    if isinstance(default, bool) or isinstance(value, bool):
        fits = isinstance(default, bool) and isinstance(value, bool)
    elif isinstance(default, float) and isinstance(value, int):
        return float(value)
    else:
        fits = isinstance(value, type(default))
    if not fits:
        raise ConfigurationError(
            f"{place}: {'.'.join(here)} must be a {type(default).__name__}, "
            f"not the {type(value).__name__} {value!r}"
        )
    return value


def _line_of(text: str, where: tuple[str, ...]) -> int:
    """Return the line that sets the key at `where` (the closest that can be found)."""
    table: tuple[str, ...] = ()
    best, depth = 1, 0
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        assignment = re.match(r"\s*([A-Za-z0-9_.\-\"']+)\s*=", line)
        if header:
            table = _dotted(header.group(1))
            full = table
        elif assignment:
            full = table + _dotted(assignment.group(1))
        else:
            continue
        common = 0
        while common < min(len(full), len(where)) and full[common] == where[common]:
            common += 1
        if common > depth:
            best, depth = number, common
    return best


def _dotted(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))
