"""How this installation was made, and how to add to it."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

DISTRIBUTION = "pact-handover"


def checkout() -> Path | None:
    """Return the folder of the source checkout that this package runs from, or None."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() else None


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation; it works from any folder."""
    pip = f"{shlex.quote(sys.executable)} -m pip install"
    root = checkout()
    if root is not None:
        return f"{pip} -e {shlex.quote(f'{root}[{extra}]')}"
    return f"{pip} {shlex.join(_needs(extra))}"


def _needs(extra: str) -> list[str]:
    """Return what an extra asks for, as the installed distribution says."""
    try:
        needs = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        needs = []
    marked = re.compile(rf"extra == ['\"]{re.escape(extra)}['\"]")
    found = [need.partition(";")[0].strip() for need in needs if marked.search(need)]
    return found or [f"{DISTRIBUTION}[{extra}]"]
