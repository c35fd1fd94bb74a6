"""Figures of the study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as MatplotlibFigure

from pact_benchmark import plotting
from pact_benchmark.learned.analysis import Analysis
from pact_benchmark.learned.arms import MULTIPLICITIES, Arm
from pact_benchmark.learned.lattice import SCORES, Surface
from pact_benchmark.study import Figure

COLOURS = (plotting.BLUE, plotting.VERMILION, plotting.GREEN, plotting.PURPLE, plotting.ORANGE)
MARKERS = ("o", "s", "^", "D", "v")
SCORE_NAMES = {"selection": "selection score", "posterior": "posterior confidence"}


def all_figures(analyses: Sequence[Analysis], prefix: str) -> list[Figure]:
    """Return the figures of the given pairs, their ids starting with `prefix`."""
    surfaces = [analysis.surface for analysis in analyses if analysis.surface is not None]
    figures = [
        Figure(
            f"{prefix}_budget_multiplicity",
            "Evidence budget by multiplicity and counting assignment",
            "Budget over the original-view budget against the multiplicity of one view: flat for "
            "copies within their component, rising for false refinement.",
            lambda: draw_budgets(analyses),
        )
    ]
    if surfaces:
        surface = Figure(
            f"{prefix}_coarsening_surface",
            "Evidence-budget contraction does not determine selective risk",
            "One panel per model with ncsAURC of every partition against its number of "
            "components, and a panel with the percentage of single merges that lower ncsAURC.",
            lambda: draw_surfaces(surfaces),
        )
        figures.insert(0, surface)
    return figures


def draw_surfaces(surfaces: Sequence[Surface]) -> MatplotlibFigure:
    """Draw ncsAURC by component count per pair, and the shares of merges that lower it."""
    panels = len(surfaces) + 1
    figure = plotting.new_figure(2.9 * panels, 3.0)
    axes: Any = figure.subplots(1, panels, squeeze=False)[0]
    for index, surface in enumerate(surfaces):
        _draw_surface(axes[index], surface, COLOURS[index % len(COLOURS)])
        axes[index].set_title(f"({chr(97 + index)}) {surface.title}", loc="left")
    _draw_shares(axes[-1], surfaces)
    axes[-1].set_title(f"({chr(97 + len(surfaces))}) Single merges", loc="left")
    return figure


def _draw_surface(axis: Any, surface: Surface, colour: str) -> None:
    components, values = surface.components, surface.area[0]
    counts = np.unique(components)
    for count in counts:
        inside = np.sort(values[components == count])
        spread = np.linspace(-0.28, 0.28, len(inside)) if len(inside) > 1 else np.zeros(1)
        # Neighbours in rank are put far apart, so that the points do not form a line.
        shuffled = np.random.default_rng(int(count)).permutation(spread)
        axis.scatter(
            count + shuffled, inside, s=9, color=colour, alpha=0.45, linewidths=0, zorder=2
        )
    medians = [np.median(values[components == count]) for count in counts]
    axis.plot(counts, medians, color=plotting.BLACK, marker="_", markersize=14, zorder=3)
    axis.set_xticks(counts)
    axis.invert_xaxis()
    axis.set_xlabel("components (coarser to the right)")
    axis.set_ylabel("ncsAURC [0.10, 0.90]")
    axis.set_ylim(bottom=0.0)


def _draw_shares(axis: Any, surfaces: Sequence[Surface]) -> None:
    width = 0.8 / len(SCORES)
    for index, score in enumerate(SCORES):
        shares = [surface.share(index, -1) for surface in surfaces]
        place = np.arange(len(surfaces)) + (index - (len(SCORES) - 1) / 2) * width
        height = [float(share.value or 0.0) for share in shares]
        colour = (plotting.BLUE, plotting.ORANGE)[index]
        axis.bar(place, height, width * 0.92, color=colour, label=SCORE_NAMES[score], zorder=2)
        for x, share in zip(place, shares, strict=True):
            if share.low is not None and share.high is not None:
                axis.plot([x, x], [share.low, share.high], color=plotting.BLACK, lw=1.0, zorder=3)
    axis.set_xticks(np.arange(len(surfaces)), [s.title.replace("–", "\n") for s in surfaces])
    axis.set_ylabel("merges that lower ncsAURC (%)")
    axis.margins(y=0.25)
    axis.set_ylim(bottom=0.0)
    axis.legend(loc="upper left")


def draw_budgets(analyses: Sequence[Analysis]) -> MatplotlibFigure:
    """Draw the budget over its original-view value against the multiplicity."""
    figure = plotting.new_figure(5.2, 3.2)
    axis: Any = figure.subplots()
    ticks = (1, *MULTIPLICITIES)
    for index, analysis in enumerate(analyses):
        study, colour = analysis.pooled, COLOURS[index % len(COLOURS)]
        marker = MARKERS[index % len(MARKERS)]
        for arm, line in ((Arm.REFINE, "-"), (Arm.COPIES, ":")):
            ratio = [1.0, *(study.ratio(study.arms[arm, m]) for m in MULTIPLICITIES)]
            label = analysis.title if arm is Arm.REFINE else None
            axis.plot(ticks, ratio, color=colour, marker=marker, linestyle=line, label=label)
    axis.plot([], [], color=plotting.GREY, linestyle="-", label="copies as new origins")
    axis.plot([], [], color=plotting.GREY, linestyle=":", label="copies within their component")
    axis.set_xticks(ticks)
    axis.set_xlabel("multiplicity of one view")
    axis.set_ylabel("budget / original-view budget")
    axis.set_ylim(bottom=0.0)
    axis.legend(loc="upper left")
    return figure
