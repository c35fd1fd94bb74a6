"""Training: gradients against automatic differentiation, batching, determinism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import polygamma

from pact_benchmark.errors import PactError
from pact_benchmark.learned.arms import nested_evidence
from pact_benchmark.learned.training import (
    Model,
    Recipe,
    TrainingRun,
    evidential_gradient,
    fuse_tmc,
    rcml_gradient,
    rcml_weights,
    resolve_device,
    tmc_gradient,
    train_evidence,
    trigamma,
)

torch = pytest.importorskip("torch")


def evidential_loss(evidence, onehot, annealing):
    """The loss as it is written down, summed over everything."""
    alpha = evidence + 1
    strength = alpha.sum(-1, keepdim=True)
    fit = (onehot * (torch.digamma(strength) - torch.digamma(alpha))).sum(-1)
    tilde = torch.distributions.Dirichlet(evidence * (1 - onehot) + 1)
    flat = torch.distributions.Dirichlet(torch.ones_like(alpha))
    return (fit + annealing * torch.distributions.kl_divergence(tilde, flat)).sum()


def tmc_loss(evidence, onehot, annealing):
    """TMC: views and Dempster's composition, pair by pair."""
    classes = evidence.shape[-1]

    def opinion(e):
        strength = e.sum(-1, keepdim=True) + classes
        return e / strength, classes / strength

    b, u = opinion(evidence[0])
    for view in evidence[1:]:
        b2, u2 = opinion(view)
        conflict = b.sum(-1, keepdim=True) * b2.sum(-1, keepdim=True)
        conflict = conflict - (b * b2).sum(-1, keepdim=True)
        b, u = (b * b2 + b * u2 + b2 * u) / (1 - conflict), u * u2 / (1 - conflict)
    fused = b * classes / u
    total = evidential_loss(fused, onehot, annealing)
    return total + sum(evidential_loss(view, onehot, annealing) for view in evidence)


def rcml_loss(evidence, onehot, annealing):
    """RCML: mean of the views' and the pair-averaged opinion's losses, plus the conflict."""
    fused = evidence[0]
    for view in evidence[1:]:
        fused = (view + fused) / 2
    terms = [evidential_loss(e, onehot, annealing) for e in (*evidence, fused)]
    classes, views = evidence.shape[-1], len(evidence)
    strength = evidence.sum(-1, keepdim=True) + classes
    mean, certain = (evidence + 1) / strength, 1 - classes / strength
    conflict = 0.0
    for i in range(views):
        distance = (mean - mean[i]).abs().sum(-1, keepdim=True) / 2 / (views - 1)
        conflict = conflict + (distance * certain[i] * certain).sum()
    return sum(terms) / len(terms) + conflict


@pytest.fixture
def example():
    """Evidences of three views [V, B, K] and one-hot labels, in double precision."""
    generator = torch.Generator().manual_seed(0)
    evidence = torch.rand((3, 7, 5), generator=generator, dtype=torch.float64) * 6
    onehot = torch.eye(5, dtype=torch.float64)[torch.arange(7) % 5]
    return evidence.requires_grad_(), onehot


@pytest.mark.parametrize("annealing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("loss", "gradient"),
    [
        (evidential_loss, evidential_gradient),
        (tmc_loss, tmc_gradient),
        (rcml_loss, lambda e, y, a: rcml_gradient(e, y, a, 1.0)),
    ],
    ids=["evidential", "tmc", "rcml"],
)
def test_gradient_equals_automatic_differentiation(example, loss, gradient, annealing) -> None:
    """The written-out gradient of each loss is the derivative of the loss."""
    evidence, onehot = example
    (expected,) = torch.autograd.grad(loss(evidence, onehot, annealing), evidence)
    found = gradient(evidence.detach(), onehot, annealing)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-6, atol=1e-7)


def test_trigamma() -> None:
    """The series agrees with SciPy from one upwards."""
    x = np.concatenate([np.linspace(1, 20, 200), [1e3, 1e6]])
    found = trigamma(torch.as_tensor(x)).numpy()
    np.testing.assert_allclose(found, polygamma(1, x), rtol=2e-7)


