"""The logic of a running handover, without Kit: time, decisions, events and recordings."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from pact_core import Decision
from pact_scenes.catalogue import SceneSpec, load_catalogue, select_scenes
from pact_scenes.conditions import Supports, load_conditions
from pact_scenes.model import SceneModel, build_model
from pact_scenes.motion import Motion, MotionTarget
from pact_scenes.observation import Observation, Observer, SceneState
from pact_scenes.pipeline import StepPipeline
from pact_scenes.rollout import decision_ticks, roll_out
from pact_scenes.settings import simulation_settings
from pact_scenes.simulators.kinematic import KinematicSimulator
from pact_scenes.simulators.protocol import Simulator

from .options import Options
from .overlay import Markers, Point
from .recorder import Recorder, recording_folder
from .results import ResponseChange, RuleView, StepRecord

SLACK = 1e-9
"""Times are sums of physics steps; they may miss a multiple by rounding [s]."""


_STALE_CONTEXT = frozenset(
    condition.name
    for condition in load_conditions()
    if any(source.supports is Supports.PREVIOUS_SCENE for source in condition.sources)
)
"""Conditions in which a source describes the previous scene."""


class HandoverSession:
    """One scene at a time: what to command, when to decide, what came out.

    The order of calls is `open`, `begin`, then per physics step `target` before and `advance` and,
    where it says so, `decide` after it, then `end` and `close`.

    Args:
        options: The settings.
        announce: Called when the lead rule's outcome or contract changes.
        backend: Name of the simulator, as stored in observations.
    """

    def __init__(
        self,
        options: Options,
        announce: Callable[[ResponseChange], None],
        backend: str = "isaac",
    ) -> None:
        self.settings = simulation_settings()
        self.time = 0.0
        self._announce, self._backend = announce, backend
        self._history: deque[StepRecord] = deque(maxlen=options.history)
        self._costs: deque[float] = deque(maxlen=256)
        self._recorder: Recorder | None = None
        self._model: SceneModel | None = None
        self._running = False
        self._last_change: ResponseChange | None = None
        self._state: SceneState | None = None
        self._previous: list[Observation] | None = None
        self._steps = self._decisions = 0
        self.use(options)

    # --- settings -----------------------------------------------------------------------------

    @property
    def options(self) -> Options:
        """The settings in force."""
        return self._options

    def use(self, options: Options) -> None:
        """Apply settings from the next decision on."""
        self._options = options
        if self._history.maxlen != options.history:
            self._history = deque(self._history, maxlen=options.history)
        self._needs_previous = options.condition in _STALE_CONTEXT
        self._pipeline = StepPipeline(
            seed=options.seed,
            rules=options.rules,
            kappa=options.kappa,
            threshold=options.threshold or None,
        )

    @staticmethod
    def spec(scene_id: str) -> SceneSpec:
        """Return the specification of a scene.

        Raises:
            UnknownSceneError: If there is no such scene.
        """
        return select_scenes(load_catalogue(), [scene_id])[0]

    # --- scene and time -----------------------------------------------------------------------

    def open(self, scene_id: str) -> SceneModel:
        """Prepare a scene: model, motion and observer."""
        self.close()
        model = build_model(self.spec(scene_id))
        rollout = self.settings.rollout
        motion = Motion(model, self.settings)
        # Everything that moves is sampled once; target i is to be reached after i + 1 steps.
        count = round(motion.end * rollout.physics_rate)
        self._plan = motion.at(np.arange(1, count + 1) / rollout.physics_rate)
        self._observer = Observer(model, self.settings)
        ticks = decision_ticks(model.plan.approach_time, rollout)
        self._decision_times = ticks / rollout.physics_rate
        self._model, self._previous = model, None
        return model

    def close(self) -> None:
        """Forget the scene and finish a recording; closing twice is allowed."""
        self.end()
        self._model = self._previous = self._state = None
        self._history.clear()

    def begin(self) -> None:
        """Start at time zero with an empty history."""
        self._require()
        self.end()
        self._history.clear()
        self._last_change = self._state = None
        self.time, self._steps, self._decisions, self._running = 0.0, 0, 0, True
        if self._options.record_on_play and self._recorder is None:
            self.start_recording()

    def end(self) -> None:
        """Stop; a recording is finished, the last decisions stay in memory."""
        if self._running:
            self._running = False
            self.stop_recording()

    def target(self) -> MotionTarget:
        """Return what arm and human are to reach with the coming step."""
        self._require()
        plan, rate = self._plan, self.settings.rollout.physics_rate
        index = min(int((self.time + SLACK) * rate), len(plan.joints) - 1)
        return MotionTarget(
            joints=plan.joints[index],
            finger=plan.finger,
            human_position=plan.human_position[index],
            human_quaternion=plan.human_quaternion[index],
            released=plan.released[index],
        )

    def advance(self, dt: float) -> bool:
        """Count a physics step of `dt` seconds; return whether a decision is due after it."""
        self.time += dt
        self._steps += 1
        return self._steps % self._options.decide_every == 0 or self._at_decision(dt) is not None

    def _at_decision(self, dt: float) -> int | None:
        """Return the benchmark's decision step that falls on the step that just ended."""
        near = np.flatnonzero(np.abs(self._decision_times - self.time) < dt / 2)
        return int(near[0]) if near.size else None

    def decision_step(self) -> int:
        """Return the benchmark's decision step in whose tenth of the approach the time lies."""
        approach, count = self._require().plan.approach_time, len(self._decision_times)
        return min(int((self.time - SLACK) / approach * count), count - 1)

    # --- decisions ----------------------------------------------------------------------------

    @property
    def latest(self) -> StepRecord | None:
        """The last decision, or None before the first one."""
        return self._history[-1] if self._history else None

    @property
    def history(self) -> Sequence[StepRecord]:
        """Decisions since `begin`, oldest first, as many as the settings keep."""
        return self._history

    @property
    def step_costs(self) -> Sequence[float]:
        """Seconds that the last decisions took, observation included."""
        return self._costs

    def decide(self, state: SceneState, dt: float) -> StepRecord:
        """Observe, synthesise, fuse with every rule, admit, record and announce."""
        begin = perf_counter()
        options, step = self._options, self.decision_step()
        self._state = state
        observation = self._observer.observe(state, step, self._backend)
        result = self._pipeline.decide(
            observation,
            options.condition,
            options.label,
            previous=self._previous_observation(step) if self._needs_previous else None,
            partition=options.resolved_partition(),
        )
        record = StepRecord(
            step=self._decisions,
            time=self.time,
            scene=observation.scene_id,
            condition=options.condition,
            label=options.label,
            kappa=options.kappa,
            threshold=options.threshold,
            observation=observation,
            instances=result.instances,
            core_sources=result.sources,
            rules=tuple(_rule_view(decision) for decision in result.decisions),
            benchmark=self._at_decision(dt) == step,
        )
        self._decisions += 1
        self._history.append(record)
        self._costs.append(perf_counter() - begin)
        if self._recorder is not None:
            write_decision(self._recorder, record)
        self._note_change(record)
        return record

    def _note_change(self, record: StepRecord) -> None:
        lead, last = record.lead, self._last_change
        if last is not None and (last.outcome, last.contract) == (lead.outcome, lead.contract):
            return
        self._last_change = ResponseChange(
            step=record.step,
            time=record.time,
            rule=lead.rule,
            contract=lead.contract,
            outcome=lead.outcome,
            previous=last.outcome if last else None,
            check=lead.check,
        )
        self._announce(self._last_change)

    def _previous_observation(self, step: int) -> Observation:
        """Return what the previous scene of the catalogue showed at this step, as planned."""
        if self._previous is None:
            catalogue = load_catalogue()
            spec = catalogue[(self._require().spec.index - 1) % len(catalogue)]
            self._previous = planned_observations(build_model(spec))
        return self._previous[step]

    def play_on(self, simulator: Simulator, until: float | None = None) -> None:
        """Play the scene of the settings on a simulator, step by step as Isaac Sim does.

        Args:
            simulator: A backend; it is opened and closed here.
            until: Time to stop at [s]; the end of the approach by default.
        """
        model, rate = self.open(self._options.scene), self.settings.rollout.physics_rate
        end = model.plan.approach_time if until is None else until
        simulator.open(model, rate)
        try:
            self.begin()
            for _ in range(round(end * rate)):
                target = self.target()
                simulator.command(target.joints, target.human_position, target.human_quaternion)
                simulator.step()
                if self.advance(1.0 / rate):
                    self.decide(simulator.state(), 1.0 / rate)
        finally:
            simulator.close()

    # --- overlay ------------------------------------------------------------------------------

    def coloured_paths(self) -> tuple[str, ...]:
        """Return the prims that take the colour of the outcome: object and receiving hand."""
        model = self._require()
        return tuple(model.bodies[model.index(n)].path for n in ("object", model.hand_name))

    def markers(self) -> Markers | None:
        """Return sight lines of the robot's camera and the closest distance, as last observed."""
        if self._state is None or self._model is None:
            return None
        eye, points, blocked = self._observer.sight_lines(self._state)
        near = self._observer.closest_points(self._state)
        return Markers(
            sight=tuple(
                (_point(eye), _point(point), bool(stopped))
                for point, stopped in zip(points, blocked, strict=True)
            ),
            clearance=(_point(near[0]), _point(near[1])),
        )

    # --- recordings ---------------------------------------------------------------------------

    @property
    def recording(self) -> bool:
        """Whether a recording runs."""
        return self._recorder is not None

    def start_recording(self, folder: Path | None = None) -> Path:
        """Record every decision from now on; return the folder."""
        self.stop_recording()
        self._recorder = self._new_recorder(folder)
        return self._recorder.folder

    def stop_recording(self) -> Path | None:
        """Finish the recording; return its folder, or None when none was running."""
        recorder, self._recorder = self._recorder, None
        return recorder.close() if recorder is not None else None

    def export(self, folder: Path | None = None) -> Path:
        """Write the decisions in memory as a recording; return its folder.

        Raises:
            RuntimeError: If there are no decisions yet.
        """
        if not self._history:
            raise RuntimeError("There is nothing to export yet: press play first.")
        recorder = self._new_recorder(folder)
        for record in self._history:
            write_decision(recorder, record)
        return recorder.close()

    def _new_recorder(self, folder: Path | None) -> Recorder:
        options = self._options
        if folder is None:
            scene = self._model.spec.scene_id if self._model else options.scene
            parent = options.resolved_folder() / "recordings"
            folder = recording_folder(parent, f"{scene}-{options.label}-{options.condition}")
        return Recorder(folder, {"backend": self._backend, "settings": options.to_settings()})

    def _require(self) -> SceneModel:
        if self._model is None:
            raise RuntimeError("No PACT scene is open: build one first.")
        return self._model


