"""The compared rules for one instance, in plain Python.

The batched rules in ``rules`` are the reference; these give the same numbers without the cost of
an array call per operation. A rule without an entry here runs through the batched kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import exp, isfinite, log
from operator import add
from typing import NamedTuple

from pact_core.decision import Reading
from pact_core.fusion import FusionOptions
from pact_core.provenance import Partition
from pact_core.rules import (
    CAUTIOUS_HIGHEST,
    CAUTIOUS_LOWEST,
    LOG_FLOOR,
    POOLING_CONFLICT,
    POOLING_MISSING,
    POOLING_QUALITY,
    undeclared_roles,
)
from pact_core.sources import HANDOVER_ROLES, Source, number, total

Vector = list[float]


class Case(NamedTuple):
    """One instance as the scalar rules see it."""

    sources: Sequence[Source]
    readings: Sequence[Reading]
    partition: Partition
    kappa: float
    options: FusionOptions

    @property
    def contracts(self) -> int:
        """K."""
        return len(self.readings[0].p)

    def groups(self) -> Iterator[list[int]]:
        """Yield the members of every component."""
        members: dict[int, list[int]] = {}
        for i, label in enumerate(self.partition):
            members.setdefault(label, []).append(i)
        yield from members.values()

    def evidence(self, counted: Sequence[bool]) -> list[Vector]:
        """Return e = kappa rho p of the counted sources, zero vectors for the others."""
        scales = self.options.source_scale
        result = []
        for i, reading in enumerate(self.readings):
            if counted[i]:
                scale = self.kappa * (reading.quality * (1.0 - reading.conflict))
                if scales is not None:
                    scale *= scales[i]
                result.append([scale * value for value in reading.p])
            else:
                result.append([0.0] * len(reading.p))
        return result

    def observed_evidence(self) -> list[Vector]:
        """Return the evidence of the observed sources, zero vectors for the others."""
        return self.evidence([reading.observed for reading in self.readings])


class Outcome(NamedTuple):
    """A rule's answer; a score of None stands for the posterior peak."""

    posterior: Vector
    score: float | None = None
    evidence: Vector | None = None
    vacuity: float | None = None


def _normalise(weight: Vector) -> Vector:
    mass = total(weight)
    if mass > 0.0:
        return [value / mass for value in weight]
    return [1.0 / len(weight)] * len(weight)


def _project_ratio(ratio: Vector, *, peak_score: bool) -> Outcome:
    frame = 1.0 / (1.0 + total(ratio))
    share = 1.0 / len(ratio)
    posterior = [(value + share) * frame for value in ratio]
    return Outcome(posterior, None if peak_score else 1.0 - frame, None, frame)


def _add(vectors: Sequence[Vector]) -> Vector:
    result = vectors[0]
    for vector in vectors[1:]:
        result = list(map(add, result, vector))
    return result


def _dirichlet(case: Case, evidence: Vector) -> Outcome:
    """Project cumulative evidence with base rate a and prior strength W."""
    contracts, options = len(evidence), case.options
    strength = float(contracts) if options.prior_strength is None else options.prior_strength
    norm = strength + total(evidence)
    vacuity = strength / norm
    if options.base_rate is None:
        prior = strength / contracts
        posterior = [(value + prior) / norm for value in evidence]
    else:
        pairs = zip(evidence, options.base_rate, strict=True)
        posterior = [(value + rate * strength) / norm for value, rate in pairs]
    return Outcome(posterior, 1.0 - vacuity, evidence, vacuity)


def _pact(case: Case) -> Outcome:
    budgets: dict[int, Vector] = {}
    for label, vector in zip(case.partition, case.observed_evidence(), strict=True):
        held = budgets.get(label)
        budgets[label] = vector if held is None else list(map(min, held, vector))
    return _dirichlet(case, _add(list(budgets.values())))


def _pact_singleton(case: Case) -> Outcome:
    return _dirichlet(case, _add(case.observed_evidence()))


def _maximum(case: Case) -> Outcome:
    evidence = case.observed_evidence()
    joins = [[0.0] * case.contracts]
    for group in case.groups():
        if all(case.readings[i].observed for i in group):
            joins.append(
                [max(column) for column in zip(*(evidence[i] for i in group), strict=True)]
            )
    return _dirichlet(case, _add(joins))


def _representative(case: Case) -> Outcome:
    evidence = case.observed_evidence()
    return _dirichlet(case, _add([evidence[group[0]] for group in case.groups()]))


def _quality_weighted(case: Case) -> Outcome:
    mean = [0.0] * case.contracts
    for reading in case.readings:
        if reading.present:
            weight = reading.quality
            mean = [m + weight * value for m, value in zip(mean, reading.p, strict=True)]
    return Outcome(_normalise(mean))


