"""Statistics against definitions written out."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from pact_benchmark.hrc.pairings import (
    all_pairings,
    equal_task_weights,
    error_tables,
    family_pairing,
    pair_phi,
    rank_pairings,
)
from pact_benchmark.hrc.permutation import (
    EventProfiles,
    cross_task_test,
    exact_test,
    permutation_test,
)
from pact_benchmark.hrc.statistics import (
    Strata,
    auroc,
    auroc_draws,
    calibration_intercept,
    derangements,
    equal_count_ece,
    ncsaurc,
    ncsaurc_draws,
    order_interval,
    plus_one_p,
    quantile_ece,
    target_coverages,
    task_mean_draws,
)

ROWS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40)


def area_by_definition(score: np.ndarray, error: np.ndarray) -> float:
    """Return ncsAURC row by row: whole groups first, then the needed share of the next one."""
    risks = []
    for coverage in target_coverages():
        wanted, wrong = coverage * len(score), 0.0
        for value in sorted(set(score), reverse=True):
            group = error[score == value]
            share = min(1.0, max(0.0, wanted / len(group)))
            wrong += share * group.sum()
            wanted -= share * len(group)
        risks.append(wrong / (coverage * len(score)))
    grid = target_coverages()
    return float(np.trapezoid(risks, grid) / 0.8)


@given(rows=ROWS)
@settings(max_examples=60, deadline=None)
def test_ncsaurc_matches_its_definition(rows: list[tuple[int, bool]]) -> None:
    """Tied groups at a boundary count fractionally, with their mean error."""
    score = np.array([row[0] for row in rows], dtype=float)
    error = np.array([row[1] for row in rows], dtype=float)
    assert ncsaurc(score, error) == pytest.approx(area_by_definition(score, error), abs=1e-12)


def test_constant_score_gives_the_error_rate() -> None:
    """Without an order every coverage has the same risk."""
    error = np.array([1.0, 0.0, 0.0, 1.0, 0.0])
    assert ncsaurc(np.ones(5), error) == pytest.approx(0.4)


def test_weighted_draws_equal_explicit_resamples() -> None:
    """Drawing a unit twice is the same as having its rows twice."""
    rng = np.random.default_rng(0)
    score, error = rng.integers(0, 6, 30).astype(float), (rng.random(30) < 0.3).astype(float)
    unit = np.repeat(np.arange(10), 3)
    counts = rng.multinomial(10, np.full(10, 0.1), 20).astype(float)
    for row, drawn in zip(counts, ncsaurc_draws(score, error, unit, counts), strict=True):
        index = np.repeat(np.arange(30), row[unit].astype(int))
        assert drawn == pytest.approx(ncsaurc(score[index], error[index]), abs=1e-12)


def test_auroc_agrees_with_scikit_learn_and_resamples() -> None:
    """Ties count one half, and weights act as repeated rows."""
    rng = np.random.default_rng(1)
    score, positive = rng.integers(0, 8, 40).astype(float), np.arange(40) % 2 == 0
    assert auroc(score, positive) == pytest.approx(roc_auc_score(positive, score))
    unit = np.repeat(np.arange(10), 4)
    counts = rng.multinomial(10, np.full(10, 0.1), 10).astype(float)
    for row, drawn in zip(counts, auroc_draws(score, positive, unit, counts), strict=True):
        index = np.repeat(np.arange(40), row[unit].astype(int))
        assert drawn == pytest.approx(roc_auc_score(positive[index], score[index]))


def test_task_means_weigh_tasks_equally() -> None:
    """A task with more episodes has no more say."""
    frame = pd.DataFrame({"task": ["a"] * 4 + ["b"], "episode": list("pqrst")})
    strata = Strata.of(frame)
    once = {task: np.ones((1, len(strata.episodes[task]))) for task in strata.tasks}
    value = np.array([1.0, 1.0, 0.0, 0.0, 1.0])
    assert task_mean_draws(frame, value, strata, once)[0] == pytest.approx(0.75)


def test_resamples_keep_episodes_whole_and_tasks_apart() -> None:
    """Every draw has as many episodes per task as there are, for seed 0 as well."""
    frame = pd.DataFrame({"task": ["a"] * 4 + ["b"] * 3, "episode": list("pqrstuv")})
    strata = Strata.of(frame)
    counts = strata.counts(0, 50)
    assert (counts["a"].sum(axis=1) == 4).all()
    assert (counts["b"].sum(axis=1) == 3).all()
    assert all(np.array_equal(counts[t], strata.counts(0, 50)[t]) for t in strata.tasks)
    assert not np.array_equal(counts["a"], strata.counts(1, 50)["a"])


def test_order_interval_takes_the_release_positions() -> None:
    """Bounds are the order statistics int(0.025 n) and int(0.975 n)."""
    assert order_interval(np.arange(1000.0)) == (25.0, 975.0)


def test_derangements_have_no_fixed_point_and_are_uniform() -> None:
    """The nine derangements of four come equally often."""
    drawn = derangements(4, 9_000, np.random.default_rng(3))
    assert (drawn != np.arange(4)).all()
    kinds, number = np.unique(drawn, axis=0, return_counts=True)
    assert len(kinds) == 9
    assert number.min() > 850
    with pytest.raises(ValueError, match="block of one"):
        derangements(1, 1, np.random.default_rng(0))


def profiles(seed: int, episodes: int, tasks: int = 2, events: int = 1) -> pd.DataFrame:
    """Return paired events with scores that rise in most events."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in range(tasks):
        for episode in range(episodes):
            for event in range(events):
                early = rng.random()
                key = f"t{task}e{episode}"
                late = early + rng.normal(0.1, 0.2)
                rows.append((f"t{task}", key, f"{key}_{event}", early, late))
    return pd.DataFrame(rows, columns=["task", "episode", "event", "early", "proximal"])


