"""What one decision was: plain, frozen values for panel, events, time line and recorder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pact_core import Source

from .palette import outcome_of


@dataclass(frozen=True, slots=True)
class SourceView:
    """One expected source as it entered the decision.

    Attributes:
        role: language, geometry or risk.
        opinion: Probability per contract; None where the source has no usable opinion.
        quality: Quality in [0, 1], or None when absent.
        conflict: Conflict in [0, 1], or None when absent.
        state: "observed", "unavailable" or "invalid".
        parents: Parents under the chosen partition.
        component: Rank of the component that the source belongs to.
    """

    role: str
    opinion: tuple[float, ...] | None
    quality: float | None
    conflict: float | None
    state: str
    parents: tuple[str, ...]
    component: int


@dataclass(frozen=True, slots=True)
class RuleView:
    """What one rule and the admission checks made of the sources.

    Attributes:
        rule: Name of the rule.
        contract: The predicted contract.
        posterior: Probability per contract.
        score: Selection score in [0, 1].
        base_eligible: Whether enough sources were observed to select anything.
        status: "admitted" or "withheld".
        response: "none", "hold", "confirm" or "fallback".
        check: Name of the check that stopped it, or None.
    """

    rule: str
    contract: str
    posterior: tuple[float, ...]
    score: float
    base_eligible: bool
    status: str
    response: str
    check: str | None

    @property
    def outcome(self) -> str:
        """The key of the outcome's look: admitted, hold, confirm, fallback or withheld."""
        return outcome_of(self.status, self.response, self.check)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One decision: observation, sources, component budgets and every rule's outcome.

    Attributes:
        step: Number of the decision since play, from 0.
        time: Simulated time [s].
        scene: Scene id.
        condition: Source condition.
        label: Commanded contract.
        kappa: Evidence scale.
        threshold: Selection threshold; 0 selects every eligible candidate.
        observation: The observation's values by column name.
        sources: The expected sources in role order, for display.
        core_sources: The same sources as `pact_core` takes them.
        budgets: Retained evidence per component and contract, in the order of the ranks.
        rules: Outcome per rule; the first one drives response, events and colours.
    """

    step: int
    time: float
    scene: str
    condition: str
    label: str
    kappa: float
    threshold: float
    observation: Mapping[str, Any]
    sources: tuple[SourceView, ...]
    core_sources: tuple[Source, ...]
    budgets: tuple[tuple[float, ...], ...]
    rules: tuple[RuleView, ...]

    @property
    def lead(self) -> RuleView:
        """The outcome of the first rule."""
        return self.rules[0]


@dataclass(frozen=True, slots=True)
class ResponseChange:
    """The lead rule's outcome or contract became another one."""

    step: int
    time: float
    rule: str
    contract: str
    outcome: str
    previous: str | None
    check: str | None

    def payload(self) -> dict[str, Any]:
        """Return plain values for an event; absent ones are empty text."""
        return {
            "step": self.step,
            "time": self.time,
            "rule": self.rule,
            "contract": self.contract,
            "outcome": self.outcome,
            "previous": self.previous or "",
            "check": self.check or "",
        }
