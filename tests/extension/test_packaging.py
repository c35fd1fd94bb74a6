"""The packaged extensions: self-contained, the same bytes again, Isaac Sim names that exist."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

KIT = {"carb", "omni", "isaacsim"}
UI = {"omni.ui", "omni.kit.viewport", "omni.kit.menu", "omni.kit.window", "pact_handover_ui"}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Both extensions, packaged."""
    output = tmp_path_factory.mktemp("package")
    script = ROOT / "scripts" / "package_extension.py"
    subprocess.run([sys.executable, script, "--output", output], check=True, capture_output=True)
    return output


IMPORT_ALL = """
import importlib, importlib.util, pkgutil, sys
from pathlib import Path

class Only:
    allowed = set(sys.stdlib_module_names) | {"numpy", "pxr", "pact_core", "pact_scenes",
        "pact_configs", "pact_handover", "pact_handover_ui", "_distutils_hack"}
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in self.allowed:
            raise ModuleNotFoundError(f"not in Kit: {name}", name=name)
        return None

package, bundle = Path(sys.argv[1]), Path(sys.argv[1]) / "pact.handover" / "pip_prebundle"
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
sys.meta_path.insert(0, Only())
sys.path[:0] = [str(package / "pact.handover"), str(package / "pact.handover.ui")]
import pact_handover, pact_handover_ui
import pact_core, pact_scenes, pact_configs
for module in (pact_core, pact_scenes, pact_configs):
    assert Path(module.__file__).is_relative_to(bundle), module.__file__
count = 0
for root in (pact_core, pact_scenes, pact_handover, pact_handover_ui):
    for info in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        try:
            importlib.import_module(info.name)
        except ModuleNotFoundError as missing:
            if missing.name.split(".")[0] not in ("omni", "carb", "isaacsim"):
                raise
            continue
        count += 1
from pact_scenes.catalogue import load_catalogue
from pact_scenes.model import build_model
from pact_handover.session import HandoverSession
from pact_handover.options import Options
session = HandoverSession(Options(), print, backend="kinematic")
session.open("scene_001")
for spec in load_catalogue():
    build_model(spec)
print(count)
"""


def test_package_imports_with_numpy_and_pxr_alone(package):
    """Every module of the package that needs no Kit loads from the package, without others."""
    result = subprocess.run(
        [sys.executable, "-B", "-c", IMPORT_ALL, package],
        capture_output=True,
        text=True,
        cwd=package,
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout.split()[-1]) > 40


def test_package_is_deterministic(package, tmp_path):
    """The zips of the same sources are equal, and hold what the folders hold."""
    script = ROOT / "scripts" / "package_extension.py"
    subprocess.run([sys.executable, script, "--output", tmp_path], check=True, capture_output=True)
    for name in ("pact.handover", "pact.handover.ui"):
        assert (tmp_path / f"{name}.zip").read_bytes() == (package / f"{name}.zip").read_bytes()
        with zipfile.ZipFile(package / f"{name}.zip") as zipped:
            files = {p.relative_to(package).as_posix() for p in (package / name).rglob("*.*")}
            assert files <= set(zipped.namelist()) | {
                p.relative_to(package).as_posix() for p in package.rglob("*") if p.is_dir()
            }
            assert not [n for n in zipped.namelist() if "__pycache__" in n or "tests/kit" in n]


def modules(folder: Path) -> list[Path]:
    """Return the Python files of an extension, its own tests left out."""
    return [path for path in folder.rglob("*.py") if "tests" not in path.parts]


def imported(path: Path) -> set[str]:
    """Return the full names of all modules that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_headless_extension_imports_no_user_interface():
    """No file of pact.handover names a user-interface module."""
    for path in modules(ROOT / "extension" / "pact.handover"):
        found = {name for name in imported(path) if any(name.startswith(ui) for ui in UI)}
        assert not found, f"{path}: {found}"


def test_kit_names_are_gathered():
    """Only the `kit` modules, the extension classes and the commands import Kit."""
    for name in ("pact.handover", "pact.handover.ui"):
        for path in modules(ROOT / "extension" / name):
            uses = {n.split(".")[0] for n in imported(path)} & KIT
            allowed = path.parent.name == "kit" or path.name in ("extension.py", "commands.py")
            assert allowed or not uses, f"{path}: {uses}"


def test_isaac_sim_names_exist_in_both_versions(shared):
    """No name or keyword is missing in Isaac Sim 5.1.0 or 6.0.1."""
    checker = shared / "isaacsim" / "check_api.py"
    folders = [ROOT / "extension", ROOT / "scripts", ROOT / "scenes"]
    result = subprocess.run([sys.executable, checker, *folders], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert " 0 errors" in result.stderr
