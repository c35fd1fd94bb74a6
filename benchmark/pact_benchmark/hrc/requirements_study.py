"""Admission requirements with learned event proximity: counts, intervals, by task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pact_benchmark.hrc.admission import (
    Counts,
    Flags,
    QueryTable,
    Requirements,
    admitted,
    at_least,
    count,
    query_table,
    typed_responses,
    window_series,
)
from pact_benchmark.hrc.names import in_order, label, short, task_label
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.schema import EPISODE_TARGET
from pact_benchmark.hrc.statistics import Floats, Strata, order_interval, task_mean_draws
from pact_benchmark.study import Statistic, StudyResult, Table

PROXIMITY_THRESHOLD = 0.5
RELEASE_SEED, RELEASE_DRAWS = 20260811, 10_000
METHODS: Mapping[str, tuple[str, Requirements]] = {
    "candidate_only": ("Candidate evidence only", Requirements.NONE),
    "target_identity": ("Target identity", Requirements.IDENTITY),
    "event_proximity": ("Event proximity", Requirements.TEMPORAL),
    "target_plus_proximity": ("Target + event proximity", Requirements.IDENTITY_TEMPORAL),
}
RELEASE_METHODS = {"combined": "target_plus_proximity"}
CONSISTENCY_CAVEAT = (
    "Counts are over recorded episodes and describe agreement with the data set's reference "
    "action, not task success; zero is no population guarantee."
)
IDENTITY_CAVEAT = (
    "Identity evidence is the comparison of the queried target with the episode's own, so the "
    "identity requirement removes every counterfactual error by definition."
)


@dataclass(frozen=True, slots=True)
class CheckpointAdmission:
    """Queries of one checkpoint and what each method admits."""

    checkpoint: str
    table: QueryTable
    admit: dict[str, Flags]

    def counts(self, method: str, rows: Flags | None = None) -> Counts:
        """Return the admissions of a method."""
        return count(self.table, self.admit[method], rows)


def all_five(recordings: Recordings, predictor: str) -> pd.Series:
    """Return the stored scores of a predictor over all cameras, indexed by (event, window)."""
    scores = recordings.scores
    chosen = scores[(scores["predictor"] == predictor) & (scores["setting"] == "all_five")]
    return window_series(chosen, "score")


def admissions(recordings: Recordings) -> list[CheckpointAdmission]:
    """Apply the four combinations of requirements to every checkpoint with queries."""
    scores = all_five(recordings, "in_task")
    result = []
    for checkpoint in in_order(recordings.queries["checkpoint"].unique()):
        queries = recordings.queries[recordings.queries["checkpoint"] == checkpoint]
        table = query_table(queries)
        near = at_least(table.frame, scores, PROXIMITY_THRESHOLD)
        admit = {
            method: admitted(typed_responses(table, requirements, near))
            for method, (_, requirements) in METHODS.items()
            if not requirements.temporal or len(scores)
        }
        result.append(CheckpointAdmission(checkpoint, table, admit))
    return result


def requirements_study(recordings: Recordings) -> StudyResult | None:
    """Count admissions under each requirement; None without queries and proximity scores."""
    if not len(recordings.queries) or not len(all_five(recordings, "in_task")):
        return None
    found = admissions(recordings)
    statistics: dict[str, Statistic] = {}
    panel: list[dict[str, object]] = []
    retention: list[dict[str, object]] = []
    intervals: list[dict[str, Any]] = []
    tasks: list[dict[str, object]] = []
    draws_of: dict[tuple[str, ...], Mapping[str, Floats]] = {}
    for item in found:
        _add_counts(item, statistics, panel)
        strata = Strata.of(item.table.frame)
        key = tuple(episode for task in strata.tasks for episode in strata.episodes[task])
        if key not in draws_of:
            draws_of[key] = strata.counts_standard_library(RELEASE_SEED, RELEASE_DRAWS)
        contrast = _contrasts(item, strata, draws_of[key])
        intervals.extend({"Checkpoint": label(item.checkpoint), **row} for row in contrast)
        _add_retention(item, contrast[0], statistics, retention)
        tasks.extend(_task_rows(item))
    tables = [
        Table("hrc_requirements", "Admission requirements with learned event proximity",
              pd.DataFrame(panel), caveat_note(recordings, found)),
        Table("hrc_retention", "Reference consistency and admission retention",
              pd.DataFrame(retention), caveat_note(recordings, found)),
        Table("hrc_intervals", "Joint rule minus candidate evidence alone (95 % intervals)",
              pd.DataFrame(intervals),
              "Equal-task means; task-stratified resampling of whole episodes, 10,000 draws."),
        Table("hrc_by_task", "Admissions by task", pd.DataFrame(tasks), CONSISTENCY_CAVEAT),
    ]  # fmt: skip
    checks = _checks(recordings, found, intervals)
    if checks is not None:
        tables.append(checks)
    reading = (
        "Each row adds a requirement to the same candidates: target identity removes off-target "
        "admissions, event proximity removes early ones; read how many consistent ones remain."
    )
    return StudyResult(statistics, tables, [], reading)


def _add_counts(
    item: CheckpointAdmission, statistics: dict[str, Statistic], panel: list[dict[str, object]]
) -> None:
    name = short(item.checkpoint)
    for method, (text, _) in METHODS.items():
        counts = item.counts(method)
        prefix = f"panelA.{name}.{method}"
        statistics[f"{prefix}.off_target"] = Statistic(counts.off_target, n=counts.queries)
        statistics[f"{prefix}.early_on_target"] = Statistic(
            counts.early_on_target, n=counts.queries
        )
        statistics[f"{prefix}.inconsistent"] = Statistic(counts.inconsistent, n=counts.queries)
        statistics[f"{prefix}.consistent"] = Statistic(counts.consistent, n=counts.ready_targets)
        panel.append(
            {
                "Checkpoint": label(item.checkpoint),
                "Admission evidence": text,
                "Off-target": counts.off_target,
                "On-target early-window": counts.early_on_target,
                "Inconsistent": counts.inconsistent,
                "Consistent": counts.consistent,
            }
        )


def _contrasts(
    item: CheckpointAdmission, strata: Strata, draws: Mapping[str, Floats]
) -> list[dict[str, Any]]:
    """Return joint minus candidate-only rates: inconsistent, consistent, READY recall."""
    table = item.table
    change = item.admit["target_plus_proximity"].astype(float) - item.admit["candidate_only"]
    ready = table.frame[table.consistent]
    measures = {
        "wrong_all": (table.frame, np.where(table.consistent, 0.0, change)),
        "correct_all": (table.frame, np.where(table.consistent, change, 0.0)),
        "ready_factual_recall": (ready, change[table.consistent]),
    }
    rows: list[dict[str, Any]] = []
    for name, (frame, value) in measures.items():
        once = {task: np.ones((1, len(strata.episodes[task]))) for task in strata.tasks}
        point = float(task_mean_draws(frame, value, strata, once)[0])
        low, high = order_interval(task_mean_draws(frame, value, strata, draws))
        rows.append({"Metric": name, "Point": point, "Low": low, "High": high})
    return rows


def _add_retention(
    item: CheckpointAdmission,
    contrast: dict[str, Any],
    statistics: dict[str, Statistic],
    rows: list[dict[str, object]],
) -> None:
    name = short(item.checkpoint)
    alone, joint = item.counts("candidate_only"), item.counts("target_plus_proximity")
    point, low, high = (100.0 * float(contrast[key]) for key in ("Point", "Low", "High"))
    difference = Statistic(point, low, high, alone.queries)
    prefix = f"retention_table.{name}"
    statistics |= {
        f"{prefix}.cand.consistent": Statistic(alone.consistent, n=alone.ready_targets),
        f"{prefix}.cand.inconsistent": Statistic(alone.inconsistent, n=alone.queries),
        f"{prefix}.cand.ready_recall_pct": Statistic(100 * alone.recall, n=alone.ready_targets),
        f"{prefix}.joint.consistent": Statistic(joint.consistent, n=joint.ready_targets),
        f"{prefix}.joint.inconsistent": Statistic(joint.inconsistent, n=joint.queries),
        f"{prefix}.joint.coverage_pct": Statistic(100 * joint.coverage, n=joint.queries),
        f"{prefix}.d_inconsistent_pp": difference,
        f"{prefix}.excluded_inconsistent": Statistic(
            alone.inconsistent - joint.inconsistent, n=alone.inconsistent
        ),
        f"panelA.{name}.joint_minus_candidate_pp": difference,
    }
    rows.append(
        {
            "Checkpoint": label(item.checkpoint),
            "Candidate only: consistent": alone.consistent,
            "Candidate only: inconsistent": alone.inconsistent,
            "READY recall (%)": round(100 * alone.recall, 1),
            "Joint: consistent": joint.consistent,
            "Joint: inconsistent": joint.inconsistent,
            "Coverage (%)": round(100 * joint.coverage, 1),
            "Δ inconsistent (pp)": f"{point:.2f} [{low:.2f}, {high:.2f}]",
        }
    )


def _task_rows(item: CheckpointAdmission) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    task_of = item.table.frame["task"].to_numpy()
    for method in METHODS:
        for task in sorted(set(task_of)):
            counts = item.counts(method, task_of == task)
            rows.append(
                {
                    "Checkpoint": label(item.checkpoint),
                    "Admission evidence": METHODS[method][0],
                    "Task": task_label(task),
                    "Queries": counts.queries,
                    "Consistent": counts.consistent,
                    "Inconsistent": counts.inconsistent,
                    "READY recall": counts.recall,
                    "Coverage": counts.coverage,
                }
            )
    return rows


def query_caveats(recordings: Recordings) -> list[str]:
    """Return what must be said with any count over these queries."""
    notes = [CONSISTENCY_CAVEAT]
    queries = recordings.queries
    if ((queries["identity"] == "match") == (queries["target_kind"] == EPISODE_TARGET)).all():
        notes.append(IDENTITY_CAVEAT)
    return notes


def caveat_note(recordings: Recordings, found: list[CheckpointAdmission]) -> str:
    """Return what must be said with the counts of these recordings."""
    notes = query_caveats(recordings)
    wrong: dict[str, set[tuple[str, str]]] = {}
    for item in found:
        rows = item.admit["target_plus_proximity"] & ~item.table.consistent
        frame = item.table.frame[rows]
        wrong[item.checkpoint] = set(zip(frame["event"], frame["window"], strict=True))
    shared = set.intersection(*wrong.values()) if wrong else set()
    union = set().union(*wrong.values())
    if len(wrong) > 1 and union and shared == union:
        events = ", ".join(sorted(f"{event} ({window})" for event, window in shared))
        notes.append(
            f"The inconsistent admissions of the joint rule are the same event for all "
            f"{len(wrong)} checkpoints: {events}."
        )
    return " ".join(notes)


def _checks(
    recordings: Recordings, found: list[CheckpointAdmission], intervals: list[dict[str, Any]]
) -> Table | None:
    """Compare with the result tables that came with the recordings."""
    rows = []
    names = {item.checkpoint: item for item in found}
    for reference in ("summary", "by_task"):
        given = recordings.references.get(reference)
        if given is not None:
            good = [_row_agrees(row, names) for row in _records(given)]
            rows.append({"Table": reference, "Rows": len(good), "Equal": int(sum(good))})
    given = recordings.references.get("bootstrap")
    if given is not None:
        ours = {(row["Checkpoint"], row["Metric"]): row for row in intervals}
        good = [_interval_agrees(row, ours) for row in _records(given)]
        rows.append({"Table": "bootstrap", "Rows": len(good), "Equal": int(sum(good))})
    if not rows:
        return None
    title = "Agreement with the result tables that came with the recordings"
    return Table("hrc_checks", title, pd.DataFrame(rows), "Equal means every count, or 1e-12.")


def _records(frame: pd.DataFrame) -> list[dict[str, str]]:
    return [{str(k): str(v) for k, v in row.items()} for row in frame.to_dict("records")]


def _row_agrees(row: dict[str, str], found: Mapping[str, CheckpointAdmission]) -> bool:
    method = RELEASE_METHODS.get(row["method"], row["method"])
    item = found.get(row["model"])
    if item is None or method not in item.admit:
        return False
    rows = (item.table.frame["task"] == row["sid"]).to_numpy() if "sid" in row else None
    counts = item.counts(method, rows)
    ours = (counts.queries, counts.consistent, counts.inconsistent)
    return tuple(str(x) for x in ours) == (
        row["records"], row["correct_admitted"], row["wrong_admitted"],
    )  # fmt: skip


def _interval_agrees(row: dict[str, str], ours: Mapping[tuple[str, str], dict[str, Any]]) -> bool:
    mine = ours.get((label(row["model"]), row["metric"]))
    if mine is None:
        return False
    pairs = (("Point", "point"), ("Low", "ci95_low"), ("High", "ci95_high"))
    return all(abs(float(mine[a]) - float(row[b])) < 1e-12 for a, b in pairs)