@pytest.mark.parametrize("events", [1, 2])
def test_exact_permutation_test_matches_enumeration(events: int) -> None:
    """Counting by donor sets gives what listing every derangement gives."""
    blocks = EventProfiles.of(profiles(5, 4, events=events))
    values, observed = [], 0.0
    first, second = (
        (block.proximal[:, None] > block.early[None]).mean(axis=2) for block in blocks.blocks
    )
    moves = [p for p in permutations(range(4)) if all(i != j for i, j in enumerate(p))]
    for a in moves:
        for b in moves:
            gains = [first[i, j] for i, j in enumerate(a)] + [second[i, j] for i, j in enumerate(b)]
            values.append(np.mean(gains))
    observed = float(np.mean([*np.diag(first), *np.diag(second)]))
    found = exact_test(blocks)
    assert found is not None
    assert found.observed == pytest.approx(observed)
    assert found.null_mean == pytest.approx(np.mean(values))
    assert found.p == pytest.approx(np.mean(np.array(values) >= observed - 1e-12))


def test_sampled_permutations_approach_the_exact_test() -> None:
    """Sampling and counting agree within sampling error, and the seed decides the sample."""
    blocks = EventProfiles.of(profiles(6, 7))
    exact, sampled = exact_test(blocks), permutation_test(blocks, 4_000, 0)
    assert exact is not None
    assert sampled.p == pytest.approx(exact.p, abs=0.03)
    assert sampled.null_mean == pytest.approx(exact.null_mean)
    assert sampled == permutation_test(blocks, 4_000, 0)


def test_singleton_blocks_are_left_out() -> None:
    """An episode nobody can exchange with does not enter."""
    events = profiles(1, 3)
    extra = pd.DataFrame([("t0", "x", "x_1", 0.1, 0.9), ("t0", "x", "x_2", 0.1, 0.9)])
    extra.columns = events.columns
    found = permutation_test(EventProfiles.of(pd.concat([events, extra])), 10, 0)
    assert (found.events, found.episodes) == (6, 6)


def test_cross_task_donors_come_from_other_tasks() -> None:
    """Where tasks never overlap in level, donors from another task always lose or always win."""
    low = profiles(2, 5, tasks=1).assign(early=0.1, proximal=0.2)
    high = profiles(3, 5, tasks=1).assign(task="t1", early=0.8, proximal=0.9)
    high["episode"] = high["episode"] + "h"
    high["event"] = high["event"] + "h"
    found = cross_task_test(EventProfiles.of(pd.concat([low, high]), by_occurrence=False), 20, 0)
    assert found.observed == 1.0
    assert found.null_mean == pytest.approx(0.5)


def test_plus_one_p_is_never_zero() -> None:
    """The smallest p of n permutations is 1 / (n + 1)."""
    assert plus_one_p(np.zeros(9_999), 1.0) == pytest.approx(1e-4)


def test_pairings_are_counted_and_ranked() -> None:
    """Eight names have 105 pairings, six have 15; a clear family comes first."""
    names = [f"m{i}" for i in range(8)]
    assert len(set(map(frozenset, all_pairings(names)))) == 105
    assert sum(1 for _ in all_pairings(names[:6])) == 15
    families = {name: f"f{i // 2}" for i, name in enumerate(names)}
    family = family_pairing(names, families)
    assert family is not None
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.random((500, 4)) < 0.3, 2, axis=1)
    wrong = shared ^ (rng.random((500, 8)) < 0.05)
    ranking = rank_pairings(pair_phi(error_tables(wrong, np.ones(500), names)), names, family)
    assert (ranking.rank, ranking.tied_or_higher) == (1, 1)
    assert family_pairing(names[:3], families) is None


def test_phi_is_the_correlation_of_errors() -> None:
    """φ equals Pearson's correlation of the binary errors; a constant column gives 0."""
    rng = np.random.default_rng(4)
    wrong = rng.random((200, 3)) < [0.3, 0.5, 0.0]
    wrong[:, 1] ^= wrong[:, 0]
    found = pair_phi(error_tables(wrong, np.ones(200), ["a", "b", "c"]))
    expected = np.corrcoef(wrong[:, 0], wrong[:, 1])[0, 1]
    assert found[frozenset("ab")] == pytest.approx(expected)
    assert found[frozenset("ac")] == 0.0


def test_equal_task_weights_sum_alike() -> None:
    """Each task has the same total weight."""
    tasks = np.array(["a"] * 3 + ["b"] * 9, dtype=object)
    weights = equal_task_weights(tasks)
    assert weights[:3].sum() == pytest.approx(weights[3:].sum())
    assert weights.sum() == pytest.approx(12)


def test_calibration_errors_of_calibrated_scores_are_small() -> None:
    """Scores that are frequencies have little calibration error and an intercept near zero."""
    rng = np.random.default_rng(8)
    score = rng.uniform(0.05, 0.95, 20_000)
    positive = rng.random(20_000) < score
    assert equal_count_ece(score, positive) < 0.02
    assert quantile_ece(score, positive) < 0.02
    intercept, spread = calibration_intercept(score, positive, np.arange(20_000))
    assert abs(intercept) < 4 * spread
