"""What a worker of the sweep costs: few imports, one thread, no memory asked for again."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pact_benchmark.sweep.backends import run_shards
from pact_benchmark.sweep.memory import keep_freed_memory
from pact_benchmark.sweep.shards import ShardFolder

FAULTS = """
import resource, sys
import numpy as np
from pact_benchmark.sweep.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def work():
    return sum(np.ones(500_000) for _ in range(3))[0]
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def python(*arguments: str) -> str:
    """Return what a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout


def test_a_worker_imports_neither_drawing_nor_statistics():
    """The module that workers load leaves out what only the summary and the design need."""
    loaded = python("-c", "import sys, pact_benchmark.sweep.point; print(*sys.modules)").split()
    assert not {"matplotlib", "scipy.stats", "sklearn", "joblib"} & set(loaded)


@pytest.mark.skipif(not keep_freed_memory(), reason="the C library has no mallopt")
def test_freed_memory_is_used_again():
    """Arrays of four megabytes cost page faults each time, unless freed memory is kept."""
    assert int(python("-c", FAULTS, "keep")) * 20 < int(python("-c", FAULTS, "return"))


def note_threads(_: None, task: int) -> bytes:
    """Return the thread limits that this process was started with."""
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return " ".join(os.environ[name] for name in limits).encode()


def test_workers_have_one_thread_and_the_caller_goes_on_meanwhile(tmp_path):
    """Each worker computes with one thread; the main process has its own work to do."""
    shards = ShardFolder(tmp_path, "0" * 64, ".txt")
    called = []
    tasks = {"a": 1, "b": 2}
    run_shards(
        note_threads,
        None,
        tasks,
        shards,
        title="job",
        jobs=2,
        meanwhile=lambda: called.append("now"),
    )
    assert called == ["now"]
    assert [shards.read(name) for name in tasks] == [b"1 1 1", b"1 1 1"]
