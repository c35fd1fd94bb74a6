"""Source-specific evidence scales chosen by training likelihood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.bootstrap import SEED_MAIN
from pact_benchmark.estimates import Estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation, Stage
from pact_benchmark.plotting import BLUE, RULE_STYLE, new_figure
from pact_benchmark.selection import Ranking
from pact_benchmark.studies._arms import EvidenceArm
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study
from pact_core import HANDOVER_ROLES, FusionOptions, admissible, fuse

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Floats = NDArray[np.float64]
Scales = tuple[float, float, float]

CHOSEN, EQUAL = "PACT, chosen scales", "PACT, equal scales"
NESTED = RULE_STYLE["nested_dirichlet"].label
LEVELS = (0.5, 1.0, 2.0)
"""Relative scales that each source may take before normalisation; the paper names no grid."""
OTHER_LEVELS = (
    (0.8, 1.0, 1.25),
    (0.5, 0.75, 1.0, 1.25, 1.5),
    (0.25, 0.5, 1.0, 2.0, 4.0),
)
"""Further grids, to show how far the choice depends on the one that is offered."""


def scale_grid(levels: Sequence[float] = LEVELS) -> list[Scales]:
    """Return the distinct scales of language, geometry and risk, of unit geometric mean."""
    found: dict[Scales, None] = {}
    for language, geometry, risk in product(levels, repeat=3):
        mean = (language * geometry * risk) ** (1.0 / 3.0)
        scales = (language / mean, geometry / mean, risk / mean)
        found[scales[0], scales[1], scales[2]] = None
    return list(found)


def scaled_arm(evaluation: Evaluation, scales: Scales) -> EvidenceArm:
    """Return PACT's evidence with one factor per source."""
    options = FusionOptions(kappa=1.0, source_scale=scales)
    fused = fuse(evaluation.benchmark.sources, rule="pact", options=options)
    return EvidenceArm(np.asarray(fused.evidence), evaluation.benchmark.label)


def scene_log_loss(evaluation: Evaluation, grid: list[Scales]) -> dict[float, Floats]:
    """Return PACT's summed −log posterior of the label, by concentration: scales, scene [G, S]."""
    benchmark = evaluation.benchmark
    rows, contracts = np.arange(benchmark.n), len(benchmark.sources.contracts)
    losses = {
        kappa: np.empty((len(grid), benchmark.scenes)) for kappa in set(evaluation.kappa.tolist())
    }
    for position, scales in enumerate(grid):
        arm = scaled_arm(evaluation, scales)
        support = arm.evidence[rows, benchmark.label]
        for kappa, table in losses.items():
            loss = np.log((kappa * arm.budget + contracts) / (kappa * support + 1.0))
            table[position] = np.bincount(benchmark.scene, loss, benchmark.scenes)
    return losses


def chosen_scales(evaluation: Evaluation, levels: Sequence[float] = LEVELS) -> list[Scales]:
    """Return the scales with the lowest training NLL of each outer fold."""
    benchmark = evaluation.benchmark
    grid = scale_grid(levels)
    losses = scene_log_loss(evaluation, grid)
    fold_of_scene = np.zeros(benchmark.scenes, dtype=np.int64)
    fold_of_scene[benchmark.scene] = benchmark.fold
    return [
        grid[int(losses[float(kappa)][:, fold_of_scene != index].sum(axis=1).argmin())]
        for index, kappa in enumerate(evaluation.kappa)
    ]


def scaled_rankings(evaluation: Evaluation, scales: list[Scales]) -> dict[Stage, list[Ranking]]:
    """Return PACT's order of the rows under each outer fold's scales, by stage."""
    benchmark = evaluation.benchmark
    eligible = benchmark.base_eligible
    arms = {chosen: scaled_arm(evaluation, chosen) for chosen in set(scales)}
    passed = {
        chosen: eligible
        & np.asarray(admissible(benchmark.sources, arm.contract, evaluation.policy))
        for chosen, arm in arms.items()
    }
    stages: dict[Stage, list[Ranking]] = {"before": [], "after": []}
    for chosen, kappa in zip(scales, evaluation.kappa, strict=True):
        arm, passing = arms[chosen], passed[chosen]
        score = arm.score(float(kappa))
        stages["before"].append(Ranking(score, eligible, arm.correct))
        stages["after"].append(Ranking(score, passing, arm.correct))
    return stages


def on_the_edge(scales: Sequence[Scales], levels: Sequence[float]) -> int:
    """Return in how many folds the ratio of two scales is the largest that the levels allow."""
    largest = max(levels) / min(levels)
    return sum(bool(np.isclose(max(found) / min(found), largest)) for found in scales)


