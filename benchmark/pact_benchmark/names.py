"""Names for people: what files call `pact_singleton` is shown as "Singleton PACT"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from pact_benchmark.plotting import RULE_STYLE
from pact_scenes.configuration import default_section

_STRATA = {"all": "all rows", "present": "all sources present"}
_WORDS = {
    "without_adversarial": "without adversarial consensus",
    "three_valid": "three valid sources",
    "three_valid_without_adversarial": "three valid sources, without adversarial consensus",
    "unavailable_or_invalid": "a source unavailable or invalid",
    "all_valid_eligibility": "all rows, eligible with three valid sources",
    "before_admission": "before admission",
    "after_admission": "after admission",
    "pooled_correctness": "pooled correctness",
}
_COLUMNS = {
    "kappa": "κ",
    "aurc": "AURC",
    "augrc": "AUGRC",
    "wrong_all": "R_all",
    "correct_all": "C_all",
    "wrong_admitted": "R_cond",
    "pact_minus_nested": "PACT − Nested Dirichlet",
    "pact_minus_product": "PACT − Product",
}
_RULES = {rule: style.label for rule, style in RULE_STYLE.items() if rule != "language"} | {
    "merged": "All merged"
}
"""Labels of the rules; "language" is left out, it is the name of a source as well."""

_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")


@cache
def _default_conditions() -> dict[str, str]:
    return condition_titles(default_section("conditions"))


def condition_titles(section: Mapping[str, Mapping[str, Mapping[str, str]]]) -> dict[str, str]:
    """Return the titles of the conditions of a configuration's section, by name."""
    return {name: entry.get("title", name) for name, entry in section["conditions"].items()}


def stratum_name(stratum: str) -> str:
    """Return the name of a stratum for people."""
    return _STRATA.get(stratum) or value_name(stratum)


def value_name(value: str, conditions: Mapping[str, str] | None = None) -> str:
    """Return an entry of a table for people; what is no name of ours stays as it is.

    Args:
        value: a rule, condition, stage or any other text.
        conditions: titles of the run's own conditions.
    """
    rule, at, kappa = value.partition("@")
    if at and rule in _RULES:
        return f"{_RULES[rule]}, κ = {kappa}"
    titles = {**_default_conditions(), **(conditions or {})}
    known = titles.get(value) or _WORDS.get(value)
    if known:
        return known
    if value in _RULES:
        return _RULES[value]
    return value.replace("_", " ") if _IDENTIFIER.fullmatch(value) else value


def column_name(name: str) -> str:
    """Return the head of a column for people, such as "budget Singleton PACT"."""
    if name in _COLUMNS:
        return _COLUMNS[name]
    words = (_COLUMNS.get(word, word) for word in name.split(" "))
    return " ".join(_RULES.get(word, word) for word in words)
