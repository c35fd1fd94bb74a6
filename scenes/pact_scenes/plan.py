"""Solved scenes: placement, stored motion and its interpolation at run time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pact_scenes.catalogue import SceneSpec
from pact_scenes.human import Figure, minimum_jerk, minimum_jerk_rate

Array = NDArray[np.float64]
Vector3 = tuple[float, float, float]

__all__ = [
    "PLAN_SCHEMA",
    "Box",
    "Camera",
    "MissingPlanError",
    "ScenePlan",
    "Transfer",
    "Vector3",
    "catalogue_key",
    "load_plans",
    "plan_of",
    "read_plans",
    "write_plans",
]

PLAN_SCHEMA: Final = 1
WITHDRAWAL: Final = 0.5
"""How far back the hand withdraws after the transfer, as a share of its reach."""
_PACKAGED: Final = "plans.json"


class MissingPlanError(LookupError):
    """No stored plan belongs to a specification: it must be planned first."""


@dataclass(frozen=True, slots=True)
class Box:
    """An upright static box: centre and half extents [m], heading [rad]."""

    name: str
    centre: Vector3
    half: Vector3
    yaw: float = 0.0


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera at `eye` looking at `target` [m]."""

    name: str
    eye: Vector3
    target: Vector3


@dataclass(frozen=True, slots=True)
class Transfer:
    """When the hand closes on the object and when it withdraws; starts and durations [s]."""

    close_start: float
    close_time: float
    back_start: float
    back_time: float


@dataclass(frozen=True, slots=True)
class ScenePlan:
    """Everything about a scene that was solved when it was authored; SI units, radians.

    The arm moves along `start + s (goal - start) + 64 p^3 (1-p)^3 bend`, with minimum-jerk
    progress `s` of the phase `p`, so that it starts and ends at rest. The receiving hand moves
    along minimum-jerk lines, first to `hand_goal` within the decision window, then, in the
    transfer, to `hand_touch`.
    """

    scene_id: str
    joints_start: tuple[float, ...]
    joints_goal: tuple[float, ...]
    joints_bend: tuple[float, ...]
    finger: float
    grasp_offset: float
    approach_time: float
    root: tuple[float, float]
    yaw: float
    swivel: tuple[float, float]
    hand_start: Vector3
    hand_goal: Vector3
    hand_touch: Vector3
    reach_start: float
    reach_time: float
    free_hand: Vector3
    boxes: tuple[Box, ...]
    cameras: tuple[Camera, ...]
    transfer: Vector3
    achieved: Mapping[str, float]

    def figure(self, spec: SceneSpec) -> Figure:
        """The human figure of this scene."""
        return Figure(self.root, self.yaw, spec.posture == "seated", self.swivel)

    def joints(self, time: float | Array) -> Array:
        """Planned joint angles [rad], shape [..., 7], at times [s] of shape [...]."""
        phase = np.clip(np.asarray(time, dtype=np.float64) / self.approach_time, 0.0, 1.0)
        start, goal = np.array(self.joints_start), np.array(self.joints_goal)
        bump = 64.0 * (phase * (1.0 - phase)) ** 3
        return np.asarray(
            start
            + minimum_jerk(phase)[..., None] * (goal - start)
            + bump[..., None] * np.array(self.joints_bend)
        )

    def joint_rates(self, time: float | Array) -> Array:
        """Planned joint velocities [rad/s], shape [..., 7]."""
        phase = np.asarray(time, dtype=np.float64) / self.approach_time
        inside = np.clip(phase, 0.0, 1.0)
        start, goal = np.array(self.joints_start), np.array(self.joints_goal)
        bump = 192.0 * (inside * (1.0 - inside)) ** 2 * (1.0 - 2.0 * inside)
        rate = minimum_jerk_rate(phase)[..., None] * (goal - start)
        return np.asarray(
            (rate + bump[..., None] * np.array(self.joints_bend)) / self.approach_time
        )

    def hand(self, time: float | Array, transfer: Transfer | None = None) -> Array:
        """Planned centre of the receiving hand [m], shape [..., 3], at times [s] of shape [...].

        Without a `transfer` the hand stays at its goal after the reach.
        """
        t = np.asarray(time, dtype=np.float64)
        start, goal = np.array(self.hand_start), np.array(self.hand_goal)
        centre = start + minimum_jerk((t - self.reach_start) / self.reach_time)[..., None] * (
            goal - start
        )
        if transfer is not None:
            close = minimum_jerk((t - transfer.close_start) / transfer.close_time)
            back = minimum_jerk((t - transfer.back_start) / transfer.back_time)
            touch = np.array(self.hand_touch)
            away = goal + WITHDRAWAL * (start - goal)
            centre = centre + close[..., None] * (touch - goal) + back[..., None] * (away - touch)
        return np.asarray(centre)

    def hands(
        self, spec: SceneSpec, time: float | Array, transfer: Transfer | None = None
    ) -> tuple[Array, Array]:
        """Planned centres of the left and the right hand [m], each of shape [..., 3]."""
        moving = self.hand(time, transfer)
        resting = np.broadcast_to(np.array(self.free_hand), moving.shape)
        return (moving, resting) if spec.receiving_hand == "left" else (resting, moving)


