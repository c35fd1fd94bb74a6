"""Grouped-scene folds: which scene is held out with which."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.errors import UsageError

FOLDS = 5


def index_folds(scene_ids: Sequence[str], folds: int = FOLDS) -> dict[str, int]:
    """Return the fold of each scene: its index among the sorted ids, modulo `folds`."""
    return {scene: index % folds for index, scene in enumerate(sorted(set(scene_ids)))}


def read_folds(path: Path) -> dict[str, int]:
    """Read a fold file: a TOML table `[folds]` that maps each scene id to its fold."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))["folds"]
    except FileNotFoundError:
        raise UsageError(f"fold file {path} does not exist") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"fold file {path} is not valid TOML: {error}") from None
    except KeyError:
        raise UsageError(f"fold file {path} has no table [folds]: add one, scene = fold") from None
    for scene, fold in table.items():
        if not isinstance(fold, int) or isinstance(fold, bool) or fold < 0:
            raise UsageError(
                f"fold file {path}: fold of scene {scene!r} is {fold!r}, not a count from 0"
            )
    return dict(table)


def fold_of_scenes(
    scene_ids: Sequence[str], table: Mapping[str, int] | None = None
) -> NDArray[np.int64]:
    """Return the fold of each scene in `scene_ids` (in that order).

    Args:
        scene_ids: the scenes, each once.
        table: fold of each scene; `None` takes the index among the sorted ids modulo five.

    Raises:
        UsageError: if `table` lacks a scene, or puts all scenes into one fold.
    """
    chosen = index_folds(scene_ids) if table is None else table
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
