"""Requirements × counting rules: which admissions change with what counts as a witness."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from pact_benchmark.hrc.admission import (
    Counts,
    Flags,
    QueryTable,
    Requirements,
    admitted,
    count,
    query_table,
    strict_change,
    typed_responses,
    window_series,
)
from pact_benchmark.hrc.arms import arm_of, most_prompts
from pact_benchmark.hrc.evidence import COUNTING_LABELS, Counting
from pact_benchmark.hrc.names import HOTEL_TOWEL, in_order, label, short, task_label
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.requirements_study import query_caveats
from pact_benchmark.hrc.statistics import Strata, percentile_interval, task_mean_draws
from pact_benchmark.study import Statistic, StudyResult, Table

FACTORIAL_NAMES = {
    Counting.ACQUISITION: "pact",
    Counting.PER_OUTPUT: "per_output",
    Counting.ONE_PER_CAMERA: "one_per_camera",
    Counting.ALL_VIEW_MERGE: "all_output_merge",
    Counting.IDENTICAL_MERGE: "identical_merge",
    Counting.SHUFFLED: "shuffled",
}
SEED = 20260801
TEMPORAL_CAVEAT = (
    "The strict-change rule never admits an early window: before a temporal reference exists its "
    "condition is unmet. Candidates and identity are fixed across counting rules."
)


def temporal_condition(table: QueryTable, arm: pd.DataFrame) -> Flags:
    """Return where the fused READY posterior rises strictly from early to proximal."""
    return strict_change(table.frame, window_series(arm, "p_ready"))


def factorial_study(recordings: Recordings, arms: pd.DataFrame, draws: int) -> StudyResult | None:
    """Count admissions for every combination; None without queries."""
    if not len(recordings.queries):
        return None
    statistics: dict[str, Statistic] = {}
    rows: list[dict[str, object]] = []
    tasks: list[dict[str, object]] = []
    gaps: list[str] = []
    for checkpoint in in_order(recordings.queries["checkpoint"].unique()):
        queries = recordings.queries[recordings.queries["checkpoint"] == checkpoint]
        table = query_table(queries)
        name = short(checkpoint)
        candidates = count(table, table.candidate & table.parsed)
        statistics[f"retention.{name}.candidates"] = Statistic(
            candidates.consistent, n=candidates.ready_targets
        )
        strata = Strata.of(table.frame)
        resampled = strata.counts(SEED, draws)
        for requirements, rule, admit in _combinations(table, arms, checkpoint):
            counts = count(table, admit)
            arm = "all_rules" if rule is None else FACTORIAL_NAMES[rule]
            prefix = f"factorial.{requirements}.{arm}.{name}"
            recall = task_mean_draws(
                table.frame[table.consistent],
                admit[table.consistent].astype(float),
                strata,
                resampled,
            )
            wrong = task_mean_draws(
                table.frame, (admit & ~table.consistent).astype(float), strata, resampled
            )
            statistics[f"{prefix}.consistent"] = Statistic(
                counts.consistent, n=counts.ready_targets
            )
            statistics[f"{prefix}.inconsistent"] = Statistic(counts.inconsistent, n=counts.queries)
            low, high = percentile_interval(recall)
            statistics[f"{prefix}.ready_recall"] = Statistic(
                counts.recall, low, high, counts.ready_targets
            )
            rows.append(_row(checkpoint, requirements, rule, counts, (low, high), wrong))
            tasks.extend(_by_task(table, checkpoint, requirements, rule, admit))
        statistics |= _hotel(table, arms, checkpoint)
        gaps.extend(_gap(table, arms, checkpoint))
    note = " ".join((*query_caveats(recordings), TEMPORAL_CAVEAT, *gaps))
    tables = [
        Table("hrc_factorial", "Admission across counting rules and requirements",
              pd.DataFrame(rows), note),
        Table("hrc_factorial_by_task", "Admission across counting rules and requirements, by task",
              pd.DataFrame(tasks), note),
    ]  # fmt: skip
    reading = (
        "Rows without the temporal requirement are the same for every counting rule; with it, the "
        "counting rule decides through the posterior whether an episode's READY evidence rose."
    )
    return StudyResult(statistics, tables, [], reading)


def _gap(table: QueryTable, arms: pd.DataFrame, checkpoint: str) -> list[str]:
    """Say how many queries have no fused posterior of their event, if only some have."""
    known = set(arms.loc[arms["checkpoint"] == checkpoint, "event"])
    missing = int((~table.frame["event"].isin(known)).sum()) if known else 0
    if not missing:
        return []
    return [f"{label(checkpoint)}: {missing} queries have no outputs, so time withholds them."]


def _combinations(
    table: QueryTable, arms: pd.DataFrame, checkpoint: str
) -> Iterator[tuple[Requirements, Counting | None, Flags]]:
    for requirements in (Requirements.NONE, Requirements.IDENTITY):
        yield requirements, None, admitted(typed_responses(table, requirements))
    if not (arms["checkpoint"] == checkpoint).any():
        return
    prompts = most_prompts(arms, checkpoint)
    for requirements in (Requirements.TEMPORAL, Requirements.IDENTITY_TEMPORAL):
        for rule in Counting:
            arm = arm_of(arms, checkpoint, prompts, rule)
            if len(arm):
                rises = temporal_condition(table, arm)
                yield requirements, rule, admitted(typed_responses(table, requirements, rises))


def _row(
    checkpoint: str,
    requirements: Requirements,
    rule: Counting | None,
    counts: Counts,
    recall: tuple[float, float],
    wrong: np.ndarray,
) -> dict[str, object]:
    low, high = percentile_interval(wrong)
    return {
        "Checkpoint": label(checkpoint),
        "Identity": "yes" if requirements.identity else "no",
        "Temporal": "yes" if requirements.temporal else "no",
        "Counting rule": "All rules" if rule is None else COUNTING_LABELS[rule],
        "Consistent": counts.consistent,
        "Inconsistent": counts.inconsistent,
        "READY recall (95 % CI)": f"{counts.recall:.3f} [{recall[0]:.3f}, {recall[1]:.3f}]",
        "Inconsistent rate (95 % CI)": f"{counts.inconsistent / counts.queries:.3f} "
        f"[{low:.3f}, {high:.3f}]",
        "Coverage": counts.coverage,
    }


def _by_task(
    table: QueryTable,
    checkpoint: str,
    requirements: Requirements,
    rule: Counting | None,
    admit: Flags,
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    task_of = table.frame["task"].to_numpy()
    for task in sorted(set(task_of)):
        counts = count(table, admit, task_of == task)
        rows.append(
            {
                "Checkpoint": label(checkpoint),
                "Requirements": str(requirements),
                "Counting rule": "All rules" if rule is None else COUNTING_LABELS[rule],
                "Task": task_label(task),
                "Consistent": counts.consistent,
                "Inconsistent": counts.inconsistent,
                "READY recall": counts.recall,
            }
        )
    return rows


def _hotel(table: QueryTable, arms: pd.DataFrame, checkpoint: str) -> dict[str, Statistic]:
    """Return where the Hotel Towel task loses its reference-READY episodes."""
    here = (table.frame["task"] == HOTEL_TOWEL).to_numpy() & table.consistent
    if not here.any():
        return {}
    number, name = int(here.sum()), short(checkpoint)
    selected = here & table.candidate & table.parsed
    statistics = {
        "hotel.ready_episodes": Statistic(number),
        f"hotel.{name}.selection_failed": Statistic(number - int(selected.sum()), n=number),
    }
    if not (arms["checkpoint"] == checkpoint).any():
        return statistics
    prompts = most_prompts(arms, checkpoint)
    for rule in (Counting.ACQUISITION, Counting.PER_OUTPUT, Counting.ONE_PER_CAMERA):
        arm = arm_of(arms, checkpoint, prompts, rule)
        if not len(arm):
            continue
        passed = selected & table.identity & temporal_condition(table, arm)
        admitted_here = int(passed.sum())
        statistics[f"hotel.{name}.{FACTORIAL_NAMES[rule]}_admitted"] = Statistic(
            admitted_here, n=number
        )
        if rule is Counting.ACQUISITION:
            rejected = int((selected & table.identity).sum()) - admitted_here
            statistics[f"hotel.{name}.temporal_rejected"] = Statistic(rejected, n=number)
    return statistics
