"""From opinions to evidence vectors, and the budgets of components."""

from __future__ import annotations

from math import inf
from typing import Any

from pact_core._array import Array, total
from pact_core.columns import Columns, per_component
from pact_core.options import FusionOptions


def source_evidence(x: Columns, options: FusionOptions, counted: Array) -> Array:
    """Return e = kappa rho p for the counted sources and zero for the others, shape [J, K, n]."""
    xp = x.xp
    scale = x.reliability * x.per_instance(options.kappa)
    if options.source_scale is not None:
        scale = scale * xp.asarray(options.source_scale, dtype=scale.dtype)[:, None]
    scale = xp.where(counted, scale, xp.zeros_like(scale))
    return scale[:, None, :] * x.p


def sum_of_meets(x: Columns, evidence: Array, missing: str = "zero") -> Array:
    """Return the cumulative evidence E: meet within components, sum across, shape [K, n].

    Args:
        x: The block, for its partition and availability.
        evidence: Evidence vectors, zero where a source is not observed, shape [J, K, n].
        missing: Missing-source convention, see ``FusionOptions``.
    """
    xp = x.xp
    if missing == "zero":
        return sum_of_meets_by(xp, x.component, evidence)
    component = x.component if missing == "exclude" else x.component_present
    counted = xp.where(x.present[:, None, :], evidence, inf)
    meets = per_component(xp, component, counted, xp.minimum, outside=inf, absent=0.0)
    return total(xp.where(xp.isfinite(meet), meet, 0.0) for meet in meets)


def sum_of_meets_by(xp: Any, component: Array, evidence: Array) -> Array:
    """Return E for labels [J, n] and evidence [J, K, n]."""
    return total(per_component(xp, component, evidence, xp.minimum, outside=inf, absent=0.0))


def sum_of_joins(x: Columns, evidence: Array) -> Array:
    """Return the coordinatewise maximum within complete components, summed, shape [K, n].

    As with the meet, a component with a member that is not observed contributes nothing.
    """
    xp, labels = x.xp, x.component
    joins = per_component(xp, labels, evidence, xp.maximum, outside=0.0, absent=0.0)
    whole = per_component(xp, labels, x.observed, xp.logical_and, outside=True, absent=False)
    return total(xp.where(w, join, 0.0) for join, w in zip(joins, whole, strict=True))
