"""The run folder: every file written whole or not at all, known by its checksum, resumable.

`run.json` is the manifest. It names each file with its SHA-256, and each finished *part* of the run
with the key of the inputs that it was made from. A part whose key and files still match is never
computed again; a file that does not match its checksum is never used.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pact_benchmark.console import shell_path, to_jsonable
from pact_benchmark.errors import PactError, UsageError

SCHEMA_VERSION = 1
MANIFEST = "run.json"
_LOCK = ".lock"


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
        raise PactError(
            f"cannot write {path}: {error.strerror}; free or unlock the disk and run the same"
            " command again, finished work is kept"
        ) from error


def frame_to_parquet(frame: pd.DataFrame) -> bytes:
    """Return the Parquet bytes of a frame; equal frames give equal bytes."""
    buffer = io.BytesIO()
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(table, buffer, compression="zstd", version="2.6")
    return buffer.getvalue()


def frame_from_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file; a damaged or foreign file is a `PactError` that names it."""
    try:
        with path.open("rb") as stream:  # a path of its own would have to be valid UTF-8
            frame: pd.DataFrame = pq.read_table(stream).to_pandas()
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise PactError(
            f"cannot read {path}: {reason}; run `pact verify` on its folder to see what to rerun"
        ) from error
    return frame


@dataclass(slots=True)
class RunFolder:
    """A run on disk."""

    path: Path
    manifest: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def create(cls, path: Path) -> RunFolder:
        """Open the run at `path`, making the folder and its manifest where there are none."""
        if (path / MANIFEST).exists():
            return cls.open(path)
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file; give a folder to --output")
        run = cls(path, {"schema": SCHEMA_VERSION, "parts": {}, "files": {}})
        run._save()
        return run

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open an existing run; a folder without a readable manifest is a `UsageError`."""
        try:
            manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
            schema = manifest["schema"]
        except FileNotFoundError:
            raise UsageError(
                f"{path} is not a run folder (no {MANIFEST});"
                f" make one with `pact run --output {shell_path(path)}`"
            ) from None
        except OSError as error:
            raise UsageError(f"cannot read {path / MANIFEST}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, RecursionError):
            raise PactError(
                f"{path / MANIFEST} is damaged; delete that file and run the same command again:"
                " the parts of the run are then made anew"
            ) from None
        if schema != SCHEMA_VERSION:
            raise PactError(
                f"{path} was written with schema {schema}, this version reads {SCHEMA_VERSION};"
                " use the version that wrote it, or a new --output"
            )
        return cls(path, manifest)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run for writing; a second writer gets a `PactError` that says so."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / _LOCK).open("a+b") as stream:
            if not _try_lock(stream):
                stream.seek(0)
                holder = stream.read(40).decode("ascii", "replace") or "unknown"
                raise PactError(
                    f"{self.path} is in use by another process (pid {holder}); wait for it to end,"
                    " or give another --output"
                )
            stream.seek(0)
            stream.truncate()
            stream.write(str(os.getpid()).encode("ascii"))
            stream.flush()
            for remains in self.path.rglob(".*.tmp"):  # of a process that was killed while writing
                remains.unlink(missing_ok=True)
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
        self.write_bytes(name, frame_to_parquet(frame))

    def read_json(self, name: str) -> Any:
        """Read a JSON file of the run."""
        try:
            return json.loads(self.file(name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise PactError(self._unreadable(name, error)) from error

    def read_frame(self, name: str) -> pd.DataFrame:
        """Read a Parquet file of the run; a missing file says which command makes it."""
        if not self.file(name).exists():
            maker = {"observations.parquet": "simulate", "instances.parquet": "generate"}
            raise UsageError(
                f"{self.path} has no {name}; make it with `pact {maker.get(name, 'run')}"
                f" --output {shell_path(self.path)}`"
            )
        return frame_from_parquet(self.file(name))

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
        known = self.manifest["files"].get(name)
        path = self.file(name)
        return known is not None and path.is_file() and file_digest(path) == known["sha256"]

    @contextmanager
    def part(self, name: str, key: str, started: float | None = None) -> Iterator[PartWriter]:
        """Make a part: files written through the writer are recorded when the block succeeds.

        `started` is the `time.monotonic` at which work on the part began, by default now.
        """
        writer = PartWriter(self)
        began = time.monotonic() if started is None else started
        yield writer
        arguments = _arguments()
        self.manifest["parts"][name] = {
            "key": key,
            "files": sorted(writer.files),
            "seconds": round(time.monotonic() - began, 3),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "arguments": arguments,
            "folder": _folder_behind(arguments),
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
        known = self.manifest["files"].get(table)
        return None if known is None else str(known["sha256"])

    def part_key(self, part: str) -> str | None:
        """Return the key of a finished part, or None."""
        record = self.manifest["parts"].get(part)
        return None if record is None else str(record["key"])

    def describe(self, **facts: Any) -> None:
        """Record facts about the run (command, configuration, versions) in the manifest."""
        self.manifest.update(to_jsonable(facts))
        self._save()

    def discard_files(self, names: Iterable[str]) -> None:
        """Forget and delete files that no part makes any more."""
        for name in names:
            self.manifest["files"].pop(name, None)
            self.file(name).unlink(missing_ok=True)

    def _save(self) -> None:
        text = json.dumps(to_jsonable(self.manifest), indent=2, sort_keys=True, ensure_ascii=False)
        write_atomically(self.path / MANIFEST, (text + "\n").encode("utf-8"))

    def _unreadable(self, name: str, error: Exception) -> str:
        reason = error.strerror if isinstance(error, OSError) else "not valid JSON"
        command = f"pact verify {shell_path(self.path)}"
        return f"cannot read {self.path / name}: {reason}; run `{command}`"


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


def _arguments() -> list[str] | None:
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


def _folder_behind(arguments: list[str] | None) -> str | None:
    """Return the working directory if an argument names a file or folder relative to it."""
    for argument in (arguments or [])[1:]:
        # The value alone, after `--option=`, or right after `-o`.
        values = [argument, argument.partition("=")[2], argument[2:]]
        if any(v and not Path(v).is_absolute() and Path(v).exists() for v in values):
            return str(Path.cwd())
    return None


def _try_lock(stream: BinaryIO) -> bool:
    """Take an advisory lock that the operating system drops when the process ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
