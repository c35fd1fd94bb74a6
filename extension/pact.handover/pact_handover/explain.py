"""Why a decision came out as it did, and what would change it, in one sentence each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pact_core import Decision, Source, certificate, decide

from .results import StepRecord

Text = tuple[str, str]


def explain(record: StepRecord) -> Text:
    """Return the reason of the lead rule's outcome and what would change it."""
    decision = decide(
        record.core_sources,
        rule=record.lead.rule,
        kappa=record.kappa,
        threshold=record.threshold or None,
    )
    if decision.check is None:
        return _admitted(decision)
    return _REASONS[decision.check](decision), _remedy(decision)


def _remedy(decision: Decision) -> str:
    """Name the changes that would let it pass, the smallest first."""
    wanted = [
        f"{change.what} {_text(change.needed)} (now {_text(change.current)})"
        for change in decision.changes
    ]
    return f"Would pass with: {'; or '.join(wanted)}."


def _admitted(decision: Decision) -> Text:
    names = _roles([decision.sources[i] for i in decision.supporters])
    groups = {decision.partition[i] for i in decision.supporters}
    reason = f"Every check passes. {decision.contract} is led by {names} ({_components(groups)})."
    if decision.rule != "pact":
        return reason, ""
    limit = certificate(decision).delta
    return reason, f"Contract and selection hold while the evidence moves by less than {limit:.2f}."


def _eligibility(decision: Decision) -> str:
    observed = decision.values["observed"]
    return f"Not eligible: {len(observed)} of the expected sources observed, two are needed."


def _selection(decision: Decision) -> str:
    return f"Score {decision.score:.3f} is below the threshold {decision.threshold:.3f}."


def _command(decision: Decision) -> str:
    values = decision.values
    if values["missing"]:
        return "It is not known which command the language evidence belongs to."
    if values["stale"]:
        return "The language evidence is carried over from the previous command."
    return "The language evidence belongs to another command than the current one."


def _validity(decision: Decision) -> str:
    faults = decision.values["faults"]
    if not faults:
        return "No source is present."
    listed = "; ".join(f"{role}: {', '.join(words)}" for role, words in faults.items())
    return f"A present source is not valid. {listed}."


def _risk(decision: Decision) -> str:
    values = decision.values
    return (
        "Risk is unavailable while language is very sure of itself "
        f"(peak {values['peak']:.2f}, quality {values['quality']:.2f})."
    )


def _corroboration(decision: Decision) -> str:
    groups = {decision.partition[i] for i in decision.supporters}
    return (
        f"{len(decision.supporters)} sources agree on {decision.contract}, but from only "
        f"{_components(groups)}; {decision.required_components} are required."
    )


def _roles(sources: Sequence[Source]) -> str:
    return ", ".join(source.role for source in sources) or "no observed source"


def _components(groups: set[int]) -> str:
    return f"{len(groups)} component{'' if len(groups) == 1 else 's'}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


_REASONS: dict[str, Callable[[Decision], str]] = {
    "base_eligibility": _eligibility,
    "score_selection": _selection,
    "command_consistency": _command,
    "source_validity": _validity,
    "risk_support": _risk,
    "component_corroboration": _corroboration,
}
