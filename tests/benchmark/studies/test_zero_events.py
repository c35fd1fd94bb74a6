"""Where no error was observed, no interval pretends that none can happen."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from pact_benchmark.bootstrap import clopper_pearson, scene_weights
from pact_benchmark.estimates import Estimator, area_of
from pact_benchmark.selection import TARGETS, Curve
from pact_benchmark.studies._intervals import row_count
from pact_benchmark.studies.joint_holdout import operating_point
from pact_benchmark.studies.misspecification import DRAWS, two_stage_draws, wrong_share

ERRORS = re.compile(r"(^|[._])(wrong|contracts?_changed|correct_lost|rerouted_correct)")


def errorless_curve(scenes: int = 10, rows: int = 100) -> Curve:
    """Return a curve that retains what is asked for and is never wrong."""
    admitted = np.tile(np.rint(TARGETS * rows).astype(np.int64), (scenes, 1))
    return Curve(TARGETS, np.full(scenes, rows), admitted, np.zeros_like(admitted))


def test_no_error_statistic_of_a_whole_evaluation_pretends_to_be_zero(finished_run):
    """Each count or share of errors that is 0 has an upper end above 0 and says what it is."""
    statistics = json.loads((finished_run / "statistics.json").read_text())
    zeros = {
        name: found
        for name, found in statistics.items()
        if found["value"] == 0 and ERRORS.search(name)
    }
    assert len(zeros) > 10
    for name, found in zeros.items():
        assert found["high"], name
        assert "no event" in found["note"], name


def test_areas_without_an_error_have_room(finished_run):
    """Nothing but the drift of exact copies is 0 with an interval of no width and no word."""
    statistics = json.loads((finished_run / "statistics.json").read_text())
    flat = [
        name
        for name, found in statistics.items()
        if (found["value"], found["high"]) == (0, 0) and "note" not in found
    ]
    assert all(name.endswith("drift") for name in flat), flat


def test_operating_point_of_a_holdout_has_room():
    """No wrong admission in 1,000 rows: the exact binomial interval, with its note."""
    weights = scene_weights(1, 50, 10)
    found = operating_point(errorless_curve(), 0.13, weights)["wrong_all"]
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(clopper_pearson(0, 1000)[1])
    assert "no event in 1000 rows" in found.note


def test_area_without_an_error_has_room():
    """The upper end lies between the exact ones of the smallest and the largest retained set."""
    area = area_of(errorless_curve(), scene_weights(1, 50, 10), (0.10, 0.39)).statistic()
    assert (area.value, area.low) == (0.0, 0.0)
    assert clopper_pearson(0, 390)[1] < area.high < clopper_pearson(0, 100)[1]
    assert "no error on [0.1, 0.39]" in area.note


def test_misspecification_without_a_wrong_admission_has_room():
    """Ten masks without a wrong admission leave the exact interval over the rows."""
    found = wrong_share(np.zeros((10, 4)), np.full(4, 25.0), seed=1)
    assert found.value == 0.0
    assert found.high == pytest.approx(clopper_pearson(0, 100)[1])


def test_each_draw_picks_a_mask_and_then_its_scenes():
    """The generator serves draw after draw: one mask seed, then as many scenes as there are."""
    rng = np.random.default_rng(195650)
    masks, scenes = two_stage_draws(195650, 10, 48)
    for draw in range(DRAWS):
        assert masks[draw] == rng.integers(10)
        np.testing.assert_array_equal(scenes[draw], rng.integers(48, size=48))


def test_counts_of_comparisons_by_hand():
    """Flags of two comparisons per row are counted over all comparisons, with an interval."""
    estimate = Estimator(draws=100, seed=1)
    scene = np.repeat(np.arange(5), 4)
    flags = np.zeros((20, 2), dtype=bool)
    none = row_count(estimate, flags, scene, 5)
    assert (none.value, none.n) == (0, 40)
    assert none.high == pytest.approx(40 * clopper_pearson(0, 40)[1])
    flags[:3] = True
    some = row_count(estimate, flags, scene, 5)
    assert some.value == 6
    assert some.low == 0.0 < 6.0 < some.high
