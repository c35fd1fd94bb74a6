"""Recordings of the Isaac Sim extension: rows of instances and observations as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from pact_benchmark.errors import PactError
from pact_benchmark.formats.columns import BOOLEAN, NUMBER, TEXT, TEXTS, is_integer, misfit
from pact_benchmark.formats.instance import COMMAND_FIELDS
from pact_benchmark.formats.lines import lines_to_bytes, read_objects
from pact_core import HANDOVER, HANDOVER_ROLES

INSTANCES, OBSERVATIONS, MANIFEST = "instances.jsonl", "observations.jsonl", "manifest.json"
KIND, SCHEMA_VERSION = "pact.recording", 1

_NUMBERS = [f"p_{name}" for name in HANDOVER] + ["quality", "conflict"]
_FLAGS = ["unavailable", "invalid"]
_LEADING = ["record_id", "scene_id", "geometry", "condition", "label", "step"]
REQUIRED = [
    "record_id",
    "scene_id",
    "condition",
    "label",
    "step",
    *(f"{role}_{name}" for role in HANDOVER_ROLES for name in [*_NUMBERS, *_FLAGS, "parents"]),
    *(f"command_{name}" for name in COMMAND_FIELDS),
]
_TEXTS = ["record_id", "scene_id", "condition", "label"]
_KINDS = (
    dict.fromkeys([*_TEXTS, "geometry"], TEXT)
    | {"step": NUMBER}
    | {f"{role}_{name}": NUMBER for role in HANDOVER_ROLES for name in _NUMBERS}
    | {f"{role}_{name}": BOOLEAN for role in HANDOVER_ROLES for name in _FLAGS}
    | {f"{role}_parents": TEXTS for role in HANDOVER_ROLES}
    | {f"command_{name}": TEXT for name in COMMAND_FIELDS}
)


def read_rows(path: Path) -> pd.DataFrame:
    """Read the instance rows of a recording.

    Raises:
        PactError: A row lacks a column, repeats an identity or holds a value of the wrong type.
    """
    rows, seen = [], set()
    for place, row in _table_rows(path, dict(_KINDS)):
        missing = [name for name in REQUIRED if name not in row]
        if missing:
            raise PactError(f"{path}, {place}: no {missing[0]!r}; record it again")
        wrong = _wrong(row)
        if wrong:
            raise PactError(f"{path}, {place}: {wrong!r} has a value of the wrong type")
        if row["record_id"] in seen:
            raise PactError(f"{path}, {place}: {row['record_id']!r} appears twice")
        seen.add(row["record_id"])
        rows.append(row)
    return frame_of(rows, path)


def read_observations(path: Path) -> pd.DataFrame:
    """Read the observation rows of a recording; PactError where a table cannot hold them."""
    return pd.DataFrame([row for _, row in _table_rows(path, {})])


def _table_rows(path: Path, kinds: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, row) of rows whose values fit the kinds of their columns."""
    for place, row in read_objects(path):
        wrong = misfit(row, kinds)
        if wrong is not None:
            raise PactError(f"{path}, {place}: {wrong!r} has a value of the wrong type")
        yield place, row


def _wrong(row: Mapping[str, Any]) -> str | None:
    """Return the first column that lacks a value, or has one outside its range."""
    for role in HANDOVER_ROLES:
        for name in (*_FLAGS, "parents"):
            if row[f"{role}_{name}"] in (None, []):
                return f"{role}_{name}"
    if row["label"] not in HANDOVER.names:
        return "label"
    if not is_integer(row["step"]):
        return "step"
    return next((name for name in _TEXTS if row[name] is None), None)


def frame_of(rows: list[dict[str, Any]], origin: Path) -> pd.DataFrame:
    """Return rows as a frame with the column types of `instances.parquet`.

    Raises:
        PactError: There is no row.
    """
    if not rows:
        raise PactError(f"{origin} holds no record")
    frame = pd.DataFrame(rows)
    for role in HANDOVER_ROLES:
        for name in _NUMBERS:
            frame[f"{role}_{name}"] = frame[f"{role}_{name}"].astype("float64")
        for name in _FLAGS:
            frame[f"{role}_{name}"] = frame[f"{role}_{name}"].astype("bool")
    frame["step"] = frame["step"].astype("int64")
    first = [name for name in _LEADING if name in frame]
    return frame[[*first, *(name for name in frame if name not in first)]]


def check_manifest(folder: Path) -> None:
    """Raise PactError when a folder's manifest is not one of a recording that we can read."""
    path = folder / MANIFEST
    if not path.is_file():
        return
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        kind, version = manifest["kind"], manifest["schema_version"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise PactError(f"{path} is damaged; record again") from None
    if kind != KIND or version != SCHEMA_VERSION:
        raise PactError(f"{path}: {kind} version {version}, this version reads {KIND} 1")


def recording_files(instances: pd.DataFrame, observations: pd.DataFrame | None) -> dict[str, bytes]:
    """Return the files of a recording by name."""
    manifest = {"kind": KIND, "schema_version": SCHEMA_VERSION, "rows": len(instances)}
    files = {
        MANIFEST: (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode(),
        INSTANCES: lines_to_bytes(plain_rows(instances), compress=False),
    }
    if observations is not None:
        files[OBSERVATIONS] = lines_to_bytes(plain_rows(observations), compress=False)
    return files


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as JSON objects, null where a value is absent."""
    columns = {str(name): [_plain(v) for v in frame[name].tolist()] for name in frame.columns}
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return None if isinstance(value, float) and isnan(value) else value
