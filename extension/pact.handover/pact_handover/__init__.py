"""PACT at every physics step of a handover: the headless half of the Isaac Sim extension.

Inside Kit the module exposes the extension class; outside only the plain Python parts load.
"""

from __future__ import annotations

import importlib.util

from ._bootstrap import ensure_packages

ensure_packages()


def _inside_kit() -> bool:
    try:
        return importlib.util.find_spec("omni.ext") is not None
    except (ModuleNotFoundError, ValueError):
        return False


if _inside_kit():
    from .api import get_interface
    from .extension import Extension

    __all__ = ["Extension", "get_interface"]
else:
    __all__ = []
