"""Tables of the study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pact_benchmark.learned import arms
from pact_benchmark.learned.analysis import Analysis
from pact_benchmark.learned.arms import MULTIPLICITY, Arm, Outcome, Rule
from pact_benchmark.learned.evidence import EvidenceSet
from pact_benchmark.learned.lattice import SCORES
from pact_benchmark.learned.ordering import SUPPORT, area, grid_table, order_by
from pact_benchmark.learned.outcome import METRICS
from pact_benchmark.learned.produce import Produced
from pact_benchmark.study import Statistic, Table

ARM_NAMES = {
    Arm.ORIGINAL: "original views",
    Arm.COPIES: "copies within their component",
    Arm.REFINE: "false refinement",
    Arm.MERGE: "all-view merge",
}


def all_tables(analyses: Sequence[Analysis], prefix: str) -> list[Table]:
    """Return the tables of the given pairs, their ids starting with `prefix`."""
    tables = [_budgets(analyses, prefix)]
    with_outcomes = [analysis for analysis in analyses if analysis.outcome is not None]
    if with_outcomes:
        tables = [
            _contrasts(with_outcomes, prefix),
            _metrics(with_outcomes, prefix),
            _donors(with_outcomes, prefix),
            _rules(with_outcomes, prefix),
            *tables,
        ]
    surfaces = [analysis for analysis in analyses if analysis.surface is not None]
    if surfaces:
        tables += [_shares(surfaces, prefix), _dispersion(surfaces, prefix)]
        tables += [_partitions(surfaces, prefix), _merges(surfaces, prefix)]
    return tables


def _with_interval(name: str, statistic: Statistic) -> dict[str, float | int | None]:
    return {name: statistic.value, f"{name} low": statistic.low, f"{name} high": statistic.high}


def _contrasts(analyses: Sequence[Analysis], prefix: str) -> Table:
    rows = []
    for arm in (Arm.REFINE, Arm.MERGE):
        for analysis in analyses:
            study = analysis.outcome
            assert study is not None
            row: dict[str, object] = {"assignment": ARM_NAMES[arm], "pair": analysis.title}
            row |= _with_interval("Δ ncsAURC", study.contrast(arm, "ncsaurc"))
            row |= _with_interval("Δ posterior l1", study.contrast(arm, "l1"))
            row |= _with_interval("Δ accuracy (pp)", study.contrast(arm, "accuracy", 100.0))
            row |= _with_interval("Δ budget", study.contrast(arm, "budget"))
            rows.append(row)
    return Table(
        f"{prefix}_contrasts",
        f"Effects of provenance reassignment at multiplicity {MULTIPLICITY}",
        pd.DataFrame(rows),
        "Intervention minus its reference (copies within their component for false refinement, "
        "original views for the merge); two-sided 95% intervals of class-stratified, "
        "record-paired resamples. Reassignment may change the prediction, so the contrasts do not "
        "isolate the ordering.",
    )


def _metrics(analyses: Sequence[Analysis], prefix: str) -> Table:
    rows = []
    for analysis in analyses:
        assert analysis.outcome is not None
        for arm, measures in analysis.outcome.measures.items():
            row: dict[str, object] = {"pair": analysis.title, "assignment": ARM_NAMES[arm]}
            row |= {metric: measures.mean(metric) for metric in METRICS}
            rows.append(row)
    return Table(
        f"{prefix}_metrics",
        "Prediction and ordering under each counting assignment",
        pd.DataFrame(rows),
        "Means over replicated views, then over runs. l1 is the distance from the original-view "
        "posterior, risk10 the risk at coverage 0.10.",
    )


def _donors(analyses: Sequence[Analysis], prefix: str) -> Table:
    rows = []
    for analysis in analyses:
        study = analysis.outcome
        assert study is not None
        changes = {metric: study.donor_changes(metric) for metric in METRICS}
        better = study.better_scores_worse_ordering()
        for view, name in enumerate(analysis.data.view_names):
            row: dict[str, object] = {"pair": analysis.title, "replicated view": name}
            row |= {f"Δ {metric}": values[view] for metric, values in changes.items()}
            row["better NLL and Brier, worse ordering"] = bool(better[view])
            rows.append(row)
    return Table(
        f"{prefix}_replicated_views",
        "False refinement by replicated view",
        pd.DataFrame(rows),
        "Averaged over runs; refinement minus copies within their component.",
    )


def _rules(analyses: Sequence[Analysis], prefix: str) -> Table:
    rows = []
    for analysis in analyses:
        data = analysis.data
        views = range(data.views)
        for rule in Rule:
            cases = {
                "original views": [arms.compare_rule(data.evidence, rule)],
                f"one view {MULTIPLICITY} times, counted each time": [
                    arms.compare_rule(arms.with_copies(data.evidence, v, MULTIPLICITY), rule)
                    for v in views
                ],
            }
            for case, outcomes in cases.items():
                row: dict[str, object] = {"pair": analysis.title, "rule": rule.value}
                rows.append(row | {"sources": case} | _summary(data, outcomes))
    return Table(
        f"{prefix}_rules",
        "Rules on the same evidences, without provenance",
        pd.DataFrame(rows),
        "Product and nested Dirichlet count every opinion that they are given; so does PACT when "
        "copies are declared as new origins.",
    )


def _summary(data: EvidenceSet, outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Accuracy, NLL and ncsAURC, averaged over replicated views and runs."""
    table = grid_table(data.records, *SUPPORT)
    hits = [float((o.prediction == data.label).mean()) for o in outcomes]
    loss = [float(arms.negative_log_likelihood(o.posterior, data.label).mean()) for o in outcomes]
    areas = [
        area(order_by(score, prediction != truth), table)
        for o in outcomes
        for score, prediction, truth in zip(o.score, o.prediction, data.label, strict=True)
    ]
    return {"accuracy": np.mean(hits), "NLL": np.mean(loss), "ncsAURC": np.mean(areas)}


