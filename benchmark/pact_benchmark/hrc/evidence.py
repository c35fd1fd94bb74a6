"""From log odds to evidence, and from evidence to a fused posterior under a counting rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pandas as pd

from pact_core import components

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

EVIDENCE_MASS = 2.0
PRIOR_STRENGTH = 2.0
PROMPT_ORDER = ("canonical", "evidence_first", "criterion_first", "compact")


class Counting(StrEnum):
    """What counts as one witness of an event window."""

    ACQUISITION = "acquisition"
    PER_OUTPUT = "per_output"
    ONE_PER_CAMERA = "one_per_camera"
    IDENTICAL_MERGE = "identical_merge"
    ALL_VIEW_MERGE = "all_view_merge"
    SHUFFLED = "shuffled"


COUNTING_LABELS: Mapping[str, str] = {
    Counting.ACQUISITION: "Camera-grouped PACT",
    Counting.PER_OUTPUT: "Per-output counting",
    Counting.ONE_PER_CAMERA: "One output per camera",
    Counting.IDENTICAL_MERGE: "Identical-vector merge",
    Counting.ALL_VIEW_MERGE: "All outputs merged",
    Counting.SHUFFLED: "Equal-cardinality shuffle",
}


def ready_probability(log_odds_map0: Floats, log_odds_map1: Floats) -> Floats:
    """Return p(READY): orient both log odds as READY minus NOT READY, average, sigmoid.

    Args:
        log_odds_map0: B minus A where B is READY, shape [...].
        log_odds_map1: B minus A where A is READY, shape [...].
    """
    mean = np.clip(0.5 * (log_odds_map0 - log_odds_map1), -700.0, 700.0)
    return np.asarray(1.0 / (1.0 + np.exp(-mean)), dtype=np.float64)


def evidence_of(p_ready: Floats) -> Floats:
    """Return evidence 2(1 − p, p) for (NOT READY, READY), shape [..., 2]."""
    return EVIDENCE_MASS * np.stack([1.0 - p_ready, p_ready], axis=-1)


@dataclass(frozen=True, slots=True)
class Fused:
    """Fused result per event window.

    Attributes:
        p_ready: Posterior of READY, shape [n].
        budget: Cumulative evidence, shape [n].
        counted: Number of components that were summed, shape [n].
    """

    p_ready: Floats
    budget: Floats
    counted: Ints

    @property
    def score(self) -> Floats:
        """Selection score 1 − u."""
        return 1.0 - PRIOR_STRENGTH / (PRIOR_STRENGTH + self.budget)


def fuse_components(window: Ints, component: Ints, evidence: Floats, windows: int) -> Fused:
    """Meet (coordinatewise minimum) within each component, sum across components of a window.

    The sum runs in the order of the component labels, so that repeating a row in its component
    changes no bit of the result. Where every component of a window holds one distinct vector its
    budget is exactly two per component; rounding must not order such ties.

    Args:
        window: Window index of each output, shape [m].
        component: Component label of each output, unique within its window, shape [m].
        evidence: Shape [m, 2].
        windows: Number of windows n; windows without outputs get zero evidence.
    """
    order = np.lexsort((component, window))
    w, c, e = window[order], component[order], evidence[order]
    if not len(w):
        none = np.zeros(windows)
        return Fused(none + 0.5, none, np.zeros(windows, dtype=np.int64))
    start = np.flatnonzero(np.r_[True, (w[1:] != w[:-1]) | (c[1:] != c[:-1])])
    low = np.minimum.reduceat(e, start, axis=0)
    high = np.maximum.reduceat(e, start, axis=0)
    owner = w[start]
    total = np.stack([np.bincount(owner, low[:, k], windows) for k in (0, 1)], axis=-1)
    counted = np.bincount(owner, minlength=windows)
    plain = np.bincount(owner, (low == high).all(axis=1), windows) == counted
    budget = np.where(plain, EVIDENCE_MASS * counted, total.sum(axis=1))
    p = (total[:, 1] + 0.5 * PRIOR_STRENGTH) / (total.sum(axis=1) + PRIOR_STRENGTH)
    return Fused(p, budget, counted.astype(np.int64))


@dataclass(frozen=True, slots=True)
class OutputTable:
    """The outputs of one checkpoint as arrays.

    Attributes:
        windows: One row per event window: event, window, episode, task.
        window: Row of `windows` each output belongs to, shape [m].
        camera: Camera index in name order, shape [m].
        prompt: Prompt index in prompt order, shape [m].
        repeat: Repetition number, shape [m].
        acquisition: Component label from the recorded parents, unique within a window, shape [m].
        evidence: Shape [m, 2].
    """

    windows: pd.DataFrame
    window: Ints
    camera: Ints
    prompt: Ints
    repeat: Ints
    acquisition: Ints
    evidence: Floats
    cameras: tuple[str, ...]
    prompts: tuple[str, ...]

    def take(self, keep: Flags | Ints) -> OutputTable:
        """Return the table with the chosen outputs only; its windows stay."""
        return replace(
            self,
            window=self.window[keep],
            camera=self.camera[keep],
            prompt=self.prompt[keep],
            repeat=self.repeat[keep],
            acquisition=self.acquisition[keep],
            evidence=self.evidence[keep],
        )

    def first_prompts(self, count: int) -> OutputTable:
        """Return the outputs of the first `count` prompts."""
        return self.take(self.prompt < count)

    def copied(self, multiplicity: int) -> OutputTable:
        """Return every output `multiplicity` times, each copy with the parents of its original."""
        index = np.repeat(np.arange(len(self.window)), multiplicity)
        table = self.take(index)
        step = np.tile(np.arange(multiplicity), len(self.window))
        return replace(table, repeat=table.repeat * multiplicity + step)

    def without_camera(self, camera: int) -> OutputTable:
        """Return the table without the outputs of one camera."""
        return self.take(self.camera != camera)


def prompt_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return prompt names in the protocol's order; unknown names follow in name order."""
    known = [name for name in PROMPT_ORDER if name in names]
    return (*known, *sorted(set(names) - set(known)))


