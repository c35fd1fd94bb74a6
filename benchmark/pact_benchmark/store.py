"""The run folder: every file written whole or not at all, known by its checksum, resumable.

`run.json` is the manifest. It names each file with its SHA-256, and each finished *part* of the run
with the key of the inputs that it was made from. A part whose key and files still match is never
computed again; a file that does not match its checksum is never used.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from pact_benchmark.console import to_jsonable
from pact_benchmark.errors import PactError, UsageError, cannot_write
from pact_benchmark.locking import locked
from pact_benchmark.manifest import MANIFEST as MANIFEST
from pact_benchmark.manifest import new_manifest, read_manifest
from pact_benchmark.parquet import UnreadableTableError, from_parquet, to_parquet
from pact_benchmark.remedy import arguments_of_this_process, folder_behind, remedy

CHANGED = "changed since it was written (checksum differs)"
"""What is said of a file that is not what the manifest knows."""


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON-like value, independent of key order."""
    text = json.dumps(to_jsonable(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old content or the new, never a part of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
        )
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            Path(temporary).chmod(0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise cannot_write(path, error) from error


@dataclass(slots=True)
class RunFolder:
    """A run on disk."""

    path: Path
    manifest: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def create(cls, path: Path) -> RunFolder:
        """Open the run at `path`, making the folder and its manifest where there are none."""
        # Unlike the methods of Path, these are quiet about a folder that may not be searched.
        if os.path.exists(path / MANIFEST):
            return cls.open(path)
        if os.path.exists(path) and not os.path.isdir(path):
            raise UsageError(f"{path} is a file; give a folder to --output")
        run = cls(path, new_manifest())
        run._save()
        return run

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open an existing run; see `read_manifest` for what can be wrong with it."""
        return cls(path, read_manifest(path))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run for writing; a second writer gets a `PactError` that says so."""
        with locked(self.path):
            yield

    def file(self, name: str) -> Path:
        """Return the path of a file of the run; names that lead out of the folder are refused."""
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or "\\" in name or ":" in name:
            raise UsageError(f"{name!r} leads out of the run folder {self.path}")
        return self.path / pure

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file and note its checksum (kept when the part that made it is finished)."""
        write_atomically(self.file(name), content)
        self.manifest["files"][name] = {
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
        }

    def write_text(self, name: str, text: str) -> None:
        """Write a UTF-8 text file."""
        self.write_bytes(name, text.encode("utf-8"))

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file with sorted keys; non-finite numbers become null."""
        text = json.dumps(to_jsonable(value), indent=2, sort_keys=True, ensure_ascii=False)
        self.write_text(name, text + "\n")

    def write_frame(self, name: str, frame: pd.DataFrame) -> None:
        """Write a Parquet file."""
        self.write_bytes(name, to_parquet(frame))

    def read_bytes(self, name: str) -> bytes:
        """Read a file of the run and check it against its checksum.

        Raises:
            UsageError: the run has no such file.
            PactError: the file is missing, unreadable or not as it was written.
        """
        if self.checksum(name) is None:
            raise UsageError(f"{self.path} has no {name}; make it with `{self._remedy(name)}`")
        try:
            content = self.file(name).read_bytes()
        except OSError as error:
            raise PactError(self._damaged(name, _reason(error))) from error
        if hashlib.sha256(content).hexdigest() != self.checksum(name):
            raise PactError(self._damaged(name, CHANGED))
        return content

    def read_json(self, name: str) -> Any:
        """Read a JSON file of the run; see `read_bytes`."""
        try:
            return json.loads(self.read_bytes(name))
        except (ValueError, RecursionError) as error:
            raise PactError(self._damaged(name, "not valid JSON")) from error

    def read_frame(self, name: str) -> pd.DataFrame:
        """Read a Parquet file of the run; see `read_bytes`."""
        try:
            return from_parquet(self.read_bytes(name))
        except UnreadableTableError as error:
            raise PactError(self._damaged(name, str(error))) from error

    def current(self, part: str, key: str) -> bool:
        """Tell whether a part was finished from the same inputs and its files are intact."""
        record = self.manifest["parts"].get(part)
        return (
            record is not None
            and record["key"] == key
            and all(self.intact(name) for name in record["files"])
        )

    def intact(self, name: str) -> bool:
        """Tell whether a file is there with the checksum that the manifest has for it."""
        return self.damage(name) is None

    def damage(self, name: str) -> str | None:
        """Return in words how a file differs from what was written, None where it does not."""
        try:
            same = file_digest(self.file(name)) == self.checksum(name)
        except OSError as error:
            return _reason(error)
        return None if same else CHANGED

    def checksum(self, name: str) -> str | None:
        """Return the SHA-256 with which a file was written, None where the run has no such file."""
        known = self.manifest["files"].get(name)
        return None if known is None else str(known["sha256"])

    @contextmanager
    def part(self, name: str, key: str, started: float | None = None) -> Iterator[PartWriter]:
        """Make a part: files written through the writer are recorded when the block succeeds.

        `started` is the `time.monotonic` at which work on the part began, by default now.
        """
        writer = PartWriter(self)
        began = time.monotonic() if started is None else started
        yield writer
        arguments = arguments_of_this_process()
        self.manifest["parts"][name] = {
            "key": key,
            "files": sorted(writer.files),
            "seconds": round(time.monotonic() - began, 3),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "arguments": arguments,
            "folder": folder_behind(arguments),
            "rows": self._rows_behind(name),
        }
        self._save()

    def outdated(self, part: str) -> bool:
        """Tell whether a finished part was made from rows that have been replaced since."""
        behind = self.manifest["parts"][part].get("rows")
        return behind is not None and behind != self._rows_behind(part)

    def _rows_behind(self, part: str) -> str | None:
        """Return the checksum of the table that a part is made from, or None."""
        family = part.partition(":")[0]
        table = {
            "instances": "observations.parquet",
            "study": "instances.parquet",
            "decisions": "instances.parquet",
        }.get(family)
        return None if table is None else self.checksum(table)

    def part_key(self, part: str) -> str | None:
        """Return the key of a finished part, or None."""
        record = self.manifest["parts"].get(part)
        return None if record is None else str(record["key"])

    def describe(self, **facts: Any) -> None:
        """Record facts about the run (command, configuration, versions) in the manifest."""
        self.manifest.update(to_jsonable(facts))
        self._save()

    def forget(self, part: str) -> None:
        """Delete a part and its files, where there is such a part."""
        record = self.manifest["parts"].pop(part, None)
        if record is not None:
            self.discard_files(record["files"])
            self._save()

    def discard_files(self, names: Iterable[str]) -> None:
        """Forget and delete files that no part makes any more."""
        for name in names:
            self.manifest["files"].pop(name, None)
            self.file(name).unlink(missing_ok=True)

    def _save(self) -> None:
        text = json.dumps(to_jsonable(self.manifest), indent=2, sort_keys=True, ensure_ascii=False)
        write_atomically(self.path / MANIFEST, (text + "\n").encode("utf-8"))

    def _remedy(self, name: str) -> str:
        return remedy(self.path, self.manifest, name)

    def _damaged(self, name: str, what: str) -> str:
        return f"{self.path / name}: {what}; mend it with `{self._remedy(name)}`"


@dataclass(slots=True)
class PartWriter:
    """Writes the files of one part of a run."""

    run: RunFolder
    files: set[str] = field(default_factory=set)

    def bytes(self, name: str, content: bytes) -> None:
        """Write a binary file."""
        self.run.write_bytes(name, content)
        self.files.add(name)

    def text(self, name: str, text: str) -> None:
        """Write a text file."""
        self.bytes(name, text.encode("utf-8"))

    def json(self, name: str, value: Any) -> None:
        """Write a JSON file."""
        self.run.write_json(name, value)
        self.files.add(name)

    def frame(self, name: str, frame: pd.DataFrame) -> None:
        """Write a Parquet file."""
        self.run.write_frame(name, frame)
        self.files.add(name)


def _reason(error: OSError) -> str:
    """Return in words why a file could not be read."""
    absent = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
    return "missing" if isinstance(error, absent) else f"unreadable ({error.strerror})"
