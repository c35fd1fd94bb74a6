"""Point values of the published figures, as fast as the search of `calibrate.py` needs them.

The studies compute the same figures with intervals, tables and plots; `pact compare` on a finished
run is the judge. Here only conditions whose sources changed are fused again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pact_benchmark.curve_metrics import (
    NARROW_SUPPORT,
    STRATA_GRID_POINTS,
    SUPPORT,
    SupportError,
    ncsaurc,
)
from pact_benchmark.data import Benchmark
from pact_benchmark.evaluation import Evaluation, Outputs, Variant
from pact_benchmark.metrics import probability_metrics
from pact_benchmark.selection import TARGETS, Curve, cutoffs, target_counts
from pact_core import PRIMARY, AdmissionPolicy, FusionOptions, SourceBatch, admission_response, fuse

Floats = npt.NDArray[np.float64]
Figures = dict[str, float]
Curves = dict[tuple[str, str], Curve]

PREDICTED = ("product", "nested_dirichlet", "global_cautious", "pact")
ORDERED = (
    "product",
    "nested_dirichlet",
    "global_cautious",
    "provenance_pooling",
    "hierarchy_cautious",
    "pact",
)
COMPLETE = ("product", "nested_dirichlet", "hierarchy_cautious", "provenance_pooling", "pact")
SCORES = ("native", "peak", "margin", "inverse_entropy", "pooled_correctness")
HELD = ("pact", "nested_dirichlet", "product")
HELD_CONDITIONS = (
    "geometry_missing_language_low_quality",
    "partial_disagreement_low_quality",
    "language_missing_context_noisy",
    "overconfident_contradictory_sources",
)
EPSILONS = (0.001, 0.005, 0.01, 0.02)
COPIES = 8
OUT_OF_SUPPORT = 1.5
UNCORROBORATED = AdmissionPolicy(corroboration="off")
CROSS_ROLE = AdmissionPolicy(corroboration="cross_role")
COMPONENT_COUNT = AdmissionPolicy(corroboration="component_count")
TWO_COMPONENTS = AdmissionPolicy(required_components=2)


class ConditionRows:
    """The sources of one condition with everything computed from them kept."""

    def __init__(self, sources: SourceBatch) -> None:
        self.sources = sources
        self._fused: dict[Any, tuple[npt.NDArray[Any], ...]] = {}
        self._responses: dict[Any, npt.NDArray[Any]] = {}

    def fused(self, variant: Variant, kappa: float) -> tuple[npt.NDArray[Any], ...]:
        """Return posterior, contract, score and native eligibility of a rule."""
        if (variant, kappa) not in self._fused:
            options = FusionOptions(kappa=kappa, missing=variant.missing)
            result = fuse(self.sources, rule=variant.rule, options=options)
            self._fused[variant, kappa] = (
                np.asarray(result.posterior),
                np.asarray(result.contract),
                np.asarray(result.score),
                np.asarray(result.native_eligible),
            )
        return self._fused[variant, kappa]

    def responses(
        self, variant: Variant, kappa: float, policy: AdmissionPolicy
    ) -> npt.NDArray[Any]:
        """Return the admission codes of a rule's candidates."""
        key = (variant, kappa, policy)
        if key not in self._responses:
            contract = self.fused(variant, kappa)[1]
            self._responses[key] = np.asarray(admission_response(self.sources, contract, policy))
        return self._responses[key]