def _budgets(analyses: Sequence[Analysis], prefix: str) -> Table:
    rows = []
    for analysis in analyses:
        study = analysis.pooled
        for (arm, multiplicity), found in sorted(study.arms.items()):
            row: dict[str, object] = {
                "pair": analysis.title,
                "assignment": ARM_NAMES[arm],
                "multiplicity": multiplicity,
                "mean budget": found.budget,
                "ratio to original": study.ratio(found),
                "accuracy": found.accuracy,
                "ncsAURC over [0.01, 1]": found.ncsaurc,
            }
            change = study.changes[arm]["budget"] if _has_change(arm, multiplicity) else None
            row["budget change low"] = None if change is None else change.low
            row["budget change high"] = None if change is None else change.high
            rows.append(row)
        for multiplicity, budget in study.near.items():
            row = {
                "pair": analysis.title,
                "assignment": "near copies within their component",
                "multiplicity": multiplicity,
                "mean budget": budget,
                "ratio to original": budget / study.original.budget,
            }
            rows.append(row)
    return Table(
        f"{prefix}_budgets",
        "Evidence budgets with a round-robin replicated view",
        pd.DataFrame(rows),
        "Rows of all runs pooled; the replicated view of a record is its id modulo the number of "
        "views. Near copies differ by one percent (log-normal).",
    )


def _has_change(arm: Arm, multiplicity: int) -> bool:
    return arm is Arm.MERGE or (arm is Arm.REFINE and multiplicity == MULTIPLICITY)


def _shares(analyses: Sequence[Analysis], prefix: str) -> Table:
    rows = []
    for analysis in analyses:
        surface = analysis.surface
        assert surface is not None
        for index, score in enumerate(SCORES):
            row: dict[str, object] = {
                "pair": analysis.title,
                "ranked by": score,
                "single merges": len(surface.merges),
                "budget never rises": int(surface.monotone.sum()),
            }
            for name, direction in (("lower %", -1), ("tie %", 0), ("higher %", 1)):
                row |= _with_interval(name, surface.share(index, direction))
            rows.append(row)
    return Table(
        f"{prefix}_merge_directions",
        "Share of single merges that lower, keep or raise ncsAURC",
        pd.DataFrame(rows),
        "Class-stratified record resamples; in a resample with few errors many merges tie, so an "
        "interval need not hold the point value.",
    )


