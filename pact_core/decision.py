"""One decision: what was decided, on which values, and what would have changed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import isfinite, ulp
from typing import Any, NamedTuple

from pact_core.admission import CROSS_ROLE_COMPONENTS, AdmissionPolicy
from pact_core.columns import SUM_HIGH, SUM_LOW
from pact_core.contracts import ContractSet, Response, Status
from pact_core.options import FusionOptions
from pact_core.provenance import Partition, blocks
from pact_core.rules import DIRICHLET_RULES
from pact_core.sources import (
    GEOMETRY,
    LANGUAGE,
    MINIMUM_OBSERVED,
    RISK,
    Source,
    number,
    opinion_vector,
    total,
)

SELECTION_STOPS = ("base_eligibility", "score_selection")
"""What can withhold a candidate before typed admission; both answer HOLD."""


class Reading(NamedTuple):
    """What a source amounts to once its numbers are checked.

    Attributes:
        role: Its role.
        present: It arrived (z = 0).
        observed: It arrived and is valid.
        p: Normalised opinion; uniform where it is not a distribution.
        quality, conflict: In [0, 1]; 0 where absent.
        conflict_absent: No conflict value was supplied.
        top, peak: Leading contract and its probability.
    """

    role: str
    present: bool
    observed: bool
    p: Sequence[float]
    quality: float
    conflict: float
    conflict_absent: bool
    top: int
    peak: float

    @property
    def margin(self) -> float:
        """Leading probability minus the largest of the others."""
        ordered = sorted(self.p)
        return ordered[-1] - ordered[-2]


class Change(NamedTuple):
    """One change that alone would have let the candidate pass the check that stopped it."""

    what: str
    current: Any
    needed: Any


class Decision(NamedTuple):
    """The complete decision on one instance.

    Attributes:
        status: Admitted or withheld.
        contract: Predicted contract.
        response: Typed response; none when admitted.
        check: What stopped it: one of ``SELECTION_STOPS`` or a check of the policy; None when
            admitted.
        posterior: pi, in contract order.
        score: Native selection score s.
        evidence: Cumulative evidence E, for rules that have one.
        vacuity: u, for rules that have one.
        base_eligible: At least two observed valid sources.
        rule, kappa, threshold: How it was computed.
        partition: Component label of every source.
        sources, readings: What was supplied and what it amounts to.
        policy, contracts, options: The remaining settings.
    """

    status: Status
    contract: str
    response: Response
    check: str | None
    posterior: Sequence[float]
    score: float
    evidence: Sequence[float] | None
    vacuity: float | None
    base_eligible: bool
    rule: str
    kappa: float
    threshold: float | None
    partition: Partition
    sources: Sequence[Source]
    readings: Sequence[Reading]
    policy: AdmissionPolicy
    contracts: ContractSet
    options: FusionOptions

    def __repr__(self) -> str:
        stopped = f" by {self.check}" if self.check else ""
        return (
            f"Decision({self.status}{stopped}: contract {self.contract}, "
            f"response {self.response}, score {self.score:.4f})"
        )

    @property
    def admitted(self) -> bool:
        """Whether the contract may be executed."""
        return self.check is None

    @property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Provenance components as tuples of source indices."""
        return blocks(self.partition)

    @property
    def supporters(self) -> tuple[int, ...]:
        """Observed sources whose leading contract is the decision's."""
        chosen = self.contracts.index(self.contract)
        return tuple(i for i, r in enumerate(self.readings) if r.observed and r.top == chosen)

    @property
    def supporting_components(self) -> int:
        """Number of (complete, if the policy says so) components that hold a supporter."""
        return count_components(
            self.readings,
            self.partition,
            self.supporters,
            complete=self.policy.complete_components,
        )

    @property
    def required_components(self) -> int:
        """Components that the active corroboration rule asks for."""
        crossed = self.policy.corroboration == "cross_role"
        return CROSS_ROLE_COMPONENTS if crossed else self.policy.required_components

    @property
    def values(self) -> dict[str, Any]:
        """The values that the stopping check looked at (corroboration's when admitted).

        Empty for a check that was registered from outside.
        """
        describe = _VALUES.get(self.check or "component_corroboration")
        return {} if describe is None else describe(self)

    @property
    def changes(self) -> tuple[Change, ...]:
        """What would have let it pass the check that stopped it, the smallest change first.

        Each alone is enough. Empty when admitted, and for a check that was registered from
        outside, about which nothing is known here.
        """
        describe = _CHANGES.get(self.check or "")
        return () if describe is None else describe(self)

    @property
    def smallest_change(self) -> Change | None:
        """The first of ``changes``; None where there are none."""
        return next(iter(self.changes), None)