class PiecewiseEvaluation(Evaluation):
    """An evaluation whose outputs are put together from conditions.

    Args:
        benchmark: All rows.
        parts: The conditions.
        rows: Positions of each condition's rows.
        kappa: Concentration of each outer fold.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        parts: Sequence[ConditionRows],
        rows: Sequence[npt.NDArray[Any]],
        kappa: Sequence[float] | None,
    ) -> None:
        super().__init__(benchmark, kappa=kappa)
        self._parts, self._rows = parts, rows
        self._joined: dict[Any, Outputs] = {}
        self._codes: dict[Any, npt.NDArray[Any]] = {}

    def outputs(self, rule: str | Variant, kappa: float | None = None) -> Outputs:
        """Return a rule's outputs for all rows at one concentration."""
        variant = Variant(rule) if isinstance(rule, str) else rule
        at = 8.0 if kappa is None else float(kappa)
        if (variant, at) not in self._joined:
            n, k = self.benchmark.n, len(self.benchmark.sources.contracts)
            posterior, score = np.empty((n, k)), np.empty(n)
            contract, eligible = np.empty(n, dtype=np.int64), np.empty(n, dtype=bool)
            for part, rows in zip(self._parts, self._rows, strict=True):
                posterior[rows], contract[rows], score[rows], eligible[rows] = part.fused(
                    variant, at
                )
            self._joined[variant, at] = Outputs(
                posterior=posterior,
                contract=contract,
                score=score,
                correct=contract == self.benchmark.label,
                native_eligible=eligible,
            )
        return self._joined[variant, at]

    def responses(
        self,
        rule: str | Variant,
        kappa: float | None = None,
        policy: AdmissionPolicy | None = None,
    ) -> npt.NDArray[Any]:
        """Return the admission code of a rule's candidates."""
        variant = Variant(rule) if isinstance(rule, str) else rule
        at, used = 8.0 if kappa is None else float(kappa), policy or PRIMARY
        key = (variant, at, used)
        if key not in self._codes:
            codes = np.empty(self.benchmark.n, dtype=np.int8)
            for part, rows in zip(self._parts, self._rows, strict=True):
                codes[rows] = part.responses(variant, at, used)
            self._codes[key] = codes
        return self._codes[key]


def area(curve: Curve, support: tuple[float, float] = SUPPORT, points: int = 36) -> float:
    """Return the area under a curve; a large value where it does not span the support."""
    try:
        return ncsaurc(curve, *support, points)
    except SupportError:
        return OUT_OF_SUPPORT


def figures(evaluation: Evaluation) -> tuple[Figures, Curves]:
    """Return the figures that have published values, and the curves by (stage, rule)."""
    found: Figures = {}
    curves: Curves = {}
    steps: tuple[Callable[[Evaluation, Figures, Curves], None], ...] = (
        _prediction,
        _before,
        _after,
        _matched,
        _copies,
        _near_copies,
        _checks,
        _strata,
        _joint_holdout,
    )
    for step in steps:
        step(evaluation, found, curves)
    return found, curves


def _prediction(evaluation: Evaluation, found: Figures, curves: Curves) -> None:
    label = evaluation.benchmark.label
    for rule in PREDICTED:
        outputs = evaluation.held_out(rule)
        metrics = probability_metrics(outputs.posterior, outputs.contract, label)
        for name, value in metrics.items():
            found[f"prediction.{rule}.{name}"] = float(value)
    for name in ("nll", "brier", "ece10"):
        found[f"prediction.pact_minus_nested.{name}"] = (
            found[f"prediction.pact.{name}"] - found[f"prediction.nested_dirichlet.{name}"]
        )


def _before(evaluation: Evaluation, found: Figures, curves: Curves) -> None:
    for rule in ORDERED:
        for score in SCORES:
            curve = evaluation.curve(rule, score=score)
            found[f"before_admission.{rule}.{score}"] = area(curve)
            if score == "native":
                curves["before_admission", rule] = curve
    curves["before_admission", "quality_weighted"] = evaluation.curve("quality_weighted")
    eligible = evaluation.benchmark.base_eligible
    rate = {r: float((~evaluation.held_out(r).correct)[eligible].mean()) for r in ORDERED}
    native = {r: found[f"before_admission.{r}.native"] for r in ORDERED}
    found["random_order.pact.reference"] = rate["pact"]
    found["random_order.pact.errors_among_eligible"] = rate["pact"] * eligible.sum()
    found["random_order.product_minus_pact"] = rate["product"] - rate["pact"]
    for rule in ("pact", "product"):
        found[f"random_order.{rule}.excess"] = native[rule] - rate[rule]
    found["before_admission.product_minus_pact"] = native["product"] - native["pact"]
    language = evaluation.benchmark.observed[:, 0]
    found["before_admission.language_only.ncsaurc"] = area(
        evaluation.curve("language", score="peak", eligible=language), points=STRATA_GRID_POINTS
    )
    omitted = Variant("pact", missing="remove")
    found["missing_sources.omitted.before_admission"] = area(evaluation.curve(omitted))
    found["missing_sources.omitted.after_admission"] = area(
        evaluation.curve(omitted, stage="after")
    )


