"""The sweep as a job on a run folder: inputs, shards, progress, result."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark import plotting
from pact_benchmark.config import Config
from pact_benchmark.console import Console
from pact_benchmark.data import load_benchmark
from pact_benchmark.errors import UsageError
from pact_benchmark.estimates import evaluation_under
from pact_benchmark.results import code_key, write_result
from pact_benchmark.store import RunFolder, digest, write_atomically
from pact_benchmark.study import StudyResult
from pact_benchmark.sweep.backends import Backend, run_shards, unit_names
from pact_benchmark.sweep.design import Setting, SweepDesign, index_matrices, sobol_points
from pact_benchmark.sweep.point import SweepInputs, point_shard
from pact_benchmark.sweep.shards import JobStatus, ShardFolder, job_status
from pact_benchmark.sweep.summary import SOBOL, SweepOutcome, summarise_sweep
from pact_scenes.conditions import parse_conditions
from pact_scenes.opinions import OpinionParams

FOLDER = "sweep"
JOB = "job.json"
_COLUMNS = (
    "scene_id",
    "geometry",
    "step",
    "hand_gripper_distance",
    "path_clearance",
    "separation_margin",
    "closing_speed",
    "occlusion",
)


@dataclass(frozen=True, slots=True)
class Workers:
    """Where and how wide a sweep runs."""

    backend: Backend = Backend.LOCAL
    jobs: int = 1
    address: str | None = None


def run_config(run: RunFolder, config: Config, *, own: bool) -> Config:
    """Return the configuration that the run was made with, unless the user gives another.

    Args:
        run: the run folder.
        config: what the command was given: defaults, or the user's file.
        own: the user gave a file or a seed, which then counts.
    """
    made_with = run.manifest.get("config")
    if own or not made_with:
        return config
    stored = {name: table for name, table in made_with.items() if name != "sweep"}
    return config.under(stored)


def sweep_inputs(run: RunFolder, config: Config) -> SweepInputs:
    """Collect what the points share from a stored run; the fusion concentrations are its own."""
    frame = run.read_frame("observations.parquet")
    folds = config.section("folds")["folds"]
    study = evaluation_under(config, load_benchmark(run, folds))
    design = SweepDesign.from_section(config.section("sweep"))
    return SweepInputs(
        observations={name: frame[name].to_numpy() for name in _COLUMNS},
        conditions=parse_conditions(config.section("conditions")),
        params=OpinionParams.from_section(config.section("opinions")),
        seed=config.seed,
        kappa=tuple(study.kappa.tolist()),
        folds=folds,
        policy=study.policy,
        rules=design.rules,
        support=design.support,
        target=design.operating_target,
    )


def inputs_key(run: RunFolder, config: Config, inputs: SweepInputs) -> str:
    """Return a digest of everything that a shard depends on but its place in the design."""
    section = config.section("sweep")
    shape = {name: section[name] for name in ("seed", "rules", "support", "values", "ranges")}
    return digest(
        [
            run.checksum("observations.parquet"),
            config.key("conditions", "opinions", "folds", "admission"),
            {"kappa": inputs.kappa, "seed": inputs.seed, "target": inputs.target, **shape},
            code_key(),
        ]
    )


def planned_tasks(
    design: SweepDesign, points: int, index_points: int
) -> tuple[dict[str, Setting], dict[str, NDArray[np.float64]]]:
    """Return the setting of each shard by name, and the unit points of the main design."""
    units = sobol_points(points, design.seed)
    tasks = {
        name: design.setting(unit)
        for name, unit in zip(unit_names("p", points), units, strict=True)
    }
    matrices = index_matrices(index_points, design.seed) if index_points else {}
    for matrix, rows in matrices.items():
        names = unit_names(f"{matrix}-", index_points)
        tasks |= {name: design.setting(u) for name, u in zip(names, rows, strict=True)}
    return tasks, matrices


def run_sweep(
    run: RunFolder,
    config: Config,
    workers: Workers,
    console: Console,
    *,
    points: int | None = None,
    index_points: int = 0,
) -> StudyResult:
    """Compute every point that is not there yet, then summarise and store the result.

    Args:
        run: a run with observations and instances, locked by the caller.
        config: the resolved configuration.
        workers: where points are computed.
        console: where progress goes.
        points: length of the design; none takes the configuration's.
        index_points: n of the Sobol indices, a power of two; 0 leaves them out.
    """
    design = SweepDesign.from_section(config.section("sweep"))
    count = design.points if points is None else points
    if index_points & (index_points - 1):
        raise UsageError(f"--index-points must be a power of two, not {index_points}")
    inputs = sweep_inputs(run, config)
    key = inputs_key(run, config, inputs)
    shards = ShardFolder(run.path / FOLDER / "points", key, ".json")
    tasks, matrices = planned_tasks(design, count, index_points)
    _write_job(run.path, {"inputs": key, "points": count, "index_points": index_points})
    run_shards(
        point_shard,
        inputs,
        tasks,
        shards,
        title="sweep",
        console=console,
        meanwhile=plotting.preload,
        **_arguments(workers),
    )
    found = {name: json.loads(shards.read(name)) for name in tasks}
    outcome = SweepOutcome(
        design=design,
        points=[found[name] for name in unit_names("p", count)],
        matrices={
            matrix: [found[name] for name in unit_names(f"{matrix}-", index_points)]
            for matrix in matrices
        },
    )
    result = summarise_sweep(outcome)
    write_result(run, SOBOL, result, digest([key, count, index_points]))
    return result


def _arguments(workers: Workers) -> dict[str, Any]:
    return {name: getattr(workers, name) for name in ("backend", "jobs", "address")}


def _write_job(path: Path, job: Mapping[str, Any]) -> None:
    """Write what is asked for; the file's time is when the session began."""
    text = json.dumps(job, sort_keys=True, indent=1) + "\n"
    write_atomically(path / FOLDER / JOB, text.encode("ascii"))


def sweep_status(path: Path) -> JobStatus | None:
    """Return how far the sweep of a run is; none where none was started or its note is damaged."""
    file = path / FOLDER / JOB
    try:
        job, began = json.loads(file.read_text(encoding="ascii")), file.stat().st_mtime
        inputs, points = str(job["inputs"]), int(job["points"])
        index_points = int(job["index_points"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    names = list(unit_names("p", points))
    for matrix in index_matrices(index_points, 0) if index_points else ():
        names += unit_names(f"{matrix}-", index_points)
    shards = ShardFolder(path / FOLDER / "points", inputs, ".json")
    return job_status(shards, names, since=began)


def discard_shards(path: Path) -> None:
    """Delete every shard of a run's sweep."""
    shutil.rmtree(path / FOLDER, ignore_errors=True)
