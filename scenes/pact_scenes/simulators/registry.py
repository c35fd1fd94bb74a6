"""Find out which backends work here, and open one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Final

from pact_scenes.installation import install_command
from pact_scenes.simulators.protocol import BackendUnavailableError, Simulator

__all__ = [
    "BACKENDS",
    "available_backends",
    "choose_backend",
    "open_simulator",
    "register_backend",
]

BACKENDS: Final = ("kinematic", "physx", "isaac")


def _missing_physx() -> str | None:
    needed = ("pxr", "ovphysx", "ovstage", "physx_usd_schemas")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if not missing:
        return None
    return f"{', '.join(missing)} not installed; run: {install_command('sim')}"


def _missing_isaac() -> str | None:
    if "omni.kit.app" in sys.modules or importlib.util.find_spec("isaacsim") is not None:
        return None
    return (
        "Isaac Sim not found; run inside its Python: ./python.sh scripts/isaac_run.py, "
        "or run: pip install isaacsim"
    )


def _kinematic() -> Simulator:
    from pact_scenes.simulators.kinematic import KinematicSimulator

    return KinematicSimulator()


def _physx() -> Simulator:
    from pact_scenes.simulators.physx import PhysxSimulator

    return PhysxSimulator()


def _isaac() -> Simulator:
    from pact_scenes.simulators.isaac import IsaacSimulator

    simulator: Simulator = IsaacSimulator()
    return simulator


_CHECKS: Final[dict[str, Callable[[], str | None]]] = {
    "kinematic": lambda: None,
    "physx": _missing_physx,
    "isaac": _missing_isaac,
}
_OPENERS: Final[dict[str, Callable[[], Simulator]]] = {
    "kinematic": _kinematic,
    "physx": _physx,
    "isaac": _isaac,
}


def register_backend(
    name: str, opener: Callable[[], Simulator], missing: Callable[[], str | None] = lambda: None
) -> None:
    """Make a backend of one's own known by name in this process.

    Args:
        name: The name for `open_simulator`; the names in `BACKENDS` and "auto" are taken.
        opener: Creates a simulator; a class will do.
        missing: Says in one line what is not installed, or None when all is there.

    Raises:
        ValueError: The name is taken.
    """
    if name == "auto" or name in BACKENDS:
        raise ValueError(f"backend name {name!r} is taken: choose another one")
    _CHECKS[name] = missing
    _OPENERS[name] = opener


def available_backends() -> dict[str, str | None]:
    """For every backend None, or one line: what is missing and the command that installs it."""
    return {name: _CHECKS[name]() for name in _CHECKS}


def choose_backend(wanted: str = "auto") -> tuple[str, str]:
    """Resolve a backend name.

    Args:
        wanted: A backend, or "auto": Isaac Sim when running inside it, else PhysX when it is
            installed, else the kinematic oracle.

    Returns:
        The backend and one phrase that says why it was taken.

    Raises:
        BackendUnavailableError: The wanted backend is unknown or not installed.
    """
    if wanted == "auto":
        if "omni.kit.app" in sys.modules:
            return "isaac", "running inside Isaac Sim"
        reason = _missing_physx()
        if reason is None:
            return "physx", "the embedded PhysX engine is installed"
        return "kinematic", f"PhysX is not available: {reason}"
    if wanted not in _CHECKS:
        raise BackendUnavailableError(f"no backend {wanted!r}: use auto, {', '.join(_CHECKS)}")
    reason = _CHECKS[wanted]()
    if reason is not None:
        raise BackendUnavailableError(f"backend {wanted!r} is not available: {reason}")
    return wanted, "asked for"


def open_simulator(backend: str = "auto") -> Simulator:
    """Create a simulator; see `choose_backend`."""
    return _OPENERS[choose_backend(backend)[0]]()
