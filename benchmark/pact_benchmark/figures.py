"""The pictures of the selective evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pact_benchmark.metrics import Reliability
from pact_benchmark.plotting import GREY, RULE_STYLE, RuleStyle, new_figure
from pact_benchmark.selection import Curve
from pact_benchmark.study import Statistic

_COVERAGE = (0.05, 0.45)


def rule_style(rule: str) -> RuleStyle:
    """Return how a rule looks; one that is not of the compared set is drawn in grey."""
    return RULE_STYLE.get(rule) or RuleStyle(rule, GREY, "8", "--")


def rule_label(rule: str) -> str:
    """Return a rule's name for people."""
    return rule_style(rule).label


def risk_coverage(curves: Mapping[str, Curve], operating_target: float, title: str) -> Figure:
    """Draw conditional risk against coverage, one line per rule."""
    figure = new_figure(7.2, 3.8)
    axes = figure.add_subplot()
    for rule, curve in curves.items():
        coverage, risk = curve.coverage, curve.risk
        shown = (coverage >= _COVERAGE[0]) & (coverage <= _COVERAGE[1])
        axes.plot(coverage[shown], risk[shown], markevery=5, **_look(rule))
    axes.axvline(operating_target, color="0.4", linestyle="--", linewidth=1.0)
    axes.set(
        title=title,
        xlabel="Coverage",
        ylabel="Conditional risk",
        xlim=_COVERAGE,
        ylim=(-0.02, 1.02),
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def score_dependence(values: pd.DataFrame, support: tuple[float, float]) -> Figure:
    """Draw the area of each rule (rows, by label) under each score (columns)."""
    figure = new_figure(7.2, 3.8)
    axes = figure.add_subplot()
    by_label = {style.label: rule for rule, style in RULE_STYLE.items()}
    place = np.arange(len(values.columns))
    for label, row in values.iterrows():
        look = _look(by_label.get(str(label), str(label)))
        axes.plot(place, row.to_numpy(float), linewidth=0.8, markersize=6.0, **look)
    axes.set_xticks(place, [str(name).replace(" ", "\n") for name in values.columns])
    axes.set(xlabel="Selection score", ylabel=_area_label(support))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def areas(values: Mapping[str, Statistic], support: tuple[float, float]) -> Figure:
    """Draw one area with its interval per rule."""
    figure = new_figure(6.4, 3.0)
    axes = figure.add_subplot()
    shown = [(rule, found) for rule, found in values.items() if found.value is not None]
    shown.sort(key=lambda item: -float(item[1].value or 0.0))
    for place, (rule, found) in enumerate(shown):
        style = rule_style(rule)
        interval_dot(axes, place, found, marker=style.marker, color=style.colour)
    axes.set_yticks(range(len(shown)), [rule_label(rule) for rule, _ in shown])
    axes.set(xlabel=_area_label(support))
    return figure


def reliability(diagrams: Mapping[str, Reliability]) -> Figure:
    """Draw confidence against accuracy, one panel per rule, with the share of rows as bars."""
    columns = 4
    rows = -(-len(diagrams) // columns)
    figure = new_figure(2.1 * columns, 2.2 * rows)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (rule, diagram) in zip(panels, diagrams.items(), strict=False):
        look = _look(rule)
        filled = diagram.count > 0
        share = diagram.count / max(int(diagram.count.sum()), 1)
        axes.bar(diagram.lower + 0.05, share, width=0.1, color="0.85", edgecolor="0.7")
        axes.plot([0, 1], [0, 1], color="0.5", linestyle=":", linewidth=1.0)
        axes.plot(diagram.confidence[filled], diagram.accuracy[filled], **look)
        axes.set_title(look["label"], fontsize=8)
    for axes in panels[len(diagrams) :]:
        axes.set_visible(False)
    figure.supxlabel("Confidence (posterior peak)")
    figure.supylabel("Accuracy; share of rows (bars)")
    return figure


def interval_dot(
    axes: Axes, place: float, found: Statistic, *, upright: bool = False, **look: Any
) -> None:
    """Draw a statistic as a dot with its interval, at `place` on the other axis; none if empty."""
    if found.value is None:
        return
    value = float(found.value)
    spread = [
        [0.0 if found.low is None else max(value - found.low, 0.0)],
        [0.0 if found.high is None else max(found.high - value, 0.0)],
    ]
    drawn = {"linestyle": "none", "capsize": 2, "markersize": 5, **look}
    if upright:
        axes.errorbar(place, value, yerr=spread, **drawn)
    else:
        axes.errorbar(value, place, xerr=spread, **drawn)


def metric_panels(
    rows: Mapping[str, Mapping[str, Statistic]], labels: Mapping[str, str], titles: Sequence[str]
) -> Figure:
    """Draw one panel per metric with a dot and an interval per rule.

    Args:
        rows: for each rule its statistics, one per panel.
        labels: names of the rules.
        titles: what stands below each panel.
    """
    figure = new_figure(9.2, 0.9 + 0.26 * len(rows))
    panels = figure.subplots(1, len(titles), sharey=True)
    names = list(rows)[::-1]
    for axes, (metric, title) in zip(panels, enumerate(titles), strict=True):
        for place, rule in enumerate(names):
            style = rule_style(rule)
            found = list(rows[rule].values())[metric]
            interval_dot(axes, place, found, marker=style.marker, color=style.colour)
        axes.set_xlabel(title)
    panels[0].set_yticks(range(len(names)), [labels[rule] for rule in names])
    return figure


def _look(rule: str) -> dict[str, Any]:
    return dict(rule_style(rule).kwargs)


def _area_label(support: tuple[float, float]) -> str:
    return f"ncsAURC over coverage [{support[0]:.2f}, {support[1]:.2f}]"
