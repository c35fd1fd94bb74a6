"""Repeated computation against new viewpoints: prompts, exact copies, camera removal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from pact_benchmark.hrc.admission import (
    QueryTable,
    Requirements,
    admitted,
    count,
    query_table,
    strict_change,
    typed_responses,
)
from pact_benchmark.hrc.evidence import (
    COUNTING_LABELS,
    Counting,
    Fused,
    OutputTable,
    fuse,
    output_table,
)
from pact_benchmark.hrc.names import in_order, label, short
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.study import Statistic, StudyResult, Table

COPIES = tuple(range(1, 9))
RULES = (
    Counting.ACQUISITION,
    Counting.PER_OUTPUT,
    Counting.ONE_PER_CAMERA,
    Counting.ALL_VIEW_MERGE,
)


def responses(queries: QueryTable, table: OutputTable, fused: Fused) -> npt.NDArray[np.int8]:
    """Return the typed responses with target identity and strict change of the posterior."""
    index = pd.MultiIndex.from_frame(table.windows[["event", "window"]])
    p = pd.Series(np.where(fused.counted > 0, fused.p_ready, np.nan), index=index)
    rises = strict_change(queries.frame, p)
    return typed_responses(queries, Requirements.IDENTITY_TEMPORAL, rises)


def multiplicity_study(recordings: Recordings) -> StudyResult | None:
    """Vary prompts, copies and cameras; None without camera outputs and queries."""
    outputs = recordings.camera_outputs
    both = set(outputs["checkpoint"]) & set(recordings.queries["checkpoint"])
    if not both:
        return None
    statistics: dict[str, Statistic] = {}
    rows: list[dict[str, object]] = []
    unchanged: list[int] = []
    growth: list[float] = []
    for checkpoint in in_order(both):
        mine = recordings.queries["checkpoint"] == checkpoint
        queries = query_table(recordings.queries[mine])
        asked = set(queries.frame["event"])
        chosen = (outputs["checkpoint"] == checkpoint) & outputs["event"].isin(asked)
        if not chosen.any():
            continue
        table = output_table(outputs[chosen])
        rows.extend(_vary(checkpoint, queries, table))
        same, extra = _copies(queries, table)
        unchanged.append(same)
        growth.append(extra)
        prefix = f"copy.{short(checkpoint)}"
        statistics[f"{prefix}.typed_responses_unchanged"] = Statistic(same, n=len(queries.frame))
        statistics[f"{prefix}.per_output_extra_mass"] = Statistic(extra, n=len(table.windows))
    if not unchanged:
        return None
    statistics["copy.typed_responses_unchanged"] = Statistic(min(unchanged))
    statistics["copy.per_output_extra_mass"] = Statistic(max(growth))
    note = (
        "Copies inherit the parents of their original. Under camera grouping they change neither "
        "budget, posterior, temporal comparison nor typed response; removing a camera removes an "
        "acquisition and may change all of them. No evidence-mass cutoff takes part in admission."
    )
    title = "Prompts, exact copies and cameras"
    tables = [Table("hrc_multiplicity", title, pd.DataFrame(rows), note)]
    reading = "Camera-grouped rows must not move with copies; per-output budgets grow with them."
    return StudyResult(statistics, tables, [], reading)


def _copies(queries: QueryTable, table: OutputTable) -> tuple[int, float]:
    """Return how many responses never change, and the largest growth of a per-output budget."""
    base = fuse(table, Counting.ACQUISITION)
    first = responses(queries, table, base)
    same = np.ones(len(first), dtype=bool)
    growth = 0.0
    alone = fuse(table, Counting.PER_OUTPUT).budget
    for multiplicity in COPIES[1:]:
        copied = table.copied(multiplicity)
        same &= responses(queries, copied, fuse(copied, Counting.ACQUISITION)) == first
        growth = max(growth, float((fuse(copied, Counting.PER_OUTPUT).budget - alone).max()))
    return int(same.sum()), growth


def _vary(checkpoint: str, queries: QueryTable, table: OutputTable) -> list[dict[str, object]]:
    cases: list[tuple[str, object, OutputTable]] = []
    for prompts in range(1, len(table.prompts) + 1):
        cases.append(("prompts", prompts, table.first_prompts(prompts)))
    for multiplicity in COPIES:
        cases.append(("copies", multiplicity, table.copied(multiplicity)))
    for index, camera in enumerate(table.cameras):
        cases.append(("without camera", camera, table.without_camera(index)))
    rows: list[dict[str, object]] = []
    for rule in RULES:
        first = responses(queries, table, fuse(table, rule))
        for varied, level, changed in cases:
            fused = fuse(changed, rule)
            typed = responses(queries, changed, fused)
            counts = count(queries, admitted(typed))
            rows.append(
                {
                    "Checkpoint": label(checkpoint),
                    "Counting rule": COUNTING_LABELS[rule],
                    "Varied": varied,
                    "Level": level,
                    "Mean budget": float(fused.budget.mean()),
                    "Consistent": counts.consistent,
                    "Inconsistent": counts.inconsistent,
                    "Responses changed": int((typed != first).sum()),
                }
            )
    return rows
