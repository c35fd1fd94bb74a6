"""Run the study: evidences in, statistics, tables and figures out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pact_benchmark.console import Console
from pact_benchmark.learned.analysis import (
    Analysis,
    analyse,
    lattice_steps,
    pair_statistics,
    structure_statistics,
)
from pact_benchmark.learned.evidence import EvidenceSet
from pact_benchmark.learned.figures import all_figures
from pact_benchmark.learned.lattice import MAXIMUM_VIEWS
from pact_benchmark.learned.plan import Plan
from pact_benchmark.learned.produce import Produced
from pact_benchmark.learned.statistics import study_statistics
from pact_benchmark.learned.tables import all_tables, scene_tables, sensitivity_table
from pact_benchmark.results import result_current
from pact_benchmark.store import RunFolder
from pact_benchmark.study import Statistic, StudyEntry, StudyResult

TITLES = {
    "hw.tmc": "HandWritten–TMC",
    "hw.rcml": "HandWritten–RCML",
    "pie.rcml": "PIE–RCML",
    "scene.tmc": "Scene15–TMC",
}
READING = (
    "The learned outputs are the same in every row; only what is counted as one origin changes. "
    "Copies inside their component must change nothing, false refinement must raise the budget, "
    "merging must lower it; what that does to accuracy and ordering is a finding, not a law."
)
ORDER = 700


PUBLISHED = StudyEntry(
    "learned",
    "Learned multi-view predictions",
    "provenance reassignment on HandWritten, Scene15 and PIE outputs of TMC and RCML",
    ORDER,
)
OWN = StudyEntry(
    "learned_own",
    "Own per-view evidences",
    "provenance reassignment and coarsening of a user's own per-view evidences",
    ORDER,
)


def _analyse(
    data: EvidenceSet, title: str, index: int, console: Console, **options: Any
) -> Analysis:
    steps = lattice_steps(data) if options.get("lattice", True) else 0
    with console.progress(f"analyse {title}", max(steps, 1)) as bar:
        found = analyse(data, title=title, index=index, progress=bar.advance, **options)
        if not steps:
            bar.advance()
    return found


def run_published(
    produced: Produced, plan: Plan, console: Console, *, seed_offset: int = 0
) -> StudyResult:
    """Analyse the trained models and return every published id, with tables and figures."""
    options: dict[str, Any] = {"draws": plan.draws, "seed_offset": seed_offset}
    jobs: list[tuple[EvidenceSet | None, int, dict[str, bool]]] = [
        (produced.hw_tmc, 0, {}),
        (produced.hw_rcml, 1, {}),
        (produced.pie_rcml, 2, {"outcomes": False, "lattice": False}),
    ]
    if produced.scene is not None:
        chosen = produced.scene.take_runs(plan.interventions)
        jobs.append((chosen, 3, {"outcomes": False, "lattice": False}))
    analyses: dict[str, Analysis] = {}
    for data, index, switches in jobs:
        if data is not None:
            title = TITLES[data.pair]
            analyses[data.pair] = _analyse(data, title, index, console, **options, **switches)
    extra = {}
    if produced.hw_tmc_all is not None:
        title = f"{TITLES['hw.tmc']}, all test records"
        every = _analyse(produced.hw_tmc_all, title, 0, console, **options, lattice=False)
        extra["hw.tmc, all test records"] = every
    found = list(analyses.values())
    return StudyResult(
        study_statistics(analyses, produced, plan),
        [
            *all_tables(found, "learned"),
            sensitivity_table(analyses, extra),
            *scene_tables(produced),
        ],
        all_figures(found, "learned"),
        READING,
    )


def run_own(
    sets: Sequence[EvidenceSet],
    console: Console,
    *,
    draws: int,
    seed_offset: int = 0,
    lattice: bool = True,
) -> StudyResult:
    """Analyse a user's own evidences: all arms and, up to eight views, the lattice."""
    analyses = []
    for index, data in enumerate(sets):
        title = TITLES.get(data.pair, f"{data.dataset}–{data.model}")
        if lattice and data.views > MAXIMUM_VIEWS:
            console.say(f"{title}: {data.views} views; the lattice takes at most {MAXIMUM_VIEWS}")
        options = {
            "draws": draws,
            "seed_offset": seed_offset,
            "lattice": lattice and data.views <= MAXIMUM_VIEWS,
        }
        analyses.append(_analyse(data, title, index, console, **options))
    statistics = {}
    for analysis in analyses:
        statistics.update(pair_statistics(analysis))
        statistics.update(structure_statistics(analysis))
    return StudyResult(
        statistics,
        all_tables(analyses, "learned_own"),
        all_figures(analyses, "learned_own"),
        READING,
    )


def plan_key(plan: Plan, produced: Produced, seed_offset: int) -> dict[str, Any]:
    """Everything that the result of `run_published` depends on besides the code."""
    named = ("hw_tmc", "hw_rcml", "pie_rcml", "scene", "scene_clean")
    sets = {name: getattr(produced, name) for name in named}
    details = {name: None if data is None else data.details for name, data in sets.items()}
    return {"plan": asdict(plan), "evidences": details, "seed_offset": seed_offset}


def stored_result(run: RunFolder, entry: StudyEntry, key: str) -> StudyResult | None:
    """Return the statistics of a finished result with the same key, or None."""
    if not result_current(run, entry.id, key):
        return None
    stored = run.read_json(f"studies/{entry.id}.json")
    return StudyResult({name: Statistic(**value) for name, value in stored["statistics"].items()})
