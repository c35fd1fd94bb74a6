"""Recordings in the benchmark's own schema, as JSON lines that `pact import` takes up.

A recording is a folder: `manifest.json`, `observations.jsonl` (the columns of
`observations.parquet`), `instances.jsonl` (the columns of `instances.parquet`) and
`decisions.jsonl` (one object per instance and rule, in the form of `pact decide`). A line is
complete once it is written; a crash loses at most the last one.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

SCHEMA_VERSION = 1
KIND = "pact.recording"
FILES = ("observations", "instances", "decisions")


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: NumPy scalars unwrapped, arrays listed, NaN as None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    return value


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON with the columns in their given order."""
    return json.dumps(plain(row), ensure_ascii=False, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    with temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


class Recorder:
    """Appends rows to a new recording folder until closed.

    Args:
        folder: The folder to create; it must not hold a recording already.
        context: What the manifest says about the recording: versions, settings, backend.

    Raises:
        FileExistsError: If the folder holds a recording.
    """

    def __init__(self, folder: Path, context: Mapping[str, Any]) -> None:
        if (folder / "manifest.json").exists():
            raise FileExistsError(f"{folder} holds a recording already; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.rows = dict.fromkeys(FILES, 0)
        self._context = dict(context)
        self._streams: dict[str, IO[str]] = {
            name: (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n")
            for name in FILES
        }
        self._write_manifest(complete=False)

    def write(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows to one of the three files."""
        stream = self._streams[name]
        for row in rows:
            stream.write(json_line(row))
            self.rows[name] += 1

    def close(self) -> Path:
        """Finish the recording and return its folder; closing twice is allowed."""
        if self._streams:
            while self._streams:
                self._streams.popitem()[1].close()
            self._write_manifest(complete=True)
        return self.folder

    def _write_manifest(self, *, complete: bool) -> None:
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "kind": KIND,
            "complete": complete,
            "rows": self.rows,
            "files": {name: f"{name}.jsonl" for name in FILES},
            **self._context,
        }
        write_text(
            self.folder / "manifest.json",
            json.dumps(plain(manifest), indent=2, sort_keys=True) + "\n",
        )


def recording_folder(parent: Path, stem: str) -> Path:
    """Return the first free folder `stem-001`, `stem-002`, … below `parent`."""
    for number in range(1, 1_000_000):
        folder = parent / f"{stem}-{number:03d}"
        if not folder.exists():
            return folder
    raise FileExistsError(f"{parent} has no free name for {stem}")
