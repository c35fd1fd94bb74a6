"""Typed admission: four ordered checks, the first that fails gives the response."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pact_core._array import Array, asarray, cast, count, namespace
from pact_core.batch import SourceBatch
from pact_core.columns import Columns, by_block, per_component
from pact_core.contracts import Response
from pact_core.sources import GEOMETRY, LANGUAGE, RISK

CHECKS: dict[str, Response] = {
    "command_consistency": Response.HOLD,
    "source_validity": Response.FALLBACK,
    "risk_support": Response.HOLD,
    "component_corroboration": Response.CONFIRM,
}
"""Every known check with the response of a failure; the paper's four come first, in order."""

PAPER_CHECKS = tuple(CHECKS)

CORROBORATIONS = ("unanimity", "component_count", "cross_role", "off")
CROSS_ROLE_COMPONENTS = 2


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """Which checks apply, in which order, with which thresholds.

    Attributes:
        corroboration: ``unanimity`` looks at unanimous support of three or more sources,
            ``component_count`` at two or more supporters, ``cross_role`` asks two or more
            supporters for two components and for language with geometry or risk; ``off``.
        required_components: nu, for unanimity and component count.
        checks: Active checks in order; leave one out to remove it.
        complete_components: Count only components all of whose members are observed (the
            paper); False counts every component that holds a supporter (the public release).
        risk_peak, risk_quality, risk_margin: A language source that reaches all three may not
            go without an available risk source.
        support_peak, support_quality, support_conflict: Corroboration is asked when all
            supporters reach the first two and none exceeds the third.
        minimum_supporters: Supporters below which corroboration is not asked.
        unanimous_sources: Observed sources that unanimity needs.
    """

    corroboration: str = "unanimity"
    required_components: int = 3
    checks: tuple[str, ...] = PAPER_CHECKS
    complete_components: bool = True
    risk_peak: float = 0.90
    risk_quality: float = 0.90
    risk_margin: float = 0.70
    support_peak: float = 0.40
    support_quality: float = 0.30
    support_conflict: float = 0.15
    minimum_supporters: int = 2
    unanimous_sources: int = 3

    def __post_init__(self) -> None:
        if self.corroboration not in CORROBORATIONS:
            raise ValueError(
                f"corroboration must be one of {CORROBORATIONS}, got {self.corroboration!r}"
            )
        unknown = [name for name in self.checks if name not in CHECKS]
        if unknown:
            raise ValueError(f"unknown checks {unknown}; known: {', '.join(CHECKS)}")

    def without(self, *checks: str) -> AdmissionPolicy:
        """Return the policy with some checks removed."""
        return replace(self, checks=tuple(name for name in self.checks if name not in checks))


PRIMARY = AdmissionPolicy()
"""The paper's primary policy: unanimity, nu = 3, complete components."""


def command_consistency(x: Columns, contract: Array, policy: AdmissionPolicy) -> Array:
    """Fail when a present language source has no timing, another command or a stale one."""
    batch, window = x.batch, x.window
    failed = (
        batch.command_missing[window] | batch.command_mismatch[window] | batch.command_stale[window]
    )
    language = x.role_indices(LANGUAGE)
    return failed & x.xp.any(x.present[language], axis=0) if language else failed


def source_validity(x: Columns, contract: Array, policy: AdmissionPolicy) -> Array:
    """Fail when a present source is invalid or lacks its conflict, or when no source is present."""
    xp = x.xp
    bad = x.present & (~x.valid | x.conflict_absent)
    return xp.any(bad, axis=0) | (x.present_count == 0)


def risk_support(x: Columns, contract: Array, policy: AdmissionPolicy) -> Array:
    """Fail when risk is unavailable while language is very sure of itself."""
    xp = x.xp
    language, risk = x.role_indices(LANGUAGE), x.role_indices(RISK)
    failed = xp.zeros_like(x.present[0])
    if not language or not risk:
        return failed
    no_risk = ~xp.any(x.present[risk], axis=0)
    for i in language:
        sure = x.present[i] & (x.peak[i] >= policy.risk_peak)
        sure = sure & (x.quality[i] >= policy.risk_quality)
        if not bool(xp.any(sure & no_risk)):
            continue
        failed = failed | (sure & (_margin(xp, x.p[i]) >= policy.risk_margin))
    return failed & no_risk


def _margin(xp: Any, p: Array) -> Array:
    """Return the leading probability minus the largest of the others, shape [K, n] -> [n]."""
    ordered = xp.sort(p, axis=0)
    return ordered[-1] - ordered[-2]


