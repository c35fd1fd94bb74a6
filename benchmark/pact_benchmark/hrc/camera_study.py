"""Camera grouping: what acquisition grouping changes in budgets, candidates and ordering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pact_benchmark.hrc.arms import arm_of, most_prompts
from pact_benchmark.hrc.evidence import COUNTING_LABELS, PRIOR_STRENGTH, Counting
from pact_benchmark.hrc.names import in_order, label, short
from pact_benchmark.hrc.statistics import (
    Floats,
    Strata,
    equal_count_ece,
    ncsaurc,
    ncsaurc_draws,
    percentile_interval,
)
from pact_benchmark.study import Statistic, StudyResult, Table

SEED = 20260801
ARM_LABELS: Mapping[str, str] = {
    **COUNTING_LABELS,
    Counting.ACQUISITION: "Acquisition grouped",
    Counting.ALL_VIEW_MERGE: "All-view merge",
}
ORDER = (
    Counting.ONE_PER_CAMERA,
    Counting.ACQUISITION,
    Counting.PER_OUTPUT,
    Counting.IDENTICAL_MERGE,
    Counting.ALL_VIEW_MERGE,
    Counting.SHUFFLED,
)
SCORES = ("selection", "posterior")


def scores_of(arm: pd.DataFrame, kind: str) -> Floats:
    """Return the selection score 1 − u, or the posterior confidence max(p, 1 − p)."""
    if kind == "selection":
        budget = np.asarray(arm["budget"], dtype=np.float64)
        return 1.0 - PRIOR_STRENGTH / (PRIOR_STRENGTH + budget)
    p = np.asarray(arm["p_ready"], dtype=np.float64)
    return np.maximum(p, 1.0 - p)


def errors_of(arm: pd.DataFrame) -> Floats:
    """Return 1 where the prediction (READY above one half) differs from the reference."""
    predicted = np.asarray(arm["p_ready"], dtype=np.float64) > 0.5
    return np.asarray(predicted != arm["ready"].to_numpy(dtype=bool), dtype=np.float64)


def area(arm: pd.DataFrame, score: Floats) -> float:
    """Return ncsAURC computed within each task and averaged equally over tasks."""
    error, task = errors_of(arm), arm["task"].to_numpy()
    return float(np.mean([ncsaurc(score[task == t], error[task == t]) for t in sorted(set(task))]))


def area_draws(
    arm: pd.DataFrame, score: Floats, strata: Strata, counts: Mapping[str, Floats]
) -> Floats:
    """Return `area` for every resample of episodes within tasks, shape [draws]."""
    error, task = errors_of(arm), arm["task"].to_numpy()
    parts = []
    for name in strata.tasks:
        rows = task == name
        unit = strata.unit(name, arm.loc[rows, "episode"])
        parts.append(ncsaurc_draws(score[rows], error[rows], unit, counts[name]))
    return np.asarray(np.mean(parts, axis=0), dtype=np.float64)


def camera_study(arms: pd.DataFrame, draws: int) -> StudyResult | None:
    """Compare the counting rules on camera outputs; None without any."""
    if not len(arms):
        return None
    statistics: dict[str, Statistic] = {}
    rows: list[dict[str, object]] = []
    contrasts: list[dict[str, object]] = []
    common: list[dict[str, object]] = []
    checkpoints = in_order(arms["checkpoint"].unique())
    for checkpoint in checkpoints:
        for prompts in sorted(set(arms.loc[arms["checkpoint"] == checkpoint, "prompts"])):
            _measure(arms, checkpoint, int(prompts), statistics, rows)
        _contrast(arms, checkpoint, draws, statistics, contrasts)
        _common_score(arms, checkpoint, draws, statistics, common)
    statistics |= _joint_findings(statistics, checkpoints)
    note = (
        "Computed within task, then averaged equally over tasks. ncsAURC on [0.10, 0.90], lower "
        "is better. Budget ratio and ℓ1 drift are relative to one output per camera. Grouping by "
        "camera image says what counts once; it does not claim statistical independence."
    )
    tables = [
        Table("hrc_camera", "Effects of camera grouping", pd.DataFrame(rows), note),
        Table("hrc_camera_contrast", "Per-output minus acquisition-grouped ncsAURC",
              pd.DataFrame(contrasts), "Positive favours acquisition grouping."),
        Table("hrc_common_score", "ncsAURC with the acquisition-grouped score held fixed",
              pd.DataFrame(common), "Candidates of each rule, ranked by one common score."),
    ]  # fmt: skip
    reading = (
        "Budgets follow the counting rule; whether accuracy and selective ordering gain or lose "
        "depends on the checkpoint and on the score that ranks the windows."
    )
    return StudyResult(statistics, [table for table in tables if len(table.frame)], [], reading)


def _measure(
    arms: pd.DataFrame,
    checkpoint: str,
    prompts: int,
    statistics: dict[str, Statistic],
    rows: list[dict[str, object]],
) -> None:
    last = prompts == most_prompts(arms, checkpoint)
    prefix = f"camera.{short(checkpoint)}" + ("" if last else f".m{prompts}")
    for rule in ORDER:
        arm = arm_of(arms, checkpoint, prompts, rule)
        if not len(arm):
            continue
        measured = _measures(arm)
        for name, value in measured.items():
            statistics[f"{prefix}.{rule}.{name}"] = Statistic(value, n=len(arm))
        rows.append(
            {
                "Checkpoint": label(checkpoint),
                "Prompts": prompts,
                "Counting rule": ARM_LABELS[rule],
                "Selection ncsAURC": measured["ncsaurc_selection"],
                "Posterior ncsAURC": measured["ncsaurc_posterior"],
                "Acc. (%)": measured["acc_pct"],
                "Budget ratio": measured["budget_ratio"],
                "Posterior ℓ1 drift": measured["l1_drift"],
                "Brier": measured["brier"],
                "ECE": measured["ece"],
            }
        )


def _measures(arm: pd.DataFrame) -> dict[str, float]:
    p = arm["p_ready"].to_numpy(dtype=float)
    ready = arm["ready"].to_numpy(dtype=bool)
    wrong = errors_of(arm)
    confidence = np.maximum(p, 1.0 - p)
    frame = pd.DataFrame(
        {
            "accuracy": 100.0 * (1.0 - wrong),
            "ratio": arm["budget_ratio"].to_numpy(dtype=float),
            "drift": arm["posterior_l1"].to_numpy(dtype=float),
            "brier": 2.0 * (p - ready) ** 2,
        }
    )
    mean = frame.groupby(arm["task"].to_numpy()).mean().mean()
    task = arm["task"].to_numpy()
    ece = [equal_count_ece(confidence[task == t], wrong[task == t] == 0) for t in sorted(set(task))]
    return {
        "ncsaurc_selection": area(arm, scores_of(arm, "selection")),
        "ncsaurc_posterior": area(arm, scores_of(arm, "posterior")),
        "acc_pct": float(mean["accuracy"]),
        "budget_ratio": float(mean["ratio"]),
        "l1_drift": float(mean["drift"]),
        "brier": float(mean["brier"]),
        "ece": float(np.mean(ece)),
    }


def _contrast(
    arms: pd.DataFrame,
    checkpoint: str,
    draws: int,
    statistics: dict[str, Statistic],
    rows: list[dict[str, object]],
) -> None:
    name = short(checkpoint)
    for prompts in sorted(set(arms.loc[arms["checkpoint"] == checkpoint, "prompts"])):
        grouped = arm_of(arms, checkpoint, int(prompts), Counting.ACQUISITION)
        single = arm_of(arms, checkpoint, int(prompts), Counting.PER_OUTPUT)
        if not len(grouped) or not len(single):
            continue
        strata = Strata.of(grouped)
        counts = strata.counts(SEED, draws)
        for kind in SCORES:
            a, b = scores_of(single, kind), scores_of(grouped, kind)
            point = area(single, a) - area(grouped, b)
            drawn = area_draws(single, a, strata, counts) - area_draws(grouped, b, strata, counts)
            low, high = percentile_interval(drawn)
            key = f"camera.{name}.contrast_m{prompts}"
            key += "" if kind == "selection" else "_posterior"
            statistics[key] = Statistic(point, low, high, len(grouped))
            rows.append(
                {"Checkpoint": label(checkpoint), "Prompts": int(prompts), "Score": kind,
                 "Difference": point, "Low": low, "High": high}
            )  # fmt: skip


def _common_score(
    arms: pd.DataFrame,
    checkpoint: str,
    draws: int,
    statistics: dict[str, Statistic],
    rows: list[dict[str, object]],
) -> None:
    prompts, name = most_prompts(arms, checkpoint), short(checkpoint)
    grouped = arm_of(arms, checkpoint, prompts, Counting.ACQUISITION)
    single = arm_of(arms, checkpoint, prompts, Counting.PER_OUTPUT)
    if not len(grouped) or len(grouped) != len(single):
        return
    score = scores_of(grouped, "selection")
    strata = Strata.of(grouped)
    counts = strata.counts(SEED, draws)
    with_groups, alone = area(grouped, score), area(single, score)
    drawn = area_draws(single, score, strata, counts)
    low, high = percentile_interval(drawn - area_draws(grouped, score, strata, counts))
    statistics |= {
        f"common_score.{name}.acq": Statistic(with_groups, n=len(grouped)),
        f"common_score.{name}.per_output": Statistic(alone, n=len(grouped)),
        f"common_score.{name}.diff": Statistic(alone - with_groups, low, high, len(grouped)),
    }
    rows.append(
        {"Checkpoint": label(checkpoint), "Acquisition grouped": with_groups,
         "Per-output counting": alone, "Difference": alone - with_groups, "Low": low, "High": high}
    )  # fmt: skip


def _joint_findings(
    statistics: Mapping[str, Statistic], checkpoints: list[str]
) -> dict[str, Statistic]:
    """Return the findings that combine rules or checkpoints, as 0 or 1 where they are claims."""
    found: dict[str, Statistic] = {}

    def value(key: str) -> float:
        entry = statistics.get(key)
        return float("nan") if entry is None or entry.value is None else float(entry.value)

    names = [short(checkpoint) for checkpoint in checkpoints]
    for name in names:
        gain = value(f"camera.{name}.acquisition.acc_pct") - value(
            f"camera.{name}.per_output.acc_pct"
        )
        found[f"camera.{name}.acc_gain_pp"] = Statistic(gain)
        pair: Any = [
            value(f"camera.{name}.{rule}.ncsaurc_selection")
            for rule in (Counting.ACQUISITION, Counting.ALL_VIEW_MERGE)
        ]
        # The published entry is a pair of numbers under one id.
        found[f"camera.{name}.acq_vs_merge_ncsaurc"] = Statistic(pair)
        key = f"camera.{name}.contrast_m4"
        if key in statistics:
            entry = statistics[key]
            inside = (
                entry.low is not None and entry.high is not None and entry.low <= 0 <= entry.high
            )
            found[f"{key}_includes_zero"] = Statistic(int(inside))
            turned = value(key) * value(f"{key}_posterior") < 0
            found[f"camera.{name}.posterior_rank_reverses"] = Statistic(int(turned))
    seconds = [value(f"camera.{name}.contrast_m2") for name in names]
    if len(names) > 1 and np.isfinite(seconds).all():
        found["camera.contrast_m2_positive_both"] = Statistic(int(min(seconds) > 0))
    less = [
        value(f"camera.{name}.acquisition.budget_ratio")
        - value(f"camera.{name}.shuffled.budget_ratio")
        for name in names
    ]
    if len(names) > 1 and np.isfinite(less).all():
        found["camera.shuffle_less_budget_both"] = Statistic(int(min(less) > 0))
    return found
