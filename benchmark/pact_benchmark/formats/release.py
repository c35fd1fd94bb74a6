"""The authors' record format: source records and evaluation labels.

A row of `instances.parquet` and a record say nearly the same. What a record has beyond its row is
kept beside the row as a list of edits, so that export gives back the record that was imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pact_benchmark.formats.columns import is_text, text_or_none
from pact_benchmark.formats.edits import apply_edits, edits_between
from pact_benchmark.formats.instance import COMMAND_FIELDS, FormatError, Instance, record_id_of
from pact_core import HANDOVER, HANDOVER_ROLES, RELEASE_NAMES, CommandState, Source

CONTRACT_OF = {name: label for label, name in RELEASE_NAMES.items()}
ROUTE = dict(
    zip(
        COMMAND_FIELDS,
        (
            "current_command_hash",
            "payload_text_hash",
            "source_status",
            "previous_command_hash",
            "carryover_from_record_id",
        ),
        strict=True,
    )
)
UNUSED_ROLES = ("vision", "semantic", "depth")
"""Legal names of sources that no record of the release fills."""
_READ_ROLES = ", ".join(HANDOVER_ROLES)
_SEED = re.compile(r"seed\d{1,18}")
"""The last part of a record's name; 18 digits fit an integer column."""
RECORD_EDITS, LABEL_EDITS = "release_record_edits", "release_label_edits"


def read_record(value: Any) -> Instance:
    """Read one source record as an instance.

    Raises:
        FormatError: The record is not an object of the release's shape.
    """
    if not isinstance(value, dict):
        raise FormatError("the record must be a JSON object")
    listed = value.get("sources")
    if not isinstance(listed, dict):
        raise FormatError("'sources' must be an object with language, geometry and risk")
    for name, payload in listed.items():
        if name not in HANDOVER_ROLES and name not in UNUSED_ROLES:
            raise FormatError(f"unknown source {name!r}; expected {_READ_ROLES}")
        if name in UNUSED_ROLES and not _is_missing(payload):
            raise FormatError(f"source {name!r} is present; only {_READ_ROLES} are read")
    parents = parents_of(value)
    sources = [_source(role, listed.get(role), parents[role]) for role in HANDOVER_ROLES]
    return Instance(record_id_of(value), sources, HANDOVER)


def _is_missing(payload: Any) -> bool:
    """Tell whether a source did not arrive: no payload, an empty one, or one that says so."""
    if payload is None or payload == {}:
        return True
    return isinstance(payload, dict) and payload.get("missing") is True


def _source(role: str, payload: Any, parents: list[str]) -> Source:
    """Read one source; a payload or flag of the wrong type makes a present source invalid."""
    item = payload if isinstance(payload, dict) else {}
    sound = item.get("schema_valid", True) is True and isinstance(item.get("missing", False), bool)
    return Source(
        role=role,
        opinion=_opinion(item.get("probabilities")),
        quality=item.get("quality"),
        conflict=item.get("conflict"),
        parents=frozenset(parents),
        available=not _is_missing(payload),
        declared_valid=sound and (payload is None or isinstance(payload, dict)),
        command=_command(item.get("source_route")),
    )


def _opinion(probabilities: Any) -> dict[str, Any] | None:
    """Return the opinion by contract, empty (which is invalid) unless it has the five labels."""
    if probabilities is None:
        return None
    if not isinstance(probabilities, dict) or probabilities.keys() != CONTRACT_OF.keys():
        return {}
    return {CONTRACT_OF[name]: value for name, value in probabilities.items()}


def _command(route: Any) -> CommandState | None:
    if not isinstance(route, dict):
        return None
    found = {name: route.get(key) for name, key in ROUTE.items()}
    return CommandState(**{k: v if isinstance(v, str) else None for k, v in found.items()})


