"""The panel as a picture: the same view model that the window shows, drawn with matplotlib.

For documents and for looking at a decision without Isaac Sim. Matplotlib is imported when a
picture is drawn, so that the extension loads without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pact_core import HANDOVER
from pact_handover.palette import OUTCOMES

from .viewmodel import Panel

BACKGROUND, CARD, TRACK = "#1E1E1E", "#2A2A2A", "#454545"
TEXT, DIM = "#EDEDED", "#A8A8A8"
CHOSEN, OTHER, THRESHOLD = "#0072B2", "#7F7F7F", "#F0E442"
SECTIONS = (
    ("headline", 1.85),
    ("posterior", 1.55),
    ("budgets", 1.75),
    ("graph", 1.7),
    ("rules", 2.0),
    ("timeline", 0.75),
    ("readouts", 1.0),
)


def save_still(panel: Panel, path: Path, *, dpi: int = 120) -> Path:
    """Draw the panel and save it; the suffix of `path` chooses PNG, SVG or PDF."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 11.6), facecolor=BACKGROUND)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(
        len(SECTIONS),
        1,
        height_ratios=[height for _, height in SECTIONS],
        left=0.03,
        right=0.97,
        top=0.99,
        bottom=0.015,
        hspace=0.1,
    )
    for row, (name, _) in enumerate(SECTIONS):
        axes = figure.add_subplot(grid[row])
        axes.set_facecolor(CARD)
        axes.set_xlim(0, 1)
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_visible(False)
        _DRAW[name](axes, panel)
    figure.savefig(path, dpi=dpi, facecolor=BACKGROUND, metadata=_undated(path))
    return path


def _undated(path: Path) -> dict[str, Any] | None:
    """Return metadata that keeps the file the same from run to run."""
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    return dates.get(path.suffix, {"Software": None})


def _title(axes: Any, text: str) -> None:
    axes.text(0.02, 0.975, text, color=DIM, size=8.5, va="top", transform=axes.transAxes)


def _bar(
    axes: Any, y: float, height: float, share: float, colour: str, span: Any = (0.3, 0.86)
) -> None:
    left, right = span
    axes.barh(y, right - left, height, left, color=TRACK)
    axes.barh(y, (right - left) * share, height, left, color=colour)


def _headline(axes: Any, panel: Panel) -> None:
    axes.set_ylim(0, 1)
    axes.text(0.02, 0.95, panel.title, color=TEXT, size=11, weight="bold", va="top")
    axes.text(0.02, 0.82, panel.subtitle, color=DIM, size=8.5, va="top")
    axes.barh(0.60, 0.96, 0.2, 0.02, color=panel.look.colour)
    axes.text(
        0.5, 0.60, panel.headline, color=panel.look.ink, size=12.5, weight="bold",
        ha="center", va="center",
    )  # fmt: skip
    reason = _wrapped(panel.reason)
    below = 0.46 - 0.115 * (reason.count("\n") + 1)
    axes.text(0.02, 0.46, reason, color=TEXT, size=8.5, va="top")
    axes.text(0.02, below, _wrapped(panel.remedy), color=DIM, size=8.5, va="top")


def _wrapped(text: str, width: int = 86) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))


def _posterior(axes: Any, panel: Panel) -> None:
    _title(axes, "Posterior and score")
    axes.set_ylim(-0.4, 6.9)
    for row, bar in enumerate(panel.posterior):
        y = 5.5 - row
        axes.text(0.02, y, bar.name, color=TEXT, size=8.5, va="center")
        _bar(axes, y, 0.66, bar.share, CHOSEN if bar.chosen else OTHER)
        axes.text(0.88, y, bar.text, color=TEXT, size=8.5, va="center")
    axes.text(0.02, 0.35, "Score", color=TEXT, size=8.5, va="center")
    _bar(axes, 0.35, 0.66, panel.score, panel.look.colour)
    if panel.threshold > 0:
        x = 0.3 + 0.56 * panel.threshold
        axes.plot([x, x], [-0.2, 0.9], color=THRESHOLD, linewidth=2)
    axes.text(0.88, 0.35, f"{panel.score:.3f}", color=TEXT, size=8.5, va="center")
    axes.text(0.98, 6.72, panel.score_text, color=DIM, size=8, ha="right", va="top")


