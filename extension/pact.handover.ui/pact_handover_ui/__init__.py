"""The panel and the viewport overlay of PACT Handover.

Inside Kit the module exposes the extension class; outside only the view model and the still
picture load.
"""

from __future__ import annotations

import importlib.util


def _inside_kit() -> bool:
    try:
        return importlib.util.find_spec("omni.ext") is not None
    except (ModuleNotFoundError, ValueError):
        return False


if _inside_kit():
    from .extension import Extension

    __all__ = ["Extension"]
else:
    __all__ = []
