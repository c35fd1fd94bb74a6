"""Instances in, decisions out, one JSON object after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pact_benchmark.errors import UsageError
from pact_benchmark.formats.instance import FormatError, Instance, read_instance
from pact_benchmark.formats.lines import Line
from pact_benchmark.formats.release import read_record
from pact_core import (
    HANDOVER_ROLES,
    PRIMARY,
    RULES,
    AdmissionPolicy,
    Decision,
    admission_check,
    certificate,
    check_response,
    decide_rules,
)

READERS: dict[str, Callable[[Any], Instance]] = {"instance": read_instance, "release": read_record}
ALL = "all"


@dataclass(frozen=True, slots=True)
class Settings:
    """How to decide: rules, evidence scale, threshold, policy, and whether to explain."""

    rules: tuple[str, ...] = ("pact",)
    kappa: float = 8.0
    threshold: float | None = None
    policy: AdmissionPolicy = PRIMARY
    explain: bool = False


def chosen_rules(names: Sequence[str]) -> tuple[str, ...]:
    """Return registered rules by name, ``all`` for every one; UsageError for an unknown name."""
    if ALL in names:
        return tuple(RULES)
    for name in names:
        if name not in RULES:
            raise UsageError(f"unknown rule {name!r}; known: all, {', '.join(RULES)}")
    return tuple(names)


def decide_lines(
    lines: Iterable[Line], reader: Callable[[Any], Instance], settings: Settings
) -> Iterator[dict[str, Any]]:
    """Yield one decision object per line and rule, or an error object for a malformed line."""
    for line in lines:
        try:
            if line.error is not None:
                raise FormatError(line.error)
            instance = reader(line.value)
        except FormatError as error:
            yield {"line": line.number, "error": str(error)}
            continue
        name = instance.record_id or line.number
        roles = {source.role for source in instance.sources}
        rules = [r for r in settings.rules if r not in HANDOVER_ROLES or r in roles]
        if not rules:
            yield {"line": line.number, "error": f"no {' or '.join(settings.rules)} source"}
            continue
        for decision in decide_rules(
            instance.sources,
            rules,
            kappa=settings.kappa,
            threshold=settings.threshold,
            policy=settings.policy,
            contracts=instance.contracts,
        ):
            yield decision_object(decision, name, settings.explain)


def decision_object(decision: Decision, record_id: str | int, explain: bool) -> dict[str, Any]:
    """Return a decision in the form of the exported JSON Schema."""
    result: dict[str, Any] = {
        "record_id": record_id,
        "rule": decision.rule,
        "kappa": decision.kappa,
        "contract": decision.contract,
        "posterior": list(decision.posterior),
        "score": decision.score,
        "base_eligible": decision.base_eligible,
        "status": str(decision.status),
        "response": str(decision.response),
        "check": decision.check,
        "admission": str(check_response(admission_check(decision))),
    }
    if explain:
        result["explain"] = _explanation(decision)
    return result


def _explanation(decision: Decision) -> dict[str, Any]:
    explanation: dict[str, Any] = {
        "components": [[decision.readings[i].role for i in c] for c in decision.components],
        "supporters": [decision.readings[i].role for i in decision.supporters],
        "evidence": None if decision.evidence is None else list(decision.evidence),
        "values": decision.values,
        "changes": [change._asdict() for change in decision.changes],
    }
    if decision.rule == "pact":
        limits = certificate(decision)._asdict()
        explanation["stays_below"] = {k: v if isfinite(v) else None for k, v in limits.items()}
    return explanation


def decision_line(result: dict[str, Any]) -> str:
    """Return a decision or error object as one line for people."""
    if "error" in result:
        return f"line {result['line']}: {result['error']}"
    stopped = f" (stopped by {result['check']})" if result["check"] else ""
    answer = result["status"] if result["status"] == "admitted" else result["response"]
    return (
        f"{result['record_id']} {result['rule']}: contract {result['contract']}, "
        f"score {result['score']:.4f}, {answer}{stopped}"
    )