def count_components(
    readings: Sequence[Reading], partition: Partition, supporters: Sequence[int], *, complete: bool
) -> int:
    """Count the (complete) components that hold a supporter."""
    held = {partition[i] for i in supporters}
    if complete:
        held -= {label for label, r in zip(partition, readings, strict=True) if not r.observed}
    return len(held)


def is_sure(reading: Reading, policy: AdmissionPolicy) -> bool:
    """Whether a language source is so sure of itself that it may not go without risk."""
    return (
        reading.peak >= policy.risk_peak
        and reading.quality >= policy.risk_quality
        and reading.margin >= policy.risk_margin
    )


def crosses_roles(roles: Collection[str]) -> bool:
    """Whether supporting roles hold language together with geometry or risk."""
    return LANGUAGE in roles and (GEOMETRY in roles or RISK in roles)


def source_faults(source: Source, names: tuple[str, ...]) -> tuple[str, ...]:
    """Say in words what is wrong with the numbers of a source; empty when nothing is.

    An absent conflict is a fault here: fusion tolerates it, admission does not.
    """
    faults = []
    if not source.declared_valid:
        faults.append("declared invalid")
    if source.opinion is None:
        faults.append("opinion absent")
    else:
        faults += _opinion_faults(source.opinion, names)
    for name, value in (("quality", source.quality), ("conflict", source.conflict)):
        checked = number(value)
        if checked != checked:
            faults.append(f"{name} {'absent' if value is None else 'not a number'}")
        elif not 0.0 <= checked <= 1.0:
            faults.append(f"{name} {checked:g} outside [0, 1]")
    return tuple(faults)


def _opinion_faults(opinion: object, names: tuple[str, ...]) -> list[str]:
    values = opinion_vector(opinion, names)
    mass = total(values)
    if all(value != value for value in values):
        return [f"opinion is not one number for each of {', '.join(names)}"]
    if not all(abs(value) < float("inf") for value in values):
        return ["opinion not finite"]
    if min(values) < 0.0:
        return ["opinion negative"]
    return [] if SUM_LOW <= mass <= SUM_HIGH else [f"opinion sums to {mass:.8g}"]


def _eligibility_values(d: Decision) -> dict[str, Any]:
    observed = [r.role for r in d.readings if r.observed]
    return {"observed": observed, "required": MINIMUM_OBSERVED, "faults": _faults(d)}


def _eligibility_changes(d: Decision) -> tuple[Change, ...]:
    observed = sum(r.observed for r in d.readings)
    return (Change("observed valid sources", observed, MINIMUM_OBSERVED),)


def _score_values(d: Decision) -> dict[str, Any]:
    return {"score": d.score, "threshold": d.threshold}


def _score_changes(d: Decision) -> tuple[Change, ...]:
    if not isfinite(d.score + total(d.posterior)):
        return (Change("posterior and score", "not finite", "finite"),)
    score = Change("score", d.score, d.threshold)
    strength = _prior_strength(d)
    if strength is None or d.evidence is None or d.threshold is None or not d.threshold < 1.0:
        return (score,)
    needed = _budget_for(d.threshold, strength)
    return score, Change("total evidence budget", total(d.evidence), needed)


def _prior_strength(d: Decision) -> float | None:
    """Return W of a rule whose score is B / (W + B), None for the others."""
    contracts = float(len(d.contracts))
    if d.rule in DIRICHLET_RULES:
        return contracts if d.options.prior_strength is None else d.options.prior_strength
    return contracts if d.rule == "nested_dirichlet" else None


def _budget_for(threshold: float, strength: float) -> float:
    """Return the budget whose score reaches the threshold, after rounding too."""
    budget = strength * threshold / (1.0 - threshold)
    step = ulp(budget)
    while 1.0 - strength / (strength + budget) < threshold:
        budget += step
        step *= 2.0
    return budget


