"""Sentences for the top of the report, filled with the statistics of the run at hand."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

from pact_benchmark.results import with_minus

SENTENCES = (
    "When a source is copied within its component, PACT's posterior"
    " {copies.pact_within.max_drift:movement}; when the copies count as separate,"
    " {copies.pact_separate.contract_changed:.1%} of the contracts change.",
    "After the common admission policy, ncsAURC is {after_admission.pact.ncsaurc:.3f} for PACT,"
    " {after_admission.nested_dirichlet.ncsaurc:.3f} for nested Dirichlet and"
    " {after_admission.product.ncsaurc:.3f} for product fusion (lower is better).",
    "Before admission PACT's native score gives {before_admission.pact.native:.3f}; ranked by"
    " posterior peak the same candidates give {before_admission.pact.peak:.3f}: the ranking depends"
    " on fusion and score together.",
    "Without the designed adversarial consensus, grouping by provenance changes ncsAURC by"
    " {matched.partition_effect.without_adversarial:+.3f} against counting every source.",
    "Removing the corroboration check admits"
    " {checks.without_corroboration.wrong_added:,.0f} wrong decisions more.",
    "Over the sweep PACT's post-admission ncsAURC lies between {sobol.pact.range[low]:.3f} and"
    " {sobol.pact.range[high]:.3f} (nested Dirichlet {sobol.nested_dirichlet.range[low]:.3f} to"
    " {sobol.nested_dirichlet.range[high]:.3f}).",
)


def _number(statistics: Mapping[str, Mapping[str, Any]], field: str) -> Any:
    """Return the value of `statistic.id`, or the end that `statistic.id[low]` names."""
    name, _, part = field.removesuffix("]").partition("[")
    return statistics.get(name, {}).get(part or "value")


class _Lookup(Formatter):
    """Fills `{statistic.id:format}` and `{statistic.id[low]:format}` from a table."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, str]:
        return _number(kwargs, field_name), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "movement":
            return f"moves by at most {value:.1g}" if value else "stays exactly as it was"
        return with_minus(str(super().format_field(value, format_spec)))


def findings(statistics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the sentences whose statistics the run has."""
    formatter = _Lookup()
    found = []
    for sentence in SENTENCES:
        names = [name for _, name, _, _ in formatter.parse(sentence) if name]
        if all(_number(statistics, name) is not None for name in names):
            found.append(formatter.vformat(sentence, (), dict(statistics)))
    return found
