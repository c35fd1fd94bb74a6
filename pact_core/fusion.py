"""Fusion: one signature and one registry for every rule.

A rule is a function of a ``Columns`` block and the options that returns ``Belief``; register one
of your own with ``register_rule`` and use its name everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from pact_core._array import Array, asarray, cast, first_maximum, namespace
from pact_core.batch import SourceBatch
from pact_core.columns import Columns, by_block

MISSING_CONVENTIONS = ("zero", "exclude", "remove", "isolate")


@dataclass(frozen=True, slots=True)
class FusionOptions:
    """Parameters that the rules share.

    Attributes:
        kappa: Evidence scale, a number or an array of the batch's leading shape [...].
        source_scale: Factor per source on kappa, length J; None = all 1.
        base_rate: a, length K, sums to one; None = uniform.
        prior_strength: W > 0; None = K.
        missing: What PACT does with an expected source that is not observed: ``zero`` keeps it as
            a zero vector in its component, ``exclude`` leaves it out of the meet but keeps its
            links, ``remove`` drops it before components are built, ``isolate`` makes it a
            component of its own.
    """

    kappa: float | Array = 8.0
    source_scale: tuple[float, ...] | None = None
    base_rate: tuple[float, ...] | None = None
    prior_strength: float | None = None
    missing: str = "zero"

    def __post_init__(self) -> None:
        if isinstance(self.kappa, (int, float)) and not 0.0 <= self.kappa < inf:
            raise ValueError(f"kappa must be finite and not negative, got {self.kappa}")
        if self.missing not in MISSING_CONVENTIONS:
            raise ValueError(f"missing must be one of {MISSING_CONVENTIONS}, got {self.missing!r}")
        if self.prior_strength is not None and not self.prior_strength > 0:
            raise ValueError(f"prior_strength must be positive, got {self.prior_strength}")
        if self.base_rate is not None and abs(sum(self.base_rate) - 1.0) > 1e-9:
            raise ValueError(f"base_rate must sum to one, got {self.base_rate}")


DEFAULT_OPTIONS = FusionOptions()


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


def project_evidence(xp: Any, total: Array, options: FusionOptions) -> Belief:
    """Project cumulative evidence E, shape [K, n], with base rate a and prior strength W."""
    contracts = total.shape[0]
    strength = float(contracts) if options.prior_strength is None else options.prior_strength
    norm = strength + xp.sum(total, axis=0)
    prior: Any = strength / contracts
    if options.base_rate is not None:
        prior = xp.asarray(options.base_rate, dtype=total.dtype)[:, None] * strength
    vacuity = strength / norm
    return Belief((total + prior) / norm, 1.0 - vacuity, total, vacuity)


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
    eligible = belief.eligible
    if eligible is None:
        eligible = xp.ones_like(peak, dtype=block.present.dtype)
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
    kappa: Any = asarray(options.kappa)
    shape = tuple(kappa.shape)
    if shape and shape != batch.shape:
        raise ValueError(f"kappa has shape {shape}, expected a number or {batch.shape}")
    for name, values, length in (
        ("source_scale", options.source_scale, len(batch.roles)),
        ("base_rate", options.base_rate, len(batch.contracts)),
    ):
        if values is not None and len(values) != length:
            raise ValueError(f"{name} has {len(values)} entries, expected {length}")
