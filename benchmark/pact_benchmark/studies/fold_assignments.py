"""Fifty other assignments of scenes to folds, each with its own concentrations."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.concentration import FIXED_CANDIDATES, Candidate, choose_concentrations
from pact_benchmark.curve_metrics import SupportError, ncsaurc
from pact_benchmark.data import Benchmark
from pact_benchmark.estimates import evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.folds import shuffled_folds
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.selection import Curve, Ranking, risk_coverage
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Ints = NDArray[np.int64]

REPEATS = 50
SEED_SPLITS = 1930
CONTRASTS = {"pact_minus_product": "product", "pact_minus_nested": "nested_dirichlet"}


def shuffled_assignment(benchmark: Benchmark, repeat: int) -> Ints:
    """Return the fold of each row [n] in one repeat."""
    order = list(range(benchmark.scenes))
    random.Random(SEED_SPLITS + repeat).shuffle(order)
    return shuffled_folds(benchmark.scenes, order)[benchmark.scene]


def selection_candidates(evaluation: Evaluation) -> list[Candidate]:
    """Return the rules that take part in the choice of the concentration, in tie order."""

    def ranking(rule: str, kappa: float | None) -> Ranking:
        outputs = evaluation.outputs(rule, kappa)
        admitted = evaluation.responses(rule, kappa) == 0
        return Ranking(outputs.score, outputs.native_eligible & admitted, outputs.correct)

    fixed = [Candidate(rule, None, ranking(rule, None)) for rule in FIXED_CANDIDATES]
    return fixed + [
        Candidate("nested_dirichlet", kappa, ranking("nested_dirichlet", kappa))
        for kappa in evaluation.concentrations
    ]


def _curve(
    evaluation: Evaluation, rule: str, kappas: list[float], fold: Ints, after: bool
) -> Curve:
    benchmark = evaluation.benchmark
    rankings = []
    for kappa in kappas:
        outputs = evaluation.outputs(rule, kappa)
        available = benchmark.base_eligible
        if after:
            available = available & (evaluation.responses(rule, kappa) == 0)
        rankings.append(Ranking(outputs.score, available, outputs.correct))
    return risk_coverage(rankings, fold, benchmark.scene, scenes=benchmark.scenes)


@study(
    "fold_assignments",
    title="Fold assignments",
    purpose="Do the contrasts depend on which scenes share a fold?",
    order=340,
)
def fold_assignments(context: StudyContext) -> StudyResult:
    """Redo selection, cutoffs and curves under shuffled folds."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    support = settings.narrow_support
    candidates = selection_candidates(evaluation)
    records = []
    for repeat in range(REPEATS):
        fold = shuffled_assignment(evaluation.benchmark, repeat)
        choice = choose_concentrations(candidates, fold)
        kappas = choice.kappa.tolist()
        record: dict[str, object] = {
            "repeat": repeat,
            "concentrations": ", ".join(f"{kappa:g}" for kappa in kappas),
            "nested chosen": sum("nested" in name for name in choice.winner),
        }
        for name, other in CONTRASTS.items():
            after = other == "nested_dirichlet"
            try:
                record[name] = ncsaurc(
                    _curve(evaluation, "pact", kappas, fold, after), *support
                ) - ncsaurc(_curve(evaluation, other, kappas, fold, after), *support)
            except SupportError:
                record[name] = None
        records.append(record)
    frame = pd.DataFrame.from_records(records)
    passed = int((frame["nested chosen"] < evaluation.benchmark.folds).sum())
    note_passed = f"in {passed} of {REPEATS} assignments a rule without a concentration cost least"
    statistics: dict[str, Statistic] = {}
    for name in CONTRASTS:
        values = frame[name].dropna().to_numpy(dtype=float)
        prefix = f"fold_assignments.{name}"
        note = "mean over assignments; low and high are the smallest and the largest"
        statistics[prefix] = (
            Statistic(float(values.mean()), float(values.min()), float(values.max()), REPEATS, note)
            if values.size
            else Statistic(None, n=REPEATS, note="no assignment has common support")
        ).noted(note_passed if passed else None)
        statistics[f"{prefix}.negative"] = Statistic(int((values < 0).sum()), n=REPEATS)
    figure = Figure(
        "fold_assignments",
        "Contrasts over fifty fold assignments",
        "Differences in ncsAURC of PACT from product before admission and from nested Dirichlet"
        " after admission, for fifty assignments in ascending order.",
        lambda: _draw(frame),
    )
    table = Table(
        "fold_assignments",
        "Contrasts over fifty grouped fold assignments",
        frame,
        "PACT minus product before admission, PACT minus nested Dirichlet after it.",
    )
    reading = "A sign that holds in all fifty does not hinge on the assignment of scenes to folds."
    return StudyResult(statistics, [table], [figure], reading)


def _draw(frame: pd.DataFrame) -> MatplotlibFigure:
    figure = new_figure(6.0, 3.0)
    axis = figure.subplots()
    labels = {
        "pact_minus_product": "PACT − product, before admission",
        "pact_minus_nested": "PACT − nested Dirichlet, after admission",
    }
    for name, other in CONTRASTS.items():
        style = RULE_STYLE[other]
        values = np.sort(frame[name].dropna().to_numpy(dtype=float))
        axis.plot(
            range(1, len(values) + 1),
            values,
            style.marker,
            color=style.colour,
            label=labels[name],
            markersize=3,
        )
    axis.axhline(0.0, color="black", linewidth=0.8)
    axis.set_xlabel("fold assignment, in order of the contrast")
    axis.set_ylabel("Δ ncsAURC")
    axis.legend()
    return figure
