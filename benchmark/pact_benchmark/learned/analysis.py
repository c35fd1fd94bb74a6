"""The whole analysis of one data set and model, and the statistics that it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pact_benchmark.learned import arms
from pact_benchmark.learned.arms import Arm
from pact_benchmark.learned.evidence import EvidenceSet
from pact_benchmark.learned.lattice import MAXIMUM_VIEWS, SCORES, Surface, study_lattice
from pact_benchmark.learned.outcome import OutcomeStudy, study_outcomes
from pact_benchmark.learned.pooled import PooledStudy, study_pooled
from pact_benchmark.learned.resampling import BUDGET_SEED, LATTICE_SEED, OUTCOME_SEED
from pact_benchmark.study import Statistic

MAXIMUM_WEIGHTS = 400_000_000


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that was found for one data set and model.

    Attributes:
        data: The evidences.
        title: What tables and figures call it.
        outcome: Every view replicated in turn; None when only budgets are asked for.
        pooled: Round-robin replicated view.
        surface: The lattice of partitions; None where it is not evaluated.
    """

    data: EvidenceSet
    title: str
    outcome: OutcomeStudy | None
    pooled: PooledStudy
    surface: Surface | None


def analyse(
    data: EvidenceSet,
    *,
    title: str,
    index: int,
    draws: int,
    seed_offset: int = 0,
    outcomes: bool = True,
    lattice: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Analysis:
    """Run the arms and, if asked, the lattice on one set of evidences.

    Args:
        data: The evidences.
        title: What tables and figures call it.
        index: Position among the analysed pairs; it is added to the published seeds.
        draws: Number of resamples; lowered for very many records so that the weights fit.
        seed_offset: Added to the published seeds of the resamples.
        outcomes: Whether to replicate every view in turn.
        lattice: Whether to evaluate all partitions (at least two and at most eight views).
        progress: Called with the number of partitions done.
    """
    draws = min(draws, max(100, MAXIMUM_WEIGHTS // data.records))
    seed = seed_offset + index
    outcome = study_outcomes(data, draws=draws, seed=OUTCOME_SEED + seed) if outcomes else None
    pooled = study_pooled(data, draws=draws, seed=BUDGET_SEED + seed_offset)
    surface = None
    if lattice and data.views >= 2:
        surface = study_lattice(
            data, title=title, draws=draws, seed=LATTICE_SEED + seed, progress=progress
        )
    return Analysis(data, title, outcome, pooled, surface)


def lattice_steps(data: EvidenceSet) -> int:
    """Number of partitions times runs that the lattice of `data` evaluates."""
    bell = (1, 1, 2, 5, 15, 52, 203, 877, 4140)
    return bell[data.views] * data.runs if 2 <= data.views <= MAXIMUM_VIEWS else 0


def pair_statistics(analysis: Analysis) -> dict[str, Statistic]:
    """Statistics of one pair, their ids starting with its data set and model."""
    pair, found = analysis.data.pair, {}
    if analysis.outcome is not None:
        study = analysis.outcome
        for arm in (Arm.REFINE, Arm.MERGE):
            found[f"{pair}.{arm.value}.d_ncsaurc"] = study.contrast(arm, "ncsaurc")
            found[f"{pair}.{arm.value}.d_l1"] = study.contrast(arm, "l1")
            found[f"{pair}.{arm.value}.d_acc_pp"] = study.contrast(arm, "accuracy", 100.0)
        accuracy = 100.0 * study.measures[Arm.COPIES].mean("accuracy")
        found[f"{pair}.copies.acc_pct"] = Statistic(accuracy, n=study.records)
    if analysis.surface is not None:
        for index, score in enumerate(SCORES):
            for name, direction in (("lower", -1), ("higher", 1)):
                key = f"{pair}.merge_{name}_{score}_pct"
                found[key] = analysis.surface.share(index, direction)
    pooled, rows = analysis.pooled, analysis.data.runs * analysis.data.records
    merge_share = 100.0 * pooled.ratio(pooled.merged)
    found[f"{pair}.merge_budget_pct"] = Statistic(merge_share, n=rows)
    found[f"{pair}.refine_budget_ratio"] = Statistic(pooled.ratio(pooled.refined), n=rows)
    return found


def structure_statistics(analysis: Analysis) -> dict[str, Statistic]:
    """Statistics of a user's own evidences that the published ids give only once per study."""
    pair = analysis.data.pair
    found = {f"{pair}.budget_intervals_exclude_zero": excludes_zero([analysis])}
    if analysis.outcome is not None:
        invariant = Statistic(analysis.outcome.invariant)
        found[f"{pair}.copies.max_multiplicity_invariant"] = invariant
        better = int(analysis.outcome.better_scores_worse_ordering().sum())
        found[f"{pair}.refine.paradox_count"] = Statistic(better, n=analysis.data.views)
    if analysis.surface is not None:
        surface = analysis.surface
        found[f"{pair}.partitions"] = Statistic(len(surface.partitions))
        found[f"{pair}.single_merges"] = Statistic(len(surface.merges))
        found[f"{pair}.merges_budget_monotone"] = Statistic(int(surface.monotone.sum()))
    return found


def excludes_zero(analyses: list[Analysis]) -> Statistic:
    """One if every budget-change interval of the pairs excludes zero, else zero."""
    every = all(analysis.pooled.intervals_exclude_zero() for analysis in analyses)
    return Statistic(int(every), n=2 * len(analyses))


def native_accuracy(data: EvidenceSet) -> tuple[float, float]:
    """Mean and population SD over runs of the accuracy of TMC's own fusion, in percent."""
    prediction = arms.nested_evidence(data.evidence).argmax(axis=-1)
    accuracy = 100.0 * (prediction == data.label).mean(axis=1)
    return float(np.mean(accuracy)), float(np.std(accuracy))
