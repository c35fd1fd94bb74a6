"""Simulation backends behind one protocol."""

from __future__ import annotations

from pact_scenes.simulators.protocol import BackendUnavailableError, SimulationError, Simulator
from pact_scenes.simulators.registry import (
    BACKENDS,
    available_backends,
    choose_backend,
    open_simulator,
    register_backend,
)

__all__ = [
    "BACKENDS",
    "BackendUnavailableError",
    "SimulationError",
    "Simulator",
    "available_backends",
    "choose_backend",
    "open_simulator",
    "register_backend",
]