def _after(evaluation: Evaluation, found: Figures, curves: Curves) -> None:
    n = evaluation.benchmark.n
    for rule in (*COMPLETE, "quality_weighted"):
        curve = evaluation.curve(rule, stage="after")
        curves["after_admission", rule] = curve
        if rule == "quality_weighted":
            continue
        point = curve.at(0.13)
        name = f"after_admission.{rule}"
        found[f"{name}.ncsaurc"] = area(curve)
        found[f"{name}.coverage_at_013"] = point.coverage
        found[f"{name}.wrong_all_at_013"] = point.wrong_all
        found[f"{name}.correct_all_at_013"] = point.correct_all
    found["after_admission.pact_minus_nested"] = (
        found["after_admission.pact.ncsaurc"] - found["after_admission.nested_dirichlet.ncsaurc"]
    )
    point = curves["after_admission", "pact"].at(0.13)
    found["cost.unanimity"] = (10 * point.wrong + n - point.admitted) / n
    found["cost.always_continue"] = 10 * float((~evaluation.held_out("pact").correct).mean())
    point = evaluation.curve("pact", stage="after", policy=TWO_COMPONENTS).at(0.13)
    found["cost.two_components"] = (10 * point.wrong + n - point.admitted) / n


def _matched(evaluation: Evaluation, found: Figures, curves: Curves) -> None:
    benchmark = evaluation.benchmark
    present = benchmark.sources_present
    ordinary = ~benchmark.in_condition("adversarial_consensus_wrong")
    policies = {"without_corroboration": UNCORROBORATED, "with_corroboration": PRIMARY}
    narrow = {}
    for arm, rule in (("singleton", "pact_singleton"), ("provenance", "pact")):
        for name, policy in policies.items():
            whole = evaluation.curve(rule, stage="after", policy=policy)
            part = evaluation.curve(rule, stage="after", policy=policy, rows=present)
            found[f"matched.{arm}.{name}.all"] = area(whole)
            found[f"matched.{arm}.{name}.present"] = area(part)
            narrow[arm, name] = area(part, NARROW_SUPPORT)
        found[f"matched.{arm}.without_adversarial"] = area(
            evaluation.curve(rule, stage="after", rows=ordinary)
        )
    for name in policies:
        for rows in ("all", "present"):
            found[f"matched.partition_effect.{name}.{rows}"] = (
                found[f"matched.provenance.{name}.{rows}"]
                - found[f"matched.singleton.{name}.{rows}"]
            )
        found[f"matched.partition_effect.{name}.present_to_035"] = (
            narrow["provenance", name] - narrow["singleton", name]
        )
    found["matched.partition_effect.without_adversarial"] = (
        found["matched.provenance.without_adversarial"]
        - found["matched.singleton.without_adversarial"]
    )
    without = found["matched.partition_effect.without_corroboration.all"]
    found["matched.interaction.all"] = (
        found["matched.partition_effect.with_corroboration.all"] - without
    )
    found["multiplicity.false_split_m1"] = -without


