"""Grouped-scene folds: which scene is held out with which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.errors import UsageError

FOLDS = 5


def index_folds(scene_ids: Sequence[str], folds: int = FOLDS) -> dict[str, int]:
    """Return the fold of each scene: its index among the sorted ids, modulo `folds`."""
    return {scene: index % folds for index, scene in enumerate(sorted(set(scene_ids)))}


def fold_of_scenes(
    scene_ids: Sequence[str], table: Mapping[str, int] | None = None
) -> NDArray[np.int64]:
    """Return the fold of each scene in `scene_ids` (in that order).

    Args:
        scene_ids: the scenes, each once.
        table: fold of each scene. With `None`, or a table that knows none of these scenes, the
            fold is the index among the sorted ids modulo five.

    Raises:
        UsageError: if `table` knows only some of the scenes, or all fall into one fold.
    """
    foreign = table is None or not any(scene in table for scene in scene_ids)
    chosen = index_folds(scene_ids) if table is None or foreign else table
    unknown = [scene for scene in scene_ids if scene not in chosen]
    if unknown:
        raise UsageError(
            f"the fold table has no entry for scene {unknown[0]!r} "
            f"({len(unknown)} scenes in all): add it to folds.toml"
        )
    folds = np.array([chosen[scene] for scene in scene_ids], dtype=np.int64)
    present = np.unique(folds)
    if present.size < 2:
        raise UsageError("grouped evaluation needs scenes in at least two folds")
    return np.searchsorted(present, folds).astype(np.int64)


def shuffled_folds(scenes: int, order: Sequence[int], folds: int = FOLDS) -> NDArray[np.int64]:
    """Return the fold of each scene index when `order` is a shuffled list of the indices.

    The fold of a scene is its position in `order`, modulo `folds`.
    """
    fold = np.empty(scenes, dtype=np.int64)
    fold[np.asarray(order)] = np.arange(scenes) % folds
    return fold
