"""The design: how many rows there are, and in which state their sources are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as MatplotlibFigure
from numpy.typing import NDArray

from pact_benchmark.data import ADVERSARIAL, Benchmark
from pact_benchmark.names import value_name
from pact_benchmark.plotting import BLUE, GREY, ORANGE, PURPLE, new_figure
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study


@study(
    "design",
    title="Design counts",
    purpose="count rows, scenes, conditions and source states",
    order=10,
)
def run(context: StudyContext) -> StudyResult:
    """Run the study."""
    return compute(context.benchmark)


def compute(benchmark: Benchmark) -> StudyResult:
    """Count the rows of a benchmark by what the design fixes."""
    unavailable = benchmark.unavailable_count
    invalid = ~benchmark.observed & ~np.asarray(benchmark.sources.unavailable)
    adversarial = benchmark.in_condition(ADVERSARIAL)
    roles = benchmark.sources.roles
    context_pair = benchmark.observed[:, [roles.index("geometry"), roles.index("risk")]].all(axis=1)
    sizes = np.bincount(benchmark.condition, minlength=len(benchmark.condition_names))
    three = benchmark.three_valid
    counts = {
        "instances": benchmark.n,
        "scenes": benchmark.scenes,
        "conditions": len(benchmark.condition_names),
        "three_valid_sources": three.sum(),
        "one_unavailable": (unavailable == 1).sum(),
        "all_unavailable": (unavailable == len(roles)).sum(),
        "one_invalid": (invalid.sum(axis=1) == 1).sum(),
        "base_eligible": benchmark.base_eligible.sum(),
        "geometry_and_risk_valid": context_pair.sum(),
        "sources_present": benchmark.sources_present.sum(),
        "any_unavailable": (unavailable > 0).sum(),
        "unavailable_or_invalid": (~three).sum(),
        "adversarial_consensus": adversarial.sum(),
        "without_adversarial": (~adversarial).sum(),
        "three_valid_without_adversarial": (three & ~adversarial).sum(),
    }
    statistics = {
        f"design.{name}": Statistic(int(value), n=benchmark.n) for name, value in counts.items()
    }
    even = np.unique(sizes).size == 1
    statistics["design.instances_per_condition"] = Statistic(
        int(sizes[0]) if even else None,
        n=benchmark.n,
        note=None if even else f"conditions differ: {sizes.min()} to {sizes.max()} rows",
    )
    states = _states(benchmark)
    return StudyResult(
        statistics,
        tables=[Table("design_conditions", "Rows by source condition", _by_condition(benchmark))],
        figures=[
            Figure(
                "design",
                "States of the sources by condition",
                "Stacked bars, one per source condition: rows with three valid sources, with one"
                " source unavailable, with one invalid, and with all unavailable.",
                lambda: _draw(benchmark.condition_names, states),
            )
        ],
        reading="Counts that follow from the design alone; they do not depend on any opinion.",
    )


def _states(benchmark: Benchmark) -> dict[str, NDArray[np.intp]]:
    """Return the rows of each condition by the state of their sources, each of shape [C]."""
    unavailable = benchmark.unavailable_count
    every = len(benchmark.sources.roles)
    states = {
        "three valid sources": benchmark.three_valid,
        "one unavailable": (unavailable > 0) & (unavailable < every),
        "one invalid": ~benchmark.three_valid & (unavailable == 0),
        "all unavailable": unavailable == every,
    }
    size = len(benchmark.condition_names)
    return {
        name: np.bincount(benchmark.condition[rows], minlength=size)
        for name, rows in states.items()
    }


def _draw(names: Sequence[str], states: dict[str, NDArray[np.intp]]) -> MatplotlibFigure:
    figure = new_figure(7.6, 0.9 + 0.26 * len(names))
    axes = figure.add_subplot()
    looks = ((BLUE, ""), (ORANGE, "//"), (PURPLE, ".."), (GREY, "xx"))
    place, start = np.arange(len(names))[::-1], np.zeros(len(names))
    for (state, rows), (colour, hatch) in zip(states.items(), looks, strict=True):
        axes.barh(
            place,
            rows,
            left=start,
            height=0.7,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=state,
        )
        start += rows
    axes.set_yticks(place, [value_name(name) for name in names])
    axes.set_xlabel("rows")
    axes.grid(False, axis="y")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def _by_condition(benchmark: Benchmark) -> pd.DataFrame:
    """Return rows, eligible rows and source states of each condition."""
    frame = pd.DataFrame(
        {
            "condition": np.asarray(benchmark.condition_names)[benchmark.condition],
            "rows": 1,
            "three valid": benchmark.three_valid,
            "base eligible": benchmark.base_eligible,
            "some unavailable": benchmark.unavailable_count > 0,
        }
    )
    return frame.groupby("condition", as_index=False).sum()
