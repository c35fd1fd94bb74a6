"""Instances in, decisions out, one JSON object after the other."""

from __future__ import annotations

import difflib
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
    """How to decide: rules, evidence scale, threshold, policy, and whether to explain.

    A rule that is named after a source applies to instances with that source only. Elsewhere it
    is an error, or left out where only ``applicable`` rules are asked for.
    """

    rules: tuple[str, ...] = ("pact",)
    kappa: float = 8.0
    threshold: float | None = None
    policy: AdmissionPolicy = PRIMARY
    explain: bool = False
    applicable: bool = False


def chosen_rules(names: Sequence[str]) -> tuple[str, ...]:
    """Return registered rules by name, ``all`` for every one; UsageError for an unknown name."""
    if ALL in names:
        return tuple(RULES)
    for name in names:
        if name not in RULES:
            near = difflib.get_close_matches(name, RULES, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise UsageError(f"unknown rule {name!r}; {hint}known: all, {', '.join(RULES)}")
    return tuple(names)


def decide_lines(
    lines: Iterable[Line], reader: Callable[[Any], Instance], settings: Settings
) -> Iterator[dict[str, Any]]:
    """Yield one decision object per instance and rule, or an error object where there is none."""
    for line in lines:
        try:
            if line.error is not None:
                raise FormatError(line.error)
            instance = reader(line.value)
        except FormatError as error:
            yield _error_object(line, str(error))
            continue
        roles = {source.role for source in instance.sources}
        rules = [rule for rule in settings.rules if rule not in HANDOVER_ROLES or rule in roles]
        if not settings.applicable:
            for rule in settings.rules:
                if rule not in rules:
                    yield _error_object(line, f"no {rule} source for rule {rule!r}")
        name = _default_name(line) if instance.record_id is None else instance.record_id
        for decision in decide_rules(
            instance.sources,
            rules,
            kappa=settings.kappa,
            threshold=settings.threshold,
            policy=settings.policy,
            contracts=instance.contracts,
        ):
            yield decision_object(decision, name, settings.explain)


def _default_name(line: Line) -> str | int:
    """Return the line number, with the position after a dot in a list: 3, or "3.2"."""
    return line.number if line.item is None else f"{line.number}.{line.item}"


def _error_object(line: Line, reason: str) -> dict[str, Any]:
    item = {} if line.item is None else {"item": line.item}
    return {"line": line.number, **item, "error": reason}


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
    try:
        limits = certificate(decision)._asdict()
    except ValueError:  # the rule has no certificate
        return explanation
    explanation["stays_below"] = {k: v if isfinite(v) else None for k, v in limits.items()}
    return explanation


def decision_text(result: dict[str, Any]) -> str:
    """Return a decision or error object for people: one line, and its explanation indented."""
    if "error" in result:
        item = f", item {result['item']}" if "item" in result else ""
        return f"line {result['line']}{item}: {result['error']}"
    stopped = f" (stopped by {result['check']})" if result["check"] else ""
    answer = result["status"] if result["status"] == "admitted" else result["response"]
    line = (
        f"{result['record_id']} {result['rule']}: contract {result['contract']}, "
        f"score {result['score']:.4f}, {answer}{stopped}"
    )
    explained = _explanation_lines(result["explain"]) if "explain" in result else ()
    return "\n  ".join([line, *explained])


def _explanation_lines(explanation: dict[str, Any]) -> Iterator[str]:
    yield "components: " + ", ".join(" + ".join(roles) for roles in explanation["components"])
    yield "supporters: " + _words(explanation["supporters"])
    yield "evidence: " + _words(explanation["evidence"])
    for name, value in explanation["values"].items():
        if name != "supporters":
            yield f"{name}: {_words(value)}"
    for change in explanation["changes"]:
        what, current, needed = change.values()
        yield f"to pass: {what} {_words(needed)}, is {_words(current)}"
    for name, limit in explanation.get("stays_below", {}).items():
        yield f"stays below ({name}): {'any change' if limit is None else _words(limit)}"


def _words(value: Any) -> str:
    """Return a value of an explanation in words, numbers to four digits."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_words(item)}" for name, item in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_words, value)) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return f"{value:.4g}" if isinstance(value, float) else str(value)
