"""The rows that are evaluated: sources, reference contracts, scenes and folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.config import load_config
from pact_benchmark.errors import PactError
from pact_benchmark.folds import fold_of_scenes
from pact_benchmark.store import RunFolder
from pact_core import HANDOVER, SourceBatch, components_batch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ROLES = ("language", "geometry", "risk")
ADVERSARIAL = "adversarial_consensus_wrong"
UNDEGRADED = "clean_control"
STALE = "stale_previous_command"


@dataclass(frozen=True)
class Benchmark:
    """All evaluation rows, in the order of the stored instances.

    Attributes:
        sources: opinions, quality, conflict, availability and provenance of three sources [n].
        label: reference contract as an index into the contract set [n].
        scene: index into `scene_ids` [n].
        scene_ids: sorted scene ids [S].
        fold: outer fold of each row [n].
        condition: index into `condition_names` [n].
        condition_names: sorted source conditions.
        geometry: handover geometry of each row [n].
        step: decision step of each row [n].
        record_id: identity of each row [n].
    """

    sources: SourceBatch
    label: Ints
    scene: Ints
    scene_ids: tuple[str, ...]
    fold: Ints
    condition: Ints
    condition_names: tuple[str, ...]
    geometry: NDArray[Any]
    step: Ints
    record_id: NDArray[Any]

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.label.size)

    @property
    def scenes(self) -> int:
        """Number of scenes."""
        return len(self.scene_ids)

    @property
    def folds(self) -> int:
        """Number of outer folds."""
        return int(self.fold.max()) + 1

    @cached_property
    def observed(self) -> Bools:
        """Sources that are available and valid [n, J]."""
        return np.asarray(self.sources.observed())

    @cached_property
    def observed_count(self) -> Ints:
        """Number of observed valid sources [n]."""
        return np.asarray(self.observed.sum(axis=-1))

    @cached_property
    def base_eligible(self) -> Bools:
        """Rows with at least two observed valid sources [n]."""
        return np.asarray(self.observed_count >= 2)

    @cached_property
    def three_valid(self) -> Bools:
        """Rows whose three sources are all observed and valid [n]."""
        return np.asarray(self.observed.all(axis=-1))

    @cached_property
    def unavailable_count(self) -> Ints:
        """Number of unavailable sources [n]."""
        return np.asarray(self.sources.unavailable.sum(axis=-1))

    @cached_property
    def sources_present(self) -> Bools:
        """Rows without an unavailable source; an invalid one is present [n]."""
        return np.asarray(self.unavailable_count == 0)

    def in_condition(self, name: str) -> Bools:
        """Return the rows of one source condition [n]; none if the condition is not there."""
        if name not in self.condition_names:
            return np.zeros(self.n, dtype=bool)
        return np.asarray(self.condition == self.condition_names.index(name))

    def with_folds(self, fold_of_scene: Ints) -> Benchmark:
        """Return the same rows under another fold of each scene [S]."""
        return replace(self, fold=np.asarray(fold_of_scene)[self.scene])


def from_instances(frame: pd.DataFrame, folds: Mapping[str, int] | None = None) -> Benchmark:
    """Return the rows of an instance table (the columns of `instances.parquet`).

    Args:
        frame: one row per instance.
        folds: fold of each scene; `None` takes the sorted index modulo five.
    """
    missing = [
        name for name in ("record_id", "scene_id", "condition", "label") if name not in frame
    ]
    if missing:
        raise PactError(f"the instance table has no column {missing[0]!r}: generate it again")
    return assemble(
        sources_from_frame(frame),
        label=frame["label"].to_numpy(),
        scene_id=frame["scene_id"].to_numpy(),
        condition=frame["condition"].to_numpy(),
        record_id=frame["record_id"].to_numpy(),
        geometry=frame["geometry"].to_numpy() if "geometry" in frame else None,
        step=frame["step"].to_numpy() if "step" in frame else None,
        folds=folds,
    )


def assemble(
    sources: SourceBatch,
    *,
    label: NDArray[Any],
    scene_id: NDArray[Any],
    condition: NDArray[Any],
    record_id: NDArray[Any],
    geometry: NDArray[Any] | None = None,
    step: NDArray[Any] | None = None,
    folds: Mapping[str, int] | None = None,
) -> Benchmark:
    """Return a benchmark from a source batch and the columns that belong to it, all [n]."""
    names = sources.contracts.names
    codes = _label_codes(np.asarray(label), names)
    scene_code, scene_ids = pd.factorize(np.asarray(scene_id), sort=True)
    condition_code, condition_names = pd.factorize(np.asarray(condition), sort=True)
    scenes = tuple(str(scene) for scene in scene_ids)
    rows = codes.size
    return Benchmark(
        sources=sources,
        label=codes,
        scene=scene_code.astype(np.int64),
        scene_ids=scenes,
        fold=fold_of_scenes(scenes, folds)[scene_code],
        condition=condition_code.astype(np.int64),
        condition_names=tuple(str(name) for name in condition_names),
        geometry=np.full(rows, "") if geometry is None else np.asarray(geometry),
        step=np.zeros(rows, dtype=np.int64) if step is None else np.asarray(step, dtype=np.int64),
        record_id=np.asarray(record_id),
    )


def load_benchmark(run: RunFolder, folds: Mapping[str, int] | None = None) -> Benchmark:
    """Return the rows of a stored run.

    Args:
        run: a run folder with `instances.parquet`.
        folds: fold of each scene; `None` takes the shipped fold file.
    """
    table = load_config().section("folds")["folds"] if folds is None else folds
    return from_instances(run.read_frame("instances.parquet"), table)


def sources_from_frame(frame: pd.DataFrame) -> SourceBatch:
    """Return the sources of an instance table as one batch [n, 3]."""
    contracts = HANDOVER.names

    def column(suffix: str) -> NDArray[Any]:
        return np.stack([frame[f"{role}_{suffix}"].to_numpy() for role in ROLES], axis=1)

    opinion = np.stack(
        [
            np.stack([frame[f"{role}_p_{name}"].to_numpy(float) for name in contracts], axis=1)
            for role in ROLES
        ],
        axis=1,
    )
    parents = parent_ids([frame[f"{role}_parents"].to_numpy() for role in ROLES])
    missing, mismatch, stale = _command_flags(frame)
    unavailable = column("unavailable").astype(bool)
    alone = parents.max() + 1 + np.arange(len(ROLES))
    kept = np.where(unavailable[..., None], alone[:, None], parents)
    return SourceBatch(
        opinion=opinion,
        quality=column("quality").astype(float),
        conflict=column("conflict").astype(float),
        unavailable=unavailable,
        declared_invalid=column("invalid").astype(bool),
        component=components_batch(parents),
        command_missing=missing,
        command_mismatch=mismatch,
        command_stale=stale,
        roles=ROLES,
        contracts=HANDOVER,
        component_present=components_batch(kept),
    )


def parent_ids(columns: list[NDArray[Any]]) -> Ints:
    """Return integer parent ids [n, J, P] of J columns of parent lists, −1 where there is none."""
    lengths = np.stack([[len(cell) for cell in column] for column in columns], axis=1)
    width = max(int(lengths.max(initial=0)), 1)
    table = np.full((*lengths.shape, width), -1, dtype=np.int64)
    names = [name for row in zip(*columns, strict=True) for cell in row for name in cell]
    codes, _ = pd.factorize(np.asarray(names, dtype=object)) if names else (np.empty(0), None)
    table[np.arange(width) < lengths[..., None]] = codes
    return table


def _label_codes(label: NDArray[Any], names: tuple[str, ...]) -> Ints:
    """Return reference contracts as indices, from names or indices."""
    if label.dtype.kind in "iu":
        return label.astype(np.int64)
    codes = pd.Index(names).get_indexer(pd.Index(label.astype(str))).astype(np.int64)
    if (codes < 0).any():
        unknown = label[codes < 0][0]
        raise PactError(f"unknown contract {unknown!r} in the labels: expected {', '.join(names)}")
    return codes


def _command_flags(frame: pd.DataFrame) -> tuple[Bools, Bools, Bools]:
    """Return whether the command's timing is missing, differs, or is a stale carry-over [n]."""

    def text(name: str) -> pd.Series[str]:
        return frame[f"command_{name}"].astype(object).where(frame[f"command_{name}"].notna(), "")

    current, evidence, status = text("current_hash"), text("evidence_hash"), text("status")
    missing = (current == "") | (evidence == "") | (status == "")
    mismatch = (current != "") & (evidence != "") & (current != evidence)
    carried = (text("previous_hash") != "") & (text("carried_over_from") != "")
    stale = (status == STALE) & carried
    return missing.to_numpy(bool), mismatch.to_numpy(bool), stale.to_numpy(bool)
