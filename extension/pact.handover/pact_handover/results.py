"""What one decision was: plain, frozen values for panel, events, time line and recorder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pact_core import HANDOVER, Source, components, decide, source_faults
from pact_scenes.instances import InstanceTable
from pact_scenes.observation import Observation

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


@dataclass(frozen=True)
class StepRecord:
    """One decision: observation, sources, component budgets and every rule's outcome.

    What only panel and recorder need is worked out when it is first asked for, so that a physics
    step does not pay for it.

    Attributes:
        step: Number of the decision since play, from 0.
        time: Simulated time [s].
        scene: Scene id.
        condition: Source condition.
        label: Commanded contract.
        kappa: Evidence scale.
        threshold: Selection threshold; 0 selects every eligible candidate.
        observation: What was observed.
        instances: The synthesised sources, a table of one row.
        core_sources: The sources as decided on, with the parents of the chosen partition.
        rules: Outcome per rule; the first one drives response, events and colours.
        benchmark: Whether this is one of the benchmark's ten decisions of the approach.
    """

    step: int
    time: float
    scene: str
    condition: str
    label: str
    kappa: float
    threshold: float
    observation: Observation
    instances: InstanceTable
    core_sources: tuple[Source, ...]
    rules: tuple[RuleView, ...]
    benchmark: bool = False

    @property
    def lead(self) -> RuleView:
        """The outcome of the first rule."""
        return self.rules[0]

    @cached_property
    def row(self) -> dict[str, Any]:
        """The columns of `instances.parquet`, with the parents of the chosen partition."""
        row = self.instances.rows()[0]
        for source in self.core_sources:
            row[f"{source.role}_parents"] = list(source.parents)
        return row

    @cached_property
    def sources(self) -> tuple[SourceView, ...]:
        """The sources for display, with the rank of their component."""
        labels = components([source.parents for source in self.core_sources])
        rank = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        return tuple(
            SourceView(
                role=source.role,
                opinion=_complete(source.opinion),
                quality=source.quality,
                conflict=source.conflict,
                state=_state(source),
                parents=tuple(str(parent) for parent in source.parents),
                component=rank[label],
            )
            for source, label in zip(self.core_sources, labels, strict=True)
        )

    @cached_property
    def budgets(self) -> tuple[tuple[float, ...], ...]:
        """Evidence that each component retains, per contract, in the order of the ranks."""
        ranks = sorted({source.component for source in self.sources})
        return tuple(self._budget(rank) for rank in ranks)

    def _budget(self, rank: int) -> tuple[float, ...]:
        members = [
            source
            for source, view in zip(self.core_sources, self.sources, strict=True)
            if view.component == rank
        ]
        evidence = decide(members, kappa=self.kappa).evidence
        return tuple(evidence) if evidence is not None else (0.0,) * len(HANDOVER)


def _complete(opinion: Any) -> tuple[float, ...] | None:
    return None if opinion is None else tuple(opinion)


def _state(source: Source) -> str:
    if not source.available:
        return "unavailable"
    faults = [word for word in source_faults(source, HANDOVER.names) if word != "conflict absent"]
    return "invalid" if faults else "observed"


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