def _evidence(evaluation: Evaluation) -> tuple[Floats, Floats]:
    """Return unit-concentration evidence [n, 3, K] and each row's concentration [n, 1]."""
    benchmark = evaluation.benchmark
    sources = benchmark.sources
    reliability = np.nan_to_num(sources.quality) * (1.0 - np.nan_to_num(sources.conflict))
    mass = reliability[..., None] * np.nan_to_num(sources.opinion)
    kappa = evaluation.kappa[benchmark.fold][:, None]
    return np.where(benchmark.observed[..., None], mass, 0.0), kappa


def _posterior(evidence: Floats, kappa: Floats) -> Floats:
    scaled = kappa * evidence + 1.0
    result: Floats = scaled / scaled.sum(axis=-1, keepdims=True)
    return result


def _copies(evaluation: Evaluation, found: Figures, curves: Curves) -> None:
    evidence, kappa = _evidence(evaluation)
    base = evidence[:, 0] + np.minimum(evidence[:, 1], evidence[:, 2])
    before = _posterior(base, kappa)
    changed, drift = [], []
    for j in range(3):
        copied = base + (COPIES - 1) * evidence[:, j]
        changed.append(copied.argmax(axis=1) != base.argmax(axis=1))
        drift.append(np.abs(_posterior(copied, kappa) - before).sum(axis=1))
    found["copies.pact_separate.contract_changed"] = float(np.mean(changed))
    found["copies.pact_separate.mean_drift"] = float(np.mean(drift))


def _near_copies(evaluation: Evaluation, found: Figures, curves: Curves) -> None:
    benchmark = evaluation.benchmark
    rows = np.flatnonzero(benchmark.in_condition("clean_control") & (benchmark.step == 0))
    evidence, kappa = _evidence(evaluation)
    evidence, kappa = evidence[rows], kappa[rows]
    opinion = benchmark.sources.opinion[rows, 1]
    scale = evidence[:, 1].sum(axis=-1, keepdims=True)
    order, i = np.argsort(-opinion, axis=1), np.arange(rows.size)
    meet = np.minimum(evidence[:, 1], evidence[:, 2])
    before = _posterior(evidence[:, 0] + meet, kappa)
    moved, drift, changed = [], [], 0
    for epsilon in EPSILONS:
        copy = opinion.copy()
        share = np.minimum(epsilon, opinion[i, order[:, 0]] / 2.0)
        copy[i, order[:, 0]] -= share
        copy[i, order[:, 1]] += share
        after = _posterior(evidence[:, 0] + np.minimum(meet, scale * copy), kappa)
        drift.append(np.abs(after - before).sum(axis=1))
        moved.append(np.full(rows.size, epsilon))
        changed += int((after.argmax(axis=1) != before.argmax(axis=1)).sum())
    x, y = np.concatenate(moved), np.concatenate(drift)
    found["near_copies.max_drift"] = float(y.max())
    found["near_copies.slope"] = float((x * y).sum() / (x * x).sum())
    found["near_copies.contract_changed"] = float(changed)


def _checks(evaluation: Evaluation, found: Figures, curves: Curves) -> None:
    benchmark = evaluation.benchmark
    rankings = evaluation.rankings("nested_dirichlet", stage="after")
    for check in PRIMARY.checks:
        policy, added = PRIMARY.without(check), 0
        for fold, (ranking, kappa) in enumerate(zip(rankings, evaluation.kappa, strict=True)):
            train = benchmark.fold != fold
            limit = cutoffs(
                ranking.score[train & ranking.available], target_counts(0.13, int(train.sum()))
            )[0]
            passes = evaluation.responses("nested_dirichlet", kappa, policy) == 0
            new = passes & benchmark.base_eligible & ~train & ~ranking.available
            added += int((new & (ranking.score >= limit) & ~ranking.correct).sum())
        name = check.removeprefix("component_")
        found[f"checks.without_{name}.wrong_added"] = added
    found["checks.without_corroboration.wrong_all"] = (
        found["checks.without_corroboration.wrong_added"] / benchmark.n
    )
    curve = evaluation.curve("pact", stage="after", policy=CROSS_ROLE)
    found["corroboration_rules.cross_role.pact"] = area(curve)
    found["corroboration_rules.cross_role.wrong_all"] = curve.at(0.13).wrong_all
    found["corroboration_rules.cross_role.nested_dirichlet"] = area(
        evaluation.curve("nested_dirichlet", stage="after", policy=CROSS_ROLE)
    )


