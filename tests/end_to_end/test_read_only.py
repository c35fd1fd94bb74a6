"""Disks that cannot be written or read: one line, nothing changed.

Root may write anywhere; the commands run without the capabilities that allow it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import PACT

CONFINED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner")

Confined = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def confined(tmp_path: Path) -> Confined:
    """Return a function that runs `pact` as one whom file permissions bind, or skip."""
    prefix = CONFINED if os.getuid() == 0 else ()
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    if prefix and shutil.which(prefix[0]) is None:
        pytest.skip("setpriv is not installed")
    if subprocess.run([*prefix, "touch", closed / "x"], capture_output=True).returncode == 0:
        pytest.skip("permissions do not bind this user")

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, PACT, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
        )

    return run


@pytest.fixture
def read_only(small_run: Path) -> Iterator[Path]:
    """Return a run folder in which nothing can be written."""
    folders = [small_run, *(path for path in small_run.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield small_run
    for folder in folders:
        folder.chmod(0o755)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "--backend", "kinematic"],
        ["evaluate", "design"],
        ["generate"],
        ["simulate", "1", "--backend", "kinematic"],
        ["sweep", "--points", "1", "--jobs", "1"],
        ["report"],
    ],
    ids=lambda command: command[0],
)
def test_read_only_run_is_one_line(read_only: Path, confined: Confined, command: list[str]) -> None:
    """A command that writes says that it cannot, and where."""
    result = confined(*command, "--quiet", "--output", read_only)
    assert result.returncode == 1, result.stderr
    assert result.stderr.startswith(f"pact: cannot write {read_only}")
    assert "Permission denied" in result.stderr
    assert result.stderr.count("\n") == 1


def test_import_into_a_read_only_folder_is_one_line(
    small_run: Path, tmp_path: Path, pact, confined: Confined
) -> None:
    """So does an import, into a run and into an empty folder."""
    pact("export", tmp_path / "out", "--to", "recording", "-o", small_run, check=True)
    target = tmp_path / "target"
    pact("import", tmp_path / "out", "-o", target, check=True)
    (target / ".lock").unlink()
    target.chmod(0o555)
    for folder in (target, tmp_path / "closed"):
        result = confined("import", tmp_path / "out", "--quiet", "--output", folder)
        assert result.returncode == 1, result.stderr
        assert result.stderr.startswith(f"pact: cannot write {folder}")
        assert result.stderr.count("\n") == 1


def test_reading_needs_no_writing(read_only: Path, confined: Confined) -> None:
    """What only reads works on a read-only disk."""
    for command in (["status", read_only], ["compare", read_only], ["verify", read_only]):
        result = confined(*command)
        assert "cannot" not in result.stderr
        assert "Traceback" not in result.stderr
        assert result.stdout


def test_unreadable_files_are_named(small_run: Path, confined: Confined) -> None:
    """`verify` names a file that cannot be read and goes on; a command that needs it stops."""
    for name in ("instances.parquet", "studies/design.json"):
        (small_run / name).chmod(0)
    result = confined("verify", small_run)
    assert result.returncode == 1
    assert "instances.parquet: unreadable (Permission denied)" in result.stdout
    assert "studies/design.json: unreadable" in result.stdout
    result = confined("evaluate", "design", "--quiet", "-o", small_run)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "instances.parquet: unreadable (Permission denied)" in result.stderr
    (small_run / "run.json").chmod(0)
    result = confined("status", small_run)
    assert result.returncode == 2
    assert "cannot read" in result.stderr
