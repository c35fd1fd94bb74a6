"""What a sweep found: ranges, orderings, Sobol indices, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.bootstrap import clopper_pearson
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.study import Figure, Statistic, StudyEntry, StudyResult, Table
from pact_benchmark.sweep.design import FACTORS, SweepDesign
from pact_benchmark.sweep.indices import Indices, sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Floats = NDArray[np.float64]

FACTOR_LABEL = {
    "language_peak": "language peak",
    "generation_concentration": "generation concentration",
    "quality_multiplier": "quality multiplier",
    "conflict_multiplier": "conflict multiplier",
    "occlusion_strength": "occlusion strength",
}


FULL_DESIGN = 256
"""Points of the published design; a smaller one is labelled as partial."""

SOBOL = StudyEntry(
    "sobol",
    "Sensitivity sweep",
    "Do the ranges and the ordering of the rules hold over settings of the opinion generator?",
    400,
)


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """The finished shards of a sweep.

    Attributes:
        design: the design.
        points: shards of the main design, in order.
        matrices: shards of the sample matrices of the Sobol indices, in order.
    """

    design: SweepDesign
    points: list[dict[str, Any]]
    matrices: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


def areas(shards: Sequence[dict[str, Any]], rule: str) -> Floats:
    """Return the areas of a rule over shards [n]; NaN where the curve did not span."""
    values = [shard["rules"][rule]["ncsaurc"] for shard in shards]
    return np.array([np.nan if value is None else value for value in values])


def point_table(outcome: SweepOutcome) -> pd.DataFrame:
    """Return one row per setting: factors, and area and counts of each rule."""
    records = []
    for index, shard in enumerate(outcome.points):
        record = {"point": index, **{name: shard["setting"][name] for name in FACTORS}}
        for rule in outcome.design.rules:
            for name in ("ncsaurc", "admitted", "wrong"):
                record[f"{rule}.{name}"] = shard["rules"][rule][name]
        records.append(record)
    return pd.DataFrame.from_records(records)


def summarise_sweep(outcome: SweepOutcome) -> StudyResult:
    """Return ranges, orderings and indices of a sweep; what is partial says so."""
    design = outcome.design
    count = len(outcome.points)
    full = max(design.points, FULL_DESIGN)
    partial = None if count >= full else f"partial: {count} of {full} settings"
    statistics: dict[str, Statistic] = {}
    values = {rule: areas(outcome.points, rule) for rule in design.rules}
    for rule, found in values.items():
        statistics[f"sobol.{rule}.range"] = _range(found, partial)
        statistics[f"sobol.{rule}.wrong_at_013"] = _most_wrong(outcome.points, rule).noted(partial)
    for rule, found in values.items():
        if rule != "pact" and "pact" in values:
            below = int(np.count_nonzero(values["pact"] < found))
            statistics[f"sobol.pact_below_{rule}"] = Statistic(below, n=count, note=partial)
    table = point_table(outcome)
    tables = [
        Table(
            "sobol_points",
            f"ncsAURC after admission over [{design.support[0]}, {design.support[1]}] by setting",
            table,
            partial or "",
        )
    ]
    figures = [
        Figure(
            "sobol",
            "ncsAURC over the settings of the sweep",
            "Areas of three rules: settings in order of PACT's area, and against each factor.",
            lambda: _draw_points(table, design),
        )
    ]
    if outcome.matrices:
        indices = _indices(outcome, statistics)
        if indices:
            tables.append(Table("sobol_indices", "Sobol indices", _index_table(indices)))
            figures.append(
                Figure(
                    "sobol_indices",
                    "First-order and total Sobol indices",
                    "Bars with intervals: share of each rule's variance explained by each factor.",
                    lambda: _draw_indices(indices),
                )
            )
    reading = (
        "The ordering holds where PACT's line stays lowest. A first-order index is the share of"
        " variance that a factor explains alone, a total index with all interactions."
    )
    return StudyResult(statistics, tables, figures, reading)


def _most_wrong(shards: Sequence[dict[str, Any]], rule: str) -> Statistic:
    """Return the largest number of wrong admissions at one setting."""
    counts = [shard["rules"][rule] for shard in shards]
    wrong = max(found["wrong"] for found in counts)
    note = "largest over the settings"
    if wrong:
        return Statistic(wrong, n=len(counts), note=note)
    rows = min(found["n"] for found in counts)
    high = rows * clopper_pearson(0, rows)[1]
    note += f"; no event in the {rows} rows of any: exact binomial interval of one setting"
    return Statistic(0, 0.0, high, len(counts), note)


def _range(values: Floats, partial: str | None) -> Statistic:
    defined = values[~np.isnan(values)]
    lost = values.size - defined.size
    notes = [text for text in (partial, f"{lost} settings without support" if lost else "") if text]
    note = "; ".join([*notes, "smallest and largest over the settings"])
    if not defined.size:
        return Statistic(None, n=values.size, note=note)
    # The published entry is a pair of numbers under one id.
    low, high = float(defined.min()), float(defined.max())
    ends: Any = [low, high]
    return Statistic(ends, low, high, values.size, note)


def _indices(outcome: SweepOutcome, statistics: dict[str, Statistic]) -> dict[str, Indices]:
    """Compute the indices of every rule that has an area at all settings; say why one has not."""
    found: dict[str, Indices] = {}
    design = outcome.design
    for rule in design.rules:
        values = {name: areas(shards, rule) for name, shards in outcome.matrices.items()}
        settings = sum(value.size for value in values.values())
        lost = sum(int(np.isnan(value).sum()) for value in values.values())
        if lost:
            note = f"{lost} of {settings} settings without support: no index"
            for kind, factor in product(("first", "total"), FACTORS):
                statistics[f"sobol.{rule}.{kind}.{factor}"] = Statistic(None, n=settings, note=note)
            continue
        found[rule] = sensitivity(values, resamples=design.index_resamples, seed=design.seed)
        for kind, by_factor in (("first", found[rule].first), ("total", found[rule].total)):
            for factor, statistic in by_factor.items():
                statistics[f"sobol.{rule}.{kind}.{factor}"] = statistic
    return found


def _index_table(indices: dict[str, Indices]) -> pd.DataFrame:
    return pd.DataFrame.from_records(
        [
            {
                "rule": RULE_STYLE[rule].label,
                "factor": FACTOR_LABEL[factor],
                "first order": item.first[factor].value,
                "first low": item.first[factor].low,
                "first high": item.first[factor].high,
                "total": item.total[factor].value,
                "total low": item.total[factor].low,
                "total high": item.total[factor].high,
            }
            for rule, item in indices.items()
            for factor in FACTORS
        ]
    )


def _draw_points(table: pd.DataFrame, design: SweepDesign) -> MatplotlibFigure:
    rules = design.rules
    figure = new_figure(9.2, 5.8)
    axes = figure.subplots(2, 3, sharey=True).ravel()
    order = np.argsort(table[f"{rules[0]}.ncsaurc"].to_numpy(dtype=float), kind="stable")
    place = np.arange(1, len(table) + 1)
    for position, rule in enumerate(rules):
        style = RULE_STYLE[rule]
        values = table[f"{rule}.ncsaurc"].to_numpy(dtype=float)
        look: dict[str, Any] = {"color": style.colour, "linestyle": "none", "markersize": 3}
        axes[0].plot(place, values[order], marker=style.marker, label=style.label, **look)
        for axis, factor in zip(axes[1:], FACTORS, strict=True):
            x = table[factor].to_numpy(dtype=float)
            levels = design.values.get(factor, ())
            if levels:
                x = np.searchsorted(levels, x) + 0.2 * (position - (len(rules) - 1) / 2)
                axis.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
            axis.plot(x, values, marker=style.marker, alpha=0.6, **look)
    axes[0].set_xlabel("setting, in order of PACT's area")
    for axis, factor in zip(axes[1:], FACTORS, strict=True):
        axis.set_xlabel(FACTOR_LABEL[factor])
    for axis in (axes[0], axes[3]):
        axis.set_ylabel("ncsAURC after admission")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(rules))
    return figure


def _draw_indices(indices: dict[str, Indices]) -> MatplotlibFigure:
    figure = new_figure(8.4, 3.2)
    axes = figure.subplots(1, 2, sharey=True)
    place = np.arange(len(FACTORS))[::-1]
    offsets = np.linspace(0.22, -0.22, len(indices)) if len(indices) > 1 else np.zeros(1)
    for axis, kind, title in zip(axes, ("first", "total"), ("first order", "total"), strict=True):
        for (rule, item), offset in zip(indices.items(), offsets, strict=True):
            style = RULE_STYLE[rule]
            found = [getattr(item, kind)[factor] for factor in FACTORS]
            value = np.array([s.value for s in found], dtype=float)
            low = np.array([s.low for s in found], dtype=float)
            high = np.array([s.high for s in found], dtype=float)
            spread = np.nan_to_num(np.clip([value - low, high - value], 0.0, None))
            axis.errorbar(
                value,
                place + offset,
                xerr=spread,
                fmt=style.marker,
                color=style.colour,
                label=style.label,
                capsize=2,
            )
        axis.axvline(0.0, color="black", linewidth=0.8)
        axis.set_xlabel(f"{title} index")
    axes[0].set_yticks(place, [FACTOR_LABEL[factor] for factor in FACTORS])
    axes[1].legend(loc="best")
    return figure
