"""The fold file and fold assignment."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pact_benchmark.config import load_config
from pact_benchmark.errors import UsageError
from pact_benchmark.folds import fold_of_scenes, index_folds, shuffled_folds


def test_shipped_folds_are_the_sorted_index_modulo_five():
    """The fold file holds 48 scenes in folds of 10, 10, 10, 9 and 9."""
    table = load_config().section("folds")["folds"]
    assert table == index_folds([f"scene_{i:03d}" for i in range(1, 49)])
    assert np.bincount(list(table.values())).tolist() == [10, 10, 10, 9, 9]


def test_order_of_scenes_does_not_matter():
    """The fold follows the sorted ids, whatever order they come in."""
    scenes = [f"scene_{i:03d}" for i in range(1, 13)]
    mixed = random.Random(0).sample(scenes, len(scenes))
    expected = dict(zip(scenes, fold_of_scenes(scenes), strict=True))
    assert dict(zip(mixed, fold_of_scenes(mixed), strict=True)) == expected


def test_a_table_decides_and_unused_folds_close_up():
    """A given table is followed; folds without scenes leave no gap."""
    table = {"a": 4, "b": 2, "c": 4, "elsewhere": 0}
    assert fold_of_scenes(["a", "b", "c"], table).tolist() == [1, 0, 1]


def test_foreign_scenes_fall_back_to_the_index():
    """Scenes that the table does not know at all are assigned by index."""
    assert fold_of_scenes(["x", "y", "z"], {"scene_001": 0}).tolist() == [0, 1, 2]


def test_half_known_scenes_are_an_error():
    """A table that knows some of the scenes but not all names the first unknown one."""
    with pytest.raises(UsageError, match="'b'"):
        fold_of_scenes(["a", "b"], {"a": 0})


def test_one_fold_is_not_enough():
    """Held-out evaluation needs at least two folds."""
    with pytest.raises(UsageError, match="two folds"):
        fold_of_scenes(["a"])


def test_shuffled_folds_follow_the_position():
    """The fold of a scene is its position in the shuffled list, modulo five."""
    order = [3, 0, 6, 1, 2, 5, 4]
    fold = shuffled_folds(7, order)
    assert [int(fold[index]) for index in order] == [0, 1, 2, 3, 4, 0, 1]
