"""Repeated geometry outputs under three counting structures, and a transferred score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.estimates import Estimator, Settings, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.plotting import BLACK, RULE_STYLE, new_figure
from pact_benchmark.scores import (
    FITTED_ON,
    CorrectnessModel,
    correctness_features,
    fit_correctness,
)
from pact_benchmark.selection import Curve, Ranking
from pact_benchmark.studies._arms import (
    GEOMETRY,
    MERGED,
    SINGLETON,
    EvidenceArm,
    group_arm,
    row_kappa,
    rule_arm,
    source_evidence,
)
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study
from pact_core import FusionOptions, admissible, fuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MULTIPLICITIES = (1, 2, 4, 8, 16, 32)
SEED_TOPOLOGY = 52002
SEED_TRANSFER = 58002
TRANSFER_ARMS = ("pact", "pact_singleton", "merged", "nested_dirichlet")
ARM_LABEL = {"pact": "within component", "pact_singleton": "singleton", "merged": "all merged"}


def counting_arms(evaluation: Evaluation, m: int) -> dict[str, EvidenceArm]:
    """Return PACT's evidence when geometry is there m times, by counting structure.

    Copies within the component and in one merged component change nothing; counted as
    singletons they add up.
    """
    evidence = source_evidence(evaluation.benchmark.sources)
    return {
        "pact": rule_arm(evaluation),
        "pact_singleton": group_arm(evaluation, evidence, SINGLETON, (1, m, 1)),
        "merged": group_arm(evaluation, evidence, MERGED),
    }


def correctness_models(evaluation: Evaluation, *, count: bool) -> tuple[CorrectnessModel, ...]:
    """Return each fold's correctness model at m = 1, with or without the observed-source count."""
    if count:
        return evaluation.correctness_models()
    models = []
    for index, kappa in enumerate(evaluation.kappa):
        train = evaluation.benchmark.fold != index
        parts = [evaluation.outputs(rule, kappa) for rule in FITTED_ON]
        features = [correctness_features(part.posterior[train], None) for part in parts]
        target = np.concatenate([part.correct[train] for part in parts])
        models.append(fit_correctness(np.concatenate(features), target))
    return tuple(models)


Posterior = Callable[[float], tuple[Floats, Bools]]
"""From a concentration to an arm's posterior [n, K] and correctness [n]."""


def transfer_posteriors(evaluation: Evaluation, m: int) -> dict[str, Posterior]:
    """Return how each arm answers when geometry is there m times."""
    benchmark = evaluation.benchmark
    arms = counting_arms(evaluation, m)

    def of_arm(arm: EvidenceArm) -> Posterior:
        return lambda kappa: (arm.posterior(kappa), arm.correct)

    def nested(kappa: float) -> tuple[Floats, Bools]:
        copied = benchmark.sources.replicate(GEOMETRY, m)
        fused = fuse(copied, rule="nested_dirichlet", options=FusionOptions(kappa=kappa))
        return np.asarray(fused.posterior), np.asarray(fused.contract) == benchmark.label

    return {**{name: of_arm(arm) for name, arm in arms.items()}, "nested_dirichlet": nested}


def transferred_curves(
    evaluation: Evaluation, m: int, models: Mapping[str, Sequence[CorrectnessModel]]
) -> dict[str, dict[str, Curve]]:
    """Return the curves under scores fitted at m = 1, by kind of model and arm.

    The observed count grows by m − 1 where geometry is observed. Cutoffs are refitted on the
    training scores, coefficients are not.
    """
    benchmark = evaluation.benchmark
    observed = benchmark.observed_count + (m - 1) * benchmark.observed[:, GEOMETRY]
    curves: dict[str, dict[str, Curve]] = {kind: {} for kind in models}
    for name, answer in transfer_posteriors(evaluation, m).items():
        answers = {float(kappa): answer(float(kappa)) for kappa in set(evaluation.kappa.tolist())}
        for kind, fitted in models.items():
            features = {
                kappa: correctness_features(part[0], observed if kind == "with_count" else None)
                for kappa, part in answers.items()
            }
            rankings = [
                Ranking(
                    model.score(features[float(kappa)]),
                    benchmark.base_eligible,
                    answers[float(kappa)][1],
                )
                for model, kappa in zip(fitted, evaluation.kappa, strict=True)
            ]
            curves[kind][name] = evaluation.curve_of(rankings)
    return curves


def _false_split(
    evaluation: Evaluation, settings: Settings, statistics: dict[str, Statistic]
) -> pd.DataFrame:
    """Compare the counting structures after every check but corroboration."""
    benchmark = evaluation.benchmark
    kappa = row_kappa(evaluation)
    base = counting_arms(evaluation, 1)
    # None of the remaining checks looks at the candidate, so one mask serves every arm.
    open_rows = benchmark.base_eligible & np.asarray(
        admissible(benchmark.sources, base["pact"].contract, evaluation.without_corroboration)
    )
    records = []
    for m in MULTIPLICITIES:
        arms = counting_arms(evaluation, m)
        curves = {
            name: evaluation.curve_of(arm.rankings(evaluation, open_rows))
            for name, arm in arms.items()
        }
        estimate = Estimator(settings.draws, SEED_TOPOLOGY + m, settings.support)
        areas = {name: estimate.area(curve) for name, curve in curves.items()}
        split = areas["pact_singleton"].minus(areas["pact"])
        statistics[f"multiplicity.false_split_m{m}"] = split
        narrow = Estimator(settings.draws, SEED_TOPOLOGY + m, settings.narrow_support)
        statistics[f"multiplicity.false_split_m{m}_to_035"] = narrow.area(
            curves["pact_singleton"]
        ).minus(narrow.area(curves["pact"]))
        record = {"m": m, "false split": split.value, "low": split.low, "high": split.high}
        for name, arm in arms.items():
            ratio = float((kappa * arm.budget).sum() / (kappa * base[name].budget).sum())
            record[f"budget {name}"] = ratio
            record[f"ncsAURC {name}"] = areas[name].value
            short = {"pact": "within", "pact_singleton": "singleton"}.get(name, name)
            statistics[f"multiplicity.{short}_budget_ratio_m{m}"] = Statistic(ratio, n=benchmark.n)
        records.append(record)
    return pd.DataFrame.from_records(records)