def test_closed_form_of_tmc_agrees_with_the_analysis() -> None:
    """Training and analysis use the same composition of the views."""
    evidence = np.random.default_rng(0).exponential(2.0, (4, 6, 5))
    trained = fuse_tmc(torch.as_tensor(evidence)).numpy()
    np.testing.assert_allclose(trained, nested_evidence(evidence.transpose(1, 0, 2)), rtol=1e-12)


def test_rcml_weights_are_the_pair_average() -> None:
    """The weights equal averaging view after view."""
    views = np.random.default_rng(1).random((5, 3))
    fused = views[0]
    for view in views[1:]:
        fused = (view + fused) / 2
    np.testing.assert_allclose(rcml_weights(5) @ views, fused, rtol=1e-12)


def runs(seeds: list[int], rows: tuple[int, ...] = (90, 90, 90)) -> list[TrainingRun]:
    """Easy three-class data in two views; the runs differ in seed and number of records."""
    rng = np.random.default_rng(5)
    label = rng.integers(3, size=90)
    views = [np.eye(3)[label] + rng.random((90, 3)), rng.random((90, 4))]
    test = [np.eye(3) + 0.5, np.full((3, 4), 0.5)]
    return [
        TrainingRun([view[:n] for view in views], label[:n], test, seed)
        for seed, n in zip(seeds, rows, strict=False)
    ]


@pytest.mark.parametrize("model", list(Model))
def test_runs_trained_together_equal_runs_trained_alone(model: Model) -> None:
    """A run's evidences do not depend on the runs that are trained with it."""
    recipe = Recipe(model, 1e-2, epochs=15, batch_size=32)
    rows = (90, 71, 64)
    together = train_evidence(recipe, runs([0, 1, 2], rows), 3)
    assert together.shape == (2, 3, 3, 3)
    for index, run in enumerate(runs([0, 1, 2], rows)):
        alone = train_evidence(recipe, [run], 3)
        np.testing.assert_allclose(together[:, index], alone[:, 0], rtol=1e-4, atol=1e-5)


def test_training_is_deterministic_and_learns() -> None:
    """Equal seeds give equal bits on any number of threads; the informative view learns."""
    recipe = Recipe(Model.TMC, 1e-2, epochs=60, batch_size=30)
    first = train_evidence(recipe, runs([3, 4, 3]), 3)
    again = train_evidence(recipe, runs([3, 4, 3]), 3, threads=2)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first[:, 0], first[:, 2], rtol=1e-5)
    assert np.abs(first[:, 0] - first[:, 1]).max() > 1e-3
    assert (first[0].argmax(-1) == np.arange(3)).all()


def test_own_learning_rate_of_a_run() -> None:
    """A run's own learning rate replaces the recipe's."""
    run = runs([1])[0]
    slow = Recipe(Model.TMC, 1e-4, epochs=5)
    pair = train_evidence(slow, [run, replace(run, learning_rate=1e-2)], 3)
    fast = train_evidence(replace(slow, learning_rate=1e-2), [run], 3)
    np.testing.assert_allclose(pair[:, 1], fast[:, 0], rtol=1e-4, atol=1e-6)
    assert np.abs(pair[:, 0] - pair[:, 1]).max() > 1e-2


def test_divergence_is_an_error() -> None:
    """A rate that makes the weights overflow is reported, not stored."""
    run = runs([1])[0]
    wild = [np.full_like(view, 1e38) for view in run.train]
    with pytest.raises(PactError, match="diverged"):
        train_evidence(Recipe(Model.RCML, 0.9, epochs=3), [replace(run, train=wild)], 3)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_absent_gpu_is_an_error() -> None:
    """A GPU that is asked for and not there is named; 'auto' takes the CPU."""
    assert resolve_device("auto") == "cpu"
    with pytest.raises(PactError, match="no GPU"):
        resolve_device("cuda")
