"""An interrupted installation starts again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def make_venv(folder: Path) -> None:
    """Make the environment as `make install` does first."""
    subprocess.run(["make", "venv", f"PYTHON={sys.executable}"], cwd=folder, check=True)


def test_half_made_environment_is_made_anew(root: Path, tmp_path: Path) -> None:
    """An environment that was killed before it had pip gets one; a whole one is kept."""
    shutil.copy(root / "Makefile", tmp_path)
    environment = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    make_venv(tmp_path)
    subprocess.run([environment / "bin" / "python", "-m", "pip", "--version"], check=True)
    (environment / "kept").touch()
    make_venv(tmp_path)
    assert (environment / "kept").exists()
