"""Which figures need which recordings, and which of them these recordings allow."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources

import pandas as pd


@dataclass(frozen=True, slots=True)
class Need:
    """Statistic ids (patterns) and the recordings they are computed from."""

    patterns: tuple[str, ...]
    files: str


NEEDS: tuple[Need, ...] = (
    Need(
        ("panelA.*", "retention_table.*"),
        "queries (scored_rows_three_checkpoint.csv) and in-task event-proximity scores "
        "(event_proximity_predictions.csv)",
    ),
    Need(
        (
            "factorial.none.*", "factorial.identity.*", "retention.*", "hotel.ready_episodes",
            "hotel.*.selection_failed", "design.eval_episodes", "design.windows",
            "design.counterfactual_targets", "design.queries_per_checkpoint",
            "design.episode_target_queries", "design.counterfactual_queries",
        ),
        "queries (scored_rows_three_checkpoint.csv)",
    ),
    Need(
        ("factorial.temporal.*", "factorial.identity_temporal.*", "hotel.*"),
        "queries and camera outputs of the same checkpoints (native_view outputs/*.jsonl.gz, or "
        "analysis_test32/records.csv and analysis_test8/records.csv)",
    ),
    Need(
        ("copy.*", "design.outputs_per_checkpoint"),
        "queries and per-prompt camera outputs (native_view outputs/*.jsonl.gz)",
    ),
    Need(
        ("camera.*", "common_score.*", "design.cameras", "design.prompts"),
        "camera outputs (native_view outputs/*.jsonl.gz, or analysis_test32|8/records.csv)",
    ),
    Need(
        (
            "family.rank_pooled", "family.tied_or_higher_pooled", "family.tail_pooled",
            "family.*_without_llava", "design.checkpoints_panel", "design.pair_partitions*",
        ),
        "pair tables (checkpoint_pair_errors.csv) or panel outputs (balanced_fm_panel/outputs)",
    ),
    Need(("family.*",), "panel outputs of all checkpoints (balanced_fm_panel/outputs/*.jsonl)"),
    Need(
        ("loto.absolute_0.5.*", "loto.paired_positive_change.*"),
        "queries and task-held-out scores (task_heldout_delta_events.csv)",
    ),
    Need(
        ("loto.auroc",),
        "task-held-out scores of all camera settings (task_heldout_phase_predictions.csv)",
    ),
    Need(
        ("loto.dev_*", "design.dev_episodes"),
        "development features to fit on (record = proximity, split = development); not in the "
        "public release",
    ),
    Need(
        (
            "temporal.*", "design.paired_events", "design.episodes", "design.tasks",
            "design.permutations", "design.perm_*",
        ),
        "task-held-out scores of paired events (task_heldout_delta_events.csv); temporal.p_60 "
        "also needs queries",
    ),
    Need(
        ("sequential.*", "design.preearly_gap_s"),
        "pre-early scores or features with their times (window = pre_early); not in the public "
        "release",
    ),
    Need(("design.*",), "any recordings"),
)  # fmt: skip


def need_of(name: str) -> Need | None:
    """Return the first need whose patterns match a statistic id."""
    return next((n for n in NEEDS if any(fnmatchcase(name, p) for p in n.patterns)), None)


def published_ids() -> list[str]:
    """Return the ids of the published figures of this study."""
    source = resources.files("pact_benchmark").joinpath("targets/hrc.toml")
    return [entry["id"] for entry in tomllib.loads(source.read_text("utf-8"))["target"]]


def coverage_table(computed: Collection[str]) -> pd.DataFrame:
    """Return how many published figures each kind of recording gave, and which are missing."""
    ids: dict[str, list[str]] = {}
    for name in published_ids():
        need = need_of(name)
        ids.setdefault(need.files if need is not None else "–", []).append(name)
    rows = []
    for files, names in ids.items():
        missing = [name for name in names if name not in computed]
        rows.append(
            {
                "Recordings": files,
                "Computed": len(names) - len(missing),
                "Missing": len(missing),
                "Missing ids": _shown(missing),
            }
        )
    return pd.DataFrame(rows)


def _shown(names: list[str], limit: int = 4) -> str:
    if len(names) <= limit:
        return ", ".join(names)
    return ", ".join(names[:limit]) + f" and {len(names) - limit} more"
