"""Bounds on files that come from outside, checked before anything of them is kept."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

_BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"


def larger_than(path: Path, limit: int) -> bool:
    """Tell whether a file has more than `limit` bytes, or unpacks to more where it is gzip.

    A damaged file counts as far as it can be unpacked; its reader says what is wrong with it.
    """
    if path.stat().st_size > limit:
        return True
    with path.open("rb") as stream:
        if stream.read(2) != _GZIP:
            return False
    total = 0
    try:
        with gzip.open(path, "rb") as unpacked:
            while total <= limit and (block := unpacked.read(_BLOCK)):
                total += len(block)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        pass
    return total > limit
