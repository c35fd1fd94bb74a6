"""Matched comparison: singleton or provenance partition, with or without corroboration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as MatplotlibFigure
from numpy.typing import NDArray

from pact_benchmark.data import ADVERSARIAL
from pact_benchmark.estimates import (
    Area,
    Estimator,
    Settings,
    contrast,
    estimator,
    evaluation_of,
    settings_of,
)
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.figures import interval_dot
from pact_benchmark.names import stratum_name
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.selection import Curve
from pact_benchmark.studies._cutoffs import above_cutoff, fold_cutoffs
from pact_benchmark.studies._intervals import row_count
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study
from pact_core import AdmissionPolicy, response_of

Bools = NDArray[np.bool_]

PARTITIONS = {"singleton": "pact_singleton", "provenance": "pact"}
POLICIES = ("without_corroboration", "with_corroboration")
WITHHELD = "score withheld"
ROUTES = {
    "admit": "admitted",
    "hold": "hold",
    "confirm": "confirm",
    "fallback": "fallback",
    WITHHELD: "score_withheld",
}
"""Where a row can end, by the name that its statistic has."""
TRANSITION_STRATA = ("all", "present")


@study(
    "matched",
    title="Matched partition × corroboration",
    purpose="the four cells under one score, their contrasts, and what corroboration reroutes",
    order=50,
)
def run(context: StudyContext) -> StudyResult:
    """Run the study."""
    return compute(evaluation_of(context), settings_of(context))


def compute(evaluation: Evaluation, settings: Settings) -> StudyResult:
    """Measure the four cells in each stratum, and the contrasts between them."""
    benchmark = evaluation.benchmark
    strata: dict[str, Bools | None] = {
        "all": None,
        "present": benchmark.sources_present,
        "without_adversarial": ~benchmark.in_condition(ADVERSARIAL),
    }
    primary = estimator(settings, "matched")
    narrow = replace(primary, support=settings.narrow_support)
    point = estimator(settings, "matched_operating_point")
    statistics: dict[str, Statistic] = {}
    tables = []
    for name, rows in strata.items():
        curves = _curves(evaluation, rows)
        cells = Cells({key: primary.area(curve) for key, curve in curves.items()})
        narrow_cells = Cells({key: narrow.area(curve) for key, curve in curves.items()})
        statistics |= cells.statistics(name) | narrow_cells.statistics(f"{name}_to_035")
        statistics |= _operating_points(curves, point, name, settings)
        tables.append(_cell_frame(name, curves, cells, narrow_cells, settings))
    statistics |= _named_panel_c(statistics)
    routed = {
        (name, partition): _routed(evaluation, rule, strata[name], settings)
        for name, (partition, rule) in product(TRANSITION_STRATA, PARTITIONS.items())
    }
    for (name, partition), frame in routed.items():
        prefix = f"matched.{partition}.transitions.{name}"
        statistics |= _transition_statistics(prefix, frame, point, benchmark.scenes)
    return StudyResult(
        statistics,
        tables=[
            Table(
                "matched",
                "Matched partition × corroboration under the score 1 − u",
                pd.concat(tables, ignore_index=True),
                "After admission; cutoffs refitted within each stratum. Contrasts in the "
                "statistics are means over resamples.",
            ),
            Table(
                "route_transitions",
                "Routes without and with corroboration, at the cutoffs fitted without it",
                _transition_frame(routed),
                "Cutoffs are fitted within each stratum at the operating target.",
            ),
        ],
        figures=[
            Figure(
                "matched",
                "The four cells in each stratum",
                "Three panels, one per stratum: ncsAURC without and with corroboration, a line for"
                " the singleton and one for the provenance partition, with 95% intervals.",
                lambda: _draw(statistics, list(strata), settings.support),
            )
        ],
        reading="The contrasts compare complete decision rules; they do not separate what the "
        "partition and the check each cause. Negative favours the provenance partition.",
    )


@dataclass(frozen=True, slots=True)
class Cells:
    """Areas of the four cells, by partition and policy."""

    areas: dict[tuple[str, str], Area]

    def statistics(self, stratum: str) -> dict[str, Statistic]:
        """Return the cells, the four simple effects and the interaction in one stratum."""
        off, on = POLICIES
        found = {
            f"matched.{partition}.{policy}.{stratum}": area.statistic()
            for (partition, policy), area in self.areas.items()
        }
        for policy in POLICIES:
            found[f"matched.partition_effect.{policy}.{stratum}"] = self.areas[
                "provenance", policy
            ].minus(self.areas["singleton", policy], mean=True)
        for partition in PARTITIONS:
            found[f"matched.corroboration_effect.{partition}.{stratum}"] = self.areas[
                partition, on
            ].minus(self.areas[partition, off], mean=True)
        found[f"matched.interaction.{stratum}"] = self._interaction()
        return found

    def _interaction(self) -> Statistic:
        off, on = POLICIES
        parts = [
            (1, self.areas["provenance", on]),
            (-1, self.areas["singleton", on]),
            (-1, self.areas["provenance", off]),
            (1, self.areas["singleton", off]),
        ]
        n = parts[0][1].n
        value, draws = 0.0, np.zeros(parts[0][1].draws.shape)
        for sign, area in parts:
            if area.value is None:
                return Statistic(None, n=n, note=area.note)
            value, draws = value + sign * area.value, draws + sign * area.draws
        return contrast(value, draws, n, mean=True)


def _curves(evaluation: Evaluation, rows: Bools | None) -> dict[tuple[str, str], Curve]:
    policies = dict(
        zip(POLICIES, (evaluation.without_corroboration, evaluation.policy), strict=True)
    )
    return {
        (partition, name): evaluation.curve(rule, stage="after", policy=policy, rows=rows)
        for (partition, rule), (name, policy) in product(PARTITIONS.items(), policies.items())
    }


def _operating_points(
    curves: dict[tuple[str, str], Curve], estimate: Estimator, stratum: str, settings: Settings
) -> dict[str, Statistic]:
    """Return the share of wrong and correct admissions of each cell at the operating target."""
    found = {}
    suffix = f"at_{round(100 * settings.operating_target):03d}"
    for (partition, policy), curve in curves.items():
        position = curve.index(settings.operating_target)
        admitted, wrong = curve.admitted[:, position], curve.wrong[:, position]
        prefix = f"matched.{partition}.{policy}.{stratum}"
        found[f"{prefix}.wrong_all_{suffix}"] = estimate.share(wrong, curve.n)
        found[f"{prefix}.correct_all_{suffix}"] = estimate.share(admitted - wrong, curve.n)
    return found


def _named_panel_c(statistics: dict[str, Statistic]) -> dict[str, Statistic]:
    """Return the sensitivity without adversarial consensus under its published names."""
    stratum = "with_corroboration.without_adversarial"
    return {
        "matched.singleton.without_adversarial": statistics[f"matched.singleton.{stratum}"],
        "matched.provenance.without_adversarial": statistics[f"matched.provenance.{stratum}"],
        "matched.partition_effect.without_adversarial": statistics[
            f"matched.partition_effect.{stratum}"
        ],
    }


def _cell_frame(
    stratum: str,
    curves: dict[tuple[str, str], Curve],
    cells: Cells,
    narrow: Cells,
    settings: Settings,
) -> pd.DataFrame:
    rows = []
    for (partition, policy), curve in curves.items():
        point = curve.at(settings.operating_target)
        rows.append(
            {
                "stratum": stratum,
                "partition": partition,
                "corroboration": policy == "with_corroboration",
                "rows": int(curve.n.sum()),
                "ncsAURC": cells.areas[partition, policy].value,
                "ncsAURC narrow": narrow.areas[partition, policy].value,
                "coverage": point.coverage,
                "R_all": point.wrong_all,
                "C_all": point.correct_all,
            }
        )
    return pd.DataFrame(rows)


def _draw(
    statistics: dict[str, Statistic], strata: list[str], support: tuple[float, float]
) -> MatplotlibFigure:
    figure = new_figure(8.4, 3.4)
    panels = figure.subplots(1, len(strata), sharey=True)
    for axes, stratum in zip(panels, strata, strict=True):
        for shift, (partition, rule) in zip((-0.04, 0.04), PARTITIONS.items(), strict=True):
            look = {**RULE_STYLE[rule].kwargs, "label": f"{partition} partition"}
            cells = [statistics[f"matched.{partition}.{policy}.{stratum}"] for policy in POLICIES]
            if all(cell.value is not None for cell in cells):
                axes.plot([shift, 1 + shift], [cell.value for cell in cells], **look)
            for place, cell in enumerate(cells):
                interval_dot(axes, place + shift, cell, upright=True, color=look["color"])
        axes.set_xticks([0, 1], ["without\ncorroboration", "with\ncorroboration"])
        axes.set_xlim(-0.4, 1.4)
        axes.set_title(stratum_name(stratum), fontsize=9)
    panels[0].set_ylabel(f"ncsAURC over [{support[0]:.2f}, {support[1]:.2f}]")
    panels[0].set_ylim(bottom=0.0)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _routed(
    evaluation: Evaluation, rule: str, rows: Bools | None, settings: Settings
) -> pd.DataFrame:
    """Return the route of each row of a stratum without and with corroboration.

    Cutoffs are fitted within the stratum under the policy without corroboration and stay fixed.
    Rows below them, or not base-eligible, are withheld by score.
    """
    benchmark = evaluation.benchmark
    inside = np.ones(benchmark.n, dtype=bool) if rows is None else rows
    selected = _selected(evaluation, rule, inside, settings)
    off, on = (
        np.where(selected, _routes(evaluation.held_out_responses(rule, policy), policy), WITHHELD)
        for policy in (evaluation.without_corroboration, evaluation.policy)
    )
    correct = evaluation.held_out(rule).correct
    return pd.DataFrame({"scene": benchmark.scene, "without": off, "with": on, "correct": correct})[
        inside
    ]


def _transition_frame(routed: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """Return how many rows of each stratum and partition move between which routes."""
    frames = []
    for (stratum, partition), frame in routed.items():
        moves = frame.groupby(["without", "with"], as_index=False)["correct"]
        counts = moves.agg(["size", "sum"]).rename(columns={"size": "rows", "sum": "correct"})
        frames.append(counts.assign(stratum=stratum, partition=partition))
    columns = ["stratum", "partition", "without", "with", "rows", "correct"]
    return pd.concat(frames, ignore_index=True)[columns]


def _transition_statistics(
    prefix: str, frame: pd.DataFrame, estimate: Estimator, scenes: int
) -> dict[str, Statistic]:
    """Return where the rows end with corroboration, and how many it sends elsewhere."""
    end, moved = frame["with"].to_numpy(), (frame["with"] != frame["without"]).to_numpy()
    flags = {name: end == route for route, name in ROUTES.items()}
    flags |= {"rerouted": moved, "rerouted_correct": moved & frame["correct"].to_numpy()}
    scene = frame["scene"].to_numpy()
    return {
        f"{prefix}.{name}": row_count(estimate, flag, scene, scenes) for name, flag in flags.items()
    }


def _selected(evaluation: Evaluation, rule: str, inside: Bools, settings: Settings) -> Bools:
    """Return the base-eligible held-out rows at or above the cutoff without corroboration.

    Args:
        evaluation: the rules on a benchmark.
        rule: the rule whose score is cut.
        inside: rows of the stratum, on which the cutoffs are fitted [n].
        settings: the operating target.
    """
    benchmark = evaluation.benchmark
    rankings = evaluation.rankings(rule, stage="after", policy=evaluation.without_corroboration)
    cutoffs = fold_cutoffs(evaluation, rankings, settings.operating_target, inside)
    score = evaluation.held_out(rule).score
    return inside & benchmark.base_eligible & above_cutoff(evaluation, score, cutoffs)


def _routes(codes: NDArray[np.int8], policy: AdmissionPolicy) -> NDArray[np.str_]:
    """Return the route of each admission code: admit, hold, confirm or fallback."""
    names = ["admit"]
    names += [response_of(code, policy).value for code in range(1, len(policy.checks) + 1)]
    return np.asarray(names)[codes]
