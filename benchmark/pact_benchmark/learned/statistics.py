"""The published ids of the study: all of them, with a reason where one cannot be computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pact_benchmark.learned.analysis import (
    Analysis,
    excludes_zero,
    native_accuracy,
    pair_statistics,
)
from pact_benchmark.learned.arms import MULTIPLICITY
from pact_benchmark.learned.ordering import SUPPORT
from pact_benchmark.learned.outcome import copies_invariant
from pact_benchmark.learned.plan import Plan
from pact_benchmark.learned.produce import Produced
from pact_benchmark.study import Statistic

PUBLISHED_SCENE_ACCURACY = 67.74
MODELS = ("tmc", "rcml")

IDS = (
    *(
        f"hw.{model}.{arm}.{metric}"
        for arm in ("refine", "merge")
        for model in MODELS
        for metric in ("d_ncsaurc", "d_l1", "d_acc_pp")
    ),
    *(f"hw.{model}.copies.acc_pct" for model in MODELS),
    *("hw.refine.l1_range_low", "hw.refine.l1_range_high"),
    *("hw.bootstrap.draws", "hw.multiplicity", "hw.ncsaurc.lo", "hw.ncsaurc.hi"),
    *("hw.refine.paradox_count", "hw.refine.choices", "hw.copies.max_multiplicity_invariant"),
    "hw.budget_intervals_exclude_zero",
    *("hw.partitions", "hw.single_merges", "hw.merges_budget_monotone"),
    *(
        f"hw.{model}.merge_{share}_pct"
        for share in ("lower_selection", "lower_posterior", "higher_selection")
        for model in MODELS
    ),
    *("hw.tmc.merge_budget_pct", "pie.rcml.refine_budget_ratio"),
    *("scene.tmc.acc30_pct", "scene.tmc.acc30_sd_pp", "scene.tmc.published_acc_pct"),
    *("scene.tmc.gap_pp", "scene.realisations", "scene.test_n"),
    *("scene.intervention_realisations", "scene.intervention_predictions"),
    *(f"scene.tmc.budget.{arm}" for arm in ("orig", "refine", "merge")),
    *(f"scene.tmc.budget_{what}.{a}" for what in ("ratio", "change") for a in ("refine", "merge")),
    *(f"scene.tmc.acc.{arm}_pct" for arm in ("orig", "refine", "merge")),
    *("scene.tmc.d_acc.refine_pp", "scene.tmc.d_acc.merge_pp"),
    *(f"scene.tmc.ncsaurc.{arm}" for arm in ("orig", "refine", "merge")),
    *("scene.tmc.trainscaler_acc_pct", "scene.tmc.trainscaler_sd_pp", "scene.bootstrap.draws"),
)


def study_statistics(
    analyses: Mapping[str, Analysis], produced: Produced, plan: Plan
) -> dict[str, Statistic]:
    """Return every published id; one that the given data do not allow has no value, but a note.

    Args:
        analyses: By pair: 'hw.tmc', 'hw.rcml', 'pie.rcml', 'scene.tmc'.
        produced: The evidences.
        plan: What was trained.
    """
    found: dict[str, Statistic] = {}
    for analysis in analyses.values():
        found.update(pair_statistics(analysis))
    handwritten = [analyses[f"hw.{m}"] for m in MODELS if f"hw.{m}" in analyses]
    if handwritten:
        found.update(_handwritten(handwritten, analyses, plan))
    if "scene.tmc" in analyses:
        found.update(_scene(analyses["scene.tmc"], produced, plan))
    absent = Statistic(None, note=f"not computed: {', '.join(produced.absent)} not found")
    if plan.first_only:
        absent = Statistic(None, note="not part of the quick mode")
        quick = "quick mode: one seed, few epochs; not comparable with the published figure"
        found = {name: replace(statistic, note=quick) for name, statistic in found.items()}
    return {name: found.get(name, absent) for name in IDS}


def _handwritten(
    pairs: list[Analysis], analyses: Mapping[str, Analysis], plan: Plan
) -> dict[str, Statistic]:
    """Statistics over both models of HandWritten, and over HandWritten and PIE."""
    outcomes = [pair.outcome for pair in pairs if pair.outcome is not None]
    surfaces = [pair.surface for pair in pairs if pair.surface is not None]
    budget_pairs = [*pairs, *(analyses[name] for name in ("pie.rcml",) if name in analyses)]
    drift = [float(study.donor_changes("l1").mean()) for study in outcomes]
    invariant = min(copies_invariant(pair.data.evidence) for pair in budget_pairs)
    better = sum(int(study.better_scores_worse_ordering().sum()) for study in outcomes)
    choices = sum(pair.data.views for pair in pairs)
    found = {
        "hw.refine.l1_range_low": Statistic(min(drift)),
        "hw.refine.l1_range_high": Statistic(max(drift)),
        "hw.bootstrap.draws": Statistic(plan.draws),
        "hw.multiplicity": Statistic(MULTIPLICITY),
        "hw.ncsaurc.lo": Statistic(max(study.support[0] for study in outcomes)),
        "hw.ncsaurc.hi": Statistic(SUPPORT[1]),
        "hw.refine.paradox_count": Statistic(better, n=choices),
        "hw.refine.choices": Statistic(choices),
        "hw.copies.max_multiplicity_invariant": Statistic(invariant),
        "hw.budget_intervals_exclude_zero": excludes_zero(budget_pairs),
    }
    if surfaces:
        found["hw.partitions"] = Statistic(len(surfaces[0].partitions))
        found["hw.single_merges"] = Statistic(len(surfaces[0].merges))
        monotone = min(int(surface.monotone.sum()) for surface in surfaces)
        found["hw.merges_budget_monotone"] = Statistic(monotone, n=len(surfaces[0].merges))
    return found


def _scene(analysis: Analysis, produced: Produced, plan: Plan) -> dict[str, Statistic]:
    """Statistics of Scene15: all realisations, and the reassignments on the first few."""
    assert produced.scene is not None
    assert produced.scene_clean is not None
    mean, spread = native_accuracy(produced.scene)
    clean_mean, clean_spread = native_accuracy(produced.scene_clean)
    scene, study, pair = produced.scene, analysis.pooled, "scene.tmc"
    rows = analysis.data.runs * analysis.data.records
    every = scene.runs * scene.records
    found = {
        f"{pair}.acc30_pct": Statistic(mean, n=every),
        f"{pair}.acc30_sd_pp": Statistic(spread, n=scene.runs),
        f"{pair}.published_acc_pct": Statistic(
            PUBLISHED_SCENE_ACCURACY, note="published with TMC, not computed here"
        ),
        f"{pair}.gap_pp": Statistic(PUBLISHED_SCENE_ACCURACY - mean, n=every),
        "scene.realisations": Statistic(scene.runs),
        "scene.test_n": Statistic(scene.records),
        "scene.intervention_realisations": Statistic(analysis.data.runs),
        "scene.intervention_predictions": Statistic(rows),
        "scene.bootstrap.draws": Statistic(plan.draws),
        f"{pair}.trainscaler_acc_pct": Statistic(clean_mean, n=rows),
        f"{pair}.trainscaler_sd_pp": Statistic(clean_spread, n=produced.scene_clean.runs),
    }
    named = {"orig": study.original, "refine": study.refined, "merge": study.merged}
    for name, measured in named.items():
        found[f"{pair}.budget.{name}"] = Statistic(measured.budget, n=rows)
        found[f"{pair}.acc.{name}_pct"] = Statistic(100.0 * measured.accuracy, n=rows)
        found[f"{pair}.ncsaurc.{name}"] = Statistic(measured.ncsaurc, n=rows)
    for arm, changes in study.changes.items():
        found[f"{pair}.budget_ratio.{arm.value}"] = Statistic(study.ratio(named[arm.value]), n=rows)
        found[f"{pair}.budget_change.{arm.value}"] = changes["budget"]
        found[f"{pair}.d_acc.{arm.value}_pp"] = _in_points(changes["accuracy"])
    return found


def _in_points(share: Statistic) -> Statistic:
    """A share as percentage points."""
    value, low, high = (
        None if v is None else 100.0 * v for v in (share.value, share.low, share.high)
    )
    return Statistic(value, low, high, share.n)
