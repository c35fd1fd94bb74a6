"""What the panel shows, as plain values: the widgets and the still picture draw the same model."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pact_core import HANDOVER, RELEASE_NAMES
from pact_handover.palette import OUTCOMES, Look, component_colour
from pact_handover.results import RuleView, SourceView, StepRecord

READOUTS = (
    ("hand_object_distance", "Hand to object", "m"),
    ("closing_speed", "Closing speed", "m/s"),
    ("clearance", "Clearance", "m"),
    ("path_clearance", "Path clearance", "m"),
    ("separation_margin", "Separation margin", "m"),
    ("occlusion", "Occlusion", ""),
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a name, a share in [0, 1], its text, and whether it is the chosen one."""

    name: str
    share: float
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Budget:
    """The evidence that one provenance component retains.

    Attributes:
        members: Roles in the component.
        colour: Colour of the component, `#RRGGBB`.
        values: Retained evidence per contract.
        total: Their sum.
        shares: Values divided by the largest value of all components, in [0, 1].
    """

    members: tuple[str, ...]
    colour: str
    values: tuple[float, ...]
    total: float
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A source or a parent record in the provenance graph, at (x, y) in [0, 1], y downwards."""

    name: str
    kind: str
    x: float
    y: float
    colour: str
    faded: bool


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A parent of a source: indices of two nodes."""

    source: int
    parent: int
    colour: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One line of the comparison of rules."""

    rule: str
    contract: str
    score: str
    peak: str
    look: Look
    check: str
    agrees: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of equal outcomes on the time line, from `start` to `end` in [0, 1]."""

    start: float
    end: float
    outcome: str
    contract: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Everything that the panel shows for one decision."""

    title: str
    subtitle: str
    look: Look
    headline: str
    reason: str
    remedy: str
    posterior: tuple[Bar, ...]
    budgets: tuple[Budget, ...]
    score: float
    threshold: float
    score_text: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    rules: tuple[RuleRow, ...]
    timeline: tuple[Segment, ...]
    time_span: tuple[float, float]
    readouts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the lead rule's outcome is what it is, and what would change it."""

    reason: str
    remedy: str


def panel_of(record: StepRecord, history: Sequence[StepRecord], explanation: Explanation) -> Panel:
    """Return the panel for a decision and the decisions up to it."""
    lead = record.lead
    nodes, edges = provenance_graph(record.sources)
    return Panel(
        title=f"{record.scene} · {record.condition}",
        subtitle=f"command {_contract(record.label)} · step {record.step} · {record.time:.2f} s",
        look=OUTCOMES[lead.outcome],
        headline=f"{OUTCOMES[lead.outcome].word} · contract {_contract(lead.contract)}",
        reason=explanation.reason,
        remedy=explanation.remedy,
        posterior=posterior_bars(lead),
        budgets=budget_bars(record),
        score=lead.score,
        threshold=record.threshold,
        score_text=_score_text(lead, record.threshold),
        nodes=nodes,
        edges=edges,
        rules=tuple(_rule_row(rule, lead) for rule in record.rules),
        timeline=timeline_of(history),
        time_span=(history[0].time, history[-1].time) if history else (record.time, record.time),
        readouts=_readouts(record),
    )


def posterior_bars(rule: RuleView) -> tuple[Bar, ...]:
    """Return one bar per contract, in contract order."""
    return tuple(
        Bar(_contract(name), _clip(p), f"{p:.3f}", name == rule.contract)
        for name, p in zip(HANDOVER.names, rule.posterior, strict=True)
    )


def budget_bars(record: StepRecord) -> tuple[Budget, ...]:
    """Return the budget of every component, scaled to the largest coordinate of all."""
    scale = max((value for budget in record.budgets for value in budget), default=0.0)
    bars = []
    for rank, values in enumerate(record.budgets):
        members = tuple(s.role for s in record.sources if s.component == rank)
        shares = tuple(_clip(value / scale) if scale > 0 else 0.0 for value in values)
        bars.append(Budget(members, component_colour(rank), values, sum(values), shares))
    return tuple(bars)


