"""Fusion: one signature and one registry for every rule.

A rule is a function of a ``Columns`` block and the options that returns ``Belief``; register one
of your own with ``register_rule`` and use its name everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pact_core._array import Array, all_true, cast, first_maximum, namespace, total
from pact_core.batch import SourceBatch
from pact_core.columns import Columns, by_block
from pact_core.options import DEFAULT_OPTIONS, FusionOptions


class Belief(NamedTuple):
    """What a rule says about n instances.

    Attributes:
        posterior: Shape [K, n].
        score: Native selection score, shape [n]; None = the posterior peak.
        evidence: Cumulative evidence, shape [K, n], for rules that have one.
        vacuity: u or the mass of the frame, shape [n], for rules that have one.
        eligible: Native eligibility, shape [n]; None = always.
    """

    posterior: Array
    score: Array | None = None
    evidence: Array | None = None
    vacuity: Array | None = None
    eligible: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """Result of a rule for a batch.

    Attributes:
        posterior: pi, shape [..., K].
        score: Native selection score s, shape [...].
        contract: Index of the largest posterior, the first on ties, shape [...].
        evidence: Cumulative evidence E, shape [..., K], or None.
        vacuity: u, shape [...], or None.
        native_eligible: Whether the rule itself has enough to speak, boolean, shape [...].
    """

    posterior: Array
    score: Array
    contract: Array
    evidence: Array | None
    vacuity: Array | None
    native_eligible: Array


RuleFunction = Callable[[Columns, FusionOptions], Belief]
RULES: dict[str, RuleFunction] = {}
"""Every registered rule by name."""


def register_rule(name: str) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule under a name; the same function twice is fine, another one is an error."""

    def add(rule: RuleFunction) -> RuleFunction:
        if RULES.get(name, rule) is not rule:
            raise ValueError(f"a rule named {name!r} is registered already")
        RULES[name] = rule
        return rule

    return add


def rule_named(name: str) -> RuleFunction:
    """Return a registered rule; ValueError with the known names for an unknown one."""
    try:
        return RULES[name]
    except KeyError:
        raise ValueError(f"unknown rule {name!r}; known: {', '.join(sorted(RULES))}") from None


def project_evidence(xp: Any, evidence: Array, options: FusionOptions) -> Belief:
    """Project cumulative evidence E, shape [K, n], with base rate a and prior strength W."""
    contracts = evidence.shape[0]
    strength = float(contracts) if options.prior_strength is None else options.prior_strength
    norm = strength + total(evidence)
    prior: Any = strength / contracts
    if options.base_rate is not None:
        prior = xp.asarray(options.base_rate, dtype=evidence.dtype)[:, None] * strength
    vacuity = strength / norm
    return Belief((evidence + prior) / norm, 1.0 - vacuity, evidence, vacuity)


class BlockResult(NamedTuple):
    """A rule's answer for one block with contract and score filled in; instances last."""

    posterior: Array
    score: Array
    contract: Array
    evidence: Array | None
    vacuity: Array | None
    native_eligible: Array


def fuse_block(block: Columns, rule: RuleFunction, options: FusionOptions) -> BlockResult:
    """Apply a rule to one block."""
    xp = block.xp
    belief = rule(block, options)
    peak, contract = first_maximum(xp, belief.posterior)
    eligible = all_true(xp, peak) if belief.eligible is None else belief.eligible
    score = peak if belief.score is None else belief.score
    return BlockResult(belief.posterior, score, contract, belief.evidence, belief.vacuity, eligible)


def fuse(batch: SourceBatch, rule: str = "pact", options: FusionOptions = DEFAULT_OPTIONS) -> Fused:
    """Fuse the sources of every instance.

    Args:
        batch: Sources, any leading shape.
        rule: Name in ``RULES``.
        options: Scales, prior and missing-source convention.
    """
    function = rule_named(rule)
    check_options(batch, options)
    return Fused(*widen(by_block(batch, lambda block: fuse_block(block, function, options))))


def widen(results: tuple[Array, ...]) -> tuple[Array, ...]:
    """Give the contract index of a block result the usual integer type."""
    contract = results[2]
    xp = namespace(contract)
    return (*results[:2], cast(xp, contract, xp.int64), *results[3:])


def check_options(batch: SourceBatch, options: FusionOptions) -> None:
    """Raise ValueError when the options do not fit the batch."""
    check_per_instance("kappa", options.kappa, batch)
    options.check_fit(len(batch.roles), len(batch.contracts))


def check_per_instance(name: str, value: Array | float | None, batch: SourceBatch) -> None:
    """Raise ValueError for an array that has not the batch's leading shape."""
    shape = tuple(getattr(value, "shape", ()))
    if shape and shape != batch.shape:
        raise ValueError(f"{name} has shape {shape}, expected a number or {batch.shape}")