def planned_observations(model: SceneModel) -> list[Observation]:
    """Return the observations of the ten decisions if everything moves as planned."""
    return list(roll_out(model, KinematicSimulator(), transfer=False).observations)


def write_decision(recorder: Recorder, record: StepRecord) -> None:
    """Write one decision: every rule's outcome, and the row where it is one of the benchmark's."""
    if record.benchmark:
        recorder.write("observations", [record.observation.as_dict()])
        recorder.write("instances", [record.row])
    recorder.write("decisions", [decision_row(record, rule) for rule in record.rules])


def decision_row(record: StepRecord, rule: RuleView) -> dict[str, Any]:
    """Return one rule's outcome in the form of `pact decide`, with number and time of the step."""
    return {
        "record_id": record.row["record_id"],
        "rule": rule.rule,
        "kappa": record.kappa,
        "contract": rule.contract,
        "posterior": rule.posterior,
        "score": rule.score,
        "base_eligible": rule.base_eligible,
        "status": rule.status,
        "response": rule.response,
        "check": rule.check,
        "tick": record.step,
        "time": record.time,
    }


def _rule_view(decision: Decision) -> RuleView:
    return RuleView(
        rule=decision.rule,
        contract=decision.contract,
        posterior=tuple(decision.posterior),
        score=decision.score,
        base_eligible=decision.base_eligible,
        status=str(decision.status),
        response=str(decision.response),
        check=decision.check,
    )


def _point(value: Any) -> Point:
    x, y, z = (float(v) for v in value)
    return (x, y, z)
