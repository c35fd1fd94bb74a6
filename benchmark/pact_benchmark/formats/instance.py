"""The JSON form of one instance that `pact decide` reads."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from pact_core import HANDOVER, CommandState, ContractSet, Source

COMMAND_FIELDS = tuple(field.name for field in fields(CommandState))
COMMAND_STATUSES = ("current", "stale_previous_command")


class FormatError(ValueError):
    """An instance that cannot be read; the text says what is wrong and where."""


class Instance(NamedTuple):
    """One decision to make."""

    record_id: str | None
    sources: list[Source]
    contracts: ContractSet


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of instances, decisions and error objects."""
    text = files("pact_benchmark.formats").joinpath("data", "decide.schema.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def read_instance(value: Any) -> Instance:
    """Read an instance in the form of the exported JSON Schema.

    Structure must be right; numbers may be anything: bad ones make their source invalid.

    Raises:
        FormatError: No object, no sources, a source without parents, or names of the wrong type.
    """
    record = _object(value, "the instance")
    listed = record.get("sources")
    if not isinstance(listed, list) or not listed:
        raise FormatError("'sources' must be a list with at least one source")
    contracts = _contracts(record.get("contracts"))
    sources = [_source(item, f"sources[{i}]") for i, item in enumerate(listed)]
    return Instance(record_id_of(record), sources, contracts)


def record_id_of(record: dict[str, Any]) -> str | None:
    """Return the identity of a record, None when it has none."""
    name = record.get("record_id")
    if name is not None and not isinstance(name, str):
        raise FormatError("'record_id' must be a string")
    return name


def _contracts(value: Any) -> ContractSet:
    if value is None:
        return HANDOVER
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise FormatError("'contracts' must be a list of names")
    try:
        return ContractSet(tuple(value))
    except ValueError as error:
        raise FormatError(f"'contracts': {error}") from None


def _source(value: Any, where: str) -> Source:
    item = _object(value, where)
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise FormatError(f"{where}: 'role' must be a nonempty string")
    parents = item.get("parents")
    if not isinstance(parents, list) or not all(isinstance(name, str) for name in parents):
        raise FormatError(f"{where}: 'parents' must be a list of names")
    if not parents:
        raise FormatError(f"{where}: 'parents' is empty; every source comes from somewhere")
    return Source(
        role=role,
        opinion=item.get("opinion"),
        quality=item.get("quality"),
        conflict=item.get("conflict"),
        parents=frozenset(parents),
        available=_flag(item, "available", where),
        declared_valid=_flag(item, "valid", where),
        command=_command(item.get("command"), where),
    )


def _command(value: Any, where: str) -> CommandState | None:
    if value is None:
        return None
    item = _object(value, f"{where}.command")
    status = item.get("status")
    if isinstance(status, str) and status not in ("", *COMMAND_STATUSES):
        known = " or ".join(COMMAND_STATUSES)
        raise FormatError(f"{where}.command: unknown status {status!r}; write {known}")
    return CommandState(**{name: _text(item.get(name)) for name in COMMAND_FIELDS})


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _flag(item: dict[str, Any], name: str, where: str) -> bool:
    value = item.get(name, True)
    if not isinstance(value, bool):
        raise FormatError(f"{where}: {name!r} must be true or false")
    return value


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{where} must be a JSON object")
    return value
