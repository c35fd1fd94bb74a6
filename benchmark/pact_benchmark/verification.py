"""Checks of a stored run: checksums of every file, and the schema of its tables."""

from __future__ import annotations

import json
import shlex
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pact_benchmark.console import Console, shell_path
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
    makers = {
        name: part for part, record in run.manifest["parts"].items() for name in record["files"]
    }
    problems = []
    first = list(REQUIRED_COLUMNS)
    names = [name for name in first if name in run.manifest["files"]]
    names += sorted(set(run.manifest["files"]) - set(first))
    with console.progress("files checked", len(names)) as bar:
        for name in names:
            what = _what_is_wrong(run, name)
            if what is not None:
                problems.append(Problem(name, what, _command(run, makers.get(name, ""))))
            bar.advance()
    return problems


def _what_is_wrong(run: RunFolder, name: str) -> str | None:
    path = run.file(name)
    if not path.is_file():
        return "missing"
    if not run.intact(name):
        return "changed since it was written (checksum differs)"
    try:
        if name.endswith(".json"):
            json.loads(path.read_text(encoding="utf-8"))
        if name in REQUIRED_COLUMNS:
            with path.open("rb") as stream:
                have = set(pq.read_schema(stream).names)
            lacking = [column for column in REQUIRED_COLUMNS[name] if column not in have]
            if lacking:
                return f"lacks the column {lacking[0]!r}"
    except (OSError, ValueError, pa.ArrowException) as error:
        return f"unreadable: {str(error).splitlines()[0]}"
    return None


def _command(run: RunFolder, part: str) -> str:
    """Return the command that makes a part anew, with the options that it was made with.

    It works in a shell anywhere: where an option names a file relative to the folder in which the
    part was made, it goes there first.
    """
    family, _, study = part.partition(":")
    output = f"--output {shell_path(run.path)}"
    record = run.manifest["parts"].get(part, {})
    made_by, folder = record.get("arguments"), record.get("folder")
    if made_by and family != "report":
        there = f"cd {shlex.quote(folder)} && " if folder else ""
        return f"{there}{shlex.join(['pact', *made_by])} {output}"
    commands = {
        "study": f"pact evaluate {study}",
        "observations": "pact simulate",
        "instances": "pact generate",
        "report": "pact report",
    }
    return f"{commands.get(family, 'pact run')} {output}"
