"""Where a run comes from, and the files it leaves for others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pact_benchmark.names import value_name
from pact_benchmark.store import RunFolder

_FILES = {
    "run.json": "resolved configuration, seeds, versions, and the SHA-256 of every file",
    "statistics.json": "every figure with its interval",
    "observations.parquet": "what the simulator saw at each decision step",
    "events.jsonl": "what happened in each rollout",
    "instances.parquet": "every decision to be made: sources, conditions, labels",
    "croissant.json": "dataset card of the instances",
}
_DECISIONS = "decisions/"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the run, and what it holds."""

    name: str
    holds: str
    size: str


def made(facts: Mapping[str, Any]) -> str:
    """Return when the last part of the run but the report was finished, or nothing."""
    made_anew = ("report", "statistics")  # whenever something else is
    parts = {name: part for name, part in facts["parts"].items() if name not in made_anew}
    return (
        max((part.get("finished", "") for part in parts.values()), default="")
        .replace("T", " ")
        .replace("Z", " UTC")
    )


def provenance(facts: Mapping[str, Any], changed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return name and text of everything that is known about how a run was made.

    Args:
        facts: the manifest of the run.
        changed: what its configuration changes in the defaults.
    """
    if made(facts):
        yield "made", made(facts)
    version = facts.get("pact")
    if version:
        commit = facts.get("commit")
        yield "PACT", f"{version}, commit {commit}" if commit else str(version)
    if facts.get("command"):
        yield "command", str(facts["command"])
    if "config" in facts:
        yield "configuration", "; ".join(changed) or "the default of this version"
    for name in ("seed", "backend", "python"):
        if facts.get(name) is not None:
            yield name, str(facts[name])
    versions = facts.get("versions", {})
    if versions:
        yield "packages", ", ".join(f"{name} {version}" for name, version in versions.items())
    seconds = {name: part.get("seconds", 0.0) for name, part in facts["parts"].items()}
    longest = sorted(seconds.items(), key=lambda item: -item[1])[:6]
    yield (
        "longest parts",
        ", ".join(f"{name.replace(':', ' ')} {value:.1f} s" for name, value in longest),
    )


def data_files(run: RunFolder) -> list[DataFile]:
    """Return the data files that a run has, the tables and figures of studies left out."""
    found = [
        DataFile(name, holds, _size(run, name))
        for name, holds in _FILES.items()
        if run.file(name).exists()
    ]
    for name in sorted(run.manifest["files"]):
        if name.startswith(_DECISIONS) and run.file(name).exists():
            rule = value_name(name.removeprefix(_DECISIONS).removesuffix(".parquet"))
            found.append(DataFile(name, f"held-out decisions of {rule}", _size(run, name)))
    return found


def _size(run: RunFolder, name: str) -> str:
    size = run.manifest["files"].get(name, {}).get("bytes")
    if size is None:
        return ""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{max(size / 1e3, 0.1):.1f} kB"
