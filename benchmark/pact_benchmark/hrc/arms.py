"""Fused results of every counting rule, computed from outputs or taken from stored records."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pact_benchmark.hrc.evidence import Counting, Fused, OutputTable, fuse, output_table
from pact_benchmark.hrc.names import in_order
from pact_benchmark.hrc.recordings import ARM_COLUMNS, Recordings
from pact_benchmark.hrc.schema import PROXIMAL


def prompt_counts(prompts: int) -> list[int]:
    """Return the prompt multiplicities that are evaluated: powers of two, and all."""
    powers = [2**k for k in range(8) if 2**k < prompts]
    return [*powers, prompts]


def counting_arms(recordings: Recordings) -> pd.DataFrame:
    """Return one row per checkpoint, event window, number of prompts and counting rule.

    Checkpoints with recorded outputs are computed; for the others the stored results of the
    release are taken. Budget ratio and ℓ1 drift are relative to one output per camera.
    """
    parts: list[pd.DataFrame] = []
    computed: set[str] = set()
    outputs = recordings.camera_outputs
    for checkpoint in in_order(outputs["checkpoint"].unique()):
        table = output_table(outputs[outputs["checkpoint"] == checkpoint])
        counts = prompt_counts(len(table.prompts))
        parts.extend(_arms_of(checkpoint, table.first_prompts(m), m) for m in counts)
        computed.add(checkpoint)
    stored = recordings.arms
    parts.append(stored[~stored["checkpoint"].isin(computed)])
    filled = [part for part in parts if len(part)]
    if not filled:
        return pd.DataFrame(columns=list(ARM_COLUMNS))
    frame = pd.concat(filled, ignore_index=True)
    return frame.assign(ready=frame["ready"].astype(bool), prompts=frame["prompts"].astype(int))


def _arms_of(checkpoint: str, table: OutputTable, prompts: int) -> pd.DataFrame:
    base = fuse(table, Counting.ONE_PER_CAMERA)
    parts = []
    for rule in Counting:
        fused = base if rule is Counting.ONE_PER_CAMERA else fuse(table, rule)
        parts.append(_arm(checkpoint, table, prompts, rule, fused, base))
    return pd.concat(parts, ignore_index=True)


def _arm(
    checkpoint: str, table: OutputTable, prompts: int, rule: Counting, fused: Fused, base: Fused
) -> pd.DataFrame:
    windows = table.windows
    seen = fused.counted > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = fused.budget / base.budget
    frame = pd.DataFrame(
        {
            "checkpoint": checkpoint,
            "task": windows["task"],
            "episode": windows["episode"],
            "event": windows["event"],
            "window": windows["window"],
            "prompts": prompts,
            "arm": str(rule),
            "ready": (windows["window"] == PROXIMAL).to_numpy(),
            "p_ready": fused.p_ready,
            "budget": fused.budget,
            "budget_ratio": ratio,
            "posterior_l1": 2.0 * np.abs(fused.p_ready - base.p_ready),
        }
    )
    return frame[seen]


def arm_of(arms: pd.DataFrame, checkpoint: str, prompts: int, rule: Counting) -> pd.DataFrame:
    """Return the rows of one checkpoint, number of prompts and rule, in event and window order."""
    chosen = (
        (arms["checkpoint"] == checkpoint) & (arms["prompts"] == prompts) & (arms["arm"] == rule)
    )
    return arms[chosen].sort_values(["task", "event", "window"]).reset_index(drop=True)


def most_prompts(arms: pd.DataFrame, checkpoint: str) -> int:
    """Return the largest number of prompts that is recorded for a checkpoint."""
    return int(arms.loc[arms["checkpoint"] == checkpoint, "prompts"].max())
