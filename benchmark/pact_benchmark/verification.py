"""Checks of a stored run: checksums of every file, and the schema of its tables."""

from __future__ import annotations

import io
import json
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pact_benchmark.console import Console
from pact_benchmark.parquet import first_line
from pact_benchmark.remedy import remedy
from pact_benchmark.store import RunFolder

REQUIRED_COLUMNS = {
    "observations.parquet": ("scene_id", "step", "hand_object_distance", "clearance", "occlusion"),
    "instances.parquet": ("record_id", "scene_id", "condition", "label", "step"),
}

_SILENT = Console(quiet=True)


class Problem(NamedTuple):
    """A file that is not as it should be, and the command that makes it anew."""

    file: str
    what: str
    rerun: str


def verify_run(run: RunFolder, console: Console = _SILENT) -> list[Problem]:
    """Return every problem of a run, in the order in which they are to be mended."""
    problems = []
    first = [name for name in REQUIRED_COLUMNS if name in run.manifest["files"]]
    names = first + sorted(set(run.manifest["files"]) - set(first))
    with console.progress("files checked", len(names)) as bar:
        for name in names:
            what = _what_is_wrong(run, name)
            if what is not None:
                problems.append(Problem(name, what, remedy(run.path, run.manifest, name)))
            bar.advance()
    return problems


def _what_is_wrong(run: RunFolder, name: str) -> str | None:
    what = run.damage(name)
    if what is not None:
        return what
    try:
        if name.endswith(".json"):
            json.loads(run.read_bytes(name))
        if name in REQUIRED_COLUMNS:
            have = set(pq.read_schema(io.BytesIO(run.read_bytes(name))).names)
            lacking = [column for column in REQUIRED_COLUMNS[name] if column not in have]
            if lacking:
                return f"lacks the column {lacking[0]!r}"
    except (ValueError, RecursionError, pa.ArrowException) as error:
        return f"unreadable ({first_line(error)})"
    return None
