"""Read MATLAB files of known data sets, bounded in size and checked before use."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.errors import UsageError

MAXIMUM_FILE_BYTES = 256 * 1024 * 1024
MAXIMUM_UNPACKED_BYTES = 1024 * 1024 * 1024
HEADER_BYTES = 128
COMPRESSED_ELEMENT = 15
CHUNK = 1 << 20


def check_mat_file(path: Path) -> None:
    """Walk through a MAT 5 file without building arrays.

    Raises:
        UsageError: The file is absent, of another kind, cut short, damaged, or larger (as it lies
            or unpacked) than is accepted.
    """
    if not path.is_file():
        raise UsageError(f"no data file at {path}")
    size = path.stat().st_size
    if size > MAXIMUM_FILE_BYTES:
        raise UsageError(f"{path} has {size} bytes, more than the {MAXIMUM_FILE_BYTES} accepted")
    with path.open("rb") as stream:
        header = stream.read(HEADER_BYTES)
        if len(header) < HEADER_BYTES or not header.startswith(b"MATLAB 5.0"):
            raise UsageError(f"{path} is not a MATLAB 5 file: fetch it again, or save it with -v7")
        order = "<" if header[126:128] == b"IM" else ">"
        unpacked, position = 0, HEADER_BYTES
        while position < size:
            tag = stream.read(8)
            kind, length = struct.unpack(order + "II", tag) if len(tag) == 8 else (0, size)
            if position + 8 + length > size:
                raise UsageError(f"{path} is cut short: fetch it again")
            body = stream.read(length)
            unpacked += _unpacked_bytes(path, body) if kind == COMPRESSED_ELEMENT else length
            if unpacked > MAXIMUM_UNPACKED_BYTES:
                raise UsageError(f"{path} unpacks to more than {MAXIMUM_UNPACKED_BYTES} bytes")
            position += 8 + length


def _unpacked_bytes(path: Path, body: bytes) -> int:
    """Length of a compressed element, counted without keeping it; stops just above the bound."""
    machine, total, rest = zlib.decompressobj(), 0, body
    try:
        while rest and total <= MAXIMUM_UNPACKED_BYTES:
            total += len(machine.decompress(rest, CHUNK))
            rest = machine.unconsumed_tail
        if total <= MAXIMUM_UNPACKED_BYTES and not machine.eof:
            raise UsageError(f"{path} is damaged (an array ends early): fetch it again")
    except zlib.error as error:
        raise UsageError(f"{path} is damaged ({error}): fetch it again") from None
    return total


def load_mat(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Load the named variables of a checked MAT file; a missing one is an error."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    check_mat_file(path)
    try:
        content = loadmat(str(path), variable_names=list(names))
    except (
        MatReadError,
        NotImplementedError,
        OSError,
        TypeError,
        ValueError,
        IndexError,
        KeyError,
        zlib.error,
    ) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UsageError(f"{path} is not readable ({reason}): fetch it again") from None
    for name in names:
        if name not in content:
            raise UsageError(f"{path} lacks the variable {name!r}: is it the right file?")
    return {name: np.asarray(content[name]) for name in names}