def _dispersion(analyses: Sequence[Analysis], prefix: str) -> Table:
    parts = []
    for analysis in analyses:
        assert analysis.surface is not None
        frame = analysis.surface.dispersion()
        frame.insert(0, "pair", analysis.title)
        parts.append(frame)
    title = "Spread of ncsAURC among partitions with equally many components"
    return Table(f"{prefix}_dispersion", title, pd.concat(parts, ignore_index=True))


def _partitions(analyses: Sequence[Analysis], prefix: str) -> Table:
    parts = []
    for analysis in analyses:
        assert analysis.surface is not None
        frame = analysis.surface.frame()
        frame.insert(0, "pair", analysis.title)
        parts.append(frame)
    title = "Every partition of the views"
    return Table(f"{prefix}_partitions", title, pd.concat(parts, ignore_index=True))


def _merges(analyses: Sequence[Analysis], prefix: str) -> Table:
    parts = []
    for analysis in analyses:
        assert analysis.surface is not None
        frame = analysis.surface.merge_frame()
        frame.insert(0, "pair", analysis.title)
        parts.append(frame)
    title = "Every single merge of two components"
    return Table(f"{prefix}_merges", title, pd.concat(parts, ignore_index=True))


def scene_tables(produced: Produced) -> list[Table]:
    """Accuracy of TMC per Scene15 realisation, and the choice of its learning rate."""
    if produced.scene is None or produced.scene_clean is None:
        return []
    rows = []
    for scaling, data in (("separate", produced.scene), ("train", produced.scene_clean)):
        native = arms.nested_evidence(data.evidence).argmax(axis=-1) == data.label
        summed = data.evidence.sum(axis=2).argmax(axis=-1) == data.label
        for run, seed in enumerate(data.seed):
            rows.append(
                {
                    "scaler fitted on": scaling,
                    "seed": seed,
                    "records": data.records,
                    "TMC accuracy": float(native[run].mean()),
                    "PACT accuracy": float(summed[run].mean()),
                }
            )
    rates = produced.scene_validation or {}
    chosen = max(rates, key=lambda rate: rates[rate])
    choice = [
        {"learning rate": rate, "validation accuracy": accuracy, "chosen": rate == chosen}
        for rate, accuracy in rates.items()
    ]
    return [
        Table("learned_scene15", "Scene15 realisations", pd.DataFrame(rows)),
        Table(
            "learned_scene15_rate",
            "Choice of the learning rate of Scene15",
            pd.DataFrame(choice),
            "Cross-validation inside the training part of the first seed; used for all "
            "realisations.",
        ),
    ]


def sensitivity_table(analyses: dict[str, Analysis], extra: dict[str, Analysis]) -> Table:
    """Other readings beside the reported ones."""
    rows = []
    for name, analysis in {**analyses, **extra}.items():
        study = analysis.pooled
        row: dict[str, object] = {
            "pair": analysis.title,
            "records": analysis.data.records,
            "ratio, round robin": study.ratio(study.refined),
            "ratio, mean over views": study.mean_ratio,
            "merged budget %": 100.0 * study.ratio(study.merged),
        }
        if analysis.outcome is not None:
            copies = analysis.outcome.measures[Arm.COPIES]
            row["accuracy %"] = 100.0 * copies.mean("accuracy")
            for arm in (Arm.REFINE, Arm.MERGE):
                found = analysis.outcome.contrast(arm, "ncsaurc")
                row[f"{arm.value} Δ ncsAURC"] = found.value
        row["reading"] = "sensitivity" if name in extra else "reported"
        rows.append(row)
    return Table(
        "learned_sensitivity",
        "Other readings of the replicated view and of the test records",
        pd.DataFrame(rows),
        "The mean over all choices of the replicated view gives 1 + 7/V by algebra.",
    )
