"""`pact simulate`: the same bytes for any number of workers, and clear failures."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from pact_scenes.simulators import available_backends
from tests.conftest import PACT

physx = pytest.mark.skipif(
    available_backends()["physx"] is not None, reason="PhysX is not installed"
)
RESULTS = ("observations.parquet", "events.jsonl")


def _bytes(run: Path) -> list[bytes]:
    return [(run / name).read_bytes() for name in RESULTS]


@physx
@pytest.mark.physx
def test_workers_do_not_change_physx_results(pact, tmp_path):
    """One worker and two give the same bytes."""
    scenes = ("1", "6", "13")
    for jobs in ("1", "2"):
        done = pact(
            "simulate", *scenes, "--backend", "physx", "-j", jobs, "-o", tmp_path / jobs, "-q"
        )
        assert done.returncode == 0, done.stderr
    assert _bytes(tmp_path / "1") == _bytes(tmp_path / "2")


def test_killed_worker_is_replaced(pact, tmp_path):
    """A worker that is killed costs no scene, and the result is that of an undisturbed run."""
    command = [PACT, "simulate", "side_by_side", "--backend", "kinematic", "-j", "2", "-o", "hurt"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    victim = _first_worker(process.pid, tmp_path / "hurt" / "shards")
    if victim is not None:
        victim.kill()
    _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert victim is None or "killed" in said
    undisturbed = pact(
        "simulate", "side_by_side", "--backend", "kinematic", "-j", "1", "-o", tmp_path / "whole"
    )
    assert undisturbed.returncode == 0
    assert _bytes(tmp_path / "hurt") == _bytes(tmp_path / "whole")
    assert not list(tmp_path.rglob("*.tmp"))


def _first_worker(pid: int, shards: Path) -> psutil.Process | None:
    """A worker that has begun to write shards, or None when all is over before."""
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        if any(shards.rglob("scene_*")):
            try:
                children = psutil.Process(pid).children(recursive=True)
            except psutil.NoSuchProcess:
                return None
            workers = [c for c in children if "loky" in " ".join(c.cmdline())]
            workers = [c for c in workers if "resource_tracker" not in " ".join(c.cmdline())]
            return workers[0] if workers else None
        time.sleep(0.02)
    return None


def test_full_disk_is_reported_and_the_rest_is_finished_later(pact, tmp_path):
    """A disk that fills up ends the command with one line; the same command finishes the rest."""

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    command = [PACT, "simulate", "1", "2", "--backend", "kinematic", "--jobs", "1", "-o", "run"]
    failed = subprocess.run(
        command,
        cwd=tmp_path,
        preexec_fn=small_disk,
        capture_output=True,
        text=True,
        timeout=200,
        env=dict(os.environ),
    )
    assert failed.returncode == 1
    assert "cannot write" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not (tmp_path / "run" / "observations.parquet").exists()
    assert not list(tmp_path.rglob("*.tmp"))
    assert pact(*command[1:], cwd=tmp_path).returncode == 0
    assert (tmp_path / "run" / "observations.parquet").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("scene_777",), "scene_001 to scene_048"),
        (("--backend", "bullet"), "no backend 'bullet'"),
        (("--backend", "isaac"), "Isaac Sim not found"),
    ],
)
def test_wrong_request_is_one_line(pact, tmp_path, arguments, words):
    """An unknown scene, an unknown backend or an absent one: exit code 2 and one line."""
    answer = pact("simulate", *arguments, "--output", tmp_path / "run")
    assert answer.returncode == 2
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr
