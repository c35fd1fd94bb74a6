"""Fixtures that every part of the suite shares."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
PACT = Path(sys.executable).with_name("pact")

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder with reference data beside the repository, or skip."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the reference data beside the repository is not here")
    return folder


Pact = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def pact() -> Pact:
    """Return a function that runs the real `pact` command in a process of its own."""

    def run(
        *arguments: str | Path,
        cwd: Path | None = None,
        stdin: str | None = None,
        check: bool = False,
        env: dict[str, str] | None = None,
        timeout: float = 280,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PACT, *map(str, arguments)],
            cwd=cwd,
            input=stdin,
            check=check,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
        )

    return run


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory, pact: Pact) -> Path:
    """Return a finished run of the whole main job on the kinematic backend; do not write to it.

    The first worker that needs it makes it; the others wait for that one.
    """
    shared_root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared_root = shared_root.parent
    folder = shared_root / "finished" / "runs" / "default"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (shared_root / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = pact("run", "--backend", "kinematic", "--jobs", "2", "--quiet", "-o", folder)
        assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def run_copy(finished_run: Path, tmp_path: Path) -> Path:
    """Return a copy of the finished run that a test may write to."""
    return Path(shutil.copytree(finished_run, tmp_path / "copy"))
