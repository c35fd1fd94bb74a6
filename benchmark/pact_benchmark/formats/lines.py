"""JSON documents and JSON lines from files and streams, with bounds that hostile input meets."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, cast

from pact_benchmark.errors import PactError, UsageError

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of one line that are read at most; a longer line is an error, not a memory problem."""

STANDARD_INPUT = Path("-")
_GZIP = b"\x1f"
"""First byte of gzip data; no JSON text begins with it."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


class Line(NamedTuple):
    """One JSON value of the input, or what is wrong with it.

    Attributes:
        number: The line it begins on, from 1.
        value: The value.
        error: What is wrong, None when nothing is.
        item: Its position from 1 where the line holds a list, else None.
    """

    number: int
    value: Any
    error: str | None
    item: int | None = None

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"line {self.number}" + ("" if self.item is None else f", item {self.item}")


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the JSON values of a file, a pipe or (for ``-``) standard input, plain or gzip.

    Raises:
        UsageError: The file cannot be opened.
        PactError: It cannot be read to its end, or the compressed data is damaged.
    """
    name = "standard input" if path == STANDARD_INPUT else str(path)
    try:
        with _open(path) as stream:
            yield from parse_lines(stream)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise PactError(f"{name} is damaged ({error}); get the file again") from error
    except OSError as error:
        raise PactError(f"cannot read {name}: {error.strerror or error}") from error


def _open(path: Path) -> BinaryIO:
    """Open a file for reading, through gzip when its first byte says so."""
    if path == STANDARD_INPUT and sys.stdin is None:
        raise UsageError("standard input is closed; give a file")
    try:
        stream = sys.stdin.buffer if path == STANDARD_INPUT else path.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    # Peeking works on pipes too, which cannot be wound back.
    compressed = cast("Any", stream).peek(1)[:1] == _GZIP
    return cast("BinaryIO", gzip.open(stream, "rb")) if compressed else stream


def parse_lines(stream: IO[bytes]) -> Iterator[Line]:
    """Yield the JSON values of a stream as soon as each line is complete.

    Blank lines are skipped, and a line with a list gives its items. A stream whose first line
    only begins a JSON document (pretty-printed) is read as that document, until it is complete
    or a line shows that the first one was merely cut off.
    """
    lines = enumerate(_raw_lines(stream), start=1)
    begun = False
    for number, raw in lines:
        line, unfinished = _parse(number, raw)
        if line is None:
            continue
        yield from _document(number, raw, lines) if unfinished and not begun else _items(line)
        begun = True


def _raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines without a byte-order mark, each cut one byte past the limit."""
    mark = codecs.BOM_UTF8
    while raw := stream.readline(LONGEST_LINE + 1):
        yield raw.removeprefix(mark)
        mark = b""
        while len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
            raw = stream.readline(LONGEST_LINE + 1)


def _parse(number: int, raw: bytes) -> tuple[Line | None, bool]:
    """Return the line (None when blank) and whether it only begins a document."""
    if len(raw) > LONGEST_LINE:
        return Line(number, None, f"line is longer than {LONGEST_LINE} bytes"), False
    try:
        text = raw.decode("utf-8").strip()
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


def _items(line: Line) -> Iterator[Line]:
    """Yield a line, or each item of the list that it holds."""
    if not isinstance(line.value, list):
        yield line
        return
    for item, value in enumerate(line.value, start=1):
        yield Line(line.number, value, None, item)


def _document(first: int, head: bytes, lines: Iterator[tuple[int, bytes]]) -> Iterator[Line]:
    """Yield the document that begins with `head`; without one, the lines that were read for it."""
    taken, before = [(first, head)], head
    size, depth = len(head), _depth(head)
    for number, raw in lines:
        taken.append((number, raw))
        size += len(raw)
        depth += _depth(raw)
        if depth <= 0 or size > LONGEST_LINE or _begins_anew(head, before, raw):
            break
        before = raw if raw.strip() else before
    whole, _ = _parse(first, b"".join(raw for _, raw in taken))
    if whole is not None and whole.error is None:
        yield from _items(whole)
        return
    for number, raw in taken:
        line, _ = _parse(number, raw)
        if line is not None:
            yield from _items(line)


def _depth(raw: bytes) -> int:
    """Return how many more brackets a line opens than it closes, outside of strings."""
    bare = _STRING.sub(b"", raw)
    opened = bare.count(b"{") + bare.count(b"[")
    return opened - bare.count(b"}") - bare.count(b"]")


def _begins_anew(head: bytes, before: bytes, raw: bytes) -> bool:
    """Tell whether a line cannot belong to the document that `head` began.

    That is so where an object or list follows what ends a value, and where an instance would lie
    inside of an instance.
    """
    if raw.lstrip()[:1] not in (b"{", b"["):
        return False
    if before.rstrip()[-1:] not in (b"[", b",", b":"):
        return True
    line, _ = _parse(1, raw)
    alone = None if line is None else line.value
    return head.lstrip().startswith(b"{") and isinstance(alone, dict) and "sources" in alone


def read_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, object) of a file of JSON objects; see ``read_lines``.

    Raises:
        UsageError: The file cannot be opened.
        PactError: A value is not a JSON object, or the file cannot be read to its end.
    """
    for line in read_lines(path):
        if line.error is not None:
            raise PactError(f"{path}, {line.place}: {line.error}; mend the line")
        if not isinstance(line.value, dict):
            raise PactError(f"{path}, {line.place}: not a JSON object")
        yield line.place, line.value


def lines_to_bytes(objects: Iterable[dict[str, Any]], *, compress: bool) -> bytes:
    """Return JSON lines as ASCII bytes, the same bytes for the same objects."""
    text = "".join(json.dumps(o) + "\n" for o in objects).encode("ascii")
    return gzip.compress(text, mtime=0) if compress else text