def catalogue_key(specs: Sequence[SceneSpec]) -> str:
    """Identity of a list of specifications, to match plans with them."""
    text = json.dumps([asdict(spec) for spec in specs], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def write_plans(specs: Sequence[SceneSpec], plans: Mapping[str, ScenePlan]) -> str:
    """Plans of a catalogue as JSON text, one scene per line."""
    rows = [f"{json.dumps(s.scene_id)}: {json.dumps(asdict(plans[s.scene_id]))}" for s in specs]
    keys = {s.scene_id: catalogue_key([s]) for s in specs}
    head = f'"schema": {PLAN_SCHEMA},\n"keys": {json.dumps(keys)}'
    return "{" + head + ',\n"plans": {\n' + ",\n".join(rows) + "\n}}\n"


def read_plans(text: str) -> tuple[dict[str, ScenePlan], dict[str, str]]:
    """Plans by scene id, and the identity of the specification each was made for."""
    data = json.loads(text)
    if data.get("schema") != PLAN_SCHEMA:
        raise ValueError(f"plan schema {data.get('schema')!r} is not {PLAN_SCHEMA}; plan again")
    return {key: _plan(value) for key, value in data["plans"].items()}, dict(data["keys"])


def _plan(data: dict[str, Any]) -> ScenePlan:
    values: dict[str, Any] = {}
    for entry in fields(ScenePlan):
        value = data[entry.name]
        values[entry.name] = tuple(value) if isinstance(value, list) else value
    values["boxes"] = tuple(
        Box(b["name"], tuple(b["centre"]), tuple(b["half"]), b["yaw"]) for b in data["boxes"]
    )
    values["cameras"] = tuple(
        Camera(c["name"], tuple(c["eye"]), tuple(c["target"])) for c in data["cameras"]
    )
    return ScenePlan(**values)


@cache
def _packaged() -> tuple[dict[str, ScenePlan], dict[str, str]]:
    text = resources.files("pact_scenes").joinpath("data", _PACKAGED).read_text(encoding="utf-8")
    return read_plans(text)


def load_plans(specs: Sequence[SceneSpec]) -> dict[str, ScenePlan]:
    """Stored plans of the given specifications.

    Raises:
        MissingPlanError: A specification differs from the one that was planned.
    """
    return {spec.scene_id: plan_of(spec) for spec in specs}


def plan_of(spec: SceneSpec) -> ScenePlan:
    """The stored plan of one specification."""
    plans, keys = _packaged()
    if keys.get(spec.scene_id) != catalogue_key([spec]):
        raise MissingPlanError(
            f"{spec.scene_id} has no stored plan for this configuration; "
            "plan it with `pact scenes plan`"
        )
    return plans[spec.scene_id]
