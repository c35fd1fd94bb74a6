"""Commands that make a part of a run anew, for messages about damage and for `pact verify`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pact_benchmark.console import shell_path

_BY_PART = {"observations": "pact simulate", "instances": "pact generate", "report": "pact report"}
_BY_FILE = {"observations.parquet": "pact simulate", "instances.parquet": "pact generate"}


def remedy(folder: Path, manifest: Mapping[str, Any], name: str) -> str:
    """Return the command that makes a file of a run (anew).

    A file that was made before is made with the options of that time. The command works in a shell
    anywhere: where an option names a file relative to the folder in which the part was made, it
    goes there first.
    """
    output = f"--output {shell_path(folder)}"
    made = [part for part, record in manifest["parts"].items() if name in record["files"]]
    if not made:
        ready = name == "statistics.json" and "instances.parquet" in manifest["files"]
        return f"{'pact evaluate' if ready else _BY_FILE.get(name, 'pact run')} {output}"
    family, _, study = made[0].partition(":")
    record = manifest["parts"][made[0]]
    arguments, there = record.get("arguments"), record.get("folder")
    if arguments and family != "report":
        go = f"cd {shlex.quote(there)} && " if there else ""
        return f"{go}{shlex.join(['pact', *arguments])} {output}"
    command = f"pact evaluate {study}" if family == "study" else _BY_PART.get(family, "pact run")
    return f"{command} {output}"


def arguments_of_this_process() -> list[str] | None:
    """Return the arguments of this `pact` process without its --output; None in other programs."""
    if Path(sys.argv[0]).stem != "pact":
        return None
    kept: list[str] = []
    arguments = iter(sys.argv[1:])
    for argument in arguments:
        if argument in ("--output", "-o"):
            next(arguments, None)
        elif not argument.startswith("--output=") and not re.match(r"-o[^-]", argument):
            kept.append(argument)
    return kept


def folder_behind(arguments: list[str] | None) -> str | None:
    """Return the working directory if an argument names a file or folder relative to it."""
    for argument in (arguments or [])[1:]:
        # The value alone, after `--option=`, or right after `-o`.
        values = [argument, argument.partition("=")[2], argument[2:]]
        if any(v and not Path(v).is_absolute() and Path(v).exists() for v in values):
            return str(Path.cwd())
    return None
