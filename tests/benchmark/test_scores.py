"""Selection scores and the correctness model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pact_benchmark.scores import correctness_features, fit_correctness, posterior_score


def rows(seed=0, n=2000):
    """Return posteriors, observed counts and a correctness that depends on them."""
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.full(5, 0.8), size=n)
    observed = rng.integers(2, 4, n)
    chance = 1 / (1 + np.exp(-(4 * posterior.max(axis=1) - 3 + posterior[:, 1] + 0.4 * observed)))
    return posterior, observed, rng.random(n) < chance - 0.2


def test_posterior_scores_hand_case():
    """Peak, margin and inverse entropy of a known posterior."""
    posterior = np.array([[0.5, 0.3, 0.2, 0.0, 0.0], [0.2] * 5])
    assert posterior_score(posterior, "peak") == pytest.approx([0.5, 0.2])
    assert posterior_score(posterior, "margin") == pytest.approx([0.2, 0.0])
    entropy = -(0.5 * np.log(0.5) + 0.3 * np.log(0.3) + 0.2 * np.log(0.2))
    expected = [1 - entropy / np.log(5), 0.0]
    assert posterior_score(posterior, "inverse_entropy") == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="peak"):
        posterior_score(posterior, "luck")


def test_features_are_the_nine_in_order():
    """Five probabilities, entropy in nats, peak, margin and count; eight without the count."""
    features = correctness_features(np.array([[0.6, 0.4, 0.0, 0.0, 0.0]]), np.array([3]))
    entropy = -(0.6 * np.log(0.6) + 0.4 * np.log(0.4))
    assert features[0] == pytest.approx([0.6, 0.4, 0, 0, 0, entropy, 0.6, 0.2, 3])
    assert correctness_features(np.full((2, 5), 0.2), None).shape == (2, 8)


def test_fit_agrees_with_scikit_learn():
    """The fitted probabilities are those of scikit-learn's penalised logistic regression."""
    posterior, observed, correct = rows()
    features = correctness_features(posterior, observed)
    model = fit_correctness(features, correct)
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    other = LogisticRegression(C=1e4, tol=1e-10, max_iter=10_000).fit(standard, correct)
    expected = other.predict_proba(standard)[:, 1]
    assert model.score(features) == pytest.approx(expected, abs=2e-5)


def test_fit_is_a_stationary_point():
    """At the solution the penalised gradient vanishes in every direction."""
    posterior, observed, correct = rows(3)
    features = correctness_features(posterior, observed)
    model = fit_correctness(features, correct)
    design = (features - model.mean) / model.scale
    residual = model.score(features) - correct
    assert abs(residual.sum()) < 1e-6
    assert np.abs(design.T @ residual + 1e-4 * model.coefficient).max() < 1e-6


def test_constant_features_and_one_outcome_are_harmless():
    """A feature that never varies, or rows that are all right, still give probabilities."""
    features = np.column_stack([np.linspace(0, 1, 50), np.ones(50)])
    for correct in (np.arange(50) % 2 == 0, np.ones(50, dtype=bool)):
        score = fit_correctness(features, correct).score(features)
        assert np.isfinite(score).all()
        assert ((score >= 0) & (score <= 1)).all()


def test_fit_without_rows_is_undecided():
    """Without training rows every score is one half."""
    model = fit_correctness(np.empty((0, 9)), np.empty(0, dtype=bool))
    assert model.score(np.ones((3, 9))).tolist() == [0.5] * 3
