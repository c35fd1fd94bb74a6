"""The manifest `run.json` of a run folder: how it is read, and what shape it must have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pact_benchmark.console import shell_path
from pact_benchmark.errors import PactError, UsageError

SCHEMA_VERSION = 1
MANIFEST = "run.json"

_PART = {"key": str, "files": list, "seconds": (int, float)}
_PART_FACTS = {"arguments": list, "folder": str, "rows": str, "finished": str}
_FILE = {"sha256": str, "bytes": int}
_FACTS = {"config": dict, "versions": dict, "rows": int, "backend": str, "command": str}


def new_manifest() -> dict[str, Any]:
    """Return the manifest of a run that holds nothing yet."""
    return {"schema": SCHEMA_VERSION, "parts": {}, "files": {}}


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a run folder and check everything that is later relied on.

    Raises:
        UsageError: there is none, or it cannot be read.
        PactError: it is damaged, or of another version.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(
            f"{folder} is not a run folder (no {MANIFEST});"
            f" make one with `pact run --output {shell_path(folder)}`"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError):
        manifest = None
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    if isinstance(schema, int) and schema != SCHEMA_VERSION:
        raise PactError(
            f"{folder} was written with schema {schema}, this version reads {SCHEMA_VERSION};"
            " use the version that wrote it, or a new --output"
        )
    if schema is None or not _well_formed(manifest):
        raise PactError(
            f"{path} is damaged; delete that file and run the same command again:"
            " the parts of the run are then made anew"
        )
    return dict(manifest)


def _well_formed(manifest: dict[str, Any]) -> bool:
    """Tell whether parts, files and facts have the types that are relied on."""
    parts, files = manifest.get("parts"), manifest.get("files")
    if not isinstance(parts, dict) or not isinstance(files, dict):
        return False
    return (
        all(_has(part, _PART) and _may_have(part, _PART_FACTS) for part in parts.values())
        and all(_texts(part["files"]) and _texts(part.get("arguments")) for part in parts.values())
        and all(_has(file, _FILE) for file in files.values())
        and _may_have(manifest, _FACTS)
    )


def _has(record: Any, types: dict[str, Any]) -> bool:
    """Tell whether a record has every key, with a value of its type."""
    return isinstance(record, dict) and all(
        isinstance(record.get(key), kind) for key, kind in types.items()
    )


def _may_have(record: dict[str, Any], types: dict[str, Any]) -> bool:
    """Tell whether what a record has of these keys is None or of its type."""
    return all(isinstance(record.get(key), (kind, type(None))) for key, kind in types.items())


def _texts(values: list[Any] | None) -> bool:
    return all(isinstance(value, str) for value in values or [])
