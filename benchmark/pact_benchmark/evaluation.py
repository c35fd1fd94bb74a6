"""What every study shares: outputs of the rules, fold by fold, computed once.

For outer fold f, a rule that uses a concentration is computed at f's concentration for all
rows, training and test alike; the cutoffs of f are fitted on that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.concentration import (
    CONCENTRATIONS,
    FIXED_CANDIDATES,
    Candidate,
    ConcentrationChoice,
    choose_concentrations,
)
from pact_benchmark.data import Benchmark
from pact_benchmark.scores import (
    FITTED_ON,
    POSTERIOR_SCORES,
    CorrectnessModel,
    correctness_features,
    fit_correctness,
    posterior_score,
)
from pact_benchmark.selection import TARGETS, Curve, Ranking, risk_coverage
from pact_core import PRIMARY, AdmissionPolicy, FusionOptions, admission_response, fuse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Stage = Literal["before", "after"]

RULES = (
    "quality_weighted",
    "product",
    "nested_dirichlet",
    "global_cautious",
    "hierarchy_cautious",
    "pooling",
    "provenance_pooling",
    "pact",
)
WITHOUT_CONCENTRATION = frozenset(
    {*FIXED_CANDIDATES, "hierarchy_cautious", "language", "geometry", "risk"}
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A rule with the options that set it apart from its plain form.

    Attributes:
        rule: name of the rule.
        missing: what an unavailable source does (`zero`, `exclude`, `remove`, `isolate`).
        source_scale: one factor per source, or `None` for equal scales.
    """

    rule: str
    missing: str = "zero"
    source_scale: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a rule answers for every row, at one concentration or assembled from several.

    Attributes:
        posterior: probabilities [n, K].
        contract: predicted contract [n].
        score: native selection score [n].
        correct: whether the contract is the reference contract [n].
        native_eligible: eligibility by the rule's own criterion [n].
    """

    posterior: Floats
    contract: Ints
    score: Floats
    correct: Bools
    native_eligible: Bools


class Evaluation:
    """Rules on one benchmark under grouped folds, with everything expensive kept.

    Args:
        benchmark: the rows.
        kappa: concentration to hold in each outer fold [F]; `None` selects it by inner folds.
        concentrations: candidates of that selection.
        policy: the common admission policy.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        *,
        kappa: Sequence[float] | None = None,
        concentrations: Sequence[float] = CONCENTRATIONS,
        policy: AdmissionPolicy = PRIMARY,
    ) -> None:
        self.benchmark = benchmark
        self.policy = policy
        self.concentrations = tuple(float(value) for value in concentrations)
        self._given = None if kappa is None else np.asarray(kappa, dtype=np.float64)
        self._outputs: dict[tuple[Variant, float | None], Outputs] = {}
        self._responses: dict[tuple[Variant, float | None, AdmissionPolicy], NDArray[np.int8]] = {}
        self._inputs: dict[tuple[Variant, float | None], Floats] = {}
        self._held_out: dict[Variant, Outputs] = {}

    @property
    def without_corroboration(self) -> AdmissionPolicy:
        """The common admission policy with the corroboration check switched off."""
        return replace(self.policy, corroboration="off")

    @cached_property
    def choice(self) -> ConcentrationChoice:
        """How the concentrations were selected."""
        candidates = [
            Candidate(rule, None, self._selection_ranking(rule, None)) for rule in FIXED_CANDIDATES
        ]
        candidates += [
            Candidate("nested_dirichlet", kappa, self._selection_ranking("nested_dirichlet", kappa))
            for kappa in self.concentrations
        ]
        return choose_concentrations(candidates, self.benchmark.fold)

    @cached_property
    def kappa(self) -> Floats:
        """Concentration of each outer fold [F]."""
        return self.choice.kappa if self._given is None else self._given

    @property
    def concentration_note(self) -> str | None:
        """What sets the concentrations apart from plainly selected ones, if anything does."""
        if self._given is None:
            return self.choice.passed_over
        return f"concentrations held at {', '.join(f'{kappa:g}' for kappa in self._given)}"

    def outputs(self, rule: str | Variant, kappa: float | None = None) -> Outputs:
        """Return a rule's outputs for all rows at one concentration.

        Rules without a concentration ignore `kappa`; all others need it.
        """
        variant, at = _key(rule, kappa)
        if at is None and variant.rule not in WITHOUT_CONCENTRATION:
            raise ValueError(f"rule {variant.rule!r} needs a concentration")
        if (variant, at) not in self._outputs:
            options = FusionOptions(
                kappa=8.0 if at is None else at,
                missing=variant.missing,
                source_scale=variant.source_scale,
            )
            fused = fuse(self.benchmark.sources, rule=variant.rule, options=options)
            contract = np.asarray(fused.contract)
            self._outputs[variant, at] = Outputs(
                posterior=np.asarray(fused.posterior),
                contract=contract,
                score=np.asarray(fused.score),
                correct=contract == self.benchmark.label,
                native_eligible=np.asarray(fused.native_eligible),
            )
        return self._outputs[variant, at]

    def responses(
        self, rule: str | Variant, kappa: float | None = None, policy: AdmissionPolicy | None = None
    ) -> NDArray[np.int8]:
        """Return the admission code of a rule's candidates [n]: 0 admitted, else the check."""
        variant, at = _key(rule, kappa)
        chosen = self.policy if policy is None else policy
        key = (variant, at, chosen)
        if key not in self._responses:
            contract = self.outputs(variant, at).contract
            self._responses[key] = np.asarray(
                admission_response(self.benchmark.sources, contract, chosen), dtype=np.int8
            )
        return self._responses[key]

    def fold_outputs(self, rule: str | Variant) -> tuple[Outputs, ...]:
        """Return a rule's outputs for all rows as each outer fold sees them."""
        return tuple(self.outputs(rule, kappa) for kappa in self.kappa)

    def held_out(self, rule: str | Variant) -> Outputs:
        """Return the outputs with each row at the concentration of its own fold."""
        variant, _ = _key(rule, None)
        if variant not in self._held_out:
            parts = self.fold_outputs(variant)
            fold = self.benchmark.fold

            def pick(name: str) -> NDArray[Any]:
                return assemble_folds([getattr(part, name) for part in parts], fold)

            self._held_out[variant] = Outputs(
                posterior=pick("posterior"),
                contract=pick("contract"),
                score=pick("score"),
                correct=pick("correct"),
                native_eligible=pick("native_eligible"),
            )
        return self._held_out[variant]

    def held_out_responses(
        self, rule: str | Variant, policy: AdmissionPolicy | None = None
    ) -> NDArray[np.int8]:
        """Return the admission codes with each row at the concentration of its own fold [n]."""
        parts = [self.responses(rule, kappa, policy) for kappa in self.kappa]
        return assemble_folds(parts, self.benchmark.fold)

    def correctness_models(self, rows: Bools | None = None) -> tuple[CorrectnessModel, ...]:
        """Return the pooled correctness model of each outer fold.

        Args:
            rows: rows of the stratum to fit on [n]; `None` fits on all.
        """
        return self._all_models if rows is None else self._fit_models(rows)

    def scores(
        self,
        rule: str | Variant,
        score: str = "native",
        models: Sequence[CorrectnessModel] | None = None,
    ) -> tuple[Floats, ...]:
        """Return one selection score of a rule for all rows, as each outer fold sees it."""
        parts = self.fold_outputs(rule)
        if score == "native":
            return tuple(part.score for part in parts)
        if score in POSTERIOR_SCORES:
            return _once(parts, lambda part: posterior_score(part.posterior, score))
        if score != "pooled_correctness":
            raise ValueError(f"unknown score {score!r}")
        fitted = self.correctness_models() if models is None else models
        return tuple(
            model.score(self._features(rule, kappa))
            for model, kappa in zip(fitted, self.kappa, strict=True)
        )

    def rankings(
        self,
        rule: str | Variant,
        *,
        score: str = "native",
        stage: Stage = "before",
        policy: AdmissionPolicy | None = None,
        eligible: Bools | None = None,
        models: Sequence[CorrectnessModel] | None = None,
    ) -> tuple[Ranking, ...]:
        """Return a rule's order of the rows as each outer fold sees it.

        Args:
            rule: name of the rule, or a variant of it.
            score: one of the selection scores.
            stage: `before` admission, or `after`: only rows that pass every check are available.
            policy: the admission policy of the `after` stage; `None` takes the common one.
            eligible: rows that may be retained [n]; `None` takes base eligibility.
            models: correctness models to score with; `None` takes those of all rows.
        """
        base = self.benchmark.base_eligible if eligible is None else eligible
        parts = self.fold_outputs(rule)
        return tuple(
            Ranking(
                value,
                base if stage == "before" else base & (self.responses(rule, kappa, policy) == 0),
                part.correct,
            )
            for value, part, kappa in zip(
                self.scores(rule, score, models), parts, self.kappa, strict=True
            )
        )

    def curve(
        self,
        rule: str | Variant,
        *,
        score: str = "native",
        stage: Stage = "before",
        policy: AdmissionPolicy | None = None,
        eligible: Bools | None = None,
        models: Sequence[CorrectnessModel] | None = None,
        rows: Bools | None = None,
        targets: Floats = TARGETS,
    ) -> Curve:
        """Return the held-out risk–coverage curve of a rule (arguments as in `rankings`).

        Args:
            rule: name of the rule, or a variant of it.
            score: one of the selection scores.
            stage: before or after admission.
            policy: the admission policy of the `after` stage.
            eligible: rows that may be retained [n].
            models: correctness models to score with.
            rows: rows of a stratum, the others being left out altogether [n].
            targets: target coverages.
        """
        rankings = self.rankings(
            rule, score=score, stage=stage, policy=policy, eligible=eligible, models=models
        )
        return self.curve_of(rankings, rows=rows, targets=targets)

    def mixed_curve(
        self,
        rule: str | Variant,
        *,
        eligible: Bools | None = None,
        rows: Bools | None = None,
        targets: Floats = TARGETS,
    ) -> Curve:
        """Return the native curve before admission that ranks held-out rows together.

        Every row keeps the score of its own fold's concentration, also when it serves as a
        training row of another fold.
        """
        outputs = self.held_out(rule)
        base = self.benchmark.base_eligible if eligible is None else eligible
        ranking = Ranking(outputs.score, base, outputs.correct)
        return self.curve_of(ranking, rows=rows, targets=targets)

    def curve_of(
        self,
        rankings: Ranking | Sequence[Ranking],
        *,
        rows: Bools | None = None,
        targets: Floats = TARGETS,
    ) -> Curve:
        """Return the held-out curve of rankings made elsewhere."""
        benchmark = self.benchmark
        return risk_coverage(
            rankings,
            benchmark.fold,
            benchmark.scene,
            scenes=benchmark.scenes,
            targets=targets,
            rows=rows,
        )

    def _selection_ranking(self, rule: str, kappa: float | None) -> Ranking:
        """Return the ranking with which a rule takes part in the concentration's choice."""
        outputs = self.outputs(rule, kappa)
        admitted = self.responses(rule, kappa) == 0
        return Ranking(outputs.score, outputs.native_eligible & admitted, outputs.correct)

    def _features(self, rule: str | Variant, kappa: float | None) -> Floats:
        """Return the inputs of the correctness model for all rows [n, 9]."""
        key = _key(rule, kappa)
        if key not in self._inputs:
            self._inputs[key] = correctness_features(
                self.outputs(*key).posterior, self.benchmark.observed_count
            )
        return self._inputs[key]

    @cached_property
    def _all_models(self) -> tuple[CorrectnessModel, ...]:
        return self._fit_models(np.ones(self.benchmark.n, dtype=bool))

    def _fit_models(self, rows: Bools) -> tuple[CorrectnessModel, ...]:
        """Fit one correctness model per outer fold on the stacked outputs of four rules."""
        models = []
        for index, kappa in enumerate(self.kappa):
            train = rows & (self.benchmark.fold != index)
            features = [self._features(rule, kappa)[train] for rule in FITTED_ON]
            correct = [self.outputs(rule, kappa).correct[train] for rule in FITTED_ON]
            models.append(fit_correctness(np.concatenate(features), np.concatenate(correct)))
        return tuple(models)


def assemble_folds(parts: Sequence[NDArray[Any]], fold: Ints) -> NDArray[Any]:
    """Return, for each row, the value of its own fold's part; each part is [n, ...]."""
    result = parts[0].copy()
    for index, part in enumerate(parts[1:], start=1):
        if part is not parts[0]:
            inside = fold == index
            result[inside] = part[inside]
    return result


def _key(rule: str | Variant, kappa: float | None) -> tuple[Variant, float | None]:
    """Return the identity under which outputs are kept."""
    variant = Variant(rule) if isinstance(rule, str) else rule
    return variant, None if variant.rule in WITHOUT_CONCENTRATION or kappa is None else float(kappa)


def _once(parts: Sequence[Outputs], compute: Any) -> tuple[Floats, ...]:
    """Apply a function to each part, once per distinct object."""
    made: dict[int, Floats] = {}
    for part in parts:
        if id(part) not in made:
            made[id(part)] = compute(part)
    return tuple(made[id(part)] for part in parts)
