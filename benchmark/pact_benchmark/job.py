"""The main job: scenes → rollouts → instances → studies → report; only what changed is remade."""

from __future__ import annotations

import platform
import shlex
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from pact_benchmark import plugins
from pact_benchmark.compare import compare_with_published, summarise
from pact_benchmark.config import Config
from pact_benchmark.console import Console
from pact_benchmark.data import load_benchmark
from pact_benchmark.decisions import held_out_decisions
from pact_benchmark.diagnosis import installed_versions, source_commit
from pact_benchmark.estimates import evaluation_of, settings_of
from pact_benchmark.evaluation import RULES
from pact_benchmark.generation import generate_into
from pact_benchmark.preview import contact_sheet
from pact_benchmark.report import write_report
from pact_benchmark.results import (
    code_key,
    collect_statistics,
    part_of,
    result_current,
    write_result,
)
from pact_benchmark.simulation import Rollouts, simulate_into
from pact_benchmark.store import RunFolder, digest
from pact_benchmark.study import (
    Study,
    StudyContext,
    StudyError,
    choose_studies,
    run_study,
)


def run_all(
    run: RunFolder, config: Config, rollouts: Rollouts, *, jobs: int, console: Console
) -> dict[str, Any]:
    """Bring every part of a run up to date and return a summary for people.

    Args:
        run: the run folder, locked by the caller.
        config: the resolved configuration.
        rollouts: what to simulate.
        jobs: worker processes; results do not depend on it.
        console: where progress goes.

    Raises:
        StudyError: studies have failed; everything else is up to date.
    """
    simulate_into(run, rollouts, jobs=jobs, console=console)
    generate_into(run, config, console)
    describe(run, config)
    _draw_sheet(run, config, console)
    context = study_context(run, config, jobs, console)
    evaluated = evaluate_run(run, context, [])
    _write_decisions(run, context)
    write_report(run)
    evaluated.raise_failures()
    statistics = collect_statistics(run)
    summary: dict[str, Any] = {
        "backend": run.manifest.get("backend"),
        "evaluations": run.manifest.get("rows"),
        "studies": len(evaluated.done),
        "statistics": len(statistics),
    }
    for card in summarise(compare_with_published(statistics)):
        summary[card["key"]] = card["value"]
    return summary


def describe(run: RunFolder, config: Config) -> None:
    """Record what the run is made with: command, configuration, seed and versions."""
    run.describe(
        command=shlex.join(["pact", *sys.argv[1:]]),
        config=config.sections,
        seed=config.seed,
        pact=version("pact-handover"),
        commit=source_commit(),
        python=platform.python_version(),
        versions=installed_versions(),
    )


def study_context(run: RunFolder, config: Config, jobs: int, console: Console) -> StudyContext:
    """Return what studies work on: the stored rows and the configuration."""
    plugins.load("pact.rules", "pact.checks")
    benchmark = load_benchmark(run, folds=config.section("folds")["folds"])
    run.describe(rows=benchmark.n, scenes=len(benchmark.scene_ids))
    return StudyContext(benchmark, config, jobs, console, run)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Studies that are up to date, by id, and the failures of the others."""

    done: list[str] = field(default_factory=list)
    failed: list[StudyError] = field(default_factory=list)

    def raise_failures(self) -> None:
        """Raise one `StudyError` that names every failure, if there was any."""
        if self.failed:
            reasons = "; ".join(str(error) for error in self.failed)
            raise StudyError(f"{reasons}; the other studies are up to date") from self.failed[0]


def evaluate_run(run: RunFolder, context: StudyContext, names: list[str]) -> Evaluated:
    """Run the named studies (all for an empty list) where needed; one that fails stops no other."""
    chosen = choose_studies(names)
    evaluated = Evaluated()
    with context.console.progress("studies", len(chosen)) as bar:
        for study in chosen:
            bar.note(study.title)
            try:
                _update(run, study, context)
                evaluated.done.append(study.id)
            except StudyError as error:
                evaluated.failed.append(error)
                run.forget(part_of(study.id))  # what it said of other inputs is not of this run
            bar.advance()
    collect_statistics(run)
    return evaluated


def _update(run: RunFolder, study: Study, context: StudyContext) -> None:
    """Make the result of a study anew unless it is current."""
    key = _study_key(run, context.config, study.function.__module__.partition(".")[0])
    if result_current(run, study.id, key):
        return
    started = time.monotonic()
    write_result(run, study, run_study(study, context), key, started)


def _write_decisions(run: RunFolder, context: StudyContext) -> None:
    """Write the held-out decisions of every rule, one Parquet file each."""
    key = _study_key(run, context.config)
    if run.current("decisions", key):
        return
    context.console.say("writing the held-out decisions of every rule")
    target = settings_of(context).operating_target
    with run.part("decisions", key) as part:
        for rule in RULES:
            frame = held_out_decisions(evaluation_of(context), rule, target)
            part.frame(f"decisions/{rule}.parquet", frame)


def _study_key(run: RunFolder, config: Config, *packages: str) -> str:
    """Return a digest of everything that a study in one of `packages` depends on."""
    foreign = plugins.packages("pact.rules", "pact.checks")
    return digest(
        [
            run.checksum("instances.parquet"),
            config.key("admission", "evaluation", "folds"),
            code_key(*foreign, *packages),
        ]
    )


def _draw_sheet(run: RunFolder, config: Config, console: Console) -> None:
    """Draw the contact sheet of the scenes for the report."""
    key = digest([config.key("scenes"), code_key()])
    if run.current("sheet", key):
        return
    with run.part("sheet", key) as part:
        sheet = contact_sheet(config.section("scenes"), console=console)
        part.bytes("figures/scenes.png", sheet)