def provenance_graph(
    sources: Sequence[SourceView],
) -> tuple[tuple[GraphNode, ...], tuple[GraphEdge, ...]]:
    """Place sources on the left and their parents on the right; colour both by component."""
    nodes = [
        GraphNode(s.role, "source", 0.2, _spread(i, len(sources)), component_colour(s.component),
                  s.state != "observed")
        for i, s in enumerate(sources)
    ]  # fmt: skip
    owner: dict[str, int] = {}
    for source in sources:
        for parent in source.parents:
            owner.setdefault(parent, source.component)
    first = len(nodes)
    for i, (parent, rank) in enumerate(owner.items()):
        place = _spread(i, len(owner))
        name = short_name(parent)
        nodes.append(GraphNode(name, "parent", 0.55, place, component_colour(rank), False))
    index = {parent: first + i for i, parent in enumerate(owner)}
    edges = tuple(
        GraphEdge(i, index[parent], component_colour(source.component))
        for i, source in enumerate(sources)
        for parent in source.parents
    )
    return tuple(nodes), edges


def timeline_of(history: Sequence[StepRecord]) -> tuple[Segment, ...]:
    """Join neighbouring decisions with the same outcome and contract into segments."""
    segments: list[Segment] = []
    count = len(history)
    for i, record in enumerate(history):
        start, end = i / count, (i + 1) / count
        outcome, contract = record.lead.outcome, record.lead.contract
        last = segments[-1] if segments else None
        if last and (last.outcome, last.contract) == (outcome, contract):
            segments[-1] = Segment(last.start, end, outcome, contract)
        else:
            segments.append(Segment(start, end, outcome, contract))
    return tuple(segments)


RULE_TITLES = {
    "pact": "PACT",
    "pact_singleton": "PACT, singletons",
    "nested_dirichlet": "Nested Dirichlet",
}


def rule_title(rule: str) -> str:
    """Return the name of a rule for people."""
    return RULE_TITLES.get(rule, rule.replace("_", " ").capitalize())


def short_name(parent: str) -> str:
    """Return a parent's name with a long hash cut to its first digits."""
    return re.sub(r"([0-9a-f]{8})[0-9a-f]{24,}", r"\1…", parent)


def _rule_row(rule: RuleView, lead: RuleView) -> RuleRow:
    return RuleRow(
        rule=rule_title(rule.rule),
        contract=rule.contract,
        score=f"{rule.score:.3f}",
        peak=f"{max(rule.posterior):.3f}",
        look=OUTCOMES[rule.outcome],
        check=(rule.check or "").replace("_", " ").capitalize(),
        agrees=(rule.contract, rule.outcome) == (lead.contract, lead.outcome),
    )


def _score_text(rule: RuleView, threshold: float) -> str:
    if not rule.base_eligible:
        return f"{rule.score:.3f} · not eligible: fewer than two observed sources"
    if threshold <= 0:
        return f"{rule.score:.3f} · no threshold"
    sign, word = ("≥", "selected") if rule.score >= threshold else ("<", "withheld")
    return f"{rule.score:.3f} {sign} {threshold:.3f} · {word}"


def _readouts(record: StepRecord) -> tuple[tuple[str, str], ...]:
    shown = []
    for column, title, unit in READOUTS:
        value = getattr(record.observation, column)
        text = "–" if not math.isfinite(value) else f"{value:.3f} {unit}".strip()
        shown.append((title, text))
    return tuple(shown)


def _contract(name: str) -> str:
    return f"{name} ({RELEASE_NAMES[name].replace('_', ' ')})"


def _spread(index: int, count: int) -> float:
    return (index + 0.5) / max(count, 1)


def _clip(value: float) -> float:
    return min(max(value, 0.0), 1.0)
