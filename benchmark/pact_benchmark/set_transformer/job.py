"""The Set Transformer as a resumable job on a run folder."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from inspect import getsource
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark import figures
from pact_benchmark.admission import admission_policy
from pact_benchmark.bootstrap import scene_weights
from pact_benchmark.config import Config
from pact_benchmark.console import Console
from pact_benchmark.data import Benchmark, load_benchmark
from pact_benchmark.errors import UsageError
from pact_benchmark.estimates import Settings, area_of, evaluation_under
from pact_benchmark.plotting import RULE_STYLE
from pact_benchmark.results import code_key, write_result
from pact_benchmark.selection import Curve
from pact_benchmark.set_transformer.features import source_features
from pact_benchmark.set_transformer.holdout import (
    Model,
    TrainingInputs,
    joint_counts_of_models,
    model_shard,
    planned_models,
)
from pact_benchmark.store import RunFolder, digest, write_atomically
from pact_benchmark.studies._holdout import joint_counts
from pact_benchmark.studies.joint_holdout import (
    HOLDOUT_RULES,
    operating_point,
)
from pact_benchmark.study import Figure, Statistic, StudyEntry, StudyResult, Table
from pact_benchmark.sweep.backends import run_shards
from pact_benchmark.sweep.shards import JobStatus, ShardFolder, job_status
from pact_scenes.installation import install_command

FOLDER = "set_transformer"
JOB = "job.json"
RULE = "set_transformer"
_RECIPE = ("learning_rate", "weight_decay", "batch", "epochs", "patience", "improvement")


STUDY = StudyEntry(
    "set_transformer",
    "Set Transformer in the joint holdout",
    "How does a learned reference do on conditions and scenes that it has not seen?",
    335,
)
QUICK_STUDY = replace(STUDY, id="set_transformer_quick", title=f"{STUDY.title}: smoke test")


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Which models are trained, and how.

    Attributes:
        models: every training of the plan, in order.
        recipe: optimiser and stopping rule, by name.
        seed: seed of the bootstrap.
        quick: the plan is a smoke test.
    """

    models: list[Model]
    recipe: Mapping[str, float]
    seed: int
    quick: bool


def training_plan(section: Mapping[str, Any], benchmark: Benchmark, *, quick: bool) -> TrainingPlan:
    """Read the configuration section `set_transformer`."""
    recipe = {name: section[name] for name in _RECIPE}
    conditions, folds = len(benchmark.condition_names), benchmark.folds
    starts = tuple(section["initialisations"])
    if quick:
        small = section["quick"]
        recipe["epochs"] = small["epochs"]
        conditions, folds = min(small["conditions"], conditions), min(small["folds"], folds)
        starts = tuple(small["initialisations"])
    models = planned_models(conditions, folds, starts)
    return TrainingPlan(models, recipe, int(section["bootstrap_seed"]), quick)


def run_training(
    run: RunFolder,
    config: Config,
    console: Console,
    *,
    quick: bool = False,
    jobs: int = 1,
    limit: int | None = None,
) -> StudyResult:
    """Train what is not there yet, then evaluate every finished cell and store the result.

    Args:
        run: a run with instances, locked by the caller.
        config: the resolved configuration.
        console: where progress goes.
        quick: train a small part for two epochs instead.
        jobs: worker processes.
        limit: stop after so many new models; the result is then partial and says so.
    """
    _need_torch()
    benchmark = load_benchmark(run, config.section("folds")["folds"])
    plan = training_plan(config.section("set_transformer"), benchmark, quick=quick)
    key = digest(
        [
            run.checksum("instances.parquet"),
            config.key("folds"),
            dict(plan.recipe),
            training_code_key(),
        ]
    )
    shards = ShardFolder(run.path / FOLDER / ("quick" if quick else "models"), key, ".npy")
    if not quick:
        _write_job(run.path, {"inputs": key, "models": [model.name for model in plan.models]})
    tasks = {model.name: model for model in plan.models}
    missing = shards.missing(tasks)
    if limit is not None:
        for name in missing[limit:]:
            del tasks[name]
    inputs = TrainingInputs(
        source_features(benchmark.sources),
        benchmark.label,
        benchmark.fold,
        benchmark.folds,
        benchmark.condition,
        plan.recipe,
    )
    run_shards(model_shard, inputs, tasks, shards, title="trainings", jobs=jobs, console=console)
    outputs: dict[tuple[int, int], list[NDArray[Any]]] = {}
    for model in (model for model in plan.models if model.name in tasks):
        part = np.load(io.BytesIO(shards.read(model.name)), allow_pickle=False)
        outputs.setdefault((model.condition, model.outer), []).append(part)
    result = summarise_training(benchmark, config, plan, outputs)
    stored_as = QUICK_STUDY if quick else STUDY
    write_result(run, stored_as, result, digest([key, sorted(tasks), code_key()]))
    return result