def _command_values(d: Decision) -> dict[str, Any]:
    states = [s.command for s in d.sources if s.role == LANGUAGE and s.available]
    return {
        "missing": any(c is None or c.missing for c in states),
        "mismatch": any(c is not None and c.mismatch for c in states),
        "stale": any(c is not None and c.stale for c in states),
    }


def _command_changes(d: Decision) -> tuple[Change, ...]:
    failed = [name for name, on in _command_values(d).items() if on]
    return (Change(f"command {', '.join(failed)}", True, False),)


def _faults(d: Decision) -> dict[str, list[str]]:
    """Return the faults of the present sources by role, with its index where a role repeats."""
    roles = Counter(source.role for source in d.sources)
    result: dict[str, list[str]] = {}
    for i, source in enumerate(d.sources):
        faults = source_faults(source, d.contracts.names) if source.available else ()
        if faults:
            key = source.role if roles[source.role] == 1 else f"{source.role}[{i}]"
            result[key] = list(faults)
    return result


def _validity_values(d: Decision) -> dict[str, Any]:
    return {"present": [r.role for r in d.readings if r.present], "faults": _faults(d)}


def _validity_changes(d: Decision) -> tuple[Change, ...]:
    faults = _faults(d)
    if not faults:
        return (Change("present sources", 0, 1),)
    listed = "; ".join(f"{role}: {', '.join(words)}" for role, words in faults.items())
    return (Change("faults of present sources", listed, "none"),)


def _sure_language(d: Decision) -> list[Reading]:
    present = [r for r in d.readings if r.role == LANGUAGE and r.present]
    return [r for r in present if is_sure(r, d.policy)]


def _risk_values(d: Decision) -> dict[str, Any]:
    """Return the largest values of the sure language sources, of which there may be several."""
    sure = _sure_language(d)
    return {
        "risk_present": False,
        "peak": max(r.peak for r in sure),
        "quality": max(r.quality for r in sure),
        "margin": max(r.margin for r in sure),
    }


def _risk_changes(d: Decision) -> tuple[Change, ...]:
    values, policy = _risk_values(d), d.policy
    whose = "language" if len(_sure_language(d)) == 1 else "every sure language"
    below = [
        Change(f"{whose} peak below", values["peak"], policy.risk_peak),
        Change(f"{whose} quality below", values["quality"], policy.risk_quality),
        Change(f"{whose} margin below", values["margin"], policy.risk_margin),
    ]
    below.sort(key=lambda change: change.current - change.needed)
    return (*below, Change("risk source", "unavailable", "available"))


def _corroboration_values(d: Decision) -> dict[str, Any]:
    held = [d.readings[i] for i in d.supporters]
    return {
        "supporters": [r.role for r in held],
        "minimum_peak": min((r.peak for r in held), default=None),
        "minimum_quality": min((r.quality for r in held), default=None),
        "maximum_conflict": max((r.conflict for r in held), default=None),
        "supporting_components": d.supporting_components,
        "required_components": d.required_components,
    }


def _corroboration_changes(d: Decision) -> tuple[Change, ...]:
    found, required = d.supporting_components, d.required_components
    what = f"{'complete ' if d.policy.complete_components else ''}supporting components"
    roles = sorted({d.readings[i].role for i in d.supporters})
    if d.policy.corroboration != "cross_role" or crosses_roles(roles):
        return (Change(what, found, required),)
    held, needed = ", ".join(roles), "language with geometry or risk"
    if found >= required:
        return (Change("supporting roles", held, needed),)
    both = f"{what} and supporting roles"
    return (Change(both, f"{found}: {held}", f"{required}: {needed}"),)


_VALUES = {
    "base_eligibility": _eligibility_values,
    "score_selection": _score_values,
    "command_consistency": _command_values,
    "source_validity": _validity_values,
    "risk_support": _risk_values,
    "component_corroboration": _corroboration_values,
}
_CHANGES = {
    "base_eligibility": _eligibility_changes,
    "score_selection": _score_changes,
    "command_consistency": _command_changes,
    "source_validity": _validity_changes,
    "risk_support": _risk_changes,
    "component_corroboration": _corroboration_changes,
}
