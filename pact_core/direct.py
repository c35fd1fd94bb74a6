"""Fusion of evidence that is given directly, for example by learned views or model outputs."""

from __future__ import annotations

import numpy as np

from pact_core._array import (
    Array,
    all_true,
    asarray,
    cast,
    first_maximum,
    namespace,
    permute,
    real,
    total,
)
from pact_core.evidence import sum_of_meets_by
from pact_core.fusion import Fused, project_evidence
from pact_core.options import DEFAULT_OPTIONS, FusionOptions


def fuse_evidence(
    evidence: Array, component: Array, options: FusionOptions = DEFAULT_OPTIONS
) -> Fused:
    """Keep the meet within components, add across them and project.

    Args:
        evidence: Nonnegative evidence vectors, shape [..., J, K].
        component: Labels, shape [J] or [..., J]; equal = same component.
        options: Only ``base_rate`` and ``prior_strength`` are read.

    Returns:
        As ``fuse``; every instance is natively eligible.

    Raises:
        ValueError: Negative or non-finite evidence, a total that overflows, or a base rate of
            another length.
    """
    evidence, component = asarray(evidence), asarray(component)
    xp = namespace(evidence)
    evidence = real(xp, evidence)
    if not bool(xp.all((evidence >= 0.0) & xp.isfinite(evidence))):
        raise ValueError("evidence must be finite and nonnegative")
    *lead, sources, contracts = evidence.shape
    options.check_fit(sources, contracts)
    columns = permute(xp, evidence.reshape((-1, sources, contracts)), (1, 2, 0))
    columns = np.array(columns, order="C") if xp is np else columns  # results share no memory
    labels = xp.broadcast_to(component, (*lead, sources)).reshape((-1, sources))
    with np.errstate(over="ignore"):
        cumulative = sum_of_meets_by(xp, permute(xp, labels, (1, 0)), columns)
        if not bool(xp.all(xp.isfinite(total(cumulative)))):
            raise ValueError("evidence is too large: its total overflows")
    belief = project_evidence(xp, cumulative, options)
    _, contract = first_maximum(xp, belief.posterior)

    def unfold(value: Array, *tail: int) -> Array:
        return value.reshape((*lead, *tail))

    return Fused(
        posterior=unfold(permute(xp, belief.posterior, (1, 0)), contracts),
        score=unfold(belief.score),
        contract=unfold(cast(xp, contract, xp.int64)),
        evidence=unfold(permute(xp, cumulative, (1, 0)), contracts),
        vacuity=unfold(belief.vacuity),
        native_eligible=unfold(all_true(xp, belief.score)),
    )