def parents_of(record: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the parents of each role: those the record registers, else the derived ones."""
    stored = record.get("registered_parents")
    if stored is not None:
        return _registered_parents(stored)
    metadata = record.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("scene_id"), str):
        raise FormatError("the record has neither 'registered_parents' nor 'metadata.scene_id'")
    language = record["sources"].get("language")
    route = language.get("source_route") if isinstance(language, dict) else None
    route = route if isinstance(route, dict) else {}
    command = route.get("payload_text_hash") or route.get("current_command_hash") or ""
    scene = metadata["scene_id"]
    occlusion = f"occlusion:{scene}:{metadata.get('occlusion_band')}"
    return {
        "language": [f"command:{command}"],
        "geometry": [
            f"scene:{scene}",
            f"relation:{scene}:{metadata.get('relation_label')}",
            occlusion,
        ],
        "risk": [f"scene:{scene}", f"risk_band:{scene}:{metadata.get('risk_band')}", occlusion],
    }


def _registered_parents(stored: Any) -> dict[str, list[str]]:
    if not isinstance(stored, dict):
        raise FormatError("'registered_parents' must be an object: role -> list of names")
    for role in HANDOVER_ROLES:
        names = stored.get(role)
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            raise FormatError(f"'registered_parents.{role}' must be a nonempty list of names")
    return {role: list(stored[role]) for role in HANDOVER_ROLES}


def row_of(record: dict[str, Any], label: dict[str, Any] | None) -> dict[str, Any]:
    """Return the row of `instances.parquet` for a record and its evaluation label.

    Columns take values of their own type only, so that storing them changes nothing; whatever
    else the record holds is in the edits.

    Raises:
        FormatError: The record or label cannot be read, or they do not belong together.
    """
    instance = read_record(record)
    parents = parents_of(record)
    row = _identity(record)
    row["label"] = _label_of(row["scene_id"], label)
    metadata = _metadata(record)
    row["geometry"] = text_or_none(metadata.get("relation_label"))
    for source in instance.sources:
        row.update(_source_columns(source, parents[source.role]))
    command = instance.sources[0].command or CommandState()
    row.update({f"command_{name}": text_or_none(getattr(command, name)) for name in ROUTE})
    row["relation_class"] = text_or_none(metadata.get("relation_class"))
    row["risk_class"] = text_or_none(metadata.get("risk_band"))
    row["occlusion_band"] = text_or_none(metadata.get("occlusion_band"))
    row[RECORD_EDITS] = _edits(record_of(row), record)
    row[LABEL_EDITS] = None if label is None else _edits(label_of(row), label)
    return row


def _edits(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    edits = edits_between(ours, theirs)
    return json.dumps(edits) if edits else None  # ASCII, which holds lone surrogates too


def _metadata(record: Mapping[str, Any]) -> dict[str, Any]:
    metadata = record.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _identity(record: dict[str, Any]) -> dict[str, Any]:
    name = record_id_of(record)
    parts = (text_or_none(name) or "").split("__")
    if len(parts) != 3 or not _SEED.fullmatch(parts[2]):
        raise FormatError(f"'record_id' {name!r} is not <cluster>__<condition>__seed<NN>")
    return {
        "record_id": name,
        "scene_id": text_or_none(_metadata(record).get("scene_id")) or parts[0].split("-")[0],
        "condition": parts[1],
        "step": int(parts[2].removeprefix("seed")),
    }


def _label_of(scene: str, label: dict[str, Any] | None) -> str | None:
    if label is None:
        return None
    preferred = label.get("preferred_contract")
    if not isinstance(preferred, str) or preferred not in CONTRACT_OF:
        raise FormatError(f"'preferred_contract' {preferred!r} is not one of {list(CONTRACT_OF)}")
    if label.get("scene_id", scene) != scene:
        other = label["scene_id"]
        raise FormatError(f"label and record name different scenes: {other!r}, {scene!r}")
    return CONTRACT_OF[preferred]


def _source_columns(source: Source, parents: list[str]) -> dict[str, Any]:
    unfit = next((name for name in parents if not is_text(name)), None)
    if unfit is not None:
        raise FormatError(f"parent {unfit!r} of {source.role} is not text that UTF-8 can hold")
    opinion = source.opinion if isinstance(source.opinion, Mapping) else {}
    fits = set(opinion) == set(HANDOVER) and all(map(_is_number, opinion.values()))
    columns: dict[str, Any] = {
        f"p_{name}": float(opinion[name]) if fits else None for name in HANDOVER
    }
    for name, value in (("quality", source.quality), ("conflict", source.conflict)):
        columns[name] = float(value) if value is not None and _is_number(value) else None
    columns["unavailable"] = not source.available
    columns["invalid"] = not source.declared_valid
    columns["parents"] = parents
    return {f"{source.role}_{name}": value for name, value in columns.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def record_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the source record of a row, without the edits that an import kept."""
    metadata = {
        "scene_id": row["scene_id"],
        "relation_label": row["geometry"],
        "risk_band": row["risk_class"],
        "occlusion_band": row["occlusion_band"],
    }
    if row.get("relation_class") is not None:
        metadata["relation_class"] = row["relation_class"]
    return {
        "record_id": row["record_id"],
        "metadata": metadata,
        "sources": {role: _payload(row, role) for role in HANDOVER_ROLES},
        "registered_parents": {role: list(row[f"{role}_parents"]) for role in HANDOVER_ROLES},
    }


def _payload(row: Mapping[str, Any], role: str) -> dict[str, Any]:
    values = [row[f"{role}_p_{name}"] for name in HANDOVER]
    known = any(value is not None for value in values)
    payload: dict[str, Any] = {
        "probabilities": dict(zip(RELEASE_NAMES.values(), values, strict=True)) if known else {}
    }
    for name in ("quality", "conflict"):
        if row[f"{role}_{name}"] is not None:
            payload[name] = row[f"{role}_{name}"]
    payload["missing"] = bool(row[f"{role}_unavailable"])
    if row[f"{role}_invalid"]:
        payload["schema_valid"] = False
    route = {key: row[f"command_{name}"] for name, key in ROUTE.items()}
    if role == "language" and any(value is not None for value in route.values()):
        payload["source_route"] = {k: v for k, v in route.items() if v is not None}
    return payload


def label_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the evaluation label of a row, without the edits that an import kept."""
    return {
        "record_id": row["record_id"],
        "scene_id": row["scene_id"],
        "preferred_contract": RELEASE_NAMES[row["label"]],
    }


def export_rows(
    rows: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Yield (source record, label or None) of every row, edits applied."""
    for row in rows:
        record = apply_edits(record_of(row), json.loads(row.get(RECORD_EDITS) or "[]"))
        label = None
        if row.get("label") is not None:
            label = apply_edits(label_of(row), json.loads(row.get(LABEL_EDITS) or "[]"))
        yield record, label
