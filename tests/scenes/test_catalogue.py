"""The catalogue covers its axes evenly and its stored plans belong to it."""

from __future__ import annotations

import numpy as np
import pytest

from pact_benchmark.catalogue_table import catalogue_markdown
from pact_scenes.catalogue import Geometry, UnknownSceneError, load_catalogue, select_scenes
from pact_scenes.configuration import ConfigurationError, default_section
from pact_scenes.plan import MissingPlanError, load_plans, plan_of, read_plans, write_plans

CATALOGUE = load_catalogue()
SECTION = default_section("scenes")
RANGES = [n for n, v in SECTION["axes"].items() if not isinstance(v[0], str)]
LEVELS = [n for n, v in SECTION["axes"].items() if isinstance(v[0], str)]


def _of(geometry: Geometry) -> list:
    return [s for s in CATALOGUE if s.geometry is geometry]


def test_catalogue_has_sixteen_scenes_of_each_geometry():
    """48 scenes with running ids, 16 of each geometry."""
    assert [s.scene_id for s in CATALOGUE] == [f"scene_{i:03d}" for i in range(1, 49)]
    assert all(len(_of(g)) == 16 for g in Geometry)


def test_every_fold_holds_all_geometries():
    """The folds "index modulo five" each see the three geometries."""
    for fold in range(5):
        assert {s.geometry for s in CATALOGUE if s.index % 5 == fold} == set(Geometry)


@pytest.mark.parametrize("axis", RANGES)
def test_range_axis_has_one_scene_per_stratum(axis):
    """Within a geometry every sixteenth of a range holds exactly one scene."""
    for geometry in Geometry:
        low, high = SECTION["geometry"][geometry.value].get(axis, SECTION["axes"][axis])
        scenes = [s for s in _of(geometry) if not (axis == "hand_distance" and s.early_touch)]
        strata = [int((getattr(s, axis) - low) / (high - low) * 16) for s in scenes]
        assert len(set(strata)) == len(scenes)
        assert set(strata) <= set(range(16))


@pytest.mark.parametrize("axis", LEVELS)
def test_level_axis_is_balanced(axis):
    """Within a geometry the levels of an axis are used equally often, to within one."""
    names = SECTION["axes"][axis]
    for geometry in Geometry:
        values = [getattr(s, axis) for s in _of(geometry)]
        for name in set(names):
            wanted = 16 * names.count(name) / len(names)
            assert abs(values.count(name) - wanted) <= 1.0


def test_axes_are_not_tied_to_each_other():
    """Ranks within the geometries of no two axes are strongly correlated."""
    ranks = []
    for geometry in Geometry:
        columns = np.array([[getattr(s, axis) for axis in RANGES] for s in _of(geometry)])
        ranks.append(np.argsort(np.argsort(columns, axis=0), axis=0))
    correlation = np.corrcoef(np.concatenate(ranks).T) - np.eye(len(RANGES))
    assert np.abs(correlation).max() < 0.5


def test_each_geometry_has_one_scene_designed_for_contact():
    """Early contact is designed, once per geometry, at the smallest hand distance."""
    for geometry in Geometry:
        touching = [s for s in _of(geometry) if s.early_touch]
        assert len(touching) == 1
        assert touching[0].hand_distance == min(s.hand_distance for s in _of(geometry)) < 0.0


def test_seed_makes_another_catalogue_and_zero_is_a_seed():
    """The same seed gives the same catalogue, another seed, also zero, another one."""
    again = load_catalogue(SECTION)
    assert again == CATALOGUE
    zero = load_catalogue(seed=0)
    assert zero == load_catalogue(seed=0)
    assert zero != CATALOGUE
    assert zero != load_catalogue(seed=1)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sead": 3}, "sead"),
        ({"axes": {**SECTION["axes"], "colour": [0.0, 1.0]}}, "colour"),
        ({"axes": {k: v for k, v in SECTION["axes"].items() if k != "light"}}, "light"),
        ({"axes": {**SECTION["axes"], "posture": [0.0, 1.0]}}, "posture"),
    ],
)
def test_wrong_configuration_is_named(change, word):
    """A wrong key or value is an error that names it."""
    with pytest.raises(ConfigurationError, match=word):
        load_catalogue({**SECTION, **change})


def test_scenes_are_selected_by_id_number_and_geometry():
    """Ids, numbers and geometries select scenes in catalogue order, without repeats."""
    assert select_scenes(CATALOGUE, ["scene_003", "3", "1"]) == (CATALOGUE[0], CATALOGUE[2])
    assert len(select_scenes(CATALOGUE, ["side_by_side"])) == 16
    assert select_scenes(CATALOGUE, None) == CATALOGUE


@pytest.mark.parametrize("name", ["scene_049", "0", "99", "upside_down", ""])
def test_unknown_scene_says_what_exists(name):
    """An unknown scene is an error that says which exist."""
    with pytest.raises(UnknownSceneError, match="scene_001 to scene_048"):
        select_scenes(CATALOGUE, [name])


def test_stored_plans_belong_to_the_catalogue():
    """Every scene has a stored plan, and plans survive writing and reading."""
    plans = load_plans(CATALOGUE)
    again, keys = read_plans(write_plans(CATALOGUE, plans))
    assert again == plans
    assert len(set(keys.values())) == 48


def test_changed_scene_has_no_stored_plan():
    """A specification that was not planned is an error, not a wrong plan."""
    with pytest.raises(MissingPlanError, match="scene_001"):
        plan_of(load_catalogue(seed=5)[0])


def test_documented_table_is_current(root):
    """The table in the documentation is the one that the code prints."""
    text = (root / "docs" / "scenes.md").read_text(encoding="utf-8")
    assert catalogue_markdown(CATALOGUE) in text