def _product(case: Case) -> Outcome:
    contracts = case.contracts
    result = [1.0] * contracts
    for reading in case.readings:
        if reading.present:
            rho = reading.quality * (1.0 - reading.conflict)
            rest = (1.0 - rho) / contracts
            result = [r * (rho * value + rest) for r, value in zip(result, reading.p, strict=True)]
            largest = max(result)
            if largest > 0.0:
                result = [value / largest for value in result]
    return Outcome(_normalise(result))


def _nested_dirichlet(case: Case) -> Outcome:
    contracts = case.contracts
    present = [reading.present for reading in case.readings]
    ratio = [0.0] * contracts
    if sum(present) >= 2:
        product = [1.0] * contracts
        for vector in case.evidence(present):
            product = [q * (1.0 + e / contracts) for q, e in zip(product, vector, strict=True)]
        ratio = [value - 1.0 for value in product]
    outcome = _project_ratio(ratio, peak_score=False)
    return outcome._replace(evidence=[value * contracts for value in ratio])


def _cautious_ratios(case: Case) -> list[Vector]:
    result = []
    for source, reading in zip(case.sources, case.readings, strict=True):
        if not reading.present:
            result.append([0.0] * len(reading.p))
            continue
        conflict = 0.0 if reading.conflict_absent else number(source.conflict)
        rho = number(source.quality) * (1.0 - conflict)
        rho = min(CAUTIOUS_HIGHEST, max(CAUTIOUS_LOWEST, rho if isfinite(rho) else 0.0))
        odds = rho / (1.0 - rho)
        result.append([odds * value for value in reading.p])
    return result


def _global_cautious(case: Case) -> Outcome:
    ratios = _cautious_ratios(case)
    return _project_ratio([max(column) for column in zip(*ratios, strict=True)], peak_score=True)


def _hierarchy_cautious(case: Case) -> Outcome:
    ratios = _cautious_ratios(case)
    product = [1.0] * case.contracts
    for group in case.groups():
        widest = [max(column) for column in zip(*(ratios[i] for i in group), strict=True)]
        product = [q * (1.0 + value) for q, value in zip(product, widest, strict=True)]
    return _project_ratio([value - 1.0 for value in product], peak_score=False)


def _pool(case: Case, links: Sequence[int]) -> Outcome:
    logits = [
        POOLING_QUALITY * reading.quality
        - POOLING_CONFLICT * reading.conflict
        - (0.0 if reading.present else POOLING_MISSING)
        - log(links[i])
        for i, reading in enumerate(case.readings)
    ]
    weights = [exp(logit) for logit in logits]
    roles = tuple(reading.role for reading in case.readings)
    everything = total(weights) + undeclared_roles(roles) * exp(-POOLING_MISSING)
    pooled = [0.0] * case.contracts
    for weight, reading in zip(weights, case.readings, strict=True):
        share = weight / everything
        pooled = [
            value + share * log(max(p, LOG_FLOOR))
            for value, p in zip(pooled, reading.p, strict=True)
        ]
    highest = max(pooled)
    return Outcome(_normalise([exp(value - highest) for value in pooled]))


def _pooling(case: Case) -> Outcome:
    return _pool(case, [1] * len(case.readings))


def _provenance_pooling(case: Case) -> Outcome:
    seen: dict[tuple[int, int], int] = {}
    keys = [(label, r.top) for label, r in zip(case.partition, case.readings, strict=True)]
    for key, reading in zip(keys, case.readings, strict=True):
        if reading.present:
            seen[key] = seen.get(key, 0) + 1
    links = [seen[k] if r.present else 1 for k, r in zip(keys, case.readings, strict=True)]
    return _pool(case, links)


def _single(role: str) -> Callable[[Case], Outcome]:
    def rule(case: Case) -> Outcome:
        for reading in case.readings:
            if reading.role == role:
                return Outcome(list(reading.p))
        raise ValueError(f"the instance has no {role!r} source")

    return rule


SCALAR_RULES: dict[str, Callable[[Case], Outcome]] = {
    "quality_weighted": _quality_weighted,
    "product": _product,
    "nested_dirichlet": _nested_dirichlet,
    "global_cautious": _global_cautious,
    "hierarchy_cautious": _hierarchy_cautious,
    "pooling": _pooling,
    "provenance_pooling": _provenance_pooling,
    "pact": _pact,
    "pact_singleton": _pact_singleton,
    "maximum": _maximum,
    "representative": _representative,
    **{role: _single(role) for role in HANDOVER_ROLES},
}
"""Scalar twins by rule name."""
