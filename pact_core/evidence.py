"""From opinions to evidence vectors, and the meet within components."""

from __future__ import annotations

from typing import Any

from pact_core._array import Array
from pact_core.columns import Columns, partition_of
from pact_core.fusion import FusionOptions


def source_evidence(x: Columns, options: FusionOptions, counted: Array) -> Array:
    """Return e = kappa rho p for the counted sources and zero for the others, shape [J, K, n]."""
    xp = x.xp
    scale = x.reliability * x.per_instance(options.kappa)
    if options.source_scale is not None:
        scale = scale * xp.asarray(options.source_scale, dtype=scale.dtype)[:, None]
    scale = xp.where(counted, scale, xp.zeros_like(scale))
    return scale[:, None, :] * x.p


def meet_and_sum(x: Columns, evidence: Array, missing: str, *, maximum: bool = False) -> Array:
    """Return the cumulative evidence: meet within components, sum across, shape [K, n].

    Args:
        x: The block, for its partition.
        evidence: Evidence vectors, zero where a source is not observed, shape [J, K, n].
        missing: Missing-source convention, see ``FusionOptions``.
        maximum: Keep the coordinatewise maximum instead of the meet.
    """
    xp = x.xp
    component = x.component_observed if missing in ("remove", "isolate") else x.component
    groups = partition_of(xp, component)
    counted = None if maximum or missing == "zero" else x.observed
    if groups is not None and (counted is None or bool(xp.all(counted))):
        reduce = xp.max if maximum else xp.min
        return _sum_of_groups(evidence, groups, lambda part: reduce(part, axis=0))
    return _general(xp, evidence, component, counted, maximum)


def _sum_of_groups(evidence: Array, groups: tuple[tuple[int, ...], ...], reduce: Any) -> Array:
    total: Array = 0.0
    for group in groups:
        if len(group) == 1:
            total = total + evidence[group[0]]
        elif group[-1] - group[0] == len(group) - 1:
            total = total + reduce(evidence[group[0] : group[-1] + 1])
        else:
            total = total + reduce(evidence[list(group)])
    return total


def _general(
    xp: Any, evidence: Array, component: Array, counted: Array | None, maximum: bool
) -> Array:
    """Meet and sum when the partition varies; the first member speaks for its component."""
    total = xp.zeros_like(evidence[0])
    neutral = xp.full_like(evidence, 0.0 if maximum else float("inf"))
    for j in range(evidence.shape[0]):
        same = component == component[j]
        first = ~xp.any(same[:j], axis=0)
        if counted is not None:
            same = same & counted
        members = xp.where(same[:, None, :], evidence, neutral)
        budget = xp.max(members, axis=0) if maximum else xp.min(members, axis=0)
        total = total + xp.where(first & xp.any(same, axis=0), budget, xp.zeros_like(budget))
    return total
