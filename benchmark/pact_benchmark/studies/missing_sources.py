"""What an unavailable source does to its component: four conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as MatplotlibFigure
from numpy.typing import NDArray

from pact_benchmark.data import Benchmark
from pact_benchmark.estimates import Settings, estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation, Variant
from pact_benchmark.figures import interval_dot
from pact_benchmark.names import value_name
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study

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
                f"{prefix}.contracts_changed_without_unavailable": estimate.total(
                    _per_scene(benchmark, changed & ~unavailable),
                    _per_scene(benchmark, ~unavailable),
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
        figures=[
            Figure(
                "missing_sources",
                "PACT under four conventions for an unavailable source",
                "Two panels, before and after admission: ncsAURC of PACT with its 95% interval"
                " under each of the four conventions.",
                lambda: _draw(statistics, settings.support),
            )
        ],
        reading="Changes count rows with an unavailable source against the primary convention; "
        "the three alternatives coincide when no unavailable source bridges components. In the "
        "figure the filled dot is the primary convention.",
    )


def _draw(statistics: dict[str, Statistic], support: tuple[float, float]) -> MatplotlibFigure:
    figure = new_figure(7.6, 2.5)
    panels = figure.subplots(1, 2, sharey=True)
    style = RULE_STYLE["pact"]
    names = list(CONVENTIONS)[::-1]
    for axes, stage in zip(panels, ("before_admission", "after_admission"), strict=True):
        for place, name in enumerate(names):
            found = statistics[f"missing_sources.{name}.{stage}"]
            filled = style.colour if name == PRIMARY_CONVENTION else "white"
            interval_dot(axes, place, found, marker=style.marker, color=style.colour, mfc=filled)
        axes.set_title(value_name(stage))
        axes.set_xlabel(f"ncsAURC over [{support[0]:.2f}, {support[1]:.2f}]")
    panels[0].set_yticks(range(len(names)), [CONVENTIONS[name][1] for name in names])
    panels[0].set_ylim(-0.6, len(names) - 0.4)
    return figure


def _per_scene(
    benchmark: Benchmark, rows: NDArray[np.bool_], values: NDArray[np.float64] | None = None
) -> NDArray[Any]:
    """Return the number of rows, or the sum of their values, in each scene [S]."""
    weights = None if values is None else values[rows]
    return np.bincount(benchmark.scene[rows], weights, benchmark.scenes)
