"""Prediction and probability quality, and selective-prediction metrics of one sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PROBABILITY_FLOOR = 1e-12
BINS = 10
METRICS = ("accuracy", "macro_f1", "nll", "brier", "ece10")


@dataclass(frozen=True, slots=True)
class ProbabilitySummary:
    """Sums per scene from which every probability metric follows, for any scene weights.

    Attributes:
        n: rows [S].
        log_loss: summed −log posterior of the reference contract [S].
        brier: summed squared distance to the reference contract [S].
        confusion: counts by reference and predicted contract [S, K, K].
        bin_count: rows by confidence bin [S, B].
        bin_confidence: summed confidence by bin [S, B].
        bin_correct: right rows by bin [S, B].
    """

    n: Floats
    log_loss: Floats
    brier: Floats
    confusion: Floats
    bin_count: Floats
    bin_confidence: Floats
    bin_correct: Floats

    def metrics(self, weights: Floats | None = None) -> dict[str, Floats]:
        """Return each metric in every resample [B], or in the sample itself [1].

        Args:
            weights: how often each scene counts [B, S]; `None` counts each once.
        """
        drawn = np.ones((1, self.n.size)) if weights is None else weights
        n = drawn @ self.n
        confusion = np.tensordot(drawn, self.confusion, axes=1)
        hit = np.diagonal(confusion, axis1=-2, axis2=-1)
        size = confusion.sum(axis=-1) + confusion.sum(axis=-2)
        gap = np.abs(drawn @ self.bin_correct - drawn @ self.bin_confidence).sum(axis=-1)
        return {
            "accuracy": hit.sum(axis=-1) / n,
            "macro_f1": np.divide(2 * hit, size, out=np.zeros_like(hit), where=size > 0).mean(-1),
            "nll": drawn @ self.log_loss / n,
            "brier": drawn @ self.brier / n,
            "ece10": gap / n,
        }


def summarise(
    posterior: Floats,
    contract: NDArray[Any],
    label: NDArray[Any],
    scene: NDArray[Any] | None = None,
    scenes: int | None = None,
) -> ProbabilitySummary:
    """Return the per-scene sums of one rule's predictions.

    Args:
        posterior: probabilities [n, K].
        contract: predicted contract [n].
        label: reference contract [n].
        scene: scene index of each row [n]; `None` takes one scene.
        scenes: number of scenes.
    """
    rows, classes = posterior.shape
    place = np.zeros(rows, dtype=np.int64) if scene is None else scene.astype(np.int64)
    count = (int(place.max()) + 1 if rows else 1) if scenes is None else scenes
    index = np.arange(rows)
    correct = contract == label
    truth = posterior[index, label]
    loss = -np.log(np.clip(truth, PROBABILITY_FLOOR, 1.0))
    distance = np.einsum("ij,ij->i", posterior, posterior) - 2 * truth + 1.0
    confidence = posterior[index, contract]
    cell = place * BINS + _confidence_bin(confidence)

    def by_scene(values: Floats | None) -> Floats:
        return np.bincount(place, values, count).astype(np.float64)

    def by_bin(values: Floats | None) -> Floats:
        return np.bincount(cell, values, count * BINS).astype(np.float64).reshape(count, BINS)

    pairs = (place * classes + label) * classes + contract
    table = np.bincount(pairs, minlength=count * classes * classes).astype(np.float64)
    return ProbabilitySummary(
        n=by_scene(None),
        log_loss=by_scene(loss),
        brier=by_scene(distance),
        confusion=table.reshape(count, classes, classes),
        bin_count=by_bin(None),
        bin_confidence=by_bin(confidence),
        bin_correct=by_bin(correct.astype(np.float64)),
    )


def probability_metrics(
    posterior: Floats, contract: NDArray[Any], label: NDArray[Any]
) -> dict[str, float]:
    """Return accuracy, macro-F1, NLL, Brier score (unnormalised) and ECE over ten bins."""
    values = summarise(posterior, contract, label).metrics()
    return {name: float(value[0]) for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidence against accuracy in ten equal-width bins; NaN where a bin is empty.

    Attributes:
        lower: lower edge of each bin [10].
        count: rows [10].
        confidence: mean confidence [10].
        accuracy: share of right predictions [10].
    """

    lower: Floats
    count: Ints
    confidence: Floats
    accuracy: Floats


