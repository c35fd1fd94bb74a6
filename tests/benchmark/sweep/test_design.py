"""The Sobol design, its settings, and the indices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

from pact_benchmark.config import load_config
from pact_benchmark.sweep.design import (
    FACTORS,
    Setting,
    SweepDesign,
    index_matrices,
    sobol_points,
)
from pact_benchmark.sweep.indices import sensitivity


@pytest.fixture(scope="module")
def design():
    """Return the shipped design."""
    return SweepDesign.from_section(load_config().section("sweep"))


def test_points_are_the_published_sequence(design):
    """256 points are SciPy's scrambled sequence with seed 1924; fewer are its beginning."""
    expected = qmc.Sobol(d=5, scramble=True, seed=1924).random_base2(8)
    np.testing.assert_array_equal(sobol_points(256, design.seed), expected)
    np.testing.assert_array_equal(sobol_points(7, design.seed), expected[:7])
    np.testing.assert_array_equal(sobol_points(300, design.seed)[:256], expected)


def test_settings_take_every_level_and_stay_in_range(design):
    """Discrete factors take exactly their values, equally often; multipliers stay in range."""
    settings = [design.setting(unit) for unit in sobol_points(256, design.seed)]
    peaks = [s.language_peak for s in settings]
    assert sorted(set(peaks)) == [0.65, 0.75, 0.85, 0.90, 0.95]
    assert all(abs(peaks.count(p) - 256 / 5) <= 2 for p in set(peaks))
    assert {s.generation_concentration for s in settings} == {50.0, 100.0, 200.0}
    assert {s.occlusion_strength for s in settings} == {0.5, 1.0, 1.5}
    assert all(0.8 <= s.quality_multiplier <= 1.2 for s in settings)


def test_setting_by_hand(design):
    """The ends of the unit interval map to the first and the last level."""
    assert design.setting(np.zeros(5)) == Setting(0.65, 50.0, 0.8, 0.8, 0.5)
    assert design.setting(np.full(5, 1.0)) == Setting(0.95, 200.0, 1.2, 1.2, 1.5)
    assert design.setting(np.full(5, 0.5)) == Setting(0.85, 100.0, 1.0, 1.0, 1.0)


def test_index_matrices_exchange_one_column():
    """AB2 is A but for the third column, which is B's."""
    matrices = index_matrices(16, 3)
    assert set(matrices) == {"A", "B", *(f"AB{i}" for i in range(5))}
    np.testing.assert_array_equal(matrices["AB2"][:, 2], matrices["B"][:, 2])
    rest = [0, 1, 3, 4]
    np.testing.assert_array_equal(matrices["AB2"][:, rest], matrices["A"][:, rest])


def test_indices_of_a_linear_function_are_known():
    """For 3x0 + x1 the variance shares are 9/10 and 1/10, and totals equal first orders."""
    values = {name: 3 * unit[:, 0] + unit[:, 1] for name, unit in index_matrices(1024, 1).items()}
    found = sensitivity(values, resamples=50, seed=0)
    assert found.first[FACTORS[0]].value == pytest.approx(0.9, abs=0.02)
    assert found.total[FACTORS[1]].value == pytest.approx(0.1, abs=0.02)
    assert found.total[FACTORS[4]].value == pytest.approx(0.0, abs=1e-9)
    first = found.first[FACTORS[0]]
    assert first.low < first.value < first.high
    assert first.n == 1024 * 7


def test_indices_of_a_product_have_interactions():
    """A pure interaction has a larger total than first order."""
    values = {
        name: (unit[:, 0] - 0.5) * (unit[:, 1] - 0.5)
        for name, unit in index_matrices(512, 1).items()
    }
    found = sensitivity(values, resamples=0, seed=0)
    assert found.first[FACTORS[0]].value == pytest.approx(0.0, abs=0.1)
    assert found.total[FACTORS[0]].value == pytest.approx(1.0, abs=0.1)
    assert found.first[FACTORS[0]].low is None


def test_indices_of_a_constant_are_zero_and_seeds_repeat():
    """An output that never varies has no sensitivity; equal seeds give equal intervals."""
    flat = {name: np.ones(8) for name in index_matrices(8, 1)}
    assert sensitivity(flat, resamples=5, seed=0).total[FACTORS[0]].value == 0.0
    values = {name: unit[:, 0] ** 2 for name, unit in index_matrices(32, 1).items()}
    first, second = (sensitivity(values, resamples=20, seed=0) for _ in range(2))
    assert first == second
