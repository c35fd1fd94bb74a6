"""Start and end Isaac Sim from a script, for versions 5.1 and 6.x."""

from __future__ import annotations

import inspect
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, NoReturn

EXTENSIONS = Path(__file__).resolve().parent.parent / "extension"


def start(*, enable: tuple[str, ...] = (), threads: int = 2) -> Any:
    """Start the application without a window; return it.

    Args:
        enable: Extensions of this repository to enable.
        threads: Processor threads that Kit may use.
    """
    # Kit's interpreter has nothing of ours installed; only the extension's own package is added.
    sys.path.insert(0, str(EXTENSIONS / "pact.handover"))
    try:
        from isaacsim import SimulationApp
    except ImportError:
        sys.exit(
            "Isaac Sim is not here. Run this with its own Python, for example "
            "~/isaacsim/python.sh scripts/isaac_run.py, or use the backend "
            "that needs no Isaac Sim: pact simulate."
        )
    app = SimulationApp(
        {
            "headless": True,
            "disable_viewport_updates": True,
            "limit_cpu_threads": threads,
            "extra_args": ["--ext-folder", str(EXTENSIONS)],
        }
    )
    import omni.kit.app

    manager = omni.kit.app.get_app().get_extension_manager()
    manifest = tomllib.loads((EXTENSIONS / "pact.handover/config/extension.toml").read_text())
    for name in (*manifest["dependencies"], *enable):
        manager.set_extension_enabled_immediate(name, True)
    return app


def finish(app: Any, code: int) -> NoReturn:
    """End the application and the process with an exit code, which 5.1 cannot do by itself."""
    sys.stdout.flush()
    sys.stderr.flush()
    if "exit_code" in inspect.signature(app.close).parameters:
        app.close(exit_code=code)
    elif code == 0:
        app.close()
    os._exit(code)
