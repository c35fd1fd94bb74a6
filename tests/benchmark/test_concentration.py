"""Choice of the concentration by inner folds."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_benchmark.concentration import Candidate, choose_concentrations
from pact_benchmark.selection import Ranking


def plain_choice(candidates, fold):
    """Choose by plain loops over outer, validation and target; return places by fold."""
    folds, orders = sorted(set(fold.tolist())), []
    for outer in folds:
        keys = []
        for index, item in enumerate(candidates):
            r, cost, wrong_total, right_total, n = item.ranking, 0.0, 0, 0, 0
            for target in (0.10, 0.13, 0.15):
                wrong = admitted = rows = 0
                for validation in folds:
                    if validation == outer:
                        continue
                    train = [i for i in range(len(fold)) if fold[i] not in (outer, validation)]
                    ranked = sorted((r.score[i] for i in train if r.available[i]), reverse=True)
                    rank = min(round(target * len(train)), len(ranked))
                    cutoff = ranked[rank - 1] if rank else math.inf
                    for i in np.flatnonzero(fold == validation):
                        rows += 1
                        if r.available[i] and r.score[i] >= cutoff:
                            admitted += 1
                            wrong += not r.correct[i]
                cost += (5 * wrong + 0.5 * (rows - admitted)) / rows / 3
                wrong_total, right_total, n = (
                    wrong_total + wrong,
                    right_total + admitted - wrong,
                    rows,
                )
            keys.append((round(cost, 12), wrong_total / n, -right_total / n, index))
        orders.append([key[3] for key in sorted(keys)])
    return orders


def candidate(rule, kappa, rng, n, quality):
    """Return a candidate whose score knows the truth to some degree."""
    correct = rng.random(n) < 0.5
    score = np.round(quality * correct + rng.random(n), 1)
    return Candidate(rule, kappa, Ranking(score, rng.random(n) < 0.9, correct))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_choice_equals_plain_loops(seed):
    """The order of the candidates in each fold is that of plain loops."""
    rng = np.random.default_rng(seed)
    fold = np.arange(150) % 5
    items = [candidate("product", None, rng, 150, 0.3)]
    items += [candidate("nested_dirichlet", k, rng, 150, rng.random()) for k in (4.0, 8.0, 12.0)]
    found = choose_concentrations(items, fold)
    names = ["product", "nested_dirichlet@4", "nested_dirichlet@8", "nested_dirichlet@12"]
    for outer, order in enumerate(plain_choice(items, fold)):
        listed = found.frame[found.frame["fold"] == outer].sort_values("place")["candidate"]
        assert listed.tolist() == [names[index] for index in order]
        first_nested = next(items[index].kappa for index in order if items[index].kappa)
        assert found.kappa[outer] == first_nested


def test_equal_candidates_follow_the_given_order():
    """Full ties go to the earlier candidate; a rule without concentration cannot set it."""
    rng = np.random.default_rng(0)
    ranking = candidate("product", None, rng, 100, 0.5).ranking
    items = [
        Candidate("product", None, ranking),
        Candidate("nested_dirichlet", 8.0, ranking),
        Candidate("nested_dirichlet", 4.0, ranking),
    ]
    found = choose_concentrations(items, np.arange(100) % 5)
    assert found.kappa.tolist() == [8.0] * 5
    assert set(found.winner) == {"product"}


def test_cheaper_candidate_wins():
    """A candidate that admits only right rows beats one that admits only wrong rows."""
    n = 100
    score = np.linspace(1, 0, n)
    top = np.arange(n) < 50
    everyone = np.ones(n, dtype=bool)
    items = [
        Candidate("nested_dirichlet", 4.0, Ranking(score, everyone, ~top)),
        Candidate("nested_dirichlet", 24.0, Ranking(score, everyone, top)),
    ]
    assert choose_concentrations(items, np.arange(n) % 5).kappa.tolist() == [24.0] * 5
