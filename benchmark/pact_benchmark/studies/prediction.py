"""Prediction and probability quality of the posteriors, before any selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as MatplotlibFigure
from numpy.typing import NDArray

from pact_benchmark.estimates import Settings, contrast, estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.figures import metric_panels, rule_label
from pact_benchmark.metrics import METRICS, ProbabilitySummary, summarise
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study

PRIOR = "empirical_prior"
TITLES = {
    "accuracy": "Accuracy",
    "macro_f1": "Macro-F1",
    "nll": "NLL",
    "brier": "Brier",
    "ece10": "ECE10",
}


@study(
    "prediction",
    title="Prediction and probability quality",
    purpose="accuracy, macro-F1, NLL, Brier score and calibration error of every rule",
    order=20,
)
def run(context: StudyContext) -> StudyResult:
    """Run the study."""
    return compute(evaluation_of(context), settings_of(context))


def compute(evaluation: Evaluation, settings: Settings) -> StudyResult:
    """Measure every rule's posteriors on the held-out rows."""
    benchmark = evaluation.benchmark
    summaries = {rule: summary_of(evaluation, rule) for rule in settings.rules}
    summaries[PRIOR] = _prior_summary(evaluation)
    weights = estimator(settings).weights(benchmark.scenes)
    values, draws = {}, {}
    statistics: dict[str, Statistic] = {}
    for rule, summary in summaries.items():
        values[rule], draws[rule] = summary.metrics(), summary.metrics(weights)
        for name in METRICS:
            statistics[f"prediction.{rule}.{name}"] = contrast(
                float(values[rule][name][0]), draws[rule][name], benchmark.n
            )
    for name in METRICS:
        statistics[f"prediction.pact_minus_nested.{name}"] = contrast(
            float(values["pact"][name][0] - values["nested_dirichlet"][name][0]),
            draws["pact"][name] - draws["nested_dirichlet"][name],
            benchmark.n,
        )
    frame = pd.DataFrame(
        [
            {"rule": _label(rule)} | {TITLES[name]: float(found[name][0]) for name in METRICS}
            for rule, found in values.items()
        ]
    )
    by_condition = _correct_by_condition(evaluation, settings)
    return StudyResult(
        statistics,
        tables=[
            Table(
                "prediction",
                "Prediction and probability quality (all instances)",
                frame,
                "Held-out rows, each at its own fold's concentration. The empirical prior is "
                "the label frequency of the outer-training folds.",
            ),
            Table("correct_by_condition", "Correct contracts by source condition", by_condition),
        ],
        figures=[
            Figure(
                "prediction",
                "Prediction and probability quality of every rule",
                "Five panels with a dot and a 95% interval per rule: accuracy, macro-F1, NLL,"
                " Brier score and expected calibration error.",
                lambda: _draw(statistics, list(summaries)),
            )
        ],
        reading="Higher accuracy and macro-F1, lower NLL, Brier and ECE are better; a rule can "
        "lead in one and trail in another.",
    )


def summary_of(evaluation: Evaluation, rule: str) -> ProbabilitySummary:
    """Return the per-scene sums of one rule's held-out posteriors."""
    outputs, benchmark = evaluation.held_out(rule), evaluation.benchmark
    return summarise(
        outputs.posterior, outputs.contract, benchmark.label, benchmark.scene, benchmark.scenes
    )


def _prior_summary(evaluation: Evaluation) -> ProbabilitySummary:
    """Return the sums of the label frequencies of each fold's training rows, as posteriors."""
    benchmark = evaluation.benchmark
    classes = len(benchmark.sources.contracts)
    posterior: NDArray[np.float64] = np.empty((benchmark.n, classes))
    for fold in range(benchmark.folds):
        inside = benchmark.fold == fold
        counts = np.bincount(benchmark.label[~inside], minlength=classes)
        posterior[inside] = counts / counts.sum()
    contract = posterior.argmax(axis=1)
    return summarise(posterior, contract, benchmark.label, benchmark.scene, benchmark.scenes)


def _correct_by_condition(evaluation: Evaluation, settings: Settings) -> pd.DataFrame:
    benchmark = evaluation.benchmark
    size = len(benchmark.condition_names)
    columns = {
        _label(rule): np.bincount(
            benchmark.condition[evaluation.held_out(rule).correct], minlength=size
        )
        for rule in settings.rules
    }
    rows = np.bincount(benchmark.condition, minlength=size)
    return pd.DataFrame({"condition": benchmark.condition_names, "rows": rows, **columns})


def _draw(statistics: Mapping[str, Statistic], rules: Sequence[str]) -> MatplotlibFigure:
    better = {"accuracy": "higher", "macro_f1": "higher"}
    return metric_panels(
        {rule: {m: statistics[f"prediction.{rule}.{m}"] for m in METRICS} for rule in rules},
        {rule: _label(rule) for rule in rules},
        [f"{TITLES[m]}\n({better.get(m, 'lower')} is better)" for m in METRICS],
    )


def _label(rule: str) -> str:
    return "Empirical prior" if rule == PRIOR else rule_label(rule)
