"""PACT's evidence under other counting structures, by algebra instead of fusing again.

Evidence is linear in the concentration, and the meet and the maximum are homogeneous, so one
aggregation at unit concentration gives posterior, contract and score at every concentration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.evaluation import Evaluation
from pact_benchmark.selection import Ranking
from pact_core import FusionOptions, SourceBatch, fuse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Groups = Sequence[Sequence[int]]

LANGUAGE, GEOMETRY, RISK = 0, 1, 2
SINGLETON: Groups = ((LANGUAGE,), (GEOMETRY,), (RISK,))
MERGED: Groups = ((LANGUAGE, GEOMETRY, RISK),)


def source_evidence(sources: SourceBatch) -> Floats:
    """Return the evidence of each source at unit concentration [n, J, K].

    It is ρ p with ρ = q (1 − d), an absent conflict reading as 0, and zero for a source that
    is unavailable or invalid.
    """
    observed = np.asarray(sources.observed())
    quality = np.clip(np.nan_to_num(sources.quality), 0.0, 1.0)
    conflict = np.clip(np.nan_to_num(sources.conflict), 0.0, 1.0)
    weight = np.where(observed, quality * (1.0 - conflict), 0.0)
    opinion = np.where(observed[..., None], sources.opinion, 1.0)
    return np.asarray(weight[..., None] * opinion / opinion.sum(axis=-1, keepdims=True))


def aggregate(
    evidence: Floats,
    groups: Groups,
    *,
    multiplicity: Sequence[int] | None = None,
) -> Floats:
    """Return the cumulative evidence of a counting structure [n, K].

    Args:
        evidence: evidence per source [n, J, K].
        groups: the components; members meet, components are added.
        multiplicity: how often each component is counted; `None` counts each once.
    """
    counts = [1] * len(groups) if multiplicity is None else list(multiplicity)
    parts = (
        count * reduce(np.minimum, (evidence[:, member] for member in group))
        for group, count in zip(groups, counts, strict=True)
    )
    return reduce(np.add, parts)


@dataclass(frozen=True)
class EvidenceArm:
    """One counting structure on the rows of a benchmark.

    Attributes:
        evidence: cumulative evidence at unit concentration [n, K].
        label: reference contract [n].
    """

    evidence: Floats
    label: Ints

    @cached_property
    def budget(self) -> Floats:
        """Cumulative budget B at unit concentration [n]."""
        return np.asarray(self.evidence.sum(axis=-1))

    @cached_property
    def contract(self) -> Ints:
        """Leading contract, the earlier one on ties [n]; it does not depend on κ."""
        return np.asarray(self.evidence.argmax(axis=-1))

    @cached_property
    def correct(self) -> Bools:
        """Whether the leading contract is the reference contract [n]."""
        return np.asarray(self.contract == self.label)

    def posterior(self, kappa: float | Floats) -> Floats:
        """Return the posterior at a concentration, one for all rows or one per row [n, K]."""
        contracts = self.evidence.shape[-1]
        scale = np.asarray(kappa, dtype=np.float64)[..., None]
        total = np.asarray(kappa * self.budget + contracts)[:, None]
        return np.asarray((scale * self.evidence + 1.0) / total)

    def score(self, kappa: float | Floats) -> Floats:
        """Return 1 − u at a concentration [n]."""
        contracts = self.evidence.shape[-1]
        return np.asarray(1.0 - contracts / (contracts + kappa * self.budget))

    def rankings(self, evaluation: Evaluation, available: Bools) -> tuple[Ranking, ...]:
        """Return the order by 1 − u as each outer fold sees it."""
        made = {
            float(kappa): Ranking(self.score(float(kappa)), available, self.correct)
            for kappa in set(evaluation.kappa.tolist())
        }
        return tuple(made[float(kappa)] for kappa in evaluation.kappa)


def rule_arm(evaluation: Evaluation, rule: str = "pact") -> EvidenceArm:
    """Return the evidence of a Dirichlet rule under the partition that the rows declare."""
    fused = fuse(evaluation.benchmark.sources, rule=rule, options=FusionOptions(kappa=1.0))
    if fused.evidence is None:
        raise ValueError(f"rule {rule!r} has no cumulative evidence")
    return EvidenceArm(np.asarray(fused.evidence), evaluation.benchmark.label)


def group_arm(
    evaluation: Evaluation,
    evidence: Floats,
    groups: Groups,
    multiplicity: Sequence[int] | None = None,
) -> EvidenceArm:
    """Return the evidence of explicit components of language, geometry and risk."""
    total = aggregate(evidence, groups, multiplicity=multiplicity)
    return EvidenceArm(total, evaluation.benchmark.label)


def row_kappa(evaluation: Evaluation) -> Floats:
    """Return the concentration of each row's own fold [n]."""
    return np.asarray(evaluation.kappa[evaluation.benchmark.fold])
