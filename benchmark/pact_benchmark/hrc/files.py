"""Bounded reading of CSV, JSON-lines and Parquet files that come from outside."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from pact_benchmark.bounded import larger_than
from pact_benchmark.errors import UsageError
from pact_benchmark.formats.lines import read_lines
from pact_benchmark.parquet import UnreadableTableError, from_parquet

ROW_LIMIT = 2_000_000
LINE_LIMIT = 1 << 20
BYTE_LIMIT = 1 << 30
FILE_LIMIT = 2_000
SUFFIXES = (".csv", ".jsonl", ".jsonl.gz", ".parquet")


class RecordError(UsageError):
    """A recording cannot be used; the text names the file, the row and what to do."""


@dataclass(frozen=True, slots=True)
class RecordFile:
    """One file that was read: what it was taken for, how many rows it has, its SHA-256."""

    name: str
    kind: str
    rows: int
    sha256: str


def fail(path: Path, text: str, row: int | None = None) -> NoReturn:
    """Raise a one-line error about `path`, and about its 1-based `row` where one is known."""
    place = path.name if row is None else f"{path.name}, row {row}"
    raise RecordError(f"{place}: {text}")


def suffix_of(path: Path) -> str:
    """Return the suffix of `path` among `SUFFIXES`, or an empty text."""
    name = path.name.lower()
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def stem_of(path: Path) -> str:
    """Return the name of `path` without its recording suffix."""
    return path.name[: -len(suffix_of(path))] if suffix_of(path) else path.name


def record_paths(root: Path) -> list[Path]:
    """Return the files of `root` (a file, or a folder searched in depth) that may be recordings.

    Symbolic links to folders are not followed. More than `FILE_LIMIT` files are an error.
    """
    if root.is_file():
        if not suffix_of(root):
            fail(root, f"not a recording; expected one of {', '.join(SUFFIXES)}")
        return [root]
    if not root.is_dir():
        raise RecordError(f"{root}: no such file or folder")
    found: list[Path] = []
    for path in root.rglob("*"):
        if suffix_of(path) and path.is_file():
            found.append(path)
            if len(found) > FILE_LIMIT:
                raise RecordError(f"{root}: more than {FILE_LIMIT} files; name a smaller folder")
    return sorted(found)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _check_size(path: Path) -> None:
    if larger_than(path, BYTE_LIMIT):
        fail(path, f"is, or unpacks to, more than {BYTE_LIMIT >> 20} MiB; split it")


def read_csv(path: Path) -> pd.DataFrame:
    """Return a CSV file as text columns; a byte-order mark is skipped, empty cells are ``""``."""
    _check_size(path)
    try:
        frame = pd.read_csv(
            path,
            dtype=str,
            keep_default_na=False,
            encoding="utf-8-sig",
            nrows=ROW_LIMIT + 1,
            on_bad_lines="error",
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        fail(path, f"not a readable CSV file ({str(error).strip().splitlines()[0]})")
    if len(frame) > ROW_LIMIT:
        fail(path, f"more than {ROW_LIMIT:,} rows; split it")
    if frame.isna().any().any():
        short = int(frame.isna().any(axis=1).to_numpy().argmax()) + 1
        fail(path, "fewer cells than the header has columns", short)
    return frame


def csv_header(path: Path) -> tuple[str, ...]:
    """Return the column names of a CSV file."""
    with path.open("rb") as stream:
        line = stream.readline(LINE_LIMIT)
    text = line.decode("utf-8-sig", errors="replace").strip()
    return tuple(cell.strip().strip('"') for cell in text.split(","))


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSON-lines file, plain or gzip; blank lines are skipped."""
    _check_size(path)
    for count, line in enumerate(read_lines(path), start=1):
        if line.error is not None:
            fail(path, line.error, line.number)
        if not isinstance(line.value, dict):
            fail(path, f"expected a JSON object, found {type(line.value).__name__}", line.number)
        if count > ROW_LIMIT:
            fail(path, f"more than {ROW_LIMIT:,} rows; split it")
        yield line.number, line.value


def first_object(path: Path) -> dict[str, Any]:
    """Return the first object of a JSON-lines file, or an empty one for an empty file."""
    for _, value in json_lines(path):
        return value
    return {}


def read_parquet(path: Path) -> pd.DataFrame:
    """Return a Parquet file as a frame; what it unpacks to is kept within the limits."""
    _check_size(path)
    try:
        return from_parquet(path, largest=BYTE_LIMIT, rows=ROW_LIMIT)
    except UnreadableTableError as error:
        fail(path, str(error))