def grid_sensitivity(
    evaluation: Evaluation, chosen: Mapping[tuple[float, ...], list[Scales]], estimate: Estimator
) -> pd.DataFrame:
    """Return what each grid leads to: typical scales, folds at its edge, areas."""
    records = []
    for levels, scales in chosen.items():
        stages = scaled_rankings(evaluation, scales)
        record: dict[str, object] = {"levels": ", ".join(f"{level:g}" for level in levels)}
        record |= dict(zip(HANDOVER_ROLES, _typical(scales), strict=True))
        record["folds at the edge"] = on_the_edge(scales, levels)
        for stage, rankings in stages.items():
            curve = evaluation.curve_of(rankings)
            record[f"ncsAURC {stage} admission"] = replace(estimate, draws=0).area(curve).value
        records.append(record)
    return pd.DataFrame.from_records(records)


def _typical(scales: Sequence[Scales]) -> list[float]:
    """Return the geometric mean over outer folds of each source's scale."""
    return [float(value) for value in np.exp(np.log(np.array(scales)).mean(axis=0))]


@study(
    "source_scales",
    title="Source scales",
    purpose="Does rescaling the sources by training likelihood change the ordering?",
    order=350,
)
def source_scales(context: StudyContext) -> StudyResult:
    """Choose scales on training folds and compare before and after admission."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    estimate = Estimator(settings.draws, SEED_MAIN, settings.support)
    chosen = {
        levels: chosen_scales(evaluation, levels) for levels in sorted({LEVELS, *OTHER_LEVELS})
    }
    scales = chosen[LEVELS]
    stages = scaled_rankings(evaluation, scales)
    typical = _typical(scales)
    note = (
        "geometric mean over outer folds; low and high are the folds' extremes; at the edge of "
        f"the grid in {on_the_edge(scales, LEVELS)} of {len(scales)} folds"
    )
    statistics = {
        f"source_scales.{role}": Statistic(
            typical[index],
            float(min(s[index] for s in scales)),
            float(max(s[index] for s in scales)),
            len(scales),
            note,
        )
        for index, role in enumerate(HANDOVER_ROLES)
    }
    records = []
    for stage, rankings in stages.items():
        curves = {
            CHOSEN: evaluation.curve_of(rankings),
            EQUAL: evaluation.curve("pact", stage=stage),
            NESTED: evaluation.curve("nested_dirichlet", stage=stage),
        }
        areas = {label: estimate.area(curve).statistic() for label, curve in curves.items()}
        statistics[f"source_scales.pact.{stage}_admission"] = areas[CHOSEN]
        records += [
            {
                "stage": f"{stage} admission",
                "rule": label,
                "ncsAURC": area.value,
                "low": area.low,
                "high": area.high,
            }
            for label, area in areas.items()
        ]
    frame = pd.DataFrame.from_records(records)
    chosen_frame = pd.DataFrame(scales, columns=list(HANDOVER_ROLES))
    chosen_frame.insert(0, "kappa", evaluation.kappa)
    chosen_frame.insert(0, "fold", range(len(scales)))
    tables = [
        Table("source_scales", "ncsAURC with scales chosen by training NLL", frame),
        Table("source_scales_chosen", "Chosen scales by outer fold", chosen_frame),
        Table(
            "source_scales_grids",
            "What other grids of levels would choose",
            grid_sensitivity(evaluation, chosen, estimate),
            "At the edge the ratio of two scales is the largest that the levels allow: the"
            " likelihood has its optimum beyond the grid, and the levels set the scales.",
        ),
    ]
    figure = Figure(
        "source_scales",
        "ncsAURC with equal and with chosen source scales",
        "ncsAURC before and after admission for PACT with chosen scales, PACT with equal scales"
        " and nested Dirichlet.",
        lambda: _draw(frame),
    )
    reading = (
        "Scales have unit geometric mean; lower is better. Where the choice lies at the edge of"
        " its grid, the grid sets the scales and not the likelihood."
    )
    return StudyResult(statistics, tables, [figure], reading)


def _draw(frame: pd.DataFrame) -> MatplotlibFigure:
    figure = new_figure(6.4, 2.6)
    axes = figure.subplots(1, 2)
    nested = RULE_STYLE["nested_dirichlet"]
    looks = {
        CHOSEN: (BLUE, "s", "white"),
        EQUAL: (BLUE, "o", BLUE),
        NESTED: (nested.colour, nested.marker, nested.colour),
    }
    for axis, (stage, rows) in zip(axes, frame.groupby("stage", sort=False), strict=True):
        for place, row in enumerate(rows.iloc[::-1].to_dict("records")):
            colour, marker, face = looks[row["rule"]]
            value, low, high = (
                np.nan if row[key] is None else float(row[key])
                for key in ("ncsAURC", "low", "high")
            )
            spread = np.nan_to_num([[value - low], [high - value]])
            axis.errorbar(
                value,
                place,
                xerr=spread,
                fmt=marker,
                color=colour,
                markerfacecolor=face,
                capsize=3,
            )
        axis.set_yticks(range(len(rows)), list(rows["rule"])[::-1])
        axis.set_ylim(-0.5, len(rows) - 0.5)
        axis.set_title(str(stage))
        axis.set_xlabel("ncsAURC")
        axis.locator_params(axis="x", nbins=4)
    axes[1].set_yticklabels([])
    return figure
