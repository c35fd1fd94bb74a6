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

    Blank lines are skipped. A stream whose first line only begins a JSON document
    (pretty-printed) is taken as one document, or as a list of them.
    """
    lines = _raw_lines(b"", stream)
    first = next(lines, b"")
    line, unfinished = _parse(1, first)
    if unfinished:
        rest = stream.read(LONGEST_LINE)
        document = _document(first + rest) if len(rest) < LONGEST_LINE else None
        if document is not None:
            yield from document
            return
        lines = _raw_lines(rest, stream)
    if line is not None:
        yield line
    for number, raw in enumerate(lines, start=2):
        line, _ = _parse(number, raw)
        if line is not None:
            yield line


def _raw_lines(head: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of some bytes and the stream after them, each cut one byte past the limit."""
    for raw in io.BytesIO(head):
        if not raw.endswith(b"\n"):
            raw += stream.readline(LONGEST_LINE + 1 - len(raw))
        yield raw
    while raw := stream.readline(LONGEST_LINE + 1):
        yield raw
        while len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
            raw = stream.readline(LONGEST_LINE + 1)


def _parse(number: int, raw: bytes) -> tuple[Line | None, bool]:
    """Return the line (None when blank) and whether it only begins a document."""
    if len(raw) > LONGEST_LINE:
        return Line(number, None, f"line is longer than {LONGEST_LINE} bytes"), False
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
    except ValueError:
        return Line(number, None, "not JSON: a number has too many digits"), False


def _document(content: bytes) -> list[Line] | None:
    """Return the instances of one document, None when it is none."""
    line, _ = _parse(1, content)
    if line is None or line.error is not None:
        return None
    values = line.value if isinstance(line.value, list) else [line.value]
    return [Line(i, value, None) for i, value in enumerate(values, start=1)]


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
