"""Drive a simulator through a scene: approach, decisions, transfer, events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_scenes.arm import ARM_LINKS, TCP_OFFSET
from pact_scenes.model import SceneModel
from pact_scenes.motion import Motion
from pact_scenes.observation import Observation, Observer, SceneState
from pact_scenes.settings import RolloutSettings, SimulationSettings, simulation_settings
from pact_scenes.simulators.protocol import Simulator
from pact_scenes.transforms import matrix_from_quaternion

Array = NDArray[np.float64]

__all__ = ["Event", "Rollout", "decision_ticks", "roll_out"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a rollout, with its time [s] and value."""

    scene_id: str
    time: float
    kind: str
    value: float
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Field names and values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Rollout:
    """Result of one rollout.

    Attributes:
        observations: One per decision, in time order.
        events: Contacts, release and transfer, in time order.
        states: States at the decisions and, when asked for, at every target update.
        steps: Physics steps taken.
        reach_error: Distance of the tool from its planned transfer position [m].
        grip_error: Distance of the object from its place in the gripper before release [m].
    """

    observations: tuple[Observation, ...]
    events: tuple[Event, ...]
    states: tuple[SceneState, ...]
    steps: int
    reach_error: float
    grip_error: float


def decision_ticks(approach_time: float, settings: RolloutSettings) -> NDArray[np.int64]:
    """Physics steps after which a decision is taken: the middles of equal parts of the approach."""
    shares = (np.arange(settings.decisions) + 0.5) / settings.decisions
    stride = settings.physics_rate // settings.target_rate
    ticks = np.rint(shares * approach_time * settings.target_rate).astype(np.int64)
    return np.asarray(ticks * stride, dtype=np.int64)


def roll_out(
    model: SceneModel,
    simulator: Simulator,
    settings: SimulationSettings | None = None,
    *,
    transfer: bool = True,
    record: bool = False,
    on_decision: Callable[[Observation], None] | None = None,
) -> Rollout:
    """Simulate one scene.

    Args:
        model: The scene.
        simulator: A backend; it is opened here and closed at the end.
        settings: Timing and observation settings; the shipped ones by default.
        transfer: Whether to go on after the decisions: the hand closes, the grasp opens.
        record: Keep the state at every target update, not only at decisions.
        on_decision: Called with every observation.
    """
    settings = settings if settings is not None else simulation_settings()
    driver = _Driver(model, simulator, settings, record)
    simulator.open(model, settings.rollout.physics_rate)
    try:
        return driver.run(transfer, on_decision)
    finally:
        simulator.close()


class _Driver:
    """One rollout in progress."""

    def __init__(
        self, model: SceneModel, simulator: Simulator, settings: SimulationSettings, record: bool
    ) -> None:
        self.model, self.simulator, self.settings, self.record = model, simulator, settings, record
        self.observer = Observer(model, settings)
        self.motion = Motion(model, settings)
        rollout = settings.rollout
        self.stride = rollout.physics_rate // rollout.target_rate
        self.ticks = decision_ticks(model.plan.approach_time, rollout)
        self.hold = self._ticks(self.motion.transfer_start)
        self.release = self._ticks(self.motion.release_time)
        self.end = self._ticks(self.motion.end)
        self.events: list[Event] = []
        self.states: list[SceneState] = []
        self.observations: list[Observation] = []
        self.touching = False

    def _ticks(self, seconds: float) -> int:
        rate = self.settings.rollout.target_rate
        return round(seconds * rate) * self.stride

    def run(self, transfer: bool, on_decision: Callable[[Observation], None] | None) -> Rollout:
        """Step through approach, hold and transfer."""
        decisions = {int(t): i for i, t in enumerate(self.ticks)}
        last = self.end if transfer else self.hold
        ticks = range(self.stride, last + 1, self.stride)
        targets = self.motion.at(np.array(ticks) / self.settings.rollout.physics_rate)
        reach_error = grip_error = float("nan")
        for number, tick in enumerate(ticks):
            self.simulator.command(
                targets.joints[number],
                targets.human_position[number],
                targets.human_quaternion[number],
            )
            self.simulator.step(self.stride)
            if tick in decisions:
                observation = self._decide(decisions[tick])
                if on_decision is not None:
                    on_decision(observation)
            elif self.record:
                self.states.append(self.simulator.state())
            if tick == self.hold:
                reach_error, grip_error = self._arrive()
            if tick == self.release:
                self._release()
        if transfer:
            self._finish()
        return Rollout(
            tuple(self.observations),
            tuple(self.events),
            tuple(self.states),
            last,
            reach_error,
            grip_error,
        )

    def _decide(self, step: int) -> Observation:
        state = self.simulator.state()
        observation = self.observer.observe(state, step, self.simulator.name)
        self.states.append(state)
        self.observations.append(observation)
        if observation.contact != self.touching:
            self.touching = observation.contact
            kind = "contact_begins" if observation.contact else "contact_ends"
            note = "designed" if self.model.spec.early_touch else "unplanned"
            self._event(state.time, kind, observation.contact_force, note)
        return observation

    def _event(self, time: float, kind: str, value: float, note: str = "") -> None:
        self.events.append(Event(self.model.spec.scene_id, time, kind, value, note))

    def _arrive(self) -> tuple[float, float]:
        """Tool and grip errors once the arm has come to rest."""
        model, state = self.model, self.simulator.state()
        rotation = matrix_from_quaternion(state.quaternion)
        hand = ARM_LINKS.index("hand")
        axis = rotation[hand][:, 2]
        tool = state.position[hand] + TCP_OFFSET * axis
        reach = float(np.linalg.norm(tool - model.planned_tcp(model.plan.approach_time)))
        place = state.position[hand] + model.grasp_depth * axis
        grip = float(np.linalg.norm(state.position[model.index("object")] - place))
        self._event(state.time, "arrived", reach)
        return reach, grip

    def _release(self) -> None:
        """Open the grasp when the hand has closed on the object."""
        observation = self.observer.observe(self.simulator.state(), 0, self.simulator.name)
        self._event(observation.time, "hand_closed", observation.hand_object_distance)
        self.simulator.release()
        self._event(observation.time, "released", observation.contact_force)

    def _finish(self) -> None:
        """Log how far the object is from its place in the hand after the withdrawal."""
        model, state = self.model, self.simulator.state()
        distance = self.observer.observe(state, 0, self.simulator.name).hand_object_distance
        carried = state.position[model.index("object")] - np.array(model.plan.transfer)
        self._event(state.time, "received", distance, f"moved {np.linalg.norm(carried):.3f} m")
