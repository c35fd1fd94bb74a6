"""One decision at a time, in plain Python: the fast path of a control loop.

Gives the same answers as the batched kernels, without their cost per call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from pact_core.admission import (
    CHECKS,
    CROSS_ROLE_COMPONENTS,
    PRIMARY,
    AdmissionPolicy,
    check_named,
)
from pact_core.batch import SourceBatch
from pact_core.columns import SUM_HIGH, SUM_LOW, Columns
from pact_core.contracts import HANDOVER, ContractSet, Response, Status
from pact_core.decision import (
    SELECTION_STOPS,
    Decision,
    Reading,
    count_components,
    crosses_roles,
    is_sure,
)
from pact_core.fusion import fuse
from pact_core.options import DEFAULT_OPTIONS, FusionOptions, checked_kappa
from pact_core.provenance import Partition, components
from pact_core.scalar_rules import SCALAR_RULES, Case, Outcome
from pact_core.sources import (
    LANGUAGE,
    MINIMUM_OBSERVED,
    RISK,
    Source,
    number,
    opinion_vector,
    total,
)

_FLOAT = {float}


def decide(
    sources: Sequence[Source],
    *,
    rule: str = "pact",
    kappa: float | None = None,
    threshold: float | None = None,
    policy: AdmissionPolicy = PRIMARY,
    contracts: ContractSet = HANDOVER,
    options: FusionOptions = DEFAULT_OPTIONS,
) -> Decision:
    """Decide on one instance, from parent sets to typed response.

    Bad numbers never raise: they make their source invalid, and nothing is admitted then. Nor is
    what a rule gives no finite posterior and score: it counts as not selected.

    Args:
        sources: The expected sources, unavailable ones included.
        rule: Name in ``RULES``.
        kappa: Evidence scale; None takes the options' (8).
        threshold: tau; None selects every eligible instance.
        policy: Typed admission.
        contracts: The contract set.
        options: Everything else about fusion.

    Raises:
        ValueError: No source, an unknown rule, a kappa that is not one number in [0, 1e100], or
            options for another number of sources or contracts.
    """
    return decide_rules(
        sources,
        (rule,),
        kappa=kappa,
        threshold=threshold,
        policy=policy,
        contracts=contracts,
        options=options,
    )[0]


def decide_rules(
    sources: Sequence[Source],
    rules: Sequence[str],
    *,
    kappa: float | None = None,
    threshold: float | None = None,
    policy: AdmissionPolicy = PRIMARY,
    contracts: ContractSet = HANDOVER,
    options: FusionOptions = DEFAULT_OPTIONS,
) -> list[Decision]:
    """Decide on one instance by several rules, reading the sources once; see ``decide``."""
    if not sources:
        raise ValueError("a decision needs at least one expected source")
    scale = checked_kappa(options.kappa if kappa is None else kappa)
    if options is not DEFAULT_OPTIONS:
        options.check_fit(len(sources), len(contracts))
    names = contracts.names
    readings = [read(source, names) for source in sources]
    partition = components([source.parents for source in sources])
    case = Case(sources, readings, partition, scale, options)
    eligible = sum([reading.observed for reading in readings]) >= MINIMUM_OBSERVED
    failures: dict[int, str | None] = {}
    decisions = []
    for rule in rules:
        posterior, score, evidence, vacuity = _fuse(case, rule, contracts)
        peak = max(posterior)
        top = posterior.index(peak)
        score = peak if score is None else score
        check: str | None
        if not eligible:
            check = SELECTION_STOPS[0]
        elif not isfinite(score + sum(posterior)) or (
            threshold is not None and not score >= threshold
        ):
            check = SELECTION_STOPS[1]
        else:
            if top not in failures:
                failures[top] = first_failure(sources, readings, partition, top, policy, contracts)
            check = failures[top]
        status = Status.ADMITTED if check is None else Status.WITHHELD
        decisions.append(
            Decision(
                status,
                names[top],
                check_response(check),
                check,
                posterior,
                score,
                evidence,
                vacuity,
                eligible,
                rule,
                scale,
                threshold,
                partition,
                sources,
                readings,
                policy,
                contracts,
                options,
            )
        )
    return decisions


def _fuse(case: Case, rule: str, contracts: ContractSet) -> Outcome:
    """Apply a rule's scalar twin, or its batched kernel where there is none."""
    twin = SCALAR_RULES.get(rule)
    if twin is not None and (case.options.missing == "zero" or rule != "pact"):
        return twin(case)
    batch = SourceBatch.from_instances([case.sources], contracts)
    fused = fuse(batch, rule, replace(case.options, kappa=case.kappa))
    return Outcome(
        fused.posterior[0].tolist(),
        float(fused.score[0]),
        None if fused.evidence is None else fused.evidence[0].tolist(),
        None if fused.vacuity is None else float(fused.vacuity[0]),
    )


