"""The Set Transformer in the joint holdout: which models there are, and what they add up to."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.data import Benchmark
from pact_benchmark.selection import Ranking
from pact_benchmark.studies._holdout import HoldoutCounts, count_retained, empty_counts
from pact_core import AdmissionPolicy, admissible

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Model:
    """One training: a held condition, an outer fold and an initialisation."""

    condition: int
    outer: int
    seed: int

    @property
    def name(self) -> str:
        """Name of the model's shard."""
        return f"c{self.condition:02d}-f{self.outer}-s{self.seed:05d}"


@dataclass(frozen=True)
class TrainingInputs:
    """What all trainings share.

    Attributes:
        features: description of every source [n, 3, 19].
        label: reference contract [n].
        fold: outer fold of each row [n].
        folds: number of folds.
        condition: condition of each row [n].
        recipe: optimiser and stopping rule, by name.
    """

    features: NDArray[np.float32]
    label: NDArray[np.int64]
    fold: NDArray[np.int64]
    folds: int
    condition: NDArray[np.int64]
    recipe: Mapping[str, float]


def planned_models(conditions: int, folds: int, initialisations: tuple[int, ...]) -> list[Model]:
    """Return every training: initialisation by initialisation, fold by fold, all conditions.

    Each initialisation is offset by fold and condition, so that no two models share a seed. In
    this order a part of the trainings already covers every condition.
    """
    return [
        Model(condition, outer, start + 100 * outer + 1000 * condition)
        for start in initialisations
        for outer in range(folds)
        for condition in range(conditions)
    ]


def split_rows(
    model: Model, fold: NDArray[np.int64], folds: int, condition: NDArray[np.int64]
) -> tuple[Bools, Bools, Bools]:
    """Return the training, validation and test rows of a model, each [n].

    The fold after the outer one validates and fits the cutoffs. Neither training nor validation
    rows are of the held condition; test rows are all of it.
    """
    held = condition == model.condition
    validation = fold == (model.outer + 1) % folds
    outer = fold == model.outer
    return ~outer & ~validation & ~held, validation & ~held, outer & held


def model_shard(inputs: TrainingInputs, model: Model) -> bytes:
    """Train one model and return its outputs on validation, then test rows.

    The shard is a NumPy array [rows, K + 1]: contract probabilities and the selection score.
    """
    from pact_benchmark.set_transformer.training import Recipe, Rows, predict, train

    training, validation, test = split_rows(model, inputs.fold, inputs.folds, inputs.condition)
    trained = train(
        Rows(inputs.features[training], inputs.label[training]),
        Rows(inputs.features[validation], inputs.label[validation]),
        model.seed,
        Recipe.from_table(inputs.recipe),
    )
    rows = np.concatenate([np.flatnonzero(validation), np.flatnonzero(test)])
    buffer = io.BytesIO()
    np.save(buffer, predict(trained, inputs.features[rows]))
    return buffer.getvalue()


def joint_counts_of_models(
    benchmark: Benchmark,
    policy: AdmissionPolicy,
    outputs: Mapping[tuple[int, int], list[NDArray[Any]]],
) -> tuple[HoldoutCounts, Bools]:
    """Average the initialisations of each cell, fit cutoffs on validation rows, count test rows.

    Args:
        benchmark: the rows.
        policy: admission policy that the predicted contracts must pass.
        outputs: shards by (condition, outer fold), one per finished initialisation.

    Returns:
        The counts, whose row numbers cover the finished cells only, and those rows [n].
    """
    counts = empty_counts(benchmark)
    covered = np.zeros(benchmark.n, dtype=bool)
    for (condition, outer), parts in outputs.items():
        cell = Model(condition, outer, 0)
        _, validation, test = split_rows(cell, benchmark.fold, benchmark.folds, benchmark.condition)
        rows = np.concatenate([np.flatnonzero(validation), np.flatnonzero(test)])
        mean = np.mean([np.asarray(part, dtype=np.float64) for part in parts], axis=0)
        contract = mean[:, :-1].argmax(axis=1)
        score = np.zeros(benchmark.n)
        available, correct = np.zeros((2, benchmark.n), dtype=bool)
        score[rows] = mean[:, -1]
        available[rows] = np.asarray(admissible(benchmark.sources.take(rows), contract, policy))
        correct[rows] = contract == benchmark.label[rows]
        ranking = Ranking(score, available, correct)
        count_retained(counts, benchmark, condition, ranking, validation, test)
        covered |= test
    n = empty_counts(benchmark, covered).n
    return HoldoutCounts(n, counts.admitted, counts.wrong), covered
