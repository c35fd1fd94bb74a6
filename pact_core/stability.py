"""Perturbation bounds of PACT fusion under a given partition (the paper's Appendix A).

``W`` is the prior strength, ``Z = W + B`` the normaliser of the posterior.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from pact_core._array import Array, asarray, namespace
from pact_core.decision import Decision
from pact_core.provenance import Partition, components_present
from pact_core.rules import DIRICHLET_RULES
from pact_core.sources import total


def perturbation(evidence: Array, changed: Array, component: Array) -> Array:
    """Return Delta: over components and contracts, the largest change of a member, summed.

    Args:
        evidence: Evidence vectors, shape [..., J, K].
        changed: The same sources after the change, shape [..., J, K].
        component: Labels, shape [J] or [..., J].
    """
    evidence, changed, component = asarray(evidence), asarray(changed), asarray(component)
    xp = namespace(evidence)
    change = xp.abs(changed - evidence)
    total = xp.zeros_like(change[..., 0, 0])
    for j in range(change.shape[-2]):
        same = component == component[..., j : j + 1]
        first = ~xp.any(same[..., :j], axis=-1)
        inside = xp.where(same[..., None], change, xp.zeros_like(change))
        largest = xp.sum(xp.max(inside, axis=-2), axis=-1)
        total = total + xp.where(first, largest, xp.zeros_like(largest))
    return total


def posterior_bound(delta: Array, strength: float, z: Array, z_changed: Array) -> Array:
    """Bound the L1 change of the posterior: 2 Delta / max(Z, Z'), at most 2 Delta / W."""
    xp = namespace(delta, z, z_changed)
    widest = xp.maximum(xp.asarray(z), xp.asarray(z_changed))
    return 2.0 * delta / xp.maximum(widest, xp.asarray(strength, dtype=widest.dtype))


def score_bound(delta: Array, strength: float, z: Array, z_changed: Array) -> Array:
    """Bound the change of the score: W Delta / (Z Z'), at most Delta / W."""
    return strength * delta / (z * z_changed)


def near_copy_loss(budget: Array, inserted: Array) -> Array:
    """Return what a source inserted into a component takes from its budget: (b - e)_+ .

    Its L1 norm eps gives the posterior bound 2 eps / W; the score cannot rise.

    Args:
        budget: Component budget b, shape [..., K].
        inserted: Evidence of the inserted source, shape [..., K].
    """
    budget, inserted = asarray(budget), asarray(inserted)
    return namespace(budget).clip(budget - inserted, 0.0, None)


def selection_holds(
    delta: float,
    *,
    margin: float,
    score: float,
    threshold: float,
    strength: float,
    z: float,
    z_changed: float,
) -> bool:
    """Whether the paper's margin conditions keep contract and selection under a change.

    Args:
        delta: Size of the change, see ``perturbation``.
        margin: Posterior margin of the unique leading contract.
        score: s before the change.
        threshold: tau.
        strength: W.
        z, z_changed: Z before and after.
    """
    keeps_contract = 2.0 * delta / max(z, z_changed) < margin
    keeps_selection = strength * delta / (z * z_changed) < abs(score - threshold)
    return keeps_contract and keeps_selection


class Certificate(NamedTuple):
    """How much the evidence may change before a decision can.

    Every perturbation with Delta strictly below ``delta`` keeps the contract and the selection,
    where Delta is measured under the partition that fusion counted by (``counting_partition``).
    Which sources are available and valid, partition, source set and prior are held fixed.
    Admission reads other attributes and is not covered.

    Attributes:
        contract: Limit for the predicted contract: the evidence gap to the runner-up.
        selection: Limit for the selection status: the budget's distance from the cutoff.
        contract_corollary: The limit that the paper's margin condition gives with
            max(Z, Z') >= Z, half of ``contract``.
    """

    contract: float
    selection: float
    contract_corollary: float

    @property
    def delta(self) -> float:
        """The Delta below which contract and selection provably stay."""
        return min(self.contract, self.selection)


def counting_partition(decision: Decision) -> Partition:
    """Return the partition by which a rule of PACT's kind counted.

    It is the provenance partition, but for ``pact_singleton``, which counts every source, and for
    the missing-source conventions of ``pact`` under which an unavailable source links nothing.
    """
    if decision.rule == "pact_singleton":
        return tuple(range(len(decision.sources)))
    if decision.rule == "pact" and decision.options.missing in ("remove", "isolate"):
        sources = decision.sources
        return components_present([s.parents for s in sources], [s.available for s in sources])
    return decision.partition


def certificate(decision: Decision) -> Certificate:
    """Certify a decision of PACT or of one of its variants.

    The gap between the numerators W a + E of two contracts, and the total budget, each change by
    at most Delta under ``counting_partition``, because the meet and the maximum are nonexpansive
    coordinate by coordinate.

    Raises:
        ValueError: The rule has no cumulative evidence of this kind.
    """
    if decision.rule not in DIRICHLET_RULES or decision.evidence is None:
        raise ValueError(f"no certificate for rule {decision.rule!r}; known: {DIRICHLET_RULES}")
    strength = decision.options.prior_strength or float(len(decision.contracts))
    budget = total(decision.evidence)
    ordered = sorted(decision.posterior)
    gap = (ordered[-1] - ordered[-2]) * (strength + budget)
    return Certificate(gap, _selection_limit(decision, strength, budget), gap / 2.0)


def _selection_limit(decision: Decision, strength: float, budget: float) -> float:
    threshold = decision.threshold
    if threshold is None or not decision.base_eligible or not 0.0 < threshold < 1.0:
        return inf
    return abs(budget - strength * threshold / (1.0 - threshold))
