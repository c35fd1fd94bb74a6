"""Everything a folder of recordings holds, as typed tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from pact_benchmark.hrc.files import RecordError, RecordFile

OUTPUT_COLUMNS = (
    "checkpoint", "family", "task", "episode", "event", "window", "time", "camera", "prompt",
    "repeat", "log_odds_map0", "log_odds_map1", "parents",
)  # fmt: skip
QUERY_COLUMNS = (
    "checkpoint", "task", "episode", "event", "window", "query", "target", "target_kind",
    "target_match", "readiness", "identity",
)  # fmt: skip
SCORE_COLUMNS = ("task", "episode", "event", "window", "time", "setting", "predictor", "score")
FEATURE_COLUMNS = (
    "task", "episode", "event", "window", "time", "setting", "split", "text", "features",
)  # fmt: skip
ARM_COLUMNS = (
    "checkpoint", "task", "episode", "event", "window", "prompts", "arm", "ready", "p_ready",
    "budget", "budget_ratio", "posterior_l1",
)  # fmt: skip
PAIR_COLUMNS = ("left", "right", "within_family", "n00", "n01", "n10", "n11")
COMPOSITE = "composite"

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "outputs": OUTPUT_COLUMNS,
    "queries": QUERY_COLUMNS,
    "scores": SCORE_COLUMNS,
    "features": FEATURE_COLUMNS,
    "arms": ARM_COLUMNS,
    "pairs": PAIR_COLUMNS,
}
_KEYS: Mapping[str, tuple[str, ...]] = {
    "outputs": ("checkpoint", "event", "window", "camera", "prompt", "repeat"),
    "queries": ("checkpoint", "query"),
    "scores": ("event", "window", "setting", "predictor"),
    "features": ("event", "window", "setting"),
    "arms": ("checkpoint", "event", "window", "prompts", "arm"),
    "pairs": ("left", "right"),
}


def empty(table: str) -> pd.DataFrame:
    """Return the named table without rows."""
    return pd.DataFrame({name: [] for name in _COLUMNS[table]}, dtype=object)


@dataclass(frozen=True, slots=True)
class Recordings:
    """Recorded model outputs and what goes with them.

    Attributes:
        outputs: One row per model output on one image.
        queries: One row per checkpoint, event window and target.
        scores: Stored event-proximity scores in [0, 1].
        features: Rows an event-proximity model can be fitted on.
        arms: Fused results per counting rule, as the authors' release stores them.
        pairs: Two-by-two tables of binary errors of pairs of checkpoints.
        families: Model family of a checkpoint, where it is known.
        references: Result tables that came with the recordings, to check against.
        files: The files that were read.
        skipped: Files that were found and not understood.
        simulated: Whether any row comes from a simulation.
    """

    outputs: pd.DataFrame = field(default_factory=lambda: empty("outputs"))
    queries: pd.DataFrame = field(default_factory=lambda: empty("queries"))
    scores: pd.DataFrame = field(default_factory=lambda: empty("scores"))
    features: pd.DataFrame = field(default_factory=lambda: empty("features"))
    arms: pd.DataFrame = field(default_factory=lambda: empty("arms"))
    pairs: pd.DataFrame = field(default_factory=lambda: empty("pairs"))
    families: dict[str, str] = field(default_factory=dict)
    references: dict[str, pd.DataFrame] = field(default_factory=dict)
    files: tuple[RecordFile, ...] = ()
    skipped: tuple[str, ...] = ()
    simulated: bool = False

    @property
    def camera_outputs(self) -> pd.DataFrame:
        """Outputs on the image of one camera."""
        return self.outputs[self.outputs["camera"] != COMPOSITE]

    @property
    def panel_outputs(self) -> pd.DataFrame:
        """Outputs on one image composed of all cameras."""
        return self.outputs[self.outputs["camera"] == COMPOSITE]

    def with_scores(self, extra: pd.DataFrame) -> Recordings:
        """Return the recordings with event-proximity scores added; stored ones come first."""
        scores = pd.concat([self.scores, extra], ignore_index=True)
        return replace(self, scores=scores.drop_duplicates(list(_KEYS["scores"]), keep="first"))


def combine(parts: Iterable[Recordings]) -> Recordings:
    """Return the union of several recordings.

    Equal rows may come twice (the release stores some scores in two files); rows that share a key
    and differ raise `RecordError`, and so does a mix of real and simulated recordings.
    """
    items = list(parts)
    if not items:
        return Recordings()
    kinds = {item.simulated for item in items if item.files and _rows(item)}
    if len(kinds) > 1:
        raise RecordError("real and simulated recordings together; give them one at a time")
    tables = {name: _merge([getattr(item, name) for item in items], name) for name in _COLUMNS}
    tasks = _task_of_event(tables)
    tables["arms"] = _with_known_tasks(tables["arms"], tasks)
    families: dict[str, str] = {}
    references: dict[str, pd.DataFrame] = {}
    for item in items:
        families.update(item.families)
        references.update(item.references)
    return Recordings(
        **tables,
        families=families,
        references=references,
        files=tuple(file for item in items for file in item.files),
        skipped=tuple(name for item in items for name in item.skipped),
        simulated=any(kinds),
    )


def _rows(item: Recordings) -> int:
    return sum(len(getattr(item, name)) for name in _COLUMNS)


def _merge(frames: list[pd.DataFrame], table: str) -> pd.DataFrame:
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return empty(table)
    merged = pd.concat(filled, ignore_index=True)[list(_COLUMNS[table])]
    key = list(_KEYS[table])
    twice = merged.duplicated(key, keep=False)
    if twice.any():
        merged = _drop_equal(merged, key, table)
    return merged


def _drop_equal(frame: pd.DataFrame, key: list[str], table: str) -> pd.DataFrame:
    first = frame.drop_duplicates(key, keep="first")
    later = frame[frame.duplicated(key, keep="first")]
    both = later.merge(first, on=key, suffixes=("", "_first"))
    for name in frame.columns:
        if name in key or name in ("time", "parents", "features"):
            continue
        left, right = both[name], both[f"{name}_first"]
        if pd.api.types.is_float_dtype(left) and pd.api.types.is_float_dtype(right):
            differs = np.abs(left.to_numpy() - right.to_numpy()) > 1e-9
        else:
            differs = ((left != right) & ~(left.isna() & right.isna())).to_numpy()
        if differs.any():
            row = both.iloc[int(differs.argmax())]
            where = ", ".join(f"{part} {row[part]}" for part in key)
            raise RecordError(f"{table}: two rows for {where} differ in {name}; keep one of them")
    return first.reset_index(drop=True)


def _task_of_event(tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    known: dict[str, str] = {}
    for name in ("scores", "queries", "outputs"):
        frame = tables[name]
        known.update(dict(zip(frame["event"], frame["task"], strict=True)))
    return known


def _with_known_tasks(arms: pd.DataFrame, tasks: dict[str, str]) -> pd.DataFrame:
    """Rename the tasks of stored results as the other recordings name them.

    The release's result tables use other task keys than its outputs; events that both have show
    which is which. Where that is ambiguous, or a task has no common event, all keys stay.
    """
    if not len(arms) or not tasks:
        return arms
    pairs = pd.DataFrame({"old": arms["task"], "new": arms["event"].map(tasks)}).dropna()
    names = pairs.drop_duplicates()
    renamed = dict(zip(names["old"], names["new"], strict=True))
    if names["old"].duplicated().any() or set(arms["task"]) - set(renamed):
        return arms
    return arms.assign(task=arms["task"].map(renamed))
