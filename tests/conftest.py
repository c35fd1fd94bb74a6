"""Fixtures that every part of the suite shares."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


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
