"""One writer per folder, by a lock that the operating system drops when its process ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pact_benchmark.errors import PactError, cannot_write

_LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for writing, without what a killed writer left behind.

    Raises:
        PactError: another process holds it, or nothing can be written there.
    """
    with _opened(folder) as stream:
        _claim(folder, stream)
        yield


def _opened(folder: Path) -> BinaryIO:
    """Return the lock file of a folder; closing it gives the folder free."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / _LOCK).open("a+b")
    except OSError as error:
        raise cannot_write(folder / _LOCK, error) from error


def _claim(folder: Path, stream: BinaryIO) -> None:
    """Take the lock, name this process in it, and clear what a killed writer left."""
    if not _try_lock(stream):
        stream.seek(0)
        holder = stream.read(40).decode("ascii", "replace") or "unknown"
        raise PactError(
            f"{folder} is in use by another process (pid {holder}); wait for it to end,"
            " or give another --output"
        )
    try:
        stream.seek(0)
        stream.truncate()
        stream.write(str(os.getpid()).encode("ascii"))
        stream.flush()
        for remains in folder.rglob(".*.tmp"):
            remains.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(folder / _LOCK, error) from error


def _try_lock(stream: BinaryIO) -> bool:
    """Take an advisory lock and tell whether it was free."""
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
