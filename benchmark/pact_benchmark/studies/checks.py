"""Which check holds back what: ablation with fixed candidates, and variants of the sources."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.bootstrap import SEED_MAIN
from pact_benchmark.data import ADVERSARIAL
from pact_benchmark.estimates import Estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.studies._arms import GEOMETRY
from pact_benchmark.studies._cutoffs import above_cutoff, fold_cutoffs
from pact_benchmark.studies._intervals import row_count, row_mean
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study
from pact_core import (
    CHECKS,
    AdmissionPolicy,
    Response,
    SourceBatch,
    admissible,
    admission_response,
    response_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Bools = NDArray[np.bool_]

NAMES = {
    "command_consistency": "command_consistency",
    "source_validity": "source_validity",
    "risk_support": "risk_support",
    "component_corroboration": "corroboration",
}
"""The checks by the names that their statistics have."""

CANDIDATES = ("nested_dirichlet", "pact")


def ablated_admissions(evaluation: Evaluation, rule: str) -> dict[str, Bools]:
    """Return which rows are admitted with all checks (`all`) and without each of them [n].

    Candidates, scores and the cutoffs at target coverage 0.13 are those of the full policy.
    """
    outputs = evaluation.held_out(rule)
    cutoffs = fold_cutoffs(evaluation, evaluation.rankings(rule, stage="after"))
    selected = evaluation.benchmark.base_eligible & above_cutoff(evaluation, outputs.score, cutoffs)
    policy = evaluation.policy
    policies = {"all": policy, **{name: policy.without(name) for name in CHECKS}}
    sources = evaluation.benchmark.sources
    return {
        name: selected & np.asarray(admissible(sources, outputs.contract, policy))
        for name, policy in policies.items()
    }


def responses(
    sources: SourceBatch, contract: NDArray[np.int64], policy: AdmissionPolicy
) -> dict[Response, int]:
    """Count the typed responses of a policy to fixed candidates."""
    codes = np.asarray(admission_response(sources, contract, policy))
    counts = dict.fromkeys(Response, 0)
    for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
        counts[response_of(int(code), policy)] += int(count)
    return counts


def source_variants(evaluation: Evaluation, admitted: Bools) -> dict[str, dict[Response, int]]:
    """Count responses when provenance, completeness or timing of fixed candidates changes.

    Args:
        evaluation: the rules on a benchmark.
        admitted: rows that the full policy admits [n].
    """
    benchmark = evaluation.benchmark
    contract = evaluation.held_out("nested_dirichlet").contract
    rows = benchmark.in_condition(ADVERSARIAL)
    consensus, candidate = benchmark.sources.take(rows), contract[rows]
    incomplete = np.array(consensus.declared_invalid)
    incomplete[:, GEOMETRY] = True
    kept = benchmark.sources.take(admitted)
    stale = np.ones(int(admitted.sum()), dtype=bool)
    variants = {
        "two_components": (consensus, candidate),
        "three_components": (consensus.with_component(np.arange(3)), candidate),
        "incomplete_geometry": (replace(consensus, declared_invalid=incomplete), candidate),
        "stale_language": (replace(kept, command_stale=stale), contract[admitted]),
    }
    return {
        name: responses(sources, selected, evaluation.policy)
        for name, (sources, selected) in variants.items()
    }


def _ablation(
    evaluation: Evaluation,
    rule: str,
    admitted: dict[str, Bools],
    estimate: Estimator,
    statistics: dict[str, Statistic],
) -> list[dict[str, Any]]:
    """Count what each removed check lets through; return the rows of the table."""
    benchmark = evaluation.benchmark
    wrong = ~evaluation.held_out(rule).correct
    full = admitted["all"]
    prefix = "checks" if rule == "nested_dirichlet" else f"checks.{rule}"
    records = []
    for check, name in NAMES.items():
        kept = admitted[check]
        added = row_count(estimate, kept & ~full & wrong, benchmark.scene, benchmark.scenes)
        right = int((kept & ~full & ~wrong).sum())
        rate = row_mean(estimate, kept & wrong, benchmark.scene, benchmark.scenes)
        statistics[f"{prefix}.without_{name}.wrong_added"] = added
        statistics[f"{prefix}.without_{name}.wrong_all"] = rate
        records.append(
            {
                "candidates": RULE_STYLE[rule].label,
                "check removed": name.replace("_", " "),
                "wrong added": added.value,
                "correct added": right,
                "R_all": rate.value,
            }
        )
    return records


@study(
    "checks",
    title="Admission checks",
    purpose="How many wrong decisions does each admission check hold back?",
    order=300,
)
def checks(context: StudyContext) -> StudyResult:
    """Remove each check in turn under nested Dirichlet's candidates; PACT's for comparison."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    estimate = Estimator(settings.draws, SEED_MAIN, settings.support)
    statistics: dict[str, Statistic] = {}
    records: list[dict[str, Any]] = []
    admitted = {rule: ablated_admissions(evaluation, rule) for rule in CANDIDATES}
    for rule in CANDIDATES:
        records += _ablation(evaluation, rule, admitted[rule], estimate, statistics)
    variants = source_variants(evaluation, admitted["nested_dirichlet"]["all"])
    expected = {
        "two_components": Response.CONFIRM,
        "three_components": Response.NONE,
        "incomplete_geometry": Response.FALLBACK,
        "stale_language": Response.HOLD,
    }
    for name, response in expected.items():
        counts = variants[name]
        word = "admitted" if response is Response.NONE else response.value
        statistics[f"checks.{name}.{word}"] = Statistic(counts[response], n=sum(counts.values()))
    frame = pd.DataFrame.from_records(records)
    tables = [
        Table("checks", "Wrong admissions added by removing one check, cutoffs fixed", frame),
        Table(
            "checks_variants",
            "Responses to fixed nested-Dirichlet candidates under changed sources",
            pd.DataFrame.from_records(
                [
                    {"variant": name.replace("_", " "), "instances": sum(counts.values())}
                    | {"admitted" if r is Response.NONE else r.value: counts[r] for r in Response}
                    for name, counts in variants.items()
                ]
            ),
            "Adversarial-consensus instances with two and three components and with invalid"
            " geometry; otherwise admitted instances with stale language.",
        ),
    ]
    figure = Figure(
        "checks",
        "Wrong admissions added by removing a check",
        "Bars of wrong admissions added by removing each of the four checks, for nested"
        " Dirichlet's and for PACT's candidates.",
        lambda: _draw(frame),
    )
    reading = "Candidates, scores and cutoffs stay; only the named check is gone."
    return StudyResult(statistics, tables, [figure], reading)


def _draw(frame: pd.DataFrame) -> MatplotlibFigure:
    figure = new_figure(5.6, 3.0)
    axis = figure.subplots()
    removed = list(dict.fromkeys(frame["check removed"]))
    place = np.arange(len(removed))
    for offset, rule in ((-0.2, "nested_dirichlet"), (0.2, "pact")):
        style = RULE_STYLE[rule]
        values = frame.loc[frame["candidates"] == style.label, "wrong added"]
        bars = axis.bar(place + offset, values, 0.38, color=style.colour, label=style.label)
        axis.bar_label(bars, fmt="{:,.0f}", fontsize=7)
    axis.set_xticks(place, [name.replace(" ", "\n") for name in removed])
    axis.set_ylabel("wrong admissions added")
    axis.grid(axis="x", visible=False)
    axis.legend(title="candidates", loc="upper center", bbox_to_anchor=(0.62, 1.0))
    return figure
