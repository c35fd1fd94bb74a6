"""Source-specific evidence scales chosen by training likelihood."""

from __future__ import annotations

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


def scale_grid() -> list[Scales]:
    """Return the distinct scales of language, geometry and risk, of unit geometric mean."""
    found: dict[Scales, None] = {}
    for language, geometry, risk in product(LEVELS, repeat=3):
        mean = (language * geometry * risk) ** (1.0 / 3.0)
        scales = (language / mean, geometry / mean, risk / mean)
        found[scales[0], scales[1], scales[2]] = None
    return list(found)


def scene_log_loss(evaluation: Evaluation, kappa: float, grid: list[Scales]) -> Floats:
    """Return PACT's summed −log posterior of the label, by scales and scene [G, S]."""
    benchmark = evaluation.benchmark
    rows = np.arange(benchmark.n)
    losses = np.empty((len(grid), benchmark.scenes))
    for position, scales in enumerate(grid):
        options = FusionOptions(kappa=kappa, source_scale=scales)
        posterior = np.asarray(fuse(benchmark.sources, rule="pact", options=options).posterior)
        loss = -np.log(posterior[rows, benchmark.label])
        losses[position] = np.bincount(benchmark.scene, loss, benchmark.scenes)
    return losses


def chosen_scales(evaluation: Evaluation) -> list[Scales]:
    """Return the scales with the lowest training NLL of each outer fold."""
    benchmark = evaluation.benchmark
    grid = scale_grid()
    losses = {
        kappa: scene_log_loss(evaluation, kappa, grid) for kappa in set(evaluation.kappa.tolist())
    }
    fold_of_scene = np.zeros(benchmark.scenes, dtype=np.int64)
    fold_of_scene[benchmark.scene] = benchmark.fold
    return [
        grid[int(losses[float(kappa)][:, fold_of_scene != index].sum(axis=1).argmin())]
        for index, kappa in enumerate(evaluation.kappa)
    ]


def scaled_rankings(evaluation: Evaluation, scales: list[Scales]) -> dict[Stage, list[Ranking]]:
    """Return PACT's order of the rows under each outer fold's scales, by stage."""
    benchmark = evaluation.benchmark
    stages: dict[Stage, list[Ranking]] = {"before": [], "after": []}
    for chosen, kappa in zip(scales, evaluation.kappa, strict=True):
        options = FusionOptions(kappa=1.0, source_scale=chosen)
        fused = fuse(benchmark.sources, rule="pact", options=options)
        arm = EvidenceArm(np.asarray(fused.evidence), benchmark.label)
        score, eligible = arm.score(float(kappa)), benchmark.base_eligible
        passed = admissible(benchmark.sources, arm.contract, evaluation.policy)
        passing = eligible & np.asarray(passed)
        stages["before"].append(Ranking(score, eligible, arm.correct))
        stages["after"].append(Ranking(score, passing, arm.correct))
    return stages


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
    scales = chosen_scales(evaluation)
    stages = scaled_rankings(evaluation, scales)
    typical = np.exp(np.log(np.array(scales)).mean(axis=0))
    statistics = {
        f"source_scales.{role}": Statistic(
            float(typical[index]),
            float(min(s[index] for s in scales)),
            float(max(s[index] for s in scales)),
            len(scales),
            "geometric mean over outer folds; low and high are the folds' extremes",
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
    ]
    figure = Figure(
        "source_scales",
        "ncsAURC with equal and with chosen source scales",
        "ncsAURC before and after admission for PACT with chosen scales, PACT with equal scales"
        " and nested Dirichlet.",
        lambda: _draw(frame),
    )
    reading = "Scales have unit geometric mean; lower is better."
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
