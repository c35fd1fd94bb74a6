"""Probability and selective metrics, against scikit-learn and plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, log_loss

from pact_benchmark.metrics import (
    augrc,
    aurc,
    probability_metrics,
    reliability,
    sample_coverage_at_risk,
    sample_risk_at_coverage,
    selective_curve,
    summarise,
)


def sample(seed, n=300):
    """Return random posteriors, their contracts and labels."""
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.full(5, 0.7), size=n)
    return posterior, posterior.argmax(axis=1), rng.integers(5, size=n)


def plain_ece(posterior, contract, label):
    """Return the calibration error by a loop over ten half-open bins, the last closed."""
    total, n = 0.0, len(label)
    confidence = posterior[np.arange(n), contract]
    for k in range(10):
        low, high = np.linspace(0, 0.9, 10)[k], np.linspace(0, 0.9, 10)[k] + 0.1
        inside = (confidence >= low) & ((confidence < high) if k < 9 else (confidence <= 1))
        if inside.any():
            gap = abs((contract == label)[inside].mean() - confidence[inside].mean())
            total += inside.sum() / n * gap
    return total


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_probability_metrics_agree_with_independent_ones(seed):
    """All five metrics agree with scikit-learn, or with a plain loop."""
    posterior, contract, label = sample(seed)
    found = probability_metrics(posterior, contract, label)
    onehot = np.eye(5)[label]
    assert found["accuracy"] == pytest.approx(accuracy_score(label, contract))
    macro = f1_score(label, contract, labels=range(5), average="macro", zero_division=0)
    assert found["macro_f1"] == pytest.approx(macro)
    expected = log_loss(label, np.clip(posterior, 1e-12, 1), labels=range(5))
    assert found["nll"] == pytest.approx(expected, rel=1e-6)
    assert found["brier"] == pytest.approx(((posterior - onehot) ** 2).sum(axis=1).mean())
    assert found["ece10"] == pytest.approx(plain_ece(posterior, contract, label))


def test_hand_made_metrics():
    """Two sure rows, one right and one wrong: known values, with the log loss clipped."""
    posterior = np.array([[1.0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0]])
    found = probability_metrics(posterior, np.array([0, 1]), np.array([0, 2]))
    assert found["accuracy"] == 0.5
    assert found["brier"] == 1.0
    assert found["ece10"] == pytest.approx(0.5)
    assert found["nll"] == pytest.approx(-np.log(1e-12) / 2)
    assert found["macro_f1"] == pytest.approx(1 / 5)


def test_uniform_posteriors_have_the_prior_metrics():
    """A uniform posterior has log loss ln 5 and Brier score 4/5."""
    found = probability_metrics(np.full((10, 5), 0.2), np.zeros(10, int), np.arange(10) % 5)
    assert found["nll"] == pytest.approx(np.log(5))
    assert found["brier"] == pytest.approx(0.8)


@pytest.mark.parametrize(("confidence", "expected"), [(0.2, 2), (0.5, 5), (0.999, 9), (1.0, 9)])
def test_bin_edges_belong_to_the_upper_bin(confidence, expected):
    """A confidence on an edge counts in the bin above it; certainty is in the last."""
    rest = (1 - confidence) / 4
    summary = summarise(
        np.array([[confidence, rest, rest, rest, rest]]), np.array([0]), np.array([0])
    )
    assert reliability(summary).count.tolist() == [int(k == expected) for k in range(10)]


def test_scene_weights_repeat_scenes():
    """Metrics under scene weights are those of the sample with the scenes repeated."""
    posterior, contract, label = sample(7)
    scene = np.arange(300) % 6
    weights = np.array([[2.0, 0, 1, 3, 0, 0], [1.0] * 6])
    drawn = summarise(posterior, contract, label, scene, 6).metrics(weights)
    for row, weight in enumerate(weights):
        again = np.concatenate(
            [np.flatnonzero(scene == s).repeat(int(weight[s])) for s in range(6)]
        )
        expected = probability_metrics(posterior[again], contract[again], label[again])
        for name, value in expected.items():
            assert drawn[name][row] == pytest.approx(value), name


def test_reliability_of_an_empty_bin_is_undefined():
    """Bins without rows have no accuracy instead of a zero."""
    diagram = reliability(summarise(*sample(3)))
    assert np.isnan(diagram.accuracy[0])
    assert diagram.count.sum() == 300


def test_aurc_with_ties_is_the_mean_over_orders():
    """The area with tied scores is its average over every order of the tied rows."""
    score = np.array([0.9, 0.5, 0.5, 0.5, 0.1])
    wrong = np.array([0, 1, 0, 0, 1])
    values = []
    for order in itertools.permutations([1, 2, 3]):
        errors = np.cumsum(wrong[[0, *order, 4]])
        values.append(np.mean(errors / np.arange(1, 6)))
    assert aurc(score, wrong) == pytest.approx(np.mean(values))


def test_augrc_equals_its_pairwise_form():
    """The area counts an error once for each row ranked below it, half for ties and itself."""
    rng = np.random.default_rng(4)
    score, wrong = rng.integers(0, 20, 80) / 20, rng.random(80) < 0.4
    total = 0.0
    for i in np.flatnonzero(wrong):
        below = (score < score[i]).sum()
        ties = (score == score[i]).sum()
        total += below + ties / 2
    assert augrc(score, wrong) == pytest.approx(total / 80**2)


def test_sample_risk_and_coverage_hand_case():
    """Risk at a coverage counts the retained errors; coverage at a risk inverts it."""
    score, wrong = np.array([4.0, 3.0, 2.0, 1.0]), np.array([0, 1, 0, 1])
    assert sample_risk_at_coverage(score, wrong, 0.5) == pytest.approx(0.5)
    assert sample_risk_at_coverage(score, wrong, 1.0) == pytest.approx(0.5)
    assert sample_coverage_at_risk(score, wrong, 0.34) == pytest.approx(0.75)
    assert sample_coverage_at_risk(score, np.ones(4), 0.5) == 0.0
    with pytest.raises(ValueError, match="coverage"):
        sample_risk_at_coverage(score, wrong, 0.0)


def test_selective_curve_of_nothing_is_an_error():
    """There is no curve without rows."""
    with pytest.raises(ValueError, match="at least one row"):
        selective_curve(np.empty(0), np.empty(0))
