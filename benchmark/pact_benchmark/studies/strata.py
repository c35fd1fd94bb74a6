"""Availability and validity strata: where a rule's lead comes from."""

from __future__ import annotations

from itertools import product

import pandas as pd
from matplotlib.figure import Figure as MatplotlibFigure

from pact_benchmark.curve_metrics import STRATA_GRID_POINTS
from pact_benchmark.data import ADVERSARIAL
from pact_benchmark.estimates import Area, Settings, estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation, Stage
from pact_benchmark.figures import interval_dot, rule_label
from pact_benchmark.names import value_name
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.study import Figure, StudyContext, StudyResult, Table, study

RULES = ("pact", "nested_dirichlet", "product")
POOLED_RULES = (*RULES, "global_cautious")
STAGES: dict[str, Stage] = {"before_admission": "before", "after_admission": "after"}


@study(
    "strata",
    title="Availability and validity strata",
    purpose="the rules where all sources are valid, and where one is unavailable or invalid",
    order=60,
)
def run(context: StudyContext) -> StudyResult:
    """Run the study."""
    return compute(evaluation_of(context), settings_of(context))


def compute(evaluation: Evaluation, settings: Settings) -> StudyResult:
    """Measure the rules within strata of source availability and validity."""
    areas = _before(evaluation, settings) | _after(evaluation, settings)
    areas |= _pooled(evaluation, settings)
    statistics = {f"strata.{name}": area.statistic() for name, area in areas.items()}
    for stratum, score in product(
        ("three_valid", "three_valid_without_adversarial"), ("native", "peak")
    ):
        prefix = f"{stratum}.after_admission" + ("" if score == "native" else f".{score}")
        statistics[f"strata.{prefix}.pact_minus_nested"] = areas[f"{prefix}.pact"].minus(
            areas[f"{prefix}.nested_dirichlet"]
        )
    return StudyResult(
        statistics,
        tables=[
            Table(
                "strata",
                "ncsAURC by availability and validity",
                _frame(areas),
                "Cutoffs are refitted within each stratum. Before admission the native areas "
                "rank the held-out rows of the main study on a grid of 30 points.",
            )
        ],
        figures=[
            Figure(
                "strata",
                "ncsAURC by availability and validity",
                "One line per stratum, stage and score, with a dot and a 95% interval for each"
                " rule on the axis of ncsAURC.",
                lambda: _draw(areas, settings.support),
            )
        ],
        reading="A rule may lead where all sources are valid and trail where one is missing: "
        "the aggregate hides it.",
    )


def _before(evaluation: Evaluation, settings: Settings) -> dict[str, Area]:
    """Return native areas before admission, held-out rows ranked together."""
    benchmark = evaluation.benchmark
    estimate = estimator(settings, points=STRATA_GRID_POINTS)
    valid = benchmark.three_valid
    areas = {}
    for rule in RULES:
        curves = {
            "three_valid": evaluation.mixed_curve(rule, rows=valid),
            "unavailable_or_invalid": evaluation.mixed_curve(rule, rows=~valid),
            "all_valid_eligibility": evaluation.mixed_curve(rule, eligible=valid),
        }
        for name, curve in curves.items():
            areas[f"{name}.before_admission.{rule}"] = estimate.area(curve)
    return areas


def _after(evaluation: Evaluation, settings: Settings) -> dict[str, Area]:
    """Return native and peak areas after admission among rows with three valid sources."""
    benchmark = evaluation.benchmark
    estimate = estimator(settings)
    strata = {
        "three_valid": benchmark.three_valid,
        "three_valid_without_adversarial": benchmark.three_valid
        & ~benchmark.in_condition(ADVERSARIAL),
    }
    areas = {}
    for (name, rows), score, rule in product(strata.items(), ("native", "peak"), RULES):
        curve = evaluation.curve(rule, score=score, stage="after", rows=rows)
        middle = "" if score == "native" else f"{score}."
        areas[f"{name}.after_admission.{middle}{rule}"] = estimate.area(curve)
    return areas


def _pooled(evaluation: Evaluation, settings: Settings) -> dict[str, Area]:
    """Return pooled-correctness areas, the score refitted on rows with three valid sources."""
    rows = evaluation.benchmark.three_valid
    models = evaluation.correctness_models(rows)
    estimate = estimator(settings)
    return {
        f"three_valid.{stage}.pooled_correctness.{rule}": estimate.area(
            evaluation.curve(
                rule, score="pooled_correctness", stage=STAGES[stage], models=models, rows=rows
            )
        )
        for stage, rule in product(STAGES, POOLED_RULES)
    }


def _draw(areas: dict[str, Area], support: tuple[float, float]) -> MatplotlibFigure:
    """Draw the areas, one line for each stratum, stage and score."""
    lines: dict[tuple[str, str, str], dict[str, Area]] = {}
    for name, area in areas.items():
        stratum, stage, score, rule = _parts(name)
        lines.setdefault((stratum, stage, score), {})[rule] = area
    figure = new_figure(8.4, 1.2 + 0.42 * len(lines))
    axes = figure.add_subplot()
    ordered = sorted(lines)[::-1]
    for place, line in enumerate(ordered):
        for shift, rule in zip((0.24, 0.08, -0.08, -0.24), POOLED_RULES, strict=True):
            if rule in lines[line]:
                style, found = RULE_STYLE[rule], lines[line][rule].statistic()
                interval_dot(axes, place + shift, found, marker=style.marker, color=style.colour)
    for rule in POOLED_RULES:
        style = RULE_STYLE[rule]
        axes.plot([], [], style.marker, color=style.colour, label=style.label)
    names = [
        f"{value_name(stratum)}\n{value_name(stage)}, {value_name(score)} score"
        for stratum, stage, score in ordered
    ]
    axes.set_yticks(range(len(ordered)), names, fontsize=8)
    axes.set_xlabel(f"ncsAURC over [{support[0]:.2f}, {support[1]:.2f}]; lower is better")
    axes.set_xlim(left=-0.02)
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def _parts(name: str) -> tuple[str, str, str, str]:
    """Return stratum, stage, score and rule that the name of an area is made of."""
    stratum, stage, *middle, rule = name.split(".")
    return stratum, stage, middle[0] if middle else "native", rule


def _frame(areas: dict[str, Area]) -> pd.DataFrame:
    rows = []
    for name, area in areas.items():
        stratum, stage, score, rule = _parts(name)
        rows.append(
            {
                "stratum": stratum,
                "stage": stage,
                "score": score,
                "rule": rule_label(rule),
                "rows": area.n,
                "ncsAURC": area.value,
            }
        )
    frame = pd.DataFrame(rows)
    keys = ["stratum", "stage", "score", "rows"]
    return frame.pivot(index=keys, columns="rule", values="ncsAURC").reset_index()
