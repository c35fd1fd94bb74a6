"""How large the recordings are, by the ids of the published protocol."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pact_benchmark.hrc.evidence import EVIDENCE_MASS, Counting
from pact_benchmark.hrc.names import label, task_label
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.schema import COUNTERFACTUAL, EARLY, EPISODE_TARGET, PRE_EARLY
from pact_benchmark.hrc.statistics import COVERAGE_POINTS
from pact_benchmark.hrc.temporal_study import paired_events
from pact_benchmark.study import Statistic, StudyResult, Table


def design_study(recordings: Recordings, arms: pd.DataFrame, draws: int) -> StudyResult:
    """Count events, episodes, cameras, prompts, queries and files."""
    sizes: dict[str, float] = {
        "common_score_coverages": COVERAGE_POINTS,
        "bootstrap": draws,
        "evidence_mass_per_output": EVIDENCE_MASS,
    }
    events = paired_events(recordings)
    if len(events):
        sizes |= {
            "paired_events": len(events),
            "episodes": events["episode"].nunique(),
            "tasks": events["task"].nunique(),
        }
    sizes |= _queries(recordings)
    sizes |= _outputs(recordings, arms)
    panel = {*recordings.panel_outputs["checkpoint"], *recordings.pairs["left"],
             *recordings.pairs["right"]}  # fmt: skip
    if panel:
        sizes["checkpoints_panel"] = len(panel)
    sizes |= _development(recordings)
    gap = _pre_early_gap(recordings)
    if gap is not None:
        sizes["preearly_gap_s"] = gap
    statistics = {f"design.{name}": Statistic(_number(value)) for name, value in sizes.items()}
    files = pd.DataFrame(
        [{"File": f.name, "Taken for": f.kind, "Rows": f.rows, "SHA-256": f.sha256[:16]}
         for f in recordings.files]
    )  # fmt: skip
    skipped = ", ".join(recordings.skipped)
    note = f"Not understood and left out: {skipped}." if skipped else ""
    tables = [Table("hrc_files", "Recordings that were read", files, note)]
    contents = _contents(recordings)
    if len(contents):
        tables.append(Table("hrc_contents", "Episodes and queries by task", contents))
    return StudyResult(statistics, tables, [], "What the other tables rest on.")


def _number(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)


def _queries(recordings: Recordings) -> dict[str, float]:
    queries = recordings.queries
    if not len(queries):
        return {}
    per_checkpoint = queries.groupby("checkpoint")
    kinds = queries[queries["checkpoint"] == queries["checkpoint"].iloc[0]]["target_kind"]
    off = queries[queries["target_kind"] == COUNTERFACTUAL]
    targets = off.groupby(["checkpoint", "event", "window"]).size()
    return {
        "eval_episodes": queries["episode"].nunique(),
        "windows": queries["window"].nunique(),
        "queries_per_checkpoint": int(per_checkpoint.size().max()),
        "episode_target_queries": int((kinds == EPISODE_TARGET).sum()),
        "counterfactual_queries": int((kinds == COUNTERFACTUAL).sum()),
        "counterfactual_targets": int(targets.max()) if len(targets) else 0,
    }


def _outputs(recordings: Recordings, arms: pd.DataFrame) -> dict[str, float]:
    outputs = recordings.camera_outputs
    sizes: dict[str, float] = {}
    if len(outputs):
        sizes |= {"cameras": outputs["camera"].nunique(), "prompts": outputs["prompt"].nunique()}
        asked = outputs[outputs["event"].isin(set(recordings.queries["event"]))]
        if len(asked):
            sizes["outputs_per_checkpoint"] = int(asked.groupby("checkpoint").size().max())
    elif len(arms):
        single = arms.loc[arms["arm"] == Counting.ONE_PER_CAMERA, "budget"]
        sizes["prompts"] = int(arms["prompts"].max())
        if len(single):
            sizes["cameras"] = round(float(single.max()) / EVIDENCE_MASS)
    return sizes


def _development(recordings: Recordings) -> dict[str, float]:
    fitted = recordings.features[recordings.features["split"] == "development"]
    if len(fitted):
        return {"dev_episodes": fitted["episode"].nunique()}
    folds = recordings.references.get("folds")
    if folds is None or len(folds) < 2:
        return {}
    # Each fold leaves one task out, so the folds hold every episode once less than there are folds.
    total = pd.to_numeric(folds["development_episodes"], errors="coerce").sum()
    return {"dev_episodes": float(total) / (len(folds) - 1)}


def _pre_early_gap(recordings: Recordings) -> float | None:
    for frame in (recordings.scores, recordings.outputs):
        timed = frame[frame["window"].isin([PRE_EARLY, EARLY])]
        timed = timed.assign(time=pd.to_numeric(timed["time"], errors="coerce"))
        wide = timed.pivot_table(index="event", columns="window", values="time")
        if {PRE_EARLY, EARLY} <= set(wide.columns):
            gaps = (wide[EARLY] - wide[PRE_EARLY]).dropna().to_numpy(dtype=float)
            if len(gaps):
                return float(np.mean(gaps))
    return None


def _contents(recordings: Recordings) -> pd.DataFrame:
    rows = []
    for (checkpoint, task), part in recordings.queries.groupby(["checkpoint", "task"]):
        rows.append(
            {
                "Checkpoint": label(str(checkpoint)),
                "Task": task_label(str(task)),
                "Episodes": part["episode"].nunique(),
                "Queries": len(part),
            }
        )
    return pd.DataFrame(rows)
