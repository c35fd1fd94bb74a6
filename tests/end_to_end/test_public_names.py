"""The public names: a change of them is deliberate."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SNAPSHOT = Path(__file__).with_name("public_names.json")
MODULES = ("pact_core", "pact_scenes", "pact_benchmark.study", "pact_benchmark.store")


def public_names(module: str) -> list[str]:
    """Return the public names of a module, in a process of its own."""
    code = (
        f"import importlib, json, types; m = importlib.import_module({module!r})\n"
        "own = lambda n: getattr(getattr(m, n), '__module__', m.__name__)\n"
        "names = getattr(m, '__all__', None) or [n for n in vars(m) if not n.startswith('_')\n"
        "    and not isinstance(getattr(m, n), types.ModuleType) and own(n) == m.__name__]\n"
        "print(json.dumps(sorted(names)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return list(json.loads(out.stdout))


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_as_recorded(module: str) -> None:
    """A name that is added or removed is recorded in `public_names.json` and the changelog."""
    recorded = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    assert public_names(module) == recorded[module]
