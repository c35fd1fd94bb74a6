"""Worker processes that belong to the process that started them: they stop with it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

_LOOK_EVERY = 0.5
"""Seconds between two looks at the parent process."""


def worker_pool(jobs: int, **options: Any) -> Any:
    """Return a `joblib.Parallel` of worker processes with one thread each; see `follow`."""
    from joblib import Parallel

    return Parallel(
        n_jobs=jobs,
        backend="loky",
        inner_max_num_threads=1,
        initializer=follow,
        initargs=(os.getpid(),),
        **options,
    )


def follow(parent: int) -> None:
    """End this process soon after the process `parent`, which started it, has ended.

    A parent that is killed cannot stop its workers, and they would wait for work for minutes.
    """

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        os._exit(1)

    threading.Thread(target=look, name="follow-parent", daemon=True).start()


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Let processes that are started inside not hear Ctrl-C.

    A terminal sends it to every process of the command; this one stops its workers itself. It hears
    of a Ctrl-C that comes meanwhile at the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    resource_tracker.ensure_running()  # joblib uses it, and starting it ends a block of Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