def _budgets(axes: Any, panel: Panel) -> None:
    _title(axes, "Evidence budget per component")
    names = HANDOVER.names
    count = max(len(panel.budgets), 1)
    axes.set_ylim(-0.3, len(names) + 1.6)
    width = 0.98 / count
    for column, budget in enumerate(panel.budgets):
        left = 0.02 + column * width
        head = f"{' + '.join(budget.members)}: {budget.total:.2f}"
        axes.text(left, len(names) + 0.35, head, color=budget.colour, size=8.5, weight="bold")
        for row, (name, value, share) in enumerate(
            zip(names, budget.values, budget.shares, strict=True)
        ):
            y = len(names) - 0.4 - row
            axes.text(left, y, name, color=TEXT, size=8.5, va="center")
            span = (left + 0.035, left + width - 0.1)
            _bar(axes, y, 0.66, share, budget.colour, span)
            axes.text(span[1] + 0.01, y, f"{value:.2f}", color=TEXT, size=8, va="center")


def _graph(axes: Any, panel: Panel) -> None:
    _title(axes, "Provenance: sources and their parents, one colour per component")
    axes.set_ylim(1.02, -0.14)
    for edge in panel.edges:
        ends = panel.nodes[edge.source], panel.nodes[edge.parent]
        axes.plot(
            [node.x for node in ends], [node.y for node in ends],
            color=edge.colour, linewidth=1.4, zorder=1,
        )  # fmt: skip
    for node in panel.nodes:
        source = node.kind == "source"
        axes.scatter(
            node.x, node.y, s=75 if source else 40, marker="o" if source else "s",
            facecolor=CARD if node.faded else node.colour, edgecolor=node.colour, zorder=2,
        )  # fmt: skip
        axes.text(
            node.x - 0.025 if source else node.x + 0.025, node.y, node.name,
            color=DIM if node.faded else TEXT, size=8.5, ha="right" if source else "left",
            va="center",
        )  # fmt: skip


def _rules(axes: Any, panel: Panel) -> None:
    _title(axes, "Rules side by side: contract, score, outcome, check")
    count = max(len(panel.rules), 1)
    axes.set_ylim(-0.2, count + 0.9)
    for row, rule in enumerate(panel.rules):
        y = count - 0.5 - row
        axes.text(0.02, y, rule.rule, color=TEXT, size=8.5, va="center")
        axes.text(0.33, y, rule.contract, color=TEXT, size=8.5, va="center", ha="center")
        axes.text(0.41, y, rule.score, color=DIM, size=8.5, va="center", ha="center")
        axes.barh(y, 0.2, 0.74, 0.47, color=rule.look.colour)
        axes.text(0.57, y, rule.look.word, color=rule.look.ink, size=7.5, ha="center", va="center")
        axes.text(0.69, y, rule.check, color=DIM, size=7.5, va="center")


def _timeline(axes: Any, panel: Panel) -> None:
    _title(axes, "Time line of responses")
    axes.set_ylim(0, 1)
    for segment in panel.timeline:
        look = OUTCOMES[segment.outcome]
        left, right = 0.02 + 0.96 * segment.start, 0.02 + 0.96 * segment.end
        axes.barh(0.42, right - left, 0.34, left, color=look.colour, edgecolor=CARD, linewidth=0.5)
        if right - left > 0.03:
            axes.text(
                (left + right) / 2, 0.42, segment.contract,
                color=look.ink, size=8, ha="center", va="center",
            )  # fmt: skip
    begin, end = panel.time_span
    axes.text(0.02, 0.05, f"{begin:.2f} s", color=DIM, size=7.5)
    axes.text(0.98, 0.05, f"{end:.2f} s", color=DIM, size=7.5, ha="right")


def _readouts(axes: Any, panel: Panel) -> None:
    _title(axes, "Observation")
    rows = (len(panel.readouts) + 1) // 2
    axes.set_ylim(-0.3, rows + 0.8)
    for i, (name, text) in enumerate(panel.readouts):
        x, y = (0.02, 0.52)[i // rows], rows - 0.6 - i % rows
        axes.text(x, y, name, color=DIM, size=8.5, va="center")
        axes.text(x + 0.27, y, text, color=TEXT, size=8.5, va="center")


_DRAW = {
    "headline": _headline,
    "posterior": _posterior,
    "budgets": _budgets,
    "graph": _graph,
    "rules": _rules,
    "timeline": _timeline,
    "readouts": _readouts,
}
