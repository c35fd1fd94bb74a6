"""The physics step: attach before and after it, on Isaac Sim 5.1 and 6.x alike."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from isaacsim.core.simulation_manager import SimulationManager

try:
    from isaacsim.core.simulation_manager import SimulationEvent

    PRE_STEP = SimulationEvent.PHYSICS_PRE_STEP
    POST_STEP = SimulationEvent.PHYSICS_POST_STEP
except ImportError:
    from isaacsim.core.simulation_manager import IsaacEvents

    PRE_STEP = IsaacEvents.PRE_PHYSICS_STEP
    POST_STEP = IsaacEvents.POST_PHYSICS_STEP


def physics_dt() -> float:
    """Return the duration of a physics step [s]."""
    return float(SimulationManager.get_physics_dt())


def engine() -> str:
    """Return the name of the physics engine; 5.1 knows PhysX only."""
    if hasattr(SimulationManager, "get_active_physics_engine"):
        return str(SimulationManager.get_active_physics_engine())
    return "physx"


class StepHook:
    """Calls `before(dt)` and `after(dt)` around every physics step while attached.

    The simulation manager holds bound methods weakly: keep the hook alive. An exception in a
    callback would vanish in the physics layer, so it detaches the hook and is handed to `failed`.
    """

    def __init__(
        self,
        before: Callable[[float], None],
        after: Callable[[float], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._before, self._after, self._failed = before, after, failed
        self._ids: list[int] = []
        self._live = False

    @property
    def attached(self) -> bool:
        """Whether callbacks are registered."""
        return bool(self._ids)

    def attach(self) -> None:
        """Register both callbacks; a second call replaces the first."""
        self.detach()
        self._ids = [
            SimulationManager.register_callback(self._on_before, event=PRE_STEP),
            SimulationManager.register_callback(self._on_after, event=POST_STEP),
        ]
        self._live = True

    def detach(self) -> None:
        """Release both callbacks; harmless when a stage change has dropped them already."""
        self._live = False
        ids, self._ids = self._ids, []
        for uid in reversed(ids):
            # 5.1 raises a plain Exception for an id that a stage change has cleared.
            with contextlib.suppress(Exception):
                SimulationManager.deregister_callback(uid)

    def _on_before(self, dt: float, *_context: object) -> None:
        self._run(self._before, dt)

    def _on_after(self, dt: float, *_context: object) -> None:
        self._run(self._after, dt)

    def _run(self, callback: Callable[[float], None], dt: float) -> None:
        if not self._live:
            return
        try:
            callback(float(dt))
        except Exception as problem:
            self._live = False
            self._failed(problem)


def step(count: int) -> None:
    """Take physics steps without rendering."""
    for _ in range(count):
        SimulationManager.step()
