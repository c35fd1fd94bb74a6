"""JSON documents and JSON lines from files and streams, with bounds that hostile input meets."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, cast

from pact_benchmark.errors import PactError, UsageError

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of one line that are read at most; a longer line is an error, not a memory problem."""


class Line(NamedTuple):
    """One line of input: its number from 1, and its JSON value or what is wrong with it."""

    number: int
    value: Any
    error: str | None


def parse_lines(stream: IO[bytes]) -> Iterator[Line]:
    """Yield the JSON values of a stream as soon as each line is complete.

    Blank lines are skipped. A stream whose first line is only the beginning of a JSON document
    (pretty-printed) is read to its end and taken as one document, or as a list of them.
    """
    number = 0
    while True:
        number += 1
        raw = stream.readline(LONGEST_LINE + 1)
        if not raw:
            return
        if len(raw) > LONGEST_LINE:
            _skip_line(stream)
            yield Line(number, None, f"line is longer than {LONGEST_LINE} bytes")
            continue
        line, unfinished = _parse(number, raw)
        if line is None:
            continue
        if unfinished and number == 1:
            yield from _document(raw, stream)
            return
        yield line


def _skip_line(stream: IO[bytes]) -> None:
    while True:
        piece = stream.readline(LONGEST_LINE)
        if not piece or piece.endswith(b"\n"):
            return


def _parse(number: int, raw: bytes) -> tuple[Line | None, bool]:
    """Return the line (None when blank) and whether it only begins a document."""
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError as error:
        return Line(number, None, f"not UTF-8: {error.reason}"), False
    if not text:
        return None, False
    try:
        return Line(number, json.loads(text), None), False
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at column {error.colno}"
        return Line(number, None, reason), error.pos >= len(text)
    except RecursionError:
        return Line(number, None, "not JSON: nested too deeply"), False
    except ValueError as error:
        return Line(number, None, f"not JSON: {error}"), False


def _document(first: bytes, stream: IO[bytes]) -> Iterator[Line]:
    """Read the rest as one document; where that fails, as lines."""
    rest = first + stream.read(LONGEST_LINE)
    line, _ = _parse(1, rest)
    if line is not None and line.error is None:
        values = line.value if isinstance(line.value, list) else [line.value]
        yield from (Line(i, value, None) for i, value in enumerate(values, start=1))
        return
    for number, raw in enumerate(io.BytesIO(rest), start=1):
        line, _ = _parse(number, raw)
        if line is not None:
            yield line


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSON-lines file, plain or gzip.

    Raises:
        UsageError: The file cannot be opened.
        PactError: A line is not a JSON object, or the compressed data is damaged.
    """
    try:
        with open_bytes(path) as stream:
            for line in parse_lines(stream):
                if line.error is not None:
                    raise PactError(f"{path}, line {line.number}: {line.error}; mend the line")
                if not isinstance(line.value, dict):
                    raise PactError(f"{path}, line {line.number}: not a JSON object")
                yield line.number, line.value
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise PactError(f"{path} is damaged ({error}); get the file again") from error


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading, through gzip when its first bytes say so."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    magic = stream.read(2)
    stream.seek(0)
    return cast("BinaryIO", gzip.open(stream, "rb")) if magic == b"\x1f\x8b" else stream


def lines_to_bytes(objects: Iterable[dict[str, Any]], *, compress: bool) -> bytes:
    """Return JSON lines as bytes, the same bytes for the same objects."""
    text = "".join(json.dumps(o, ensure_ascii=False) + "\n" for o in objects).encode("utf-8")
    return gzip.compress(text, mtime=0) if compress else text
