"""Calibration of the posterior peak."""

from __future__ import annotations

from functools import partial

import pandas as pd

from pact_benchmark import figures
from pact_benchmark.estimates import Settings, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.metrics import reliability
from pact_benchmark.studies.prediction import summary_of
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study


@study(
    "calibration",
    title="Calibration",
    purpose="reliability diagrams of every rule's posterior peak",
    order=80,
)
def run(context: StudyContext) -> StudyResult:
    """Run the study."""
    return compute(evaluation_of(context), settings_of(context))


def compute(evaluation: Evaluation, settings: Settings) -> StudyResult:
    """Bin the held-out confidences of every rule."""
    diagrams = {rule: reliability(summary_of(evaluation, rule)) for rule in settings.rules}
    frame = pd.concat(
        [
            pd.DataFrame(
                {
                    "rule": rule,
                    "from": diagram.lower,
                    "rows": diagram.count,
                    "confidence": diagram.confidence,
                    "accuracy": diagram.accuracy,
                }
            )
            for rule, diagram in diagrams.items()
        ],
        ignore_index=True,
    )
    n = evaluation.benchmark.n
    statistics = {
        f"calibration.{rule}.mean_confidence": Statistic(
            float((diagram.confidence * diagram.count)[diagram.count > 0].sum() / n), n=n
        )
        for rule, diagram in diagrams.items()
    }
    return StudyResult(
        statistics,
        tables=[Table("reliability", "Confidence and accuracy in ten equal-width bins", frame)],
        figures=[
            Figure(
                "reliability",
                "Reliability diagrams",
                "Accuracy against mean confidence in ten bins, one panel per rule; bars show the "
                "share of rows in each bin. Points below the diagonal are overconfident.",
                partial(figures.reliability, diagrams),
            )
        ],
        reading="On the diagonal confidence equals accuracy; below it the rule is overconfident, "
        "above it underconfident. Calibration and selective ordering are separate properties.",
    )
