"""What an installation of Isaac Sim must be able to do for PACT, checked one by one."""

from __future__ import annotations

import hashlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pact_scenes.catalogue import load_catalogue, select_scenes
from pact_scenes.model import SceneModel, build_model
from pact_scenes.observation import Observation
from pact_scenes.rollout import Rollout, roll_out
from pact_scenes.settings import simulation_settings
from pact_scenes.simulators.isaac import IsaacSimulator

from .api import HandoverInterface, get_interface
from .kit import events, physics, stage, version
from .overlay import ROOT
from .session import planned_observations

REFERENCE = Path(__file__).resolve().parent.parent / "data" / "reference.jsonl"
"""Observations of some scenes by the `physx` backend, one row per decision."""

TOLERANCES = {
    "hand_object_distance": 0.01,
    "clearance": 0.01,
    "path_clearance": 0.01,
    "separation_margin": 0.03,
    "closing_speed": 0.05,
    "occlusion": 0.15,
    "tracking_error": 0.02,
}
"""Largest difference to the `physx` backend that passes, in the unit of the column."""

CHECK_STEPS = 60
STEP_BUDGET = 1.0e-3


@dataclass(frozen=True, slots=True)
class Check:
    """One capability: whether it is there, and what was measured."""

    name: str
    passed: bool
    detail: str

    def line(self) -> str:
        """Return the line to print."""
        return f"{'PASS' if self.passed else 'FAIL'}  {self.name}: {self.detail}"


class CapabilityError(Exception):
    """A capability is missing; the text says what was found instead."""


def run_checks(scene_id: str) -> list[Check]:
    """Run every check and return the results; a check that breaks counts as failed."""
    suite = _Suite(scene_id)
    return [
        _run(name, check)
        for name, check in (
            ("version", suite.version),
            ("extension", suite.extension),
            ("scene opens", suite.scene_opens),
            ("callback rate", suite.callback_rate),
            ("step cost", suite.step_cost),
            ("overlay", suite.overlay),
            ("release on stop", suite.release),
            ("tensor reads", suite.tensor_reads),
            ("determinism", suite.determinism),
            ("difference to physx", suite.difference),
        )
    ]