def _transfer(
    evaluation: Evaluation, settings: Settings, statistics: dict[str, Statistic]
) -> pd.DataFrame:
    """Transfer the ordering score from m = 1, before admission."""
    models = {
        "with_count": correctness_models(evaluation, count=True),
        "without_count": correctness_models(evaluation, count=False),
    }
    records = []
    for m in MULTIPLICITIES:
        estimate = Estimator(settings.draws, SEED_TRANSFER + m, settings.support)
        for kind, curves in transferred_curves(evaluation, m, models).items():
            infix = "" if kind == "with_count" else "without_count."
            areas = {arm: estimate.area(curve) for arm, curve in curves.items()}
            difference = areas["pact"].minus(areas["nested_dirichlet"])
            name = f"multiplicity.transferred_score.{infix}pact_minus_nested_m{m}"
            statistics[name] = difference
            record = {
                "score": kind.replace("_", " "),
                "m": m,
                "PACT − nested": difference.value,
                "difference low": difference.low,
                "difference high": difference.high,
            }
            for arm in TRANSFER_ARMS:
                area = areas[arm].statistic()
                record |= {arm: area.value, f"{arm} low": area.low, f"{arm} high": area.high}
            records.append(record)
    return pd.DataFrame.from_records(records)


@study(
    "multiplicity",
    title="Multiplicity",
    purpose="What do m repeated geometry outputs do under each counting structure?",
    order=250,
)
def multiplicity(context: StudyContext) -> StudyResult:
    """Repeat geometry up to 32 times, with native and with transferred scores."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    statistics: dict[str, Statistic] = {}
    split = _false_split(evaluation, settings, statistics)
    transfer = _transfer(evaluation, settings, statistics)
    tables = [
        Table(
            "multiplicity",
            "False split and budget by multiplicity of geometry, before corroboration",
            split,
            "Budgets are relative to m = 1 of the same counting structure.",
        ),
        Table(
            "multiplicity_transfer",
            "ncsAURC under the correctness score fitted at m = 1",
            transfer,
            "Neither score is refitted after duplication; cutoffs are.",
        ),
    ]
    figure = Figure(
        "multiplicity",
        "Multiplicity of geometry: false split, budget, transferred score",
        "Three panels against multiplicity 1 to 32: the false-split difference in ncsAURC, the"
        " budget relative to m = 1, and ncsAURC under the transferred score.",
        lambda: _draw(split, transfer),
    )
    reading = (
        "Copies within a component and an all-source merge keep their budgets; singleton counting"
        " inflates with m. In panel (c) only the correctness score of m = 1 is used."
    )
    return StudyResult(statistics, tables, [figure], reading)


def _band(axis: Axes, x: Floats, frame: pd.DataFrame, column: str, **look: Any) -> None:
    axis.plot(x, frame[column], **look)
    low, high = frame[f"{column} low"].astype(float), frame[f"{column} high"].astype(float)
    axis.fill_between(x, low, high, color=look["color"], alpha=0.18, linewidth=0)


def _draw(split: pd.DataFrame, transfer: pd.DataFrame) -> MatplotlibFigure:
    figure = new_figure(9.6, 3.2)
    axes = figure.subplots(1, 3)
    m = split["m"].to_numpy(dtype=float)
    named = split.rename(columns={"false split": "split", "low": "split low", "high": "split high"})
    look = RULE_STYLE["pact_singleton"]
    _band(axes[0], m, named, "split", color=look.colour, marker=look.marker, linestyle=look.line)
    axes[0].axhline(0.0, color="black", linewidth=0.8)
    axes[0].set_ylabel("Δ ncsAURC, false split − provenance")
    axes[0].set_title("(a) false split")
    merged = {"color": BLACK, "marker": "x", "linestyle": ":"}
    looks: dict[str, dict[str, Any]] = {
        name: {k: v for k, v in RULE_STYLE[name].kwargs.items() if k != "label"}
        for name in ("pact", "pact_singleton", "nested_dirichlet")
    } | {"merged": merged}
    for name, label in ARM_LABEL.items():
        axes[1].plot(m, split[f"budget {name}"], label=label, **looks[name])
    axes[1].set_yscale("log", base=2)
    top = split[[f"budget {name}" for name in ARM_LABEL]].to_numpy(dtype=float).max()
    ticks = 2.0 ** np.arange(0, np.floor(np.log2(top)) + 1)
    axes[1].set_yticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes[1].set_ylabel("budget relative to m = 1")
    axes[1].set_title("(b) budget")
    counted = transfer[transfer["score"] == "with count"]
    for name in TRANSFER_ARMS:
        label = "All merged" if name == "merged" else RULE_STYLE[name].label
        _band(axes[2], m, counted, name, label=label, **looks[name])
    axes[2].set_ylabel("ncsAURC, score fitted at m = 1")
    axes[2].set_title("(c) transferred score")
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.set_xticks(m, [f"{value:g}" for value in m])
        axis.set_xlabel("multiplicity m")
    axes[1].legend()
    axes[2].legend()
    return figure
