"""The compared fusion rules.

Rules with a belief-function form share one projection. For masses on singletons plus the frame
let r_k be the ratio of the mass on contract k to the mass on the frame. The canonical conjunctive
weight of {k} is then w_k = 1 / (1 + r_k), every larger proper subset has weight one, and the
weight of the empty set cancels when the result is normalised. Hence the cautious minimum of
weights is the maximum of ratios, the conjunctive (and Dempster) combination multiplies 1 + r_k,
and the normalised result has mass r_k / (1 + sum r) on {k} and 1 / (1 + sum r) on the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pact_core._array import Array, total
from pact_core.columns import Columns, per_component
from pact_core.evidence import source_evidence, sum_of_joins, sum_of_meets
from pact_core.fusion import Belief, RuleFunction, project_evidence, register_rule
from pact_core.options import FusionOptions
from pact_core.sources import GEOMETRY, HANDOVER_ROLES, LANGUAGE, MINIMUM_OBSERVED, RISK

DIRICHLET_RULES = ("pact", "pact_singleton", "maximum", "representative")
"""Rules that project cumulative evidence with the prior: their score is B / (W + B)."""

NESTED_MINIMUM = 2
"""Opinions below which nested Dirichlet composition has nothing to say."""

CAUTIOUS_LOWEST, CAUTIOUS_HIGHEST = 1e-12, 0.99
"""Reliability range of the cautious rules: no source is dogmatic."""

LOG_FLOOR = 1e-12
POOLING_ROLES = ("language", "vision", "geometry", "risk")
"""Roles that the pooling rules declare; one that a handover batch lacks counts as missing."""
POOLING_QUALITY, POOLING_CONFLICT, POOLING_MISSING = 2.0, 2.0, 4.0
POOLING_CONFLICT_LIMIT = 0.65


def _pignistic(ratio: Array) -> tuple[Array, Array]:
    """Turn mass ratios r, shape [K, n], into pignistic probabilities [K, n] and frame mass [n]."""
    frame = 1.0 / (1.0 + total(ratio))
    return (ratio + 1.0 / ratio.shape[0]) * frame, frame


def _conjunctive(xp: Any, ratios: Sequence[Array]) -> tuple[Belief, Array]:
    """Combine mass ratios, each [K, n], by the conjunctive rule: 1 + r = prod (1 + r_i).

    Many sources or a large scale make the product overflow; logarithms give the belief then.

    Returns:
        The belief, and r cut off at the largest number over K.
    """
    product = 1.0 + ratios[0]
    for ratio in ratios[1:]:
        product = product * (1.0 + ratio)
    combined = product - 1.0
    posterior, frame = _pignistic(combined)
    fits = xp.isfinite(total(combined))
    if not bool(xp.all(fits)):
        combined = xp.clip(combined, None, float(xp.finfo(combined.dtype).max) / len(combined))
        others, free = pignistic_of_logs(xp, ratios)
        posterior, frame = xp.where(fits, posterior, others), xp.where(fits, frame, free)
    return Belief(posterior, 1.0 - frame, None, frame), combined


def pignistic_of_logs(xp: Any, ratios: Iterable[Array]) -> tuple[Array, Array]:
    """Combine by the conjunctive rule without a product that could overflow; as ``_pignistic``.

    With L_k the sum of log(1 + r_ik), numerators and normaliser are divided by exp(max L).
    """
    logs = total(xp.log1p(ratio) for ratio in ratios)
    highest = xp.max(logs, axis=0)
    share, unit = xp.exp(logs - highest), xp.exp(-highest)
    contracts = logs.shape[0]
    norm = total(share) - (contracts - 1.0) * unit
    return (share - (1.0 - 1.0 / contracts) * unit) / norm, unit / norm


def _normalise(xp: Any, weight: Array) -> Array:
    """Divide by the sum over contracts; uniform where nothing is left."""
    mass = total(weight)
    positive = mass > 0.0
    share = weight / xp.where(positive, mass, xp.ones_like(mass))
    return xp.where(positive, share, 1.0 / weight.shape[0])


@register_rule("quality_weighted")
def quality_weighted(x: Columns, options: FusionOptions) -> Belief:
    """Average the present opinions with weights proportional to quality."""
    xp = x.xp
    weight = xp.where(x.present, x.quality, xp.zeros_like(x.quality))
    return Belief(_normalise(xp, total(weight[:, None, :] * x.p)))


@register_rule("product")
def product(x: Columns, options: FusionOptions) -> Belief:
    """Multiply the present opinions after discounting each towards uniform."""
    xp = x.xp
    rho = xp.where(x.present, x.reliability, xp.zeros_like(x.reliability))[:, None, :]
    discounted = rho * x.p + (1.0 - rho) / x.p.shape[1]
    result = discounted[0]
    for factor in discounted[1:]:
        result = result * factor
        largest = xp.max(result, axis=0)  # rescaled, so that many sources cannot underflow
        result = result / xp.where(largest > 0.0, largest, xp.ones_like(largest))
    return Belief(_normalise(xp, result))


@register_rule("nested_dirichlet")
def nested_dirichlet(x: Columns, options: FusionOptions) -> Belief:
    """Compose the present Dirichlet opinions: 1 + r_k = prod_i (1 + e_ik / K)."""
    contracts = x.p.shape[1]
    enough = x.present_count >= NESTED_MINIMUM
    evidence = source_evidence(x, options, x.present & enough)
    belief, ratio = _conjunctive(x.xp, evidence / contracts)
    return belief._replace(evidence=ratio * contracts, eligible=enough)


def _cautious_ratio(x: Columns) -> Array:
    """Return r = b / u of the discounted masses, zero (vacuous) for missing sources."""
    xp = x.xp
    product_of_raw = x.raw_quality * (
        1.0 - xp.where(x.conflict_absent, xp.zeros_like(x.raw_conflict), x.raw_conflict)
    )
    known = xp.where(xp.isfinite(product_of_raw), product_of_raw, xp.zeros_like(product_of_raw))
    rho = xp.clip(known, CAUTIOUS_LOWEST, CAUTIOUS_HIGHEST)
    odds = xp.where(x.present, rho / (1.0 - rho), xp.zeros_like(rho))
    return odds[:, None, :] * x.p


@register_rule("global_cautious")
def global_cautious(x: Columns, options: FusionOptions) -> Belief:
    """Apply the cautious rule to all present sources, whatever their provenance."""
    posterior, frame = _pignistic(x.xp.max(_cautious_ratio(x), axis=0))
    return Belief(posterior, vacuity=frame)


@register_rule("hierarchy_cautious")
def hierarchy_cautious(x: Columns, options: FusionOptions) -> Belief:
    """Apply the cautious rule within components, the conjunctive rule across them."""
    xp = x.xp
    ratio = _cautious_ratio(x)
    widest = per_component(xp, x.component, ratio, xp.maximum, outside=0.0, absent=0.0)
    return _conjunctive(xp, list(widest))[0]


def _log_pool(x: Columns, log_discount: Array | float) -> Belief:
    xp = x.xp
    penalty = xp.where(
        x.present, xp.zeros_like(x.quality), xp.full_like(x.quality, POOLING_MISSING)
    )
    logit = POOLING_QUALITY * x.quality - POOLING_CONFLICT * x.conflict - penalty + log_discount
    weight = xp.exp(logit)
    absent = undeclared_roles(x.roles)
    everything = total(weight) + absent * xp.exp(-POOLING_MISSING * xp.ones_like(weight[0]))
    logs = xp.log(xp.clip(x.p, LOG_FLOOR, None))
    # A missing declared role adds the same constant to every contract, which cancels below.
    pooled = total((weight / everything)[:, None, :] * logs)
    likelihood = xp.exp(pooled - xp.max(pooled, axis=0))
    eligible = xp.max(x.conflict, axis=0) <= POOLING_CONFLICT_LIMIT
    return Belief(_normalise(xp, likelihood), eligible=eligible)


def undeclared_roles(roles: tuple[str, ...]) -> int:
    """Return how many roles that pooling declares a handover batch lacks; 0 for other batches."""
    if not set(roles) & set(HANDOVER_ROLES):
        return 0
    return len(set(POOLING_ROLES) - set(roles))


@register_rule("pooling")
def pooling(x: Columns, options: FusionOptions) -> Belief:
    """Pool log probabilities with weights from quality, conflict and availability."""
    return _log_pool(x, 0.0)


@register_rule("provenance_pooling")
def provenance_pooling(x: Columns, options: FusionOptions) -> Belief:
    """Pool as above, discounted by the present sources of the component that lead alike.

    Every pair within a component counts as linked, also where only others link it: a batch carries
    a partition, and interventions on partitions have no single links.
    """
    xp = x.xp
    links = []
    for i in range(x.top.shape[0]):
        same = (x.component == x.component[i]) & (x.top == x.top[i]) & x.present & x.present[i]
        others = xp.sum(xp.where(same, xp.ones_like(x.quality), xp.zeros_like(x.quality)), axis=0)
        links.append(xp.where(x.present[i], others, xp.ones_like(others)))
    return _log_pool(x, -xp.log(xp.stack(links)))


def _dirichlet(x: Columns, options: FusionOptions, evidence: Array) -> Belief:
    """Project cumulative evidence E, shape [K, n]; two observed sources make it eligible."""
    belief = project_evidence(x.xp, evidence, options)
    return belief._replace(eligible=x.observed_count >= MINIMUM_OBSERVED)


@register_rule("pact")
def pact(x: Columns, options: FusionOptions) -> Belief:
    """Keep the coordinatewise meet within components and add the budgets across them."""
    evidence = source_evidence(x, options, x.observed)
    return _dirichlet(x, options, sum_of_meets(x, evidence, options.missing))


@register_rule("pact_singleton")
def pact_singleton(x: Columns, options: FusionOptions) -> Belief:
    """Add the evidence of all observed sources as if each were its own component."""
    return _dirichlet(x, options, total(source_evidence(x, options, x.observed)))


@register_rule("maximum")
def maximum(x: Columns, options: FusionOptions) -> Belief:
    """Keep the coordinatewise maximum within complete components (exact-copy invariant too)."""
    evidence = source_evidence(x, options, x.observed)
    return _dirichlet(x, options, sum_of_joins(x, evidence))


@register_rule("representative")
def representative(x: Columns, options: FusionOptions) -> Belief:
    """Keep the first source of each component under the common source order."""
    xp = x.xp
    evidence = source_evidence(x, options, x.observed)
    kept = evidence[0]
    for j in range(1, evidence.shape[0]):
        first = ~xp.any(x.component[:j] == x.component[j], axis=0)
        kept = kept + xp.where(first, evidence[j], 0.0)
    return _dirichlet(x, options, kept)


def _single(role: str) -> RuleFunction:
    def rule(x: Columns, options: FusionOptions) -> Belief:
        found = x.role_indices(role)
        if not found:
            raise ValueError(f"the batch has no {role!r} source; its roles are {x.roles}")
        i = found[0]
        posterior = x.xp.where(x.present[i], x.p[i], 1.0 / x.p.shape[1])
        return Belief(posterior, eligible=x.observed[i])

    rule.__doc__ = f"Use the {role} opinion alone, uniform where the source is unavailable."
    return rule


for _role in (LANGUAGE, GEOMETRY, RISK):
    register_rule(_role)(_single(_role))
