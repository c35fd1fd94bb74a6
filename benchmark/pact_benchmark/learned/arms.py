"""Counting assignments on fixed evidences: original views, copies, false refinement, merge.

Evidence is used as it is (no discount); the cumulative evidence is the coordinatewise minimum
within components and the sum across them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.learned.evidence import FloatArray, IntArray
from pact_core import fuse_evidence, replicate

MULTIPLICITIES = (2, 4, 8)
MULTIPLICITY = 8


class Arm(StrEnum):
    """How the views and their copies are counted."""

    ORIGINAL = "original"
    COPIES = "copies"
    REFINE = "refine"
    MERGE = "merge"


class Rule(StrEnum):
    """Rules that are compared on the same evidences."""

    PACT = "pact"
    NESTED = "nested_dirichlet"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule says about each record.

    Attributes:
        posterior: Shape [..., K], sums to one.
        score: Selection score, shape [...].
        budget: Sum of the cumulative evidence, shape [...]; zero for the product.
    """

    posterior: FloatArray
    score: FloatArray
    budget: FloatArray

    @property
    def prediction(self) -> IntArray:
        """Class with the largest posterior, the first on ties, shape [...]."""
        return np.asarray(self.posterior.argmax(axis=-1))

    @property
    def peak(self) -> FloatArray:
        """Largest posterior, shape [...]."""
        return np.asarray(self.posterior.max(axis=-1))


def fuse_views(evidence: FloatArray, component: Sequence[int] | IntArray) -> Outcome:
    """PACT on evidences [..., V, K] with component labels [V] or [..., V]."""
    fused = fuse_evidence(evidence, np.asarray(component))
    return Outcome(fused.posterior, fused.score, np.asarray(fused.evidence).sum(axis=-1))


def from_cumulative(total: FloatArray) -> Outcome:
    """Posterior (E + 1)/(sum E + K) and score 1 - K/(K + sum E) of cumulative evidence [..., K]."""
    return fuse_views(total[..., None, :], (0,))


def with_copies(evidence: FloatArray, view: int, multiplicity: int) -> FloatArray:
    """Append copies of one view until it is there `multiplicity` times; [..., V + m - 1, K]."""
    chosen = evidence[..., view : view + 1, :]
    return np.concatenate([evidence, *([chosen] * (multiplicity - 1))], axis=-2)


def assign(
    evidence: FloatArray, arm: Arm, *, view: int = 0, multiplicity: int = MULTIPLICITY
) -> Outcome:
    """Return PACT's outcome under an arm.

    Args:
        evidence: Shape [..., V, K].
        arm: The counting assignment.
        view: The replicated view of the arms with copies.
        multiplicity: How often that view is there in the arms with copies.
    """
    partition = tuple(range(evidence.shape[-2]))
    if arm is Arm.MERGE:
        partition = (0,) * len(partition)
    elif arm in (Arm.COPIES, Arm.REFINE):
        parents = "same" if arm is Arm.COPIES else "new"
        partition = replicate(partition, view, multiplicity - 1, parents=parents)
        evidence = with_copies(evidence, view, multiplicity)
    return fuse_views(evidence, partition)


def assign_by_record(evidence: FloatArray, arm: Arm, donor: IntArray, multiplicity: int) -> Outcome:
    """Return PACT's outcome under an arm with copies when each record has its own replicated view.

    Args:
        evidence: Shape [..., V, K].
        arm: Copies or refinement.
        donor: Replicated view of each record, shape [...].
        multiplicity: How often that view is there.
    """
    views, extra = evidence.shape[-2], multiplicity - 1
    copies = np.repeat(choose_donor(evidence, donor)[..., None, :], extra, axis=-2)
    own = np.broadcast_to(np.arange(views), (*donor.shape, views))
    if arm is Arm.COPIES:
        added = np.repeat(donor[..., None], extra, axis=-1)
    else:
        added = np.broadcast_to(np.arange(views, views + extra), (*donor.shape, extra))
    copied = np.concatenate([evidence, copies], axis=-2)
    return fuse_views(copied, np.concatenate([own, added], axis=-1))


def donors(record_id: IntArray, views: int) -> IntArray:
    """View that is replicated for each record in the round-robin design: record id mod V."""
    return record_id % views


def choose_donor(evidence: FloatArray, donor: IntArray) -> FloatArray:
    """Evidence of each record's own replicated view, shape [..., K]."""
    index = donor[..., None, None]
    return np.take_along_axis(evidence, index, axis=-2)[..., 0, :]


def compare_rule(evidence: FloatArray, rule: Rule) -> Outcome:
    """Outcome of a rule that counts every given opinion once, on evidences [..., V, K]."""
    if rule is Rule.PACT:
        return from_cumulative(evidence.sum(axis=-2))
    if rule is Rule.NESTED:
        return from_cumulative(nested_evidence(evidence))
    classes = evidence.shape[-1]
    mean = (evidence + 1.0) / (evidence.sum(axis=-1, keepdims=True) + classes)
    logs = np.log(np.maximum(mean, 1e-300)).sum(axis=-2)
    weight = np.exp(logs - logs.max(axis=-1, keepdims=True))
    posterior = weight / weight.sum(axis=-1, keepdims=True)
    return Outcome(posterior, posterior.max(axis=-1), np.zeros(posterior.shape[:-1]))


def nested_evidence(evidence: FloatArray) -> FloatArray:
    """Evidence of the iterated Dempster composition of opinions [..., V, K], in closed form.

    With e_v/K = b_v/u_v the normalised composition multiplies 1 + e_v/K coordinate by coordinate;
    the result is K (prod(1 + e_v/K) - 1) and does not depend on the order of the views.
    """
    classes = evidence.shape[-1]
    return np.asarray(((1.0 + evidence / classes).prod(axis=-2) - 1.0) * classes)


def l1_distance(left: FloatArray, right: FloatArray) -> FloatArray:
    """Sum of absolute differences over the classes, shape [...]."""
    return np.asarray(np.abs(left - right).sum(axis=-1))


def negative_log_likelihood(posterior: FloatArray, label: IntArray) -> FloatArray:
    """-ln of the true class's probability, clipped at 1e-12, per record."""
    chosen = np.take_along_axis(posterior, label[..., None], axis=-1)[..., 0]
    return -np.log(np.maximum(chosen, 1e-12))


def brier(posterior: FloatArray, label: IntArray) -> FloatArray:
    """Squared distance to the indicator of the true class, per record."""
    chosen = np.take_along_axis(posterior, label[..., None], axis=-1)[..., 0]
    return np.asarray((posterior**2).sum(axis=-1) - 2.0 * chosen + 1.0)


def confidence_bin(peak: FloatArray) -> IntArray:
    """Bin 0..9 of a confidence: the last whose lower edge 0, .1, ..., .9 is not above it."""
    return np.searchsorted(np.linspace(0.0, 0.9, 10), peak, side="right") - 1


def expected_calibration_error(
    peak: FloatArray, correct: NDArray[np.bool_], weights: FloatArray | None = None
) -> FloatArray:
    """ECE10 of records [n], a scalar, or of resamples with weights [n, draws], shape [draws]."""
    member = np.eye(10)[confidence_bin(peak)] * (peak - correct)[:, None]
    if weights is None:
        return np.asarray(np.abs(member.sum(axis=0)).sum() / len(peak))
    gaps = member.T @ weights
    return np.asarray(np.abs(gaps).sum(axis=0) / weights.sum(axis=0))