def read(source: Source, names: tuple[str, ...]) -> Reading:
    """Check the numbers of one source."""
    values = _vector(source.opinion, names)
    quality, conflict = source.quality, source.conflict
    if type(quality) is not float:
        quality = number(quality)
    if type(conflict) is not float:
        conflict = number(conflict)
    mass = total(values)
    sound = SUM_LOW <= mass <= SUM_HIGH and min(values) >= 0.0 and bool(source.declared_valid)
    if sound:
        p = [value / mass for value in values]
        peak = max(p)
        top = p.index(peak)
    else:
        peak, top = 1.0 / len(names), 0
        p = [peak] * len(names)
    absent = conflict != conflict
    valid = sound and 0.0 <= quality <= 1.0 and (absent or 0.0 <= conflict <= 1.0)
    if not valid or absent:
        quality, conflict = _unit(quality), _unit(conflict)
    present = bool(source.available)
    return Reading(source.role, present, present and valid, p, quality, conflict, absent, top, peak)


def _vector(opinion: object, names: tuple[str, ...]) -> Sequence[float]:
    values: Sequence[Any]
    if type(opinion) is list or type(opinion) is tuple:
        values = opinion
    elif type(opinion) is dict and len(opinion) == len(names):
        values = [opinion.get(name) for name in names]
    else:
        return opinion_vector(opinion, names)
    if len(values) == len(names) and set(map(type, values)) == _FLOAT:
        return values
    return opinion_vector(opinion, names)


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value)) if isfinite(value) else 0.0


def first_failure(
    sources: Sequence[Source],
    readings: Sequence[Reading],
    partition: Partition,
    contract: int,
    policy: AdmissionPolicy,
    contracts: ContractSet,
) -> str | None:
    """Return the first check that fails for the candidate contract, or None."""
    for name in policy.checks:
        if name == "command_consistency":
            failed = _command_fails(sources)
        elif name == "source_validity":
            failed = _validity_fails(readings)
        elif name == "risk_support":
            failed = _risk_fails(readings, policy)
        elif name == "component_corroboration":
            failed = _corroboration_fails(readings, partition, contract, policy)
        else:
            failed = _registered_fails(name, sources, contract, policy, contracts)
        if failed:
            return name
    return None


def admission_check(decision: Decision) -> str | None:
    """Return the check that typed admission alone fails for a decision's contract, or None.

    Differs from ``decision.check`` only where selection withheld the candidate before.
    """
    if decision.check not in SELECTION_STOPS:
        return decision.check
    contract = decision.contracts.index(decision.contract)
    return first_failure(
        decision.sources,
        decision.readings,
        decision.partition,
        contract,
        decision.policy,
        decision.contracts,
    )


def check_response(check: str | None) -> Response:
    """Return the typed response to what stopped a decision, by name; none for None."""
    return Response.NONE if check is None else CHECKS.get(check, Response.HOLD)


def _registered_fails(
    name: str,
    sources: Sequence[Source],
    contract: int,
    policy: AdmissionPolicy,
    contracts: ContractSet,
) -> bool:
    """Run a check that was registered from outside on a block of one instance."""
    block = Columns(SourceBatch.from_instances([sources], contracts), 0, 1)
    return bool(check_named(name)(block, np.array([contract]), policy)[0])


def _command_fails(sources: Sequence[Source]) -> bool:
    for source in sources:
        if source.role == LANGUAGE and source.available:
            command = source.command
            if command is None or command.missing or command.mismatch or command.stale:
                return True
    return False


def _validity_fails(readings: Sequence[Reading]) -> bool:
    arrived = False
    for reading in readings:
        if reading.present:
            arrived = True
            if reading.conflict_absent or not reading.observed:
                return True
    return not arrived


def _risk_fails(readings: Sequence[Reading], policy: AdmissionPolicy) -> bool:
    unwatched = sure = False
    for reading in readings:
        if reading.role == RISK:
            if reading.present:
                return False
            unwatched = True
        elif reading.role == LANGUAGE and reading.present and not sure:
            sure = is_sure(reading, policy)
    return unwatched and sure


def _corroboration_fails(
    readings: Sequence[Reading], partition: Partition, contract: int, policy: AdmissionPolicy
) -> bool:
    mode = policy.corroboration
    if mode == "off":
        return False
    supporters = [i for i, r in enumerate(readings) if r.observed and r.top == contract]
    if len(supporters) < policy.minimum_supporters:
        return False
    if mode == "unanimity" and (
        len(supporters) < policy.unanimous_sources
        or len(supporters) < sum(reading.observed for reading in readings)
    ):
        return False
    for i in supporters:
        reading = readings[i]
        if (
            reading.peak < policy.support_peak
            or reading.quality < policy.support_quality
            or reading.conflict > policy.support_conflict
        ):
            return False
    found = count_components(readings, partition, supporters, complete=policy.complete_components)
    if mode != "cross_role":
        return found < policy.required_components
    crossed = crosses_roles({readings[i].role for i in supporters})
    return found < CROSS_ROLE_COMPONENTS or not crossed
