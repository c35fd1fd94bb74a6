"""Temporal evidence: held-out scores, absolute rules against change, permutation tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pact_benchmark.hrc.admission import (
    Flags,
    QueryTable,
    Requirements,
    admitted,
    at_least,
    count,
    lookup,
    query_table,
    strict_change,
    typed_responses,
)
from pact_benchmark.hrc.names import in_order, label, short, task_label
from pact_benchmark.hrc.permutation import (
    EventProfiles,
    cross_task_test,
    exact_test,
    permutation_test,
)
from pact_benchmark.hrc.proximity import HeldOutRules
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.requirements_study import CONSISTENCY_CAVEAT, all_five
from pact_benchmark.hrc.schema import EARLY, PRE_EARLY, PROXIMAL
from pact_benchmark.hrc.statistics import (
    Floats,
    Strata,
    auroc,
    auroc_draws,
    percentile_interval,
    task_mean,
    task_mean_draws,
)
from pact_benchmark.study import Statistic, StudyResult, Table

SEED = 20260811
LOTO_CHECKPOINT = "qwen3vl_8b"
RULE_LABELS = {
    "absolute_0.5": "Absolute score (0.5)",
    "dev_balanced_accuracy": "Dev balanced accuracy",
    "dev_fpr_0.05": "Dev FPR ≤ 0.05",
    "dev_platt": "Dev Platt calibration",
    "paired_positive_change": "Paired positive change",
}
CHANGE_CAVEAT = (
    "The paired-change rule never admits an early window, so its inconsistent admissions are zero "
    "by construction once identity is required."
)
AUROC_CAVEAT = (
    "The published area pools three camera settings per task; scores over all five cameras alone "
    "give loto.auroc_all_five, which is another quantity."
)


@dataclass(frozen=True, slots=True)
class TemporalOptions:
    """How many resamples and permutations are drawn, and the seed of the permutations."""

    draws: int = 2_000
    permutations: int = 10_000
    seed: int = SEED


def temporal_study(
    recordings: Recordings, rules: HeldOutRules | None, options: TemporalOptions
) -> StudyResult | None:
    """Run every temporal analysis the scores allow; None without task-held-out scores."""
    scores = all_five(recordings, "task_heldout")
    if not len(scores):
        return None
    statistics: dict[str, Statistic] = {}
    tables: list[Table] = []
    if len(recordings.queries):
        _transfer(recordings, scores, rules, statistics, tables)
        _sequential(recordings, scores, options, statistics, tables)
    _auroc(recordings, options, statistics, tables)
    _permutations(recordings, scores, options, statistics, tables)
    reading = (
        "Scores separate the windows within a task, but their level moves from task to task: a "
        "fixed threshold does not transfer, the change within an episode does."
    )
    return StudyResult(statistics, tables, [], reading)


def paired_events(recordings: Recordings) -> pd.DataFrame:
    """Return task, episode, event, early and proximal held-out score of every paired event."""
    scores = recordings.scores
    chosen = scores[(scores["predictor"] == "task_heldout") & (scores["setting"] == "all_five")]
    wide = chosen.pivot(index="event", columns="window", values="score")
    if not {EARLY, PROXIMAL} <= set(wide.columns):
        return pd.DataFrame(columns=["task", "episode", "event", EARLY, PROXIMAL])
    names = chosen.drop_duplicates("event").set_index("event")[["task", "episode"]]
    frame = wide[[EARLY, PROXIMAL]].astype(float).join(names).dropna().reset_index()
    return frame.sort_values(["task", "episode", "event"]).reset_index(drop=True)


def temporal_rules(
    table: QueryTable, scores: pd.Series, rules: HeldOutRules | None
) -> dict[str, Flags]:
    """Return the temporal condition of every rule that the recordings allow."""
    frame = table.frame
    found = {"absolute_0.5": at_least(frame, scores, 0.5)}
    if rules is not None:
        value = lookup(frame, scores)
        tasks = frame["task"].to_numpy()
        with np.errstate(invalid="ignore"):
            for name, per_task in rules.thresholds().items():
                cut = np.array([per_task.get(str(task), np.nan) for task in tasks])
                found[name] = np.asarray(value >= cut)
    found["paired_positive_change"] = strict_change(frame, scores)
    return found


def _transfer(
    recordings: Recordings,
    scores: pd.Series,
    rules: HeldOutRules | None,
    statistics: dict[str, Statistic],
    tables: list[Table],
) -> None:
    rows: list[dict[str, object]] = []
    tasks: list[dict[str, object]] = []
    for checkpoint in in_order(recordings.queries["checkpoint"].unique()):
        table = query_table(recordings.queries[recordings.queries["checkpoint"] == checkpoint])
        prefix = "loto" if checkpoint == LOTO_CHECKPOINT else f"loto.{short(checkpoint)}"
        for rule, met in temporal_rules(table, scores, rules).items():
            admit = admitted(typed_responses(table, Requirements.IDENTITY_TEMPORAL, met))
            counts = count(table, admit)
            recall = Statistic(100 * counts.recall, n=counts.ready_targets)
            statistics |= {
                f"{prefix}.{rule}.consistent": Statistic(counts.consistent, n=counts.ready_targets),
                f"{prefix}.{rule}.inconsistent": Statistic(counts.inconsistent, n=counts.queries),
                f"{prefix}.{rule}.ready_recall_pct": recall,
            }
            named = {"Checkpoint": label(checkpoint), "Temporal rule": RULE_LABELS[rule]}
            rows.append(
                {
                    **named,
                    "Consistent": counts.consistent,
                    "Inconsistent": counts.inconsistent,
                    "READY recall (%)": round(100 * counts.recall, 1),
                }
            )
            task_of = table.frame["task"].to_numpy()
            for task in sorted(set(task_of)):
                here = count(table, admit, task_of == task)
                tasks.append(
                    {
                        **named,
                        "Task": task_label(task),
                        "Consistent": here.consistent,
                        "Inconsistent": here.inconsistent,
                        "READY recall": here.recall,
                    }
                )
    note = " ".join((CONSISTENCY_CAVEAT, CHANGE_CAVEAT))
    title = "Leave-one-task-out temporal rules under fixed candidates and target identity"
    tables.append(Table("hrc_loto", title, pd.DataFrame(rows), note))
    tables.append(Table("hrc_loto_by_task", f"{title}, by task", pd.DataFrame(tasks), note))
    given = recordings.references.get("heldout_by_task")
    if given is not None and LOTO_CHECKPOINT in set(recordings.queries["checkpoint"]):
        equal = _agreement(given, pd.DataFrame(tasks))
        frame = pd.DataFrame([{"Table": "by task", "Rows": len(given), "Equal": equal}])
        title = "Agreement with the task-held-out result table that came with the recordings"
        tables.append(Table("hrc_loto_checks", title, frame, "Equal means counts and recall."))


def _agreement(given: pd.DataFrame, tasks: pd.DataFrame) -> int:
    """Return how many rows of the release's table equal ours for the paired-change rule."""
    mine = tasks[
        (tasks["Checkpoint"] == label(LOTO_CHECKPOINT))
        & (tasks["Temporal rule"] == RULE_LABELS["paired_positive_change"])
    ]
    total = mine["Consistent"] + mine["Inconsistent"]
    ours = dict(zip(mine["Task"], zip(total, mine["READY recall"], strict=True), strict=True))
    equal = 0
    for task, number, recall in zip(
        given["sid"], given["admitted"], given["ready_factual_recall"], strict=True
    ):
        found = ours.get(task_label(str(task)))
        if found is not None:
            equal += str(found[0]) == number and abs(float(found[1]) - float(recall)) < 1e-12
    return equal