def component_corroboration(x: Columns, contract: Array, policy: AdmissionPolicy) -> Array:
    """Fail when qualified support comes from too few components."""
    xp = x.xp
    if policy.corroboration == "off":
        return xp.zeros_like(x.present[0])
    support = x.observed & (x.top == contract)
    supporters = count(xp, support, 0)
    weak = (
        (x.peak < policy.support_peak)
        | (x.quality < policy.support_quality)
        | (x.conflict > policy.support_conflict)
    )
    asked = (supporters >= policy.minimum_supporters) & ~xp.any(support & weak, axis=0)
    if policy.corroboration == "unanimity":
        unanimous = (supporters == x.observed_count) & (supporters >= policy.unanimous_sources)
        asked = asked & unanimous
    found = supporting_components(x, support, complete=policy.complete_components)
    if policy.corroboration != "cross_role":
        return asked & (found < policy.required_components)
    language = xp.any(support[x.role_indices(LANGUAGE)], axis=0)
    context = xp.any(support[x.role_indices(GEOMETRY, RISK)], axis=0)
    return asked & ((found < CROSS_ROLE_COMPONENTS) | ~(language & context))


def supporting_components(x: Columns, support: Array, *, complete: bool) -> Array:
    """Count the (complete) components that hold a supporter, shape [J, n] -> [n]."""
    xp = x.xp
    marks = xp.stack([support, ~x.observed], axis=1)
    number = xp.zeros_like(x.observed_count)
    for held, gap in per_component(
        xp, x.component, marks, xp.logical_or, outside=False, absent=False
    ):
        counted = held & ~gap if complete else held
        number = number + cast(xp, counted, number.dtype)
    return number


CheckFunction = Callable[[Columns, Array, AdmissionPolicy], Array]
_FAILS: dict[str, CheckFunction] = {
    "command_consistency": command_consistency,
    "source_validity": source_validity,
    "risk_support": risk_support,
    "component_corroboration": component_corroboration,
}


def register_check(name: str, response: Response) -> Callable[[CheckFunction], CheckFunction]:
    """Register a check of your own, to be named in ``AdmissionPolicy.checks``.

    The function gets a block of instances, the candidate contracts [n] and the policy, and
    returns which instances fail, boolean, shape [n]. The same function twice is fine, another one
    under a known name is an error.
    """

    def add(check: CheckFunction) -> CheckFunction:
        if _FAILS.get(name, check) is not check or CHECKS.get(name, response) is not response:
            raise ValueError(f"a check named {name!r} is registered already")
        _FAILS[name] = check
        CHECKS[name] = response
        return check

    return add


def check_named(name: str) -> CheckFunction:
    """Return the function of a registered check."""
    return _FAILS[name]


def admission_block(x: Columns, contract: Array, policy: AdmissionPolicy) -> Array:
    """Return the admission code of one block, shape [n]; see ``admission_response``."""
    xp = x.xp
    code = xp.zeros_like(x.present[0], dtype=xp.int8)
    for position in range(len(policy.checks), 0, -1):
        failed = _FAILS[policy.checks[position - 1]](x, contract, policy)
        code = xp.where(failed, xp.full_like(code, position), code)
    return code


def admission_response(
    batch: SourceBatch, contract: Array, policy: AdmissionPolicy = PRIMARY
) -> Array:
    """Return the outcome of the ordered checks for a candidate contract.

    Args:
        batch: Sources, leading shape [...].
        contract: Index of the candidate, an integer or shape [...].
        policy: Checks, order and thresholds.

    Returns:
        int8 of shape [...]: 0 admits, i >= 1 means that ``policy.checks[i - 1]`` failed first.
        ``response_of`` gives the typed response.
    """
    xp = namespace(batch.opinion)
    if isinstance(contract, int):
        spread: Array = xp.full(batch.shape, contract)
    else:
        spread = asarray(contract)
        if tuple(spread.shape) != batch.shape:
            raise ValueError(f"contract has shape {tuple(spread.shape)}, expected {batch.shape}")
    return by_block(batch, lambda x: (admission_block(x, x.per_instance(spread), policy),))[0]


def admissible(batch: SourceBatch, contract: Array, policy: AdmissionPolicy = PRIMARY) -> Array:
    """Return whether no check fails for the candidate, boolean, shape [...]."""
    return admission_response(batch, contract, policy) == 0


def response_of(code: int, policy: AdmissionPolicy = PRIMARY) -> Response:
    """Return the typed response of an admission code."""
    return Response.NONE if code == 0 else CHECKS[policy.checks[int(code) - 1]]
