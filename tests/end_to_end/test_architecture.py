"""The rules of the layout: one-way layers, NumPy-only core, Kit names only where they belong."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

KIT = {"omni", "carb", "isaacsim", "usdrt"}
USD = {"pxr", "ovphysx", "ovstage"}
USD_ALLOWED = (
    "scenes/pact_scenes/stage",
    "scenes/pact_scenes/simulators",
    "scenes/pact_scenes/validation",
)
PACKAGES = ("pact_core", "scenes/pact_scenes", "benchmark/pact_benchmark")


def sources() -> list[Path]:
    """Return every Python file of the distribution."""
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Return the top-level names that a file imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_stay_in_their_layer(path: Path) -> None:
    """No file imports upwards, and Kit and USD are named only where they belong."""
    names = imported(path)
    place = path.relative_to(ROOT).as_posix()
    if place.startswith("pact_core"):
        assert not names & {"pact_scenes", "pact_benchmark"}
    if place.startswith("scenes"):
        assert "pact_benchmark" not in names
    if place == "scenes/pact_scenes/validation.py":
        names.discard("omni")  # the asset validator's namespace; it runs without Kit
    if place != "scenes/pact_scenes/simulators/isaac.py":
        assert not names & KIT
    if not place.startswith(USD_ALLOWED) and not place.startswith(
        "benchmark/pact_benchmark/preview"
    ):
        assert not names & USD


def test_every_package_is_declared() -> None:
    """The packages that the build declares are the packages that there are."""
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    roots = {name: ROOT / folder for name, folder in declared["package-dir"].items()}
    found = set()
    for name, folder in roots.items():
        for init in folder.rglob("__init__.py"):
            parts = init.parent.relative_to(folder).parts
            found.add(".".join((name, *parts)))
    assert found == set(declared["packages"])