def _auroc(
    recordings: Recordings,
    options: TemporalOptions,
    statistics: dict[str, Statistic],
    tables: list[Table],
) -> None:
    scores = recordings.scores
    heldout = scores[(scores["predictor"] == "task_heldout") & (scores["window"] != PRE_EARLY)]
    several = heldout["setting"].nunique() > 1
    name = "loto.auroc" if several else "loto.auroc_all_five"
    strata = Strata.of(heldout)
    drawn = strata.counts(options.seed, options.draws)
    per_task, resampled = {}, np.zeros(options.draws)
    for task in strata.tasks:
        rows = heldout[heldout["task"] == task]
        value = rows["score"].to_numpy(dtype=float)
        proximal = (rows["window"] == PROXIMAL).to_numpy()
        per_task[task] = auroc(value, proximal)
        unit = strata.unit(task, rows["episode"])
        resampled += auroc_draws(value, proximal, unit, drawn[task]) / len(strata.tasks)
    mean = float(np.mean(list(per_task.values())))
    low, high = percentile_interval(resampled)
    statistics[name] = Statistic(mean, low, high, len(heldout))
    frame = pd.DataFrame(
        [{"Task": task_label(task), "AUROC": value} for task, value in per_task.items()]
        + [{"Task": "Equal-task mean", "AUROC": mean}]
    )
    note = f"95 % interval of the mean [{low:.3f}, {high:.3f}], episodes resampled within tasks. "
    title = "Within-task discrimination of the task-held-out score"
    tables.append(Table("hrc_auroc", title, frame, note + ("" if several else AUROC_CAVEAT)))


