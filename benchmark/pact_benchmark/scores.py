"""Selection scores: native, posterior-derived, and the pooled correctness model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_core import inverse_entropy, posterior_peak, top_two_margin

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_POSTERIOR_FUNCTIONS = {
    "peak": posterior_peak,
    "margin": top_two_margin,
    "inverse_entropy": inverse_entropy,
}
POSTERIOR_SCORES = tuple(_POSTERIOR_FUNCTIONS)
SCORES = ("native", *POSTERIOR_SCORES, "pooled_correctness")
SCORE_LABELS = {
    "native": "Native",
    "peak": "Peak",
    "margin": "Margin",
    "inverse_entropy": "Inv. entropy",
    "pooled_correctness": "Pooled correctness",
}
FITTED_ON = ("product", "nested_dirichlet", "global_cautious", "pact")

PENALTY = 1e-4
_STEPS = 30
_STEP_TOLERANCE = 1e-8
_LINEAR_LIMIT = 30.0
_VARIANCE_FLOOR = 1e-8
_SCALE_FLOOR = 1e-12


def posterior_score(posterior: Floats, name: str) -> Floats:
    """Return a posterior-derived score of each row.

    Args:
        posterior: probabilities [..., K].
        name: `peak` (largest probability), `margin` (largest minus second largest) or
            `inverse_entropy` (1 − H / ln K).
    """
    if name not in _POSTERIOR_FUNCTIONS:
        raise ValueError(
            f"unknown posterior score {name!r}: choose from {', '.join(POSTERIOR_SCORES)}"
        )
    return np.asarray(_POSTERIOR_FUNCTIONS[name](posterior))


def correctness_features(posterior: Floats, observed: NDArray[Any] | None) -> Floats:
    """Return the inputs of the correctness model [n, K + 4] (or K + 3 without the count).

    Args:
        posterior: probabilities [n, K].
        observed: number of observed valid sources [n], or `None` to leave it out.
    """
    nats = (1.0 - posterior_score(posterior, "inverse_entropy")) * np.log(posterior.shape[-1])
    columns = [
        posterior,
        nats[:, None],
        posterior_score(posterior, "peak")[:, None],
        posterior_score(posterior, "margin")[:, None],
    ]
    if observed is not None:
        columns.append(np.asarray(observed, dtype=np.float64)[:, None])
    return np.concatenate(columns, axis=1)


@dataclass(frozen=True, slots=True)
class CorrectnessModel:
    """A logistic model of whether a prediction is right, with its training standardisation.

    Attributes:
        mean: training mean of each feature [D].
        scale: training standard deviation of each feature [D].
        coefficient: weights of the standardised features [D].
        intercept: unpenalised constant.
    """

    mean: Floats
    scale: Floats
    coefficient: Floats
    intercept: float

    def score(self, features: Floats) -> Floats:
        """Return the fitted probability of being right [n]."""
        linear = (features - self.mean) / self.scale @ self.coefficient + self.intercept
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(linear, -_LINEAR_LIMIT, _LINEAR_LIMIT))))


def fit_correctness(
    features: Floats, correct: NDArray[Any], penalty: float = PENALTY
) -> CorrectnessModel:
    """Fit the correctness model by Newton steps on the penalised log loss.

    The loss is the sum over rows plus half of `penalty` times the squared norm of the
    standardised weights; the intercept is free. Features that do not vary keep scale 1. Without
    rows the model answers one half everywhere.

    Args:
        features: training inputs [n, D].
        correct: whether each prediction was right [n].
        penalty: ℓ2 strength.
    """
    if features.shape[0] == 0:
        blank = np.zeros(features.shape[1])
        return CorrectnessModel(blank, np.ones_like(blank), blank, 0.0)
    mean = features.mean(axis=0)
    scale = features.std(axis=0)
    scale = np.where(scale < _SCALE_FLOOR, 1.0, scale)
    design = np.ones((features.shape[1] + 1, features.shape[0]))
    design[1:] = ((features - mean) / scale).T
    ridge = np.full(design.shape[0], penalty)
    ridge[0] = 0.0
    target = np.asarray(correct, dtype=np.float64)
    beta = np.zeros(design.shape[0])
    for _ in range(_STEPS):
        linear = np.clip(beta @ design, -_LINEAR_LIMIT, _LINEAR_LIMIT)
        probability = 1.0 / (1.0 + np.exp(-linear))
        variance = np.maximum(probability * (1.0 - probability), _VARIANCE_FLOOR)
        gradient = design @ (probability - target) + ridge * beta
        hessian = (design * variance) @ design.T + np.diag(ridge)
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        beta = beta - step
        if np.max(np.abs(step)) < _STEP_TOLERANCE:
            break
    return CorrectnessModel(mean, scale, beta[1:], float(beta[0]))
