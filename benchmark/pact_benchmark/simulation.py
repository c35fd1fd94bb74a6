"""Rollouts of the catalogue: in parallel, resumable, the same bytes for any number of workers."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from pact_benchmark.config import Config
from pact_benchmark.console import Console
from pact_benchmark.errors import PactError, UsageError
from pact_benchmark.results import sources_key
from pact_benchmark.store import RunFolder, digest
from pact_benchmark.sweep.backends import run_shards
from pact_benchmark.sweep.shards import ShardFolder
from pact_scenes.catalogue import SceneSpec, UnknownSceneError, load_catalogue, select_scenes
from pact_scenes.configuration import ConfigurationError
from pact_scenes.planning import PlanningError, model_for
from pact_scenes.rollout import roll_out
from pact_scenes.settings import SimulationSettings
from pact_scenes.simulators import (
    BackendUnavailableError,
    SimulationError,
    Simulator,
    choose_backend,
    open_simulator,
)

OBSERVATIONS = "observations.parquet"
EVENTS = "events.jsonl"
_SHARDS = "shards/rollouts"


@dataclass(frozen=True, slots=True)
class RolloutInputs:
    """What every rollout of a run shares."""

    backend: str
    settings: SimulationSettings


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What is to be simulated.

    Attributes:
        inputs: what every rollout shares.
        specs: the scenes, in catalogue order.
        key: digest of everything that the observations depend on.
        why: the reason for the backend, in words.
    """

    inputs: RolloutInputs
    specs: tuple[SceneSpec, ...]
    key: str
    why: str


def plan_rollouts(config: Config, backend: str, scenes: Sequence[str] | None = None) -> Rollouts:
    """Settle what is simulated and with what; nothing is written.

    Args:
        config: the resolved configuration.
        backend: `auto`, or the name of a backend.
        scenes: scene ids, numbers or geometries; none for all.

    Raises:
        UsageError: the backend is absent, or a scene does not exist.
    """
    specs = _chosen_scenes(config, scenes)
    settings = _settings(config)
    try:
        taken, why = choose_backend(backend)
    except BackendUnavailableError as error:
        raise UsageError(str(error)) from error
    names = [spec.scene_id for spec in specs]
    key = digest([taken, config.key("scenes", "simulation"), names, sources_key("pact_scenes")])
    return Rollouts(RolloutInputs(taken, settings), specs, key, why)


def simulate_into(
    run: RunFolder, rollouts: Rollouts, *, jobs: int, console: Console, restart: bool = False
) -> None:
    """Roll the scenes out and store their observations and events, unless they are current.

    Args:
        run: the run folder, locked by the caller.
        rollouts: what to simulate.
        jobs: worker processes.
        console: where progress goes.
        restart: make finished rollouts anew.

    Raises:
        PactError: a scene could not be simulated; the others are kept.
    """
    backend = rollouts.inputs.backend
    console.say(f"backend: {backend} ({rollouts.why})")
    run.describe(backend=backend)
    if restart:
        shutil.rmtree(run.file(_SHARDS), ignore_errors=True)
    elif run.current("observations", rollouts.key):
        return
    started = time.monotonic()
    rows, events = _roll_out_all(run, rollouts, jobs, console)
    with run.part("observations", rollouts.key, started) as part:
        part.frame(OBSERVATIONS, pd.DataFrame.from_records(rows))
        part.text(EVENTS, "".join(json.dumps(event, sort_keys=True) + "\n" for event in events))
    shutil.rmtree(run.file(_SHARDS), ignore_errors=True)


def _roll_out_all(
    run: RunFolder, rollouts: Rollouts, jobs: int, console: Console
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the observations and the events of all scenes, in catalogue order."""
    shards = ShardFolder(run.file(_SHARDS), rollouts.key, ".json")
    tasks = {spec.scene_id: spec for spec in rollouts.specs}
    run_shards(
        _roll_one, rollouts.inputs, tasks, shards, title="rollouts", jobs=jobs, console=console
    )
    rows: list[Mapping[str, Any]] = []
    events: list[Mapping[str, Any]] = []
    for name in tasks:
        shard = json.loads(shards.read(name))
        rows += shard["observations"]
        events += shard["events"]
    return rows, events


def _roll_one(inputs: RolloutInputs, spec: SceneSpec) -> bytes:
    """Simulate one scene and return its observations and events as JSON."""
    try:
        rollout = roll_out(model_for(spec), _simulator(inputs.backend), inputs.settings)
    except (PlanningError, SimulationError) as error:
        raise PactError(f"{spec.scene_id} could not be simulated: {error}") from error
    return json.dumps(
        {
            "observations": [observation.as_dict() for observation in rollout.observations],
            "events": [event.as_dict() for event in rollout.events],
        }
    ).encode("ascii")


@cache
def _simulator(backend: str) -> Simulator:
    """Return this process's simulator: starting an engine costs more than a scene."""
    return open_simulator(backend)


def _chosen_scenes(config: Config, names: Sequence[str] | None) -> tuple[SceneSpec, ...]:
    try:
        catalogue = load_catalogue(config.section("scenes"))
        return select_scenes(catalogue, list(names) if names else None)
    except (ConfigurationError, UnknownSceneError) as error:
        raise UsageError(str(error)) from error


def _settings(config: Config) -> SimulationSettings:
    try:
        return SimulationSettings.from_mapping(config.section("simulation"))
    except ConfigurationError as error:
        raise UsageError(str(error)) from error
