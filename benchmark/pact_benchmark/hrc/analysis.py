"""From recordings to results: every part of the study that they allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from pact_benchmark.hrc.arms import counting_arms
from pact_benchmark.hrc.camera_study import camera_study
from pact_benchmark.hrc.design import design_study
from pact_benchmark.hrc.factorial_study import factorial_study
from pact_benchmark.hrc.family_study import build_panel, family_rankings, family_study
from pact_benchmark.hrc.figures import (
    camera_figure,
    marked,
    multiplicity_figure,
    pairing_figure,
    requirement_figure,
    score_figure,
)
from pact_benchmark.hrc.multiplicity_study import multiplicity_study
from pact_benchmark.hrc.needs import coverage_table
from pact_benchmark.hrc.proximity import HeldOutRules, fit_event_proximity
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.requirements_study import requirements_study
from pact_benchmark.hrc.statistics import DRAWS, PERMUTATIONS
from pact_benchmark.hrc.temporal_study import (
    SEED,
    TemporalOptions,
    paired_events,
    temporal_study,
)
from pact_benchmark.study import Statistic, StudyEntry, StudyResult, Table

MARK = "simulated recordings"
PREFIX = "simulated."


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """How many resamples and permutations are drawn, and the seed of the permutations."""

    draws: int = DRAWS
    permutations: int = PERMUTATIONS
    seed: int = SEED


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the study with its result."""

    study: StudyEntry
    result: StudyResult


@dataclass(frozen=True, slots=True)
class _Inputs:
    recordings: Recordings
    rules: HeldOutRules | None
    arms: pd.DataFrame
    options: AnalysisOptions


def _requirements(inputs: _Inputs) -> StudyResult | None:
    result = requirements_study(inputs.recordings)
    return result and replace(result, figures=[requirement_figure(result.tables[0].frame)])


def _factorial(inputs: _Inputs) -> StudyResult | None:
    return factorial_study(inputs.recordings, inputs.arms, inputs.options.draws)


def _multiplicity(inputs: _Inputs) -> StudyResult | None:
    result = multiplicity_study(inputs.recordings)
    return result and replace(result, figures=[multiplicity_figure(result.tables[0].frame)])


def _temporal(inputs: _Inputs) -> StudyResult | None:
    chosen = inputs.options
    options = TemporalOptions(chosen.draws, chosen.permutations, chosen.seed)
    result = temporal_study(inputs.recordings, inputs.rules, options)
    events = paired_events(inputs.recordings) if result is not None else pd.DataFrame()
    return result and replace(result, figures=[score_figure(events)] if len(events) else [])


def _camera(inputs: _Inputs) -> StudyResult | None:
    result = camera_study(inputs.arms, inputs.options.draws)
    return result and replace(result, figures=[camera_figure(inputs.arms, result.statistics)])


def _family(inputs: _Inputs) -> StudyResult | None:
    result = family_study(inputs.recordings, inputs.options.draws)
    if result is None:
        return None
    panel = build_panel(inputs.recordings)
    rankings = family_rankings(inputs.recordings, panel)
    sizes = {"pooled": "pair_partitions", "without_llava": "pair_partitions_without_llava"}
    extra = {
        f"design.{sizes[name]}": Statistic(len(ranking.pairings))
        for name, ranking in rankings.items()
        if name in sizes
    }
    figures = (
        [pairing_figure(rankings["pooled"], panel, result.statistics)]
        if "pooled" in rankings
        else []
    )
    return replace(result, statistics={**result.statistics, **extra}, figures=figures)


def _design(inputs: _Inputs) -> StudyResult | None:
    return design_study(inputs.recordings, inputs.arms, inputs.options.draws)


_PARTS: tuple[tuple[str, str, str, Callable[[_Inputs], StudyResult | None]], ...] = (
    ("hrc_design", "Recordings", "What was recorded and read.", _design),
    (
        "hrc_requirements",
        "HRC admission requirements",
        "Which admissions target identity and learned event proximity remove.",
        _requirements,
    ),
    (
        "hrc_factorial",
        "HRC admission by counting rule",
        "Which admissions change when repeated prompts stop counting as witnesses.",
        _factorial,
    ),
    (
        "hrc_multiplicity",
        "Prompts, copies and cameras",
        "Whether repeated computation moves budgets and typed responses.",
        _multiplicity,
    ),
    (
        "hrc_temporal",
        "Temporal evidence across tasks",
        "Whether absolute scores or changes within an episode transfer to an unseen task.",
        _temporal,
    ),
    (
        "hrc_camera",
        "Camera-acquisition grouping",
        "What camera grouping changes in budgets, candidates and selective ordering.",
        _camera,
    ),
    (
        "hrc_family",
        "Model-family grouping",
        "Whether errors of checkpoints point to their model families.",
        _family,
    ),
)


def analyse(
    recordings: Recordings,
    options: AnalysisOptions | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Part]:
    """Run every part of the study that the recordings allow.

    Results of simulated recordings carry ids with the prefix ``simulated.`` and say so in every
    title, note and picture.
    """
    chosen = options or AnalysisOptions()
    progress("event proximity")
    recordings, rules = fit_event_proximity(recordings)
    inputs = _Inputs(recordings, rules, counting_arms(recordings), chosen)
    parts: list[Part] = []
    for order, (name, title, purpose, compute) in enumerate(_PARTS):
        progress(title)
        result = compute(inputs)
        if result is not None:
            study = StudyEntry(name, title, purpose, 700 + order)
            parts.append(Part(study, result))
    if recordings.simulated:
        return [_as_simulated(part) for part in parts]
    return [*parts, _coverage(parts, 700 + len(_PARTS))]


def _coverage(parts: list[Part], order: int) -> Part:
    computed = {name for part in parts for name in part.result.statistics}
    table = Table(
        "hrc_coverage",
        "Published figures that these recordings allow, and what the others need",
        coverage_table(computed),
        "An id is computed when its recordings are given; docs/hrc.md names the files.",
    )
    study = StudyEntry(
        "hrc_coverage",
        "What the recordings allow",
        "Which published figures need recordings that were not given.",
        order,
    )
    return Part(study, StudyResult({}, [table], [], "Missing figures name the files they need."))


def _as_simulated(part: Part) -> Part:
    note = "Simulated recordings: no model and no camera produced these numbers."
    result = part.result
    return Part(
        replace(part.study, title=f"{part.study.title} ({MARK})"),
        StudyResult(
            {
                PREFIX + name: replace(entry, note="simulated")
                for name, entry in result.statistics.items()
            },
            [
                replace(
                    table,
                    title=f"{table.title} ({MARK})",
                    note=table.note if table.note.startswith(note) else f"{note} {table.note}",
                )
                for table in result.tables
            ],
            [marked(figure, MARK) for figure in result.figures],
            f"{note} {result.reading}",
        ),
    )


def statistics_of_parts(parts: list[Part]) -> dict[str, Statistic]:
    """Return the statistics of all parts."""
    return {name: entry for part in parts for name, entry in part.result.statistics.items()}