def _run(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except Exception as error:  # whatever breaks is the finding
        return Check(name, False, f"{type(error).__name__}: {error}")


def _expect(holds: bool, text: str) -> str:
    if not holds:
        raise CapabilityError(text)
    return text


class _Suite:
    """The checks in order; later ones use what earlier ones opened."""

    def __init__(self, scene_id: str) -> None:
        self._model: SceneModel = build_model(select_scenes(load_catalogue(), [scene_id])[0])
        self._folder = tempfile.TemporaryDirectory(prefix="pact-smoke-")
        self._rollouts: list[Rollout] = []

    def version(self) -> str:
        """Isaac Sim is one of the supported versions, with PhysX."""
        reason = version.unsupported_reason()
        found = ".".join(str(part) for part in version.isaac_version())
        _expect(physics.engine() == "physx", f"the engine is {physics.engine()}")
        return _expect(reason is None, reason or f"Isaac Sim {found} with PhysX")

    def extension(self) -> str:
        """The headless extension started."""
        pact = self._pact()
        pact.configure(folder=self._folder.name, scene=self._model.spec.scene_id)
        return _expect(len(pact.scenes()) == 48, f"{len(pact.scenes())} scenes")

    def scene_opens(self) -> str:
        """A scene is authored, opened and recognised."""
        path = self._pact().build_scene(force=True)
        self._updates(10)
        opened = stage.current()
        found = opened is not None and bool(opened.GetPrimAtPath(self._model.bodies[0].path))
        return _expect(found, f"opened {path.name}")

    def callback_rate(self) -> str:
        """Every physics step calls back once, with the authored duration."""
        pact = self._pact()
        events.play()
        expected = 1.0 / self._rate()
        _expect(
            abs(physics.physics_dt() - expected) < 1e-9,
            f"physics steps take {physics.physics_dt()} s, authored {expected} s",
        )
        before = len(pact.history)
        physics.step(CHECK_STEPS)
        seen = len(pact.history) - before
        return _expect(seen == CHECK_STEPS, f"{seen} decisions in {CHECK_STEPS} physics steps")

    def step_cost(self) -> str:
        """A step with PACT stays close to a step without."""
        times = []
        for _ in range(CHECK_STEPS):
            begin = time.perf_counter()
            physics.step(1)
            times.append(time.perf_counter() - begin)
        cost = statistics.median(self._pact().step_costs)
        text = f"{1e3 * cost:.2f} ms of {1e3 * statistics.median(times):.2f} ms per step"
        return _expect(cost <= STEP_BUDGET, text)

    def overlay(self) -> str:
        """Colours and lines appear in the session layer, and the stage stays unedited."""
        pact, opened = self._pact(), stage.current()
        before = opened.GetRootLayer().ExportToString()
        pact.show_overlay(True)
        self._updates(2)
        _expect(bool(opened.GetPrimAtPath(ROOT)), "no overlay on the stage")
        _expect(opened.GetRootLayer().ExportToString() == before, "the root layer was edited")
        pact.show_overlay(False)
        return _expect(not opened.GetPrimAtPath(ROOT), "shown in the session layer and removed")

    def release(self) -> str:
        """After stop nothing is called any more."""
        events.stop()
        self._updates(3)
        count = len(self._pact().history)
        self._updates(3)
        return _expect(len(self._pact().history) == count, "no decision after stop")

    def tensor_reads(self) -> str:
        """The arm follows its plan as read from the physics, and the human too."""
        rollout = self._roll_out()
        error = max(row.tracking_error for row in rollout.observations)
        planned = planned_observations(self._model)
        pairs = zip(rollout.observations, planned, strict=True)
        hand = max(abs(a.hand_gripper_distance - b.hand_gripper_distance) for a, b in pairs)
        text = f"tracking error {1e3 * error:.1f} mm, hand off plan by {1e3 * hand:.1f} mm"
        return _expect(error < 0.02 and hand < 0.03, text)

    def determinism(self) -> str:
        """A second rollout in the same process gives the same states."""
        first, second = (_digest(rollout) for rollout in (self._rollouts[0], self._roll_out()))
        return _expect(first == second, f"{first[:12]} and {second[:12]}")

    def difference(self) -> str:
        """Observations agree with the `physx` backend within the tolerances."""
        rows = [json.loads(line) for line in REFERENCE.read_text(encoding="utf-8").splitlines()]
        own = [row for row in rows if row["scene_id"] == self._model.spec.scene_id]
        if not own:
            known = sorted({row["scene_id"] for row in rows})
            raise CapabilityError(f"no reference for this scene; there is one for {known}")
        worst = differences(self._rollouts[0].observations, own)
        bad = {name: gap for name, gap in worst.items() if gap > TOLERANCES[name]}
        shown = ", ".join(f"{name} {gap:.3g}" for name, gap in (bad or worst).items())
        return _expect(not bad, f"largest differences: {shown}")

    def _roll_out(self) -> Rollout:
        with IsaacSimulator() as simulator:
            self._rollouts.append(roll_out(self._model, simulator, transfer=False))
        return self._rollouts[-1]

    @staticmethod
    def _rate() -> int:
        return simulation_settings().rollout.physics_rate

    @staticmethod
    def _updates(count: int) -> None:
        for _ in range(count):
            events.update()

    @staticmethod
    def _pact() -> HandoverInterface:
        interface = get_interface()
        if interface is None:
            raise CapabilityError("pact.handover did not start; see the log")
        return interface


def differences(
    observed: tuple[Observation, ...], reference: list[dict[str, Any]]
) -> dict[str, float]:
    """Return the largest difference of each compared column over the decisions."""
    names = [field.name for field in fields(Observation) if field.name in TOLERANCES]
    by_step = {row["step"]: row for row in reference}
    return {
        name: max(abs(getattr(row, name) - by_step[row.step][name]) for row in observed)
        for name in names
    }


def _digest(rollout: Rollout) -> str:
    """Return a hash of every state's poses."""
    total = hashlib.sha256()
    for state in rollout.states:
        total.update(np.ascontiguousarray(state.position).tobytes())
        total.update(np.ascontiguousarray(state.quaternion).tobytes())
    return total.hexdigest()