def _permutations(
    recordings: Recordings,
    scores: pd.Series,
    options: TemporalOptions,
    statistics: dict[str, Statistic],
    tables: list[Table],
) -> None:
    events = paired_events(recordings)
    if not len(events):
        return
    profiles = EventProfiles.of(events)
    large = permutation_test(profiles, options.permutations, options.seed)
    cross = cross_task_test(profiles, options.draws, options.seed)
    statistics |= {
        "temporal.concordance": Statistic(large.observed, n=large.events),
        "temporal.concordance_null": Statistic(large.null_mean, n=options.permutations),
        "temporal.p_large": Statistic(large.p, n=options.permutations),
        "temporal.cross_task.concordance_null": Statistic(cross.null_mean, n=options.draws),
        "temporal.cross_task.p": Statistic(cross.p, n=options.draws),
        "design.perm_events": Statistic(large.events),
        "design.perm_episodes": Statistic(large.episodes),
        "design.permutations": Statistic(options.permutations),
    }
    rows = [{"Analysis": "All paired events", **large.row()}]
    rows.append({"Analysis": "Donors from other tasks", **cross.row()})
    asked = events["event"].isin(set(recordings.queries["event"]))
    if 0 < asked.sum() < len(events):
        # One event per episode here: which occurrence it is does not enter the blocks.
        few = EventProfiles.of(events[asked], by_occurrence=False)
        sampled = permutation_test(few, options.permutations, options.seed)
        small = exact_test(few) or sampled
        statistics |= {
            "temporal.p_60": Statistic(small.p, n=small.events),
            "temporal.p_60_sampled": Statistic(sampled.p, n=options.permutations),
            "temporal.concordance_60": Statistic(small.observed, n=small.events),
        }
        rows.append({"Analysis": "Events of the admission queries, exact", **small.row()})
        rows.append({"Analysis": "Events of the admission queries, sampled", **sampled.row()})
    note = (
        "Equal-task mean of episode-level strict concordance (proximal above early). Whole early "
        "profiles are permuted without fixed points among episodes of one task with the same "
        "event occurrences; blocks of one episode are left out; plus-one upper-tail p, or the "
        "exact share of all such permutations where the blocks are small."
    )
    title = "Is the change tied to the event?"
    tables.append(Table("hrc_permutation", title, pd.DataFrame(rows), note))


def _sequential(
    recordings: Recordings,
    scores: pd.Series,
    options: TemporalOptions,
    statistics: dict[str, Statistic],
    tables: list[Table],
) -> None:
    """Compare the early-to-proximal change with the pre-early-to-early one, where recorded."""
    pre = scores[scores.index.get_level_values(1) == PRE_EARLY]
    events = paired_events(recordings)
    events = events[events["event"].isin(pre.index.get_level_values(0))].reset_index(drop=True)
    if not len(events):
        return
    before = pre.droplevel(1).reindex(events["event"]).to_numpy(dtype=float)
    early = events[EARLY].to_numpy(dtype=float)
    change = (events[PROXIMAL].to_numpy(dtype=float) > early).astype(float)
    difference = change - (early > before)
    grouped = events.assign(value=difference).groupby(["task", "episode"])["value"]
    means = grouped.mean().to_frame("value").reset_index()
    value: Floats = means["value"].to_numpy(dtype=float)
    strata = Strata.of(means)
    drawn: Mapping[str, Floats] = strata.counts(options.seed, options.draws)
    low, high = percentile_interval(task_mean_draws(means, value, strata, drawn))
    statistics["sequential.rate_difference"] = Statistic(
        task_mean(means, value), low, high, len(means)
    )
    rows = []
    for checkpoint in in_order(recordings.queries["checkpoint"].unique()):
        table = query_table(recordings.queries[recordings.queries["checkpoint"] == checkpoint])
        met = strict_change(table.frame, scores, first=True)
        counts = count(table, admitted(typed_responses(table, Requirements.IDENTITY_TEMPORAL, met)))
        main = checkpoint == LOTO_CHECKPOINT
        prefix = "sequential" if main else f"sequential.{short(checkpoint)}"
        statistics[f"{prefix}.early_inconsistent"] = Statistic(counts.early_on_target)
        statistics[f"{prefix}.consistent_retained"] = Statistic(counts.consistent)
        rows.append(
            {
                "Checkpoint": label(checkpoint),
                "Consistent retained": counts.consistent,
                "Early inconsistent": counts.early_on_target,
            }
        )
    note = (
        "The sign rule applied at every window, the early one compared with the pre-early one: "
        "positive change alone is not enough for sequential admission."
    )
    tables.append(
        Table("hrc_sequential", "Sequential use of the sign rule", pd.DataFrame(rows), note)
    )
