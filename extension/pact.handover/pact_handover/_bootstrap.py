"""Make PACT's own packages importable inside Kit, without touching `sys.path` of others.

Kit's interpreter does not read PYTHONPATH. The packages are looked for, in this order: in the
extension's own `pip_prebundle` (the packaged form), among the installed packages, in the checkout
named by the variable PACT_ROOT, and in the checkout that holds this file.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = {
    "pact_configs": "configs",
    "pact_core": "pact_core",
    "pact_scenes": "scenes/pact_scenes",
}
"""Import name and place in a checkout; in `pip_prebundle` the folder has the import name."""
EXTENSION_ROOT = Path(__file__).resolve().parent.parent


def _candidates(name: str, place: str) -> Iterator[Path | None]:
    """Yield the folders to try; None stands for "installed"."""
    yield EXTENSION_ROOT / "pip_prebundle" / name
    if importlib.util.find_spec(name) is not None:
        yield None
    if os.environ.get("PACT_ROOT"):
        yield Path(os.environ["PACT_ROOT"]) / place
    for folder in EXTENSION_ROOT.parents:
        yield folder / place


def _load(name: str, folder: Path) -> None:
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"Cannot load {name} from {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def ensure_packages() -> None:
    """Make PACT's packages importable, or raise an error that names the places.

    Raises:
        ImportError: If one of the packages is in none of the four places.
    """
    for name, place in PACKAGES.items():
        if name in sys.modules:
            continue
        for folder in _candidates(name, place):
            if folder is None:
                break
            if (folder / "__init__.py").is_file():
                _load(name, folder)
                break
        else:
            raise ImportError(
                f"{name} was not found. Use the packaged extension (with a pip_prebundle folder), "
                f"install pact-handover into Isaac Sim's Python, or set PACT_ROOT to a checkout."
            )
