"""Exact copies of every source, inside its component and as components of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.bootstrap import SEED_MAIN
from pact_benchmark.estimates import Estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import RULES, Evaluation
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.studies._arms import row_kappa
from pact_benchmark.studies._intervals import row_mean
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study
from pact_core import FusionOptions, fuse

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MULTIPLICITY = 8
ARMS = {"within": "same", "separate": "new"}
USES_PROVENANCE = frozenset({"hierarchy_cautious", "provenance_pooling", "pact"})
"""Rules for which it matters whether copies share the parents of the original."""


@dataclass(frozen=True, slots=True)
class CopyEffect:
    """What copying each of the J sources in turn does to a rule's output.

    Attributes:
        changed: whether the contract differs from that without copies [n, J].
        drift: ℓ1 distance of the posterior from that without copies [n, J].
    """

    changed: Bools
    drift: Floats


def copy_effect(
    evaluation: Evaluation, rule: str, parents: str, multiplicity: int = MULTIPLICITY
) -> CopyEffect:
    """Copy each source in turn, every row at its own fold's concentration.

    Args:
        evaluation: the rules on a benchmark.
        rule: the rule whose output is compared.
        parents: `same` keeps the copies in the component of the original, `new` gives each
            copy a component of its own.
        multiplicity: how often the source is there, the original included.
    """
    sources = evaluation.benchmark.sources
    options = FusionOptions(kappa=row_kappa(evaluation))
    base = evaluation.held_out(rule)
    changed, drift = [], []
    for role in range(len(sources.roles)):
        fused = fuse(sources.replicate(role, multiplicity, parents), rule=rule, options=options)
        changed.append(np.asarray(fused.contract) != base.contract)
        drift.append(np.abs(np.asarray(fused.posterior) - base.posterior).sum(axis=-1))
    return CopyEffect(np.stack(changed, axis=1), np.stack(drift, axis=1))


def all_effects(evaluation: Evaluation) -> dict[str, dict[str, CopyEffect]]:
    """Return the effect for every rule and arm; one serves both where provenance is not used."""
    effects: dict[str, dict[str, CopyEffect]] = {}
    for rule in RULES:
        within = copy_effect(evaluation, rule, "same")
        separate = copy_effect(evaluation, rule, "new") if rule in USES_PROVENANCE else within
        effects[rule] = {"within": within, "separate": separate}
    return effects


@study(
    "copies",
    title="Exact copies",
    purpose="Does a rule count a source again when its output arrives eight times?",
    order=200,
)
def copies(context: StudyContext) -> StudyResult:
    """Compare every rule with and without exact copies of each source."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    benchmark = evaluation.benchmark
    estimate = Estimator(settings.draws, SEED_MAIN, settings.support)
    effects = all_effects(evaluation)
    statistics: dict[str, Statistic] = {}
    records = []
    for rule, arms in effects.items():
        for arm, effect in arms.items():
            changed = row_mean(estimate, effect.changed, benchmark.scene, benchmark.scenes)
            mean = row_mean(estimate, effect.drift, benchmark.scene, benchmark.scenes)
            largest = Statistic(float(effect.drift.max()), n=effect.drift.size)
            name = f"copies.{rule}_{arm}"
            statistics[f"{name}.contract_changed"] = changed
            statistics[f"{name}.mean_drift"] = mean
            statistics[f"{name}.max_drift"] = largest
            records.append(
                {
                    "rule": RULE_STYLE[rule].label,
                    "copies": arm,
                    "contract changed": changed.value,
                    "mean drift": mean.value,
                    "largest drift": largest.value,
                }
            )
    comparisons = effects["pact"]["within"].drift.size
    statistics["copies.comparisons"] = Statistic(comparisons, n=comparisons)
    for rule in ("product", "nested_dirichlet"):
        statistics[f"copies.{rule}.contract_changed"] = statistics[
            f"copies.{rule}_within.contract_changed"
        ]
    statistics["copies.provenance_pooling.max_drift"] = statistics[
        "copies.provenance_pooling_within.max_drift"
    ]
    frame = pd.DataFrame.from_records(records)
    table = Table(
        "copies",
        f"Exact copies of each source in turn at multiplicity {MULTIPLICITY}",
        frame,
        "Product, nested Dirichlet, global cautious, quality weighting and pooling do not read"
        " the provenance partition, so both arms coincide for them.",
    )
    figure = Figure(
        "copies",
        "Effect of exact copies",
        "Dot plot by rule of the share of changed contracts and of the mean posterior drift, for"
        " copies within a component and as separate components. PACT, hierarchy-matched and"
        " global cautious fusion stay at zero within a component.",
        lambda: _draw(frame),
    )
    reading = (
        "Zero drift within the component means that a copy adds nothing; the separate arm shows"
        " what the same copies do once they are declared to be different acquisitions."
    )
    return StudyResult(statistics, [table], [figure], reading)


def _draw(frame: pd.DataFrame) -> MatplotlibFigure:
    figure = new_figure(7.2, 3.6)
    axes = figure.subplots(1, 2, sharey=True)
    place = np.arange(len(RULES))[::-1]
    labels = [RULE_STYLE[rule].label for rule in RULES]
    for axis, column in zip(axes, ("contract changed", "mean drift"), strict=True):
        for arm, marker, offset in (("within", "o", 0.14), ("separate", "D", -0.14)):
            values = frame.loc[frame["copies"] == arm, column]
            colours = [RULE_STYLE[rule].colour for rule in RULES]
            face = colours if arm == "separate" else "white"
            axis.scatter(
                values, place + offset, c=face, edgecolors=colours, marker=marker, s=34, zorder=3
            )
            axis.scatter(
                [],
                [],
                c="black" if arm == "separate" else "white",
                edgecolors="black",
                marker=marker,
                label=f"{arm} component" + ("s" if arm != "within" else ""),
            )
        axis.set_xlabel(column if column == "mean drift" else "share of contracts changed")
        axis.set_xlim(left=-0.02)
    axes[0].set_yticks(place, labels)
    axes[0].set_title("(a) prediction")
    axes[1].set_title("(b) posterior, ℓ1")
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure
