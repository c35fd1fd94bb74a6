"""Errors that are the user's to mend: one line that says what, where and what to do."""

from __future__ import annotations

from pathlib import Path


class PactError(Exception):
    """A failure that the user can act on; the command line prints its text without a traceback.

    Attributes:
        exit_code: 1 when work failed, 2 when the request itself was wrong.
    """

    exit_code = 1


class UsageError(PactError):
    """The request cannot be carried out as it was given (wrong option, file, key or value)."""

    exit_code = 2


def cannot_write(path: Path, error: OSError) -> PactError:
    """Return the error for a place that cannot be written to."""
    return PactError(
        f"cannot write {path}: {error.strerror or error}; free or unlock the disk and run the same"
        " command again, finished work is kept"
    )
