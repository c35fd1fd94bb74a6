"""What an unavailable source does to its component: four conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.data import Benchmark
from pact_benchmark.estimates import Settings, estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation, Variant
from pact_benchmark.study import Statistic, StudyContext, StudyResult, Table, study

PRIMARY_CONVENTION = "zero"
CONVENTIONS = {
    "zero": ("zero", "Kept as zero evidence"),
    "excluded": ("exclude", "Zero left out of the meet"),
    "omitted": ("remove", "Source removed before grouping"),
    "isolated": ("isolate", "Source alone in a component"),
}


@study(
    "missing_sources",
    title="Missing-source conventions",
    purpose="retained zero evidence against leaving the unavailable source out",
    order=70,
)
def run(context: StudyContext) -> StudyResult:
    """Run the study."""
    return compute(evaluation_of(context), settings_of(context))


def compute(evaluation: Evaluation, settings: Settings) -> StudyResult:
    """Measure PACT under each convention, and what changes against the primary one."""
    benchmark = evaluation.benchmark
    estimate = estimator(settings)
    unavailable = benchmark.unavailable_count > 0
    reference = evaluation.held_out("pact")
    statistics: dict[str, Statistic] = {}
    rows = []
    for name, (missing, title) in CONVENTIONS.items():
        variant = Variant("pact", missing=missing)
        outputs = evaluation.held_out(variant)
        prefix = f"missing_sources.{name}"
        before = estimate.area(evaluation.curve(variant))
        after = estimate.area(evaluation.curve(variant, stage="after"))
        changed = outputs.contract != reference.contract
        drift = np.abs(outputs.posterior - reference.posterior).sum(axis=1)

        statistics[f"{prefix}.before_admission"] = before.statistic()
        statistics[f"{prefix}.after_admission"] = after.statistic()
        if name != PRIMARY_CONVENTION:
            statistics |= {
                f"{prefix}.contracts_changed": estimate.total(
                    _per_scene(benchmark, changed & unavailable),
                    _per_scene(benchmark, unavailable),
                ),
                f"{prefix}.contracts_changed_without_unavailable": Statistic(
                    int((changed & ~unavailable).sum()), n=int((~unavailable).sum())
                ),
                f"{prefix}.mean_drift": estimate.mean(
                    _per_scene(benchmark, unavailable, drift), _per_scene(benchmark, unavailable)
                ),
            }
        rows.append(
            {
                "convention": title,
                "before admission": before.value,
                "after admission": after.value,
                "contracts changed": int((changed & unavailable).sum()),
                "mean drift": float(drift[unavailable].mean()) if unavailable.any() else None,
                "changed elsewhere": int((changed & ~unavailable).sum()),
            }
        )
    return StudyResult(
        statistics,
        tables=[Table("missing_sources", "PACT under four conventions", pd.DataFrame(rows))],
        reading="Changes count rows with an unavailable source against the primary convention; "
        "the three alternatives coincide when no unavailable source bridges components.",
    )


def _per_scene(
    benchmark: Benchmark, rows: NDArray[np.bool_], values: NDArray[np.float64] | None = None
) -> NDArray[Any]:
    """Return the number of rows, or the sum of their values, in each scene [S]."""
    weights = None if values is None else values[rows]
    return np.bincount(benchmark.scene[rows], weights, benchmark.scenes)
