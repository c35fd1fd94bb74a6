"""The compared rules for one instance, in plain Python.

The batched rules in ``rules`` are the reference; these give the same numbers without the cost of
an array call per operation. A rule without an entry here runs through the batched kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from operator import add
from sys import float_info
from typing import NamedTuple

import numpy as np

from pact_core.decision import Reading
from pact_core.options import FusionOptions
from pact_core.provenance import Partition
from pact_core.rules import (
    CAUTIOUS_HIGHEST,
    CAUTIOUS_LOWEST,
    LOG_FLOOR,
    NESTED_MINIMUM,
    POOLING_CONFLICT,
    POOLING_MISSING,
    POOLING_QUALITY,
    pignistic_of_logs,
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


def _pignistic(ratio: Vector) -> tuple[Vector, float]:
    frame = 1.0 / (1.0 + total(ratio))
    share = 1.0 / len(ratio)
    return [(value + share) * frame for value in ratio], frame


def _conjunctive(ratios: Sequence[Vector]) -> tuple[Outcome, Vector]:
    """Combine mass ratios by the conjunctive rule; what overflows is left to the batched kernel."""
    product = [1.0 + value for value in ratios[0]]
    for ratio in ratios[1:]:
        product = [q * (1.0 + value) for q, value in zip(product, ratio, strict=True)]
    combined = [value - 1.0 for value in product]
    if isfinite(total(combined)):
        posterior, frame = _pignistic(combined)
    else:
        columns, free = pignistic_of_logs(np, np.array(ratios)[..., None])
        posterior, frame = columns[:, 0].tolist(), float(free[0])
        combined = [min(value, float_info.max / len(combined)) for value in combined]
    return Outcome(posterior, 1.0 - frame, None, frame), combined


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
    result: Vector = []
    for reading in case.readings:
        rho = reading.quality * (1.0 - reading.conflict) if reading.present else 0.0
        rest = (1.0 - rho) / contracts
        factor = [rho * value + rest for value in reading.p]
        if not result:
            result = factor
            continue
        result = [r * value for r, value in zip(result, factor, strict=True)]
        largest = max(result)
        if largest > 0.0:
            result = [value / largest for value in result]
    return Outcome(_normalise(result))


def _nested_dirichlet(case: Case) -> Outcome:
    contracts = case.contracts
    present = [reading.present for reading in case.readings]
    if sum(present) < NESTED_MINIMUM:
        present = [False] * len(present)
    evidence = case.evidence(present)
    outcome, ratio = _conjunctive([[e / contracts for e in vector] for vector in evidence])
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
    widest = [max(column) for column in zip(*ratios, strict=True)]
    posterior, frame = _pignistic(widest)
    return Outcome(posterior, vacuity=frame)


def _hierarchy_cautious(case: Case) -> Outcome:
    ratios = _cautious_ratios(case)
    widest = [
        [max(column) for column in zip(*(ratios[i] for i in group), strict=True)]
        for group in case.groups()
    ]
    return _conjunctive(widest)[0]


def _exp(values: Sequence[float]) -> Vector:
    """Return NumPy's exponentials: the C library's differ from the batched path in last bits."""
    result: Vector = np.exp(np.array(values)).tolist()
    return result


def _pool(case: Case, links: Sequence[int]) -> Outcome:
    discounts = np.log(np.array(links, dtype=np.float64)).tolist()
    logits = [
        POOLING_QUALITY * reading.quality
        - POOLING_CONFLICT * reading.conflict
        - (0.0 if reading.present else POOLING_MISSING)
        - discount
        for reading, discount in zip(case.readings, discounts, strict=True)
    ]
    *weights, missing = _exp([*logits, -POOLING_MISSING])
    roles = tuple(reading.role for reading in case.readings)
    everything = total(weights) + undeclared_roles(roles) * missing
    opinions = np.array([reading.p for reading in case.readings])
    logs = np.log(np.maximum(opinions, LOG_FLOOR)).tolist()
    pooled = [0.0] * case.contracts
    for weight, row in zip(weights, logs, strict=True):
        share = weight / everything
        pooled = [value + share * log for value, log in zip(pooled, row, strict=True)]
    highest = max(pooled)
    return Outcome(_normalise(_exp([value - highest for value in pooled])))


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
                uniform = [1.0 / case.contracts] * case.contracts
                return Outcome(list(reading.p) if reading.present else uniform)
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
