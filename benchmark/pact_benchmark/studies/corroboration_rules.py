"""Three ways to ask for corroboration, and a weaker requirement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pact_benchmark.bootstrap import SEED_MAIN
from pact_benchmark.estimates import Estimator, evaluation_of, settings_of
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.selection import OPERATING_TARGET
from pact_benchmark.studies._intervals import row_count
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study
from pact_core import AdmissionPolicy

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

LABELS = {
    "unanimity": "unanimity, ν = 3",
    "component_count": "component count, ν = 3",
    "cross_role": "cross-role",
    "cross_role_any_component": "cross-role, incomplete components count",
    "two_components": "unanimity, ν = 2",
    "off": "off",
}
COMPARED = ("pact", "nested_dirichlet")


def corroboration_policies(policy: AdmissionPolicy) -> dict[str, AdmissionPolicy]:
    """Return the common policy with each way of asking for corroboration, by name."""
    return {
        "unanimity": policy,
        "component_count": replace(policy, corroboration="component_count"),
        "cross_role": replace(policy, corroboration="cross_role"),
        "cross_role_any_component": replace(
            policy, corroboration="cross_role", complete_components=False
        ),
        "two_components": replace(policy, required_components=2),
        "off": replace(policy, corroboration="off"),
    }


@study(
    "corroboration_rules",
    title="Corroboration rules",
    purpose="How do the results depend on the way in which supporting components are counted?",
    order=310,
)
def corroboration_rules(context: StudyContext) -> StudyResult:
    """Refit the cutoffs under each corroboration rule and compare after admission."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    benchmark = evaluation.benchmark
    estimate = Estimator(settings.draws, SEED_MAIN, settings.support)
    eligible = benchmark.base_eligible
    policies = corroboration_policies(evaluation.policy)
    statistics: dict[str, Statistic] = {}
    records = []
    for rule in COMPARED:
        outputs = evaluation.held_out(rule)
        strict = evaluation.held_out_responses(rule) == 0
        for name, policy in policies.items():
            curve = evaluation.curve(rule, stage="after", policy=policy)
            area = estimate.area(curve).statistic()
            passing = evaluation.held_out_responses(rule, policy) == 0
            lost = eligible & outputs.correct & strict & ~passing
            point = curve.at(OPERATING_TARGET)
            statistics[f"corroboration_rules.{name}.{rule}"] = area
            suffix = "" if rule == "pact" else f"_{rule}"
            statistics[f"corroboration_rules.{name}.correct_lost{suffix}"] = row_count(
                estimate, lost, benchmark.scene, benchmark.scenes
            )
            statistics[f"corroboration_rules.{name}.wrong_all{suffix}"] = estimate.share(
                curve.wrong[:, curve.index(OPERATING_TARGET)], curve.n
            )
            records.append(
                {
                    "corroboration": LABELS[name],
                    "rule": RULE_STYLE[rule].label,
                    "ncsAURC": area.value,
                    "low": area.low,
                    "high": area.high,
                    "correct candidates lost": int(lost.sum()),
                    "retained at 0.13": point.admitted,
                    "wrong at 0.13": point.wrong,
                    "R_all at 0.13": point.wrong_all,
                }
            )
    frame = pd.DataFrame.from_records(records)
    table = Table(
        "corroboration_rules",
        "Outcomes of alternative corroboration rules after admission",
        frame,
        "Correct candidates lost: right, eligible candidates that pass under unanimity with ν = 3"
        " and not under the named rule.",
    )
    figure = Figure(
        "corroboration_rules",
        "ncsAURC after admission by corroboration rule",
        "ncsAURC of PACT and nested Dirichlet after admission under six corroboration rules.",
        lambda: _draw(frame),
    )
    reading = (
        "Rules that count two components as enough let the adversarial consensus through;"
        " component count differs from unanimity only where two sources agree."
    )
    return StudyResult(statistics, [table], [figure], reading)


def _draw(frame: pd.DataFrame) -> MatplotlibFigure:
    figure = new_figure(6.4, 3.0)
    axis = figure.subplots()
    names = list(LABELS.values())
    place = np.arange(len(names))[::-1]
    for rule, offset in (("pact", 0.12), ("nested_dirichlet", -0.12)):
        style = RULE_STYLE[rule]
        rows = frame[frame["rule"] == style.label].set_index("corroboration").loc[names]
        value = rows["ncsAURC"].astype(float).to_numpy()
        spread = [
            np.nan_to_num(value - rows["low"].astype(float)),
            np.nan_to_num(rows["high"].astype(float) - value),
        ]
        axis.errorbar(
            value,
            place + offset,
            xerr=spread,
            fmt=style.marker,
            color=style.colour,
            label=style.label,
            capsize=2,
        )
    axis.set_yticks(place, names)
    axis.set_xlabel("ncsAURC after admission")
    axis.set_xlim(left=0.0)
    axis.legend()
    return figure
