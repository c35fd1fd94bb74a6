"""Selective ordering before admission: every rule under every selection score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as MatplotlibFigure

from pact_benchmark import figures
from pact_benchmark.curve_metrics import STRATA_GRID_POINTS, SupportError, ncsaurc
from pact_benchmark.estimates import (
    Area,
    Settings,
    estimator,
    evaluation_of,
    settings_of,
)
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.figures import rule_label
from pact_benchmark.metrics import augrc, aurc, sample_coverage_at_risk, sample_risk_at_coverage
from pact_benchmark.scores import SCORE_LABELS, SCORES
from pact_benchmark.selection import Curve, Ranking
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study

SINGLE_SOURCES = ("language", "geometry", "risk")


@study(
    "before_admission",
    title="Selective ordering before admission",
    purpose="ncsAURC of every rule under native, posterior-derived and pooled scores",
    order=30,
)
def run(context: StudyContext) -> StudyResult:
    """Run the study."""
    return compute(evaluation_of(context), settings_of(context))


def compute(evaluation: Evaluation, settings: Settings) -> StudyResult:
    """Measure the order that each rule and score give to the base-eligible rows."""
    estimate, rules = estimator(settings), settings.rules
    curves = {
        (rule, score): evaluation.curve(rule, score=score) for rule in rules for score in SCORES
    }
    areas = {key: estimate.area(curve) for key, curve in curves.items()}
    statistics = {
        f"before_admission.{rule}.{score}": area.statistic()
        for (rule, score), area in areas.items()
    }
    native = {rule: curves[rule, "native"] for rule in rules}
    statistics["before_admission.product_minus_pact"] = areas["product", "native"].minus(
        areas["pact", "native"]
    )
    statistics["before_admission.product_minus_pact.scenes_positive"] = _scenes_positive(
        native["product"], native["pact"], settings
    )
    statistics |= _language_only(evaluation, settings)
    ranked = _ranking_metrics(evaluation, rules)
    statistics |= {
        f"before_admission.{rule}.{_identifier(name)}": Statistic(
            float(ranked.loc[rule, name]), n=int(evaluation.benchmark.base_eligible.sum())
        )
        for rule in ranked.index
        for name in ranked.columns
    }
    sources = _best_source(evaluation)
    statistics["before_admission.best_source.ncsaurc"] = _best_source_area(
        evaluation, settings, sources["best"].tolist()
    )
    order = RandomOrder(evaluation, settings, {rule: areas[rule, "native"] for rule in rules})
    statistics |= order.statistics()
    values = pd.DataFrame(
        {SCORE_LABELS[score]: [areas[rule, score].value for rule in rules] for score in SCORES},
        index=[rule_label(rule) for rule in rules],
        dtype=float,
    )
    return StudyResult(
        statistics,
        tables=[
            Table(
                "before_admission",
                "ncsAURC before admission, by rule and selection score",
                values.rename_axis("rule").reset_index(),
                "Cutoffs are fitted per rule and fold on the outer-training rows.",
            ),
            Table("random_order", "Areas against random ordering", order.frame()),
            Table(
                "ranking_metrics",
                "Selective metrics of the native scores over the whole ranking",
                ranked.rename(index=rule_label).rename_axis("rule").reset_index(),
                "Base-eligible held-out rows in one ranking; coverage is the share of these rows.",
            ),
            Table("best_source", "Best single source of each fold", sources),
        ],
        figures=_figures(native, values, settings),
        reading="Lower is better. The rule that leads depends on the score; an area above the "
        "rule's random-order reference means that the score orders worse than chance.",
    )


class RandomOrder:
    """Areas against an order that ignores the score: its expected risk is the error rate."""

    def __init__(self, evaluation: Evaluation, settings: Settings, areas: dict[str, Area]) -> None:
        benchmark = evaluation.benchmark
        eligible = benchmark.base_eligible
        self.areas = areas
        self.eligible = np.bincount(benchmark.scene[eligible], minlength=benchmark.scenes)
        self.errors = {
            rule: np.bincount(
                benchmark.scene[eligible & ~evaluation.held_out(rule).correct],
                minlength=benchmark.scenes,
            )
            for rule in areas
        }
        self.own = estimator(settings, "random_order")
        self.paired = estimator(settings)

    def statistics(self) -> dict[str, Statistic]:
        """Return the reference and the excess of each rule, and the contrast of two rules."""
        found: dict[str, Statistic] = {}
        for rule, errors in self.errors.items():
            found[f"random_order.{rule}.errors_among_eligible"] = self.own.total(
                errors, self.eligible
            )
            found[f"random_order.{rule}.reference"] = self.own.share(errors, self.eligible)
            found[f"random_order.{rule}.excess"] = self._excess(rule).statistic()
        found["random_order.product_minus_pact.excess"] = self._excess("product").minus(
            self._excess("pact")
        )
        found["random_order.product_minus_pact"] = self.own.mean(
            self.errors["product"] - self.errors["pact"], self.eligible
        )
        return found

    def frame(self) -> pd.DataFrame:
        """Return one row per rule: area, reference and excess."""
        n = int(self.eligible.sum())
        rows = []
        for rule, errors in self.errors.items():
            reference = float(errors.sum() / n) if n else None
            area = self.areas[rule].value
            rows.append(
                {
                    "rule": rule_label(rule),
                    "errors among eligible": int(errors.sum()),
                    "random order": reference,
                    "ncsAURC": area,
                    "excess": None if area is None or reference is None else area - reference,
                }
            )
        return pd.DataFrame(rows)

    def _excess(self, rule: str) -> Area:
        """Return how far a rule's area lies above its random-order reference."""
        area, n = self.areas[rule], int(self.eligible.sum())
        if area.value is None:
            return Area(None, area.draws, n, area.note)
        errors = self.errors[rule]
        weights = self.paired.weights(self.eligible.size)
        draws = area.draws - (weights @ errors) / (weights @ self.eligible)
        return Area(area.value - float(errors.sum() / n), draws, n)


def _ranking_metrics(evaluation: Evaluation, rules: Sequence[str]) -> pd.DataFrame:
    """Return the metrics of selective-prediction tools, by rule, over all base-eligible rows."""
    eligible = evaluation.benchmark.base_eligible
    rows = {}
    for rule in rules if eligible.any() else ():
        outputs = evaluation.held_out(rule)
        score, wrong = outputs.score[eligible], ~outputs.correct[eligible]
        row = {"aurc": aurc(score, wrong), "augrc": augrc(score, wrong)}
        for coverage in (0.1, 0.5, 1.0):
            row[f"risk at coverage {coverage:.1f}"] = sample_risk_at_coverage(
                score, wrong, coverage
            )
        for risk in (0.1, 0.5):
            row[f"coverage at risk {risk:.1f}"] = sample_coverage_at_risk(score, wrong, risk)
        rows[rule] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def _identifier(name: str) -> str:
    """Return a metric's name in a statistic: "risk at coverage 0.1" is `risk_at_coverage_010`."""
    words, _, number = name.rpartition(" ")
    return f"{words.replace(' ', '_')}_{100 * float(number):03.0f}" if words else name


def _scenes_positive(first: Curve, second: Curve, settings: Settings) -> Statistic:
    """Return in how many scenes the first curve's area exceeds the second's."""
    differences = []
    for index in range(first.n.size):
        try:
            differences.append(
                ncsaurc(first.scene(index), *settings.support)
                - ncsaurc(second.scene(index), *settings.support)
            )
        except SupportError:
            continue
    missing = first.n.size - len(differences)
    note = f"{missing} scenes do not span the support on their own" if missing else None
    return Statistic(int(np.sum(np.array(differences) > 0)), n=len(differences), note=note)


def _language_only(evaluation: Evaluation, settings: Settings) -> dict[str, Statistic]:
    """Return the area of the language source alone, with and without base eligibility."""
    benchmark = evaluation.benchmark
    estimate = estimator(settings, points=STRATA_GRID_POINTS)
    outputs = evaluation.outputs("language")
    valid = benchmark.observed[:, benchmark.sources.roles.index("language")]
    variants = {"language_only": valid, "language_only.base_eligible": benchmark.base_eligible}
    return {
        f"before_admission.{name}.ncsaurc": estimate.area(
            evaluation.curve_of(Ranking(outputs.score, available, outputs.correct))
        ).statistic()
        for name, available in variants.items()
    }


def _best_source_area(evaluation: Evaluation, settings: Settings, best: Sequence[str]) -> Statistic:
    """Return the area when each outer fold uses the source that leads on its training rows."""
    eligible = evaluation.benchmark.base_eligible
    parts = [evaluation.outputs(source) for source in best]
    curve = evaluation.curve_of([Ranking(part.score, eligible, part.correct) for part in parts])
    area = estimator(settings, points=STRATA_GRID_POINTS).area(curve)
    return area.statistic().noted(f"by fold: {', '.join(best)}; base-eligible rows")


def _best_source(evaluation: Evaluation) -> pd.DataFrame:
    """Return each fold's training accuracy of single sources among base-eligible rows."""
    benchmark = evaluation.benchmark
    rows = []
    for fold in range(benchmark.folds):
        train = (benchmark.fold != fold) & benchmark.base_eligible
        accuracy = {
            source: int(evaluation.outputs(source).correct[train].sum()) / max(int(train.sum()), 1)
            for source in SINGLE_SOURCES
        }
        best = max(SINGLE_SOURCES, key=lambda source: accuracy[source])
        rows.append({"fold": fold, "kappa": evaluation.kappa[fold], "best": best, **accuracy})
    return pd.DataFrame(rows)


def _figures(curves: dict[str, Curve], values: pd.DataFrame, settings: Settings) -> list[Figure]:
    plot_curves = partial(
        figures.risk_coverage, curves, settings.operating_target, "Before admission"
    )

    def plot_scores() -> MatplotlibFigure:
        return figures.score_dependence(values, settings.support)

    return [
        Figure(
            "risk_coverage_before",
            "Selective risk before admission",
            "Conditional risk against coverage for every rule under its native score, before "
            "admission; a dashed line marks the operating coverage.",
            plot_curves,
        ),
        Figure(
            "score_dependence",
            "Score dependence before admission",
            "ncsAURC of every rule under each selection score: the order of the rules changes "
            "with the score.",
            plot_scores,
        ),
    ]
