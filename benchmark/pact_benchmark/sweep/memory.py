"""Memory of long jobs that allocate and free the same large arrays over and over."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

LARGEST = 1 << 25
"""Bytes up to which a freed array is kept for the next one: what the C library takes at most."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


@cache
def keep_freed_memory() -> bool:
    """Let this process reuse freed memory rather than return it, and tell whether it does.

    The C library otherwise hands large arrays back to the system, which clears every page before
    it gives it out again: a fifth of the time of a point. Without glibc nothing is changed.
    """
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    kept = mallopt(_M_MMAP_THRESHOLD, LARGEST) and mallopt(_M_TRIM_THRESHOLD, 16 * LARGEST)
    return bool(kept)