def reliability(summary: ProbabilitySummary) -> Reliability:
    """Return the reliability diagram of a summary, over all its scenes."""
    count = summary.bin_count.sum(axis=0)
    empty = np.full(BINS, np.nan)
    return Reliability(
        lower=np.linspace(0.0, 0.9, BINS),
        count=count.astype(np.int64),
        confidence=np.divide(
            summary.bin_confidence.sum(axis=0), count, out=empty.copy(), where=count > 0
        ),
        accuracy=np.divide(
            summary.bin_correct.sum(axis=0), count, out=empty.copy(), where=count > 0
        ),
    )


@dataclass(frozen=True, slots=True)
class SelectiveCurve:
    """Risk against coverage when one sample is retained in descending order of score.

    Rows with equal scores enter together. Between points the number of errors grows linearly.

    Attributes:
        coverage: retained share of all rows [G + 1], from 0.
        errors: retained errors as a share of all rows [G + 1], from 0.
    """

    coverage: Floats
    errors: Floats


def selective_curve(score: Floats, wrong: NDArray[Any]) -> SelectiveCurve:
    """Return the curve of one sample; `score` [n] larger first, `wrong` [n] marks errors."""
    if score.size == 0:
        raise ValueError("a selective curve needs at least one row")
    _, group = np.unique(-score, return_inverse=True)
    rows = np.bincount(group)
    errors = np.bincount(group, weights=np.asarray(wrong, dtype=np.float64))
    return SelectiveCurve(
        coverage=np.concatenate([[0.0], np.cumsum(rows) / score.size]),
        errors=np.concatenate([[0.0], np.cumsum(errors) / score.size]),
    )


def augrc(score: Floats, wrong: NDArray[Any]) -> float:
    """Return the area under the generalised risk (retained errors over all rows) on [0, 1]."""
    curve = selective_curve(score, wrong)
    return float(np.trapezoid(curve.errors, curve.coverage))


def aurc(score: Floats, wrong: NDArray[Any]) -> float:
    """Return the mean conditional risk over the n retained-set sizes 1 … n.

    Inside a group of equal scores the errors are spread evenly, which is the expectation
    over all orders of the group.
    """
    curve = selective_curve(score, wrong)
    size = np.arange(1, score.size + 1) / score.size
    return float(np.mean(np.interp(size, curve.coverage, curve.errors) / size))


def sample_risk_at_coverage(score: Floats, wrong: NDArray[Any], coverage: float) -> float:
    """Return the conditional risk when exactly this share (0, 1] of the sample is retained."""
    if not 0.0 < coverage <= 1.0:
        raise ValueError(f"coverage {coverage} is not in (0, 1]")
    curve = selective_curve(score, wrong)
    return float(np.interp(coverage, curve.coverage, curve.errors) / coverage)


def sample_coverage_at_risk(score: Floats, wrong: NDArray[Any], risk: float) -> float:
    """Return the largest coverage at a score cutoff whose conditional risk is at most `risk`."""
    curve = selective_curve(score, wrong)
    within = curve.errors[1:] <= risk * curve.coverage[1:]
    return float(curve.coverage[1:][within].max()) if within.any() else 0.0


def _confidence_bin(confidence: Floats) -> Ints:
    """Return the bin [lower, lower + 0.1) of each confidence; the last bin is closed."""
    edges = np.linspace(0.0, 0.9, BINS)
    place = np.searchsorted(edges, confidence, side="right") - 1
    return np.clip(place, 0, BINS - 1).astype(np.int64)