def _strata(evaluation: Evaluation, found: Figures, curves: Curves) -> None:
    valid = evaluation.benchmark.three_valid
    points = STRATA_GRID_POINTS
    for rule in ("pact", "nested_dirichlet", "product"):
        strata = {
            "three_valid": evaluation.mixed_curve(rule, rows=valid),
            "unavailable_or_invalid": evaluation.mixed_curve(rule, rows=~valid),
            "all_valid_eligibility": evaluation.mixed_curve(rule, eligible=valid),
        }
        for name, curve in strata.items():
            found[f"strata.{name}.before_admission.{rule}"] = area(curve, points=points)
    for rule in ("pact", "nested_dirichlet"):
        found[f"strata.three_valid.after_admission.{rule}"] = area(
            evaluation.curve(rule, stage="after", rows=valid)
        )


def _joint_holdout(evaluation: Evaluation, found: Figures, curves: Curves) -> None:
    for rule in HELD:
        whole, parts = held_condition_curves(evaluation, rule)
        point, name = whole.at(0.13), f"joint_holdout.{rule}"
        found[f"{name}.ncsaurc"] = area(whole, NARROW_SUPPORT)
        found[f"{name}.coverage_at_013"] = point.coverage
        found[f"{name}.wrong_all_at_013"] = point.wrong_all
        found[f"{name}.correct_all_at_013"] = point.correct_all
        sign = {"pact": 1.0, "nested_dirichlet": -1.0}.get(rule, 0.0)
        for condition in HELD_CONDITIONS:
            key = f"joint_holdout.condition.{condition}"
            value = sign * area(parts[condition], NARROW_SUPPORT)
            found[key] = found.get(key, 0.0) + value
    found["joint_holdout.pact_minus_nested"] = (
        found["joint_holdout.pact.ncsaurc"] - found["joint_holdout.nested_dirichlet.ncsaurc"]
    )


def held_condition_curves(evaluation: Evaluation, rule: str) -> tuple[Curve, dict[str, Curve]]:
    """Return the curve over all held conditions, and each condition's, after admission."""
    benchmark = evaluation.benchmark
    names = benchmark.condition_names
    admitted = np.zeros((len(names), TARGETS.size), dtype=np.int64)
    wrong = np.zeros_like(admitted)
    for fold, ranking in enumerate(evaluation.rankings(rule, stage="after")):
        outside = benchmark.fold != fold
        train = np.flatnonzero(outside & ranking.available)
        order = train[np.argsort(ranking.score[train])]
        score, condition = ranking.score[order], benchmark.condition[order]
        test = np.flatnonzero(~outside & ranking.available)
        sizes = np.bincount(benchmark.condition[outside], minlength=len(names))
        for c in range(len(names)):
            tested = test[benchmark.condition[test] == c]
            if tested.size == 0:
                continue
            kept = score[condition != c]
            ranks = np.minimum(target_counts(TARGETS, int(sizes.sum() - sizes[c])), kept.size)
            first = np.searchsorted(-kept[kept.size - ranks], -ranking.score[tested], side="left")
            width = TARGETS.size + 1
            admitted[c] += np.cumsum(np.bincount(first, minlength=width)[:-1])
            errors = first[~ranking.correct[tested]]
            wrong[c] += np.cumsum(np.bincount(errors, minlength=width)[:-1])
    size = np.bincount(benchmark.condition, minlength=len(names))
    parts = {
        name: Curve(TARGETS, size[c : c + 1], admitted[c][None], wrong[c][None])
        for c, name in enumerate(names)
    }
    total = Curve(TARGETS, size.sum(keepdims=True), admitted.sum(0)[None], wrong.sum(0)[None])
    return total, parts