def output_table(outputs: pd.DataFrame) -> OutputTable:
    """Return the rows of one checkpoint as arrays.

    Components come from the recorded parents (outputs of a window that share a parent, or are
    linked through shared parents, form one); an output without parents belongs to its camera image.
    """
    # The order of rows decides the order of sums: make it a matter of identity alone.
    identity = ["task", "episode", "event", "window", "camera", "prompt", "repeat"]
    frame = outputs.sort_values(identity, kind="stable")
    key = ["event", "window"]
    windows = frame.drop_duplicates(key)[["event", "window", "episode", "task"]]
    windows = windows.reset_index(drop=True)
    index = pd.MultiIndex.from_frame(windows[key])
    window = index.get_indexer(pd.MultiIndex.from_frame(frame[key])).astype(np.int64)
    cameras = tuple(sorted(frame["camera"].unique()))
    prompts = prompt_order(list(frame["prompt"].unique()))
    p = ready_probability(
        frame["log_odds_map0"].to_numpy(dtype=float), frame["log_odds_map1"].to_numpy(dtype=float)
    )
    camera = _codes(frame["camera"], cameras)
    return OutputTable(
        windows=windows,
        window=window,
        camera=camera,
        prompt=_codes(frame["prompt"], prompts),
        repeat=frame["repeat"].to_numpy(dtype=float).astype(np.int64),
        acquisition=_acquisitions(window, camera, frame["parents"].tolist()),
        evidence=evidence_of(p),
        cameras=cameras,
        prompts=prompts,
    )


def _codes(values: pd.Series, names: Sequence[str]) -> Ints:
    place = {name: index for index, name in enumerate(names)}
    return np.array([place[value] for value in values], dtype=np.int64)


def _acquisitions(window: Ints, camera: Ints, parents: list[tuple[str, ...] | None]) -> Ints:
    """Return component labels: the position of the component's first output."""
    if all(given is None for given in parents):
        return camera
    names = [
        {(int(w), "camera", int(c))} if given is None else {(int(w), "parent", p) for p in given}
        for w, c, given in zip(window, camera, parents, strict=True)
    ]
    return np.asarray(components(names), dtype=np.int64)


def component_labels(table: OutputTable, rule: Counting) -> Ints:
    """Return the component of each output under `rule`, unique within its window, shape [m]."""
    count = len(table.window)
    if rule is Counting.ACQUISITION:
        return table.acquisition
    if rule is Counting.ALL_VIEW_MERGE:
        return np.zeros(count, dtype=np.int64)
    if rule is Counting.IDENTICAL_MERGE:
        pairs = np.ascontiguousarray(table.evidence)
        return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if rule is Counting.SHUFFLED:
        # Group g takes camera (g + s) mod C for prompt s: every group holds each prompt once.
        return (table.camera - table.prompt) % max(len(table.cameras), 1)
    return np.arange(count, dtype=np.int64)


def fuse(table: OutputTable, rule: Counting) -> Fused:
    """Return the fused READY posterior and budget of every window under `rule`."""
    if rule is Counting.ONE_PER_CAMERA:
        table = table.take(_first_of_camera(table))
    labels = component_labels(table, rule)
    return fuse_components(table.window, labels, table.evidence, len(table.windows))


def _first_of_camera(table: OutputTable) -> Ints:
    order = np.lexsort((table.repeat, table.prompt, table.camera, table.window))
    w, c = table.window[order], table.camera[order]
    first = np.r_[True, (w[1:] != w[:-1]) | (c[1:] != c[:-1])] if len(w) else np.zeros(0, bool)
    return order[first]