def training_code_key() -> str:
    """Return a digest of the code that a trained model depends on, torch's version included."""
    from pact_benchmark.set_transformer import features, holdout, model, training

    modules = (features, holdout, model, training)
    return digest([version("torch"), *(getsource(module) for module in modules)])


def _need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"the Set Transformer needs torch; run: {install_command('learned')}"
        ) from error


def partial_note(
    benchmark: Benchmark,
    plan: TrainingPlan,
    outputs: Mapping[tuple[int, int], list[NDArray[Any]]],
) -> str | None:
    """Return what a result leaves out, or none for the full set of trainings."""
    cells = len(benchmark.condition_names) * benchmark.folds
    trained = sum(len(parts) for parts in outputs.values())
    if not plan.quick and trained == len(plan.models):
        return None
    kind = f"quick ({int(plan.recipe['epochs'])} epochs)" if plan.quick else "partial"
    fewest = min((len(parts) for parts in outputs.values()), default=0)
    most = max((len(parts) for parts in outputs.values()), default=0)
    each = f"{most}" if fewest == most else f"{fewest} to {most}"
    return (
        f"{kind}: {len(outputs)} of {cells} cells (condition × fold), {each} initialisations each"
    )


def summarise_training(
    benchmark: Benchmark,
    config: Config,
    plan: TrainingPlan,
    outputs: Mapping[tuple[int, int], list[NDArray[Any]]],
) -> StudyResult:
    """Compare the finished cells with the analytic rules on the same cells."""
    settings = Settings.from_section(config.section("evaluation"))
    policy = admission_policy(config.section("admission"))
    note = partial_note(benchmark, plan, outputs)
    counts, covered = joint_counts_of_models(benchmark, policy, outputs)
    curves = {RULE: counts.aggregate()} | _analytic_curves(benchmark, config, covered)
    weights = scene_weights(plan.seed, settings.draws, benchmark.scenes)
    suffix = "_quick" if plan.quick else ""
    name = f"joint_holdout.set_transformer{suffix}"
    statistics: dict[str, Statistic] = {}
    records = []
    for rule, curve in curves.items():
        area = area_of(curve, weights, settings.narrow_support).statistic()
        point = operating_point(curve, settings.operating_target, weights)
        if rule == RULE:
            statistics[name] = area.noted(note)
            statistics |= {f"{name}.{key}_at_013": s.noted(note) for key, s in point.items()}
        records.append(
            {"rule": RULE_STYLE[rule].label, "ncsAURC": area.value, "low": area.low}
            | {"high": area.high, "coverage": point["coverage"].value}
            | {"R_all": point["wrong_all"].value, "C_all": point["correct_all"].value}
        )
    title = "Joint holdout with the Set Transformer" + (f" ({note})" if note else "")
    table = Table(f"set_transformer{suffix}", title, pd.DataFrame.from_records(records), note or "")
    figure = Figure(
        f"set_transformer{suffix}",
        title,
        "Risk against coverage after admission for the Set Transformer and five analytic rules,"
        " on the same held-out rows.",
        lambda: figures.risk_coverage(curves, settings.operating_target, fill(note or title, 56)),
    )
    reading = "All rules are counted on the rows of the finished cells; lower is better."
    return StudyResult(statistics, [table], [figure], reading)


def _analytic_curves(
    benchmark: Benchmark, config: Config, covered: NDArray[np.bool_]
) -> dict[str, Curve]:
    """Return the analytic rules' joint-holdout curves on the covered rows."""
    evaluation = evaluation_under(config, benchmark)
    return {
        rule: joint_counts(
            benchmark, evaluation.rankings(rule, stage="after"), test_rows=covered
        ).aggregate()
        for rule in HOLDOUT_RULES
    }


def _write_job(path: Path, job: Mapping[str, Any]) -> None:
    """Write what is asked for; the file's time is when the session began."""
    text = json.dumps(job, sort_keys=True, indent=1) + "\n"
    write_atomically(path / FOLDER / JOB, text.encode("ascii"))


def training_status(path: Path) -> JobStatus | None:
    """Return how far trainings are; none where none was started or their note is damaged."""
    file = path / FOLDER / JOB
    try:
        job, began = json.loads(file.read_text(encoding="ascii")), file.stat().st_mtime
        inputs, models = str(job["inputs"]), [str(name) for name in job["models"]]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    shards = ShardFolder(path / FOLDER / "models", inputs, ".npy")
    return job_status(shards, models, since=began, recent=8)
