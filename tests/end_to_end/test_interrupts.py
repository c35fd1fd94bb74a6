"""Ctrl-C, SIGTERM and SIGKILL: a clean end, true words about going on, no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import PACT

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found in /proc")


def start(*arguments: str | Path, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Start `pact` in a process group of its own, as a shell does."""
    return subprocess.Popen(
        [PACT, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait for a condition; fail when it does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def group(process: subprocess.Popen[str]) -> set[int]:
    """Return the processes of a command that are still running."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if int(fields[2]) == process.pid and fields[0] != "Z":
            found.add(int(entry.name))
    return found


def ended(process: subprocess.Popen[str]) -> str:
    """Return what a stopped command said, once every process of it is gone."""
    _, errors = process.communicate(timeout=60)
    wait_until(lambda: not group(process), 15)
    assert "Traceback" not in errors
    return errors


@pytest.fixture
def rollouts(tmp_path: Path) -> subprocess.Popen[str]:
    """Return a run in the middle of its rollouts, with two workers."""
    process = start("run", "--backend", "kinematic", "--jobs", "2", "-o", tmp_path / "run")
    wait_until(lambda: list((tmp_path / "run").rglob("shards/rollouts/*/*.json")))
    return process


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_workers_end_with_their_run(
    rollouts: subprocess.Popen[str], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """However a run is stopped, its workers end with it and what is finished stays."""
    assert len(group(rollouts)) > 2
    rollouts.send_signal(number)
    errors = ended(rollouts)
    assert rollouts.returncode == code
    if number is not signal.SIGKILL:
        assert "the same command goes on from here" in errors
    assert list((tmp_path / "run").rglob("shards/rollouts/*/*.json"))


@pytest.mark.parametrize("delay", [0.0, 0.2, 0.5, 0.9])
def test_interrupt_while_workers_start(tmp_path: Path, delay: float) -> None:
    """A terminal's Ctrl-C reaches the workers too; none of them prints a traceback."""
    process = start("run", "--backend", "kinematic", "--jobs", "2", "-o", tmp_path / "run")
    wait_until((tmp_path / "run" / "run.json").exists)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    assert "interrupted" in ended(process)
    assert process.returncode == 130


def test_interrupted_sweep_goes_on(small_run: Path, pact) -> None:
    """Ctrl-C in the middle of a sweep keeps its points; the same command ends with the rest."""
    command = ["sweep", "--points", "48", "--jobs", "2", "-o", small_run]
    process = start(*command)
    wait_until(lambda: len(list((small_run / "sweep").rglob("p*.json"))) > 3)
    os.killpg(process.pid, signal.SIGINT)
    assert "the same command goes on from here" in ended(process)
    assert process.returncode == 130
    shards = list((small_run / "sweep").rglob("p*.json.sha256"))
    kept = {path: path.stat().st_mtime_ns for path in shards}
    assert 0 < len(kept) < 48
    pact(*command, "--quiet", check=True)
    assert {path: path.stat().st_mtime_ns for path in shards} == kept
    assert len(list((small_run / "sweep").rglob("p*.json"))) == 48


def test_commands_that_keep_nothing_promise_nothing() -> None:
    """`pact decide` cannot go on, and does not say so."""
    process = start("decide", stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write('{"sources": []}\n')
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert ended(process) == "pact: interrupted\n"
    assert process.returncode == 130


def test_workers_follow_a_parent_that_is_gone(tmp_path: Path) -> None:
    """A process that follows a parent ends as soon as that one is not its parent any more."""
    code = "from pact_benchmark.workers import follow; import time; follow(1); time.sleep(60)"
    done = subprocess.run([sys.executable, "-c", code], timeout=30)
    assert done.returncode == 1
