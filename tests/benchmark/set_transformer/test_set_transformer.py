"""The learned reference: features, architecture, loss, splits, resumable training."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pact_benchmark.config import load_config
from pact_benchmark.console import Console
from pact_benchmark.set_transformer import training_status
from pact_benchmark.set_transformer.features import FEATURES, source_features
from pact_benchmark.set_transformer.holdout import (
    Model,
    joint_counts_of_models,
    planned_models,
    split_rows,
)
from pact_benchmark.set_transformer.job import partial_note, run_training, training_plan
from pact_core import HANDOVER_ROLES, PRIMARY, SourceBatch

torch = pytest.importorskip("torch")


def one_row(**changes: np.ndarray) -> SourceBatch:
    """Return one instance with plain sources, changed as asked."""
    row = SourceBatch.build(
        np.full((1, 3, 5), 0.2),
        np.array([0.9, 0.8, 0.7]),
        np.array([0.1, 0.2, 0.3]),
        component=np.array([0, 1, 1]),
        roles=HANDOVER_ROLES,
    )
    return replace(row, **changes)


def test_features_by_hand():
    """Nineteen numbers: opinion, quality, conflict, seven indicators, type and lineage."""
    features = source_features(one_row())
    assert features.shape == (1, 3, len(FEATURES)) == (1, 3, 19)
    language = dict(zip(FEATURES, features[0, 0].tolist(), strict=True))
    assert language["quality"] == pytest.approx(0.9)
    assert language["current"] == 1.0
    assert language["is_language"] == language["command_group"] == 1.0
    assert features[0, 2, 14:].tolist() == [0.0, 0.0, 1.0, 0.0, 1.0]
    assert features[0, :, 7:11].sum() == 0.0


def test_features_of_degraded_sources():
    """Absence, staleness, a bad format and another command each raise their indicator."""
    missing = np.array([[False, True, False]])
    conflict = np.array([[0.1, np.nan, np.nan]])
    row = one_row(
        unavailable=missing,
        conflict=conflict,
        command_stale=np.array([True]),
        command_mismatch=np.array([True]),
        declared_invalid=np.array([[False, False, True]]),
    )
    features = source_features(row)[0]
    column = {name: index for index, name in enumerate(FEATURES)}
    assert features[:, column["missing"]].tolist() == [0.0, 1.0, 0.0]
    assert features[:, column["missing_conflict"]].tolist() == [0.0, 0.0, 1.0]
    assert features[:, column["stale"]].tolist() == [1.0, 0.0, 0.0]
    assert features[:, column["hash_differs"]].tolist() == [1.0, 0.0, 0.0]
    assert features[:, column["invalid_format"]].tolist() == [0.0, 0.0, 1.0]
    assert features[1, :7].tolist() == [0.0] * 7
    assert np.isfinite(features).all()


def test_model_ignores_the_order_of_sources():
    """The sources are a set: a permutation changes neither logits nor selection."""
    from pact_benchmark.set_transformer.model import SetTransformer

    torch.manual_seed(0)
    model = SetTransformer(19, 5)
    sources = torch.randn(6, 3, 19)
    with torch.no_grad():
        logits, selection = model(sources)
        shuffled, score = model(sources[:, [2, 0, 1]])
    assert logits.shape == (6, 5)
    assert torch.allclose(logits, shuffled, atol=1e-5)
    assert torch.allclose(selection, score, atol=1e-6)
    assert ((selection > 0) & (selection < 1)).all()


def test_loss_by_hand():
    """Uniform logits at mean selection 0.2: ln 5 + 32 × 0.2² + 0.5 ln 5."""
    from pact_benchmark.set_transformer.model import selective_loss

    loss = selective_loss(torch.zeros(4, 5), torch.full((4,), 0.2), torch.zeros(4).long())
    assert float(loss) == pytest.approx(1.5 * math.log(5) + 32 * 0.04, rel=1e-5)
    enough = selective_loss(torch.zeros(4, 5), torch.full((4,), 0.6), torch.zeros(4).long())
    assert float(enough) == pytest.approx(1.5 * math.log(5), rel=1e-5)


def test_training_learns_and_repeats():
    """On a learnable rule the model beats chance; equal seeds give equal bytes."""
    from pact_benchmark.set_transformer.training import Recipe, Rows, predict, train

    rng = np.random.default_rng(0)
    features = rng.random((600, 3, 19), dtype=np.float32)
    label = rng.integers(0, 5, 600)
    features[np.arange(600), 0, label] += 3.0
    rows, held = Rows(features[:400], label[:400]), Rows(features[400:], label[400:])
    recipe = Recipe(epochs=6, batch=64)
    first, second = (predict(train(rows, held, 3, recipe), held.features) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first[:, :5].sum(axis=1), 1.0, atol=1e-5)
    assert (first[:, :5].argmax(axis=1) == held.label).mean() > 0.35
    other = predict(train(rows, held, 4, recipe), held.features)
    assert (other != first).any()


def test_early_stopping_keeps_the_best_epoch():
    """More epochs of a wild optimiser never make the returned model worse on validation."""
    from pact_benchmark.set_transformer.training import Recipe, Rows, _validation_loss, train

    rng = np.random.default_rng(1)
    rows = Rows(rng.random((64, 3, 19), dtype=np.float32), rng.integers(0, 5, 64))
    losses = [
        _validation_loss(
            train(rows, rows, 0, Recipe(epochs=epochs, patience=8, learning_rate=0.02, batch=64)),
            rows,
            64,
        )
        for epochs in (1, 2, 4, 8)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_splits_never_touch_the_held_condition_or_scenes():
    """Training and validation exclude the held condition; test rows are all of it."""
    fold = np.repeat(np.arange(5), 4)
    condition = np.tile([0, 1], 10)
    training, validation, test = split_rows(Model(1, 4, 0), fold, 5, condition)
    assert not (condition[training | validation] == 1).any()
    assert set(fold[validation]) == {0}
    assert set(fold[training]) == {1, 2, 3}
    assert (condition[test] == 1).all()
    assert set(fold[test]) == {4}


def test_planned_models_have_their_own_seeds():
    """Thirteen conditions, five folds, three initialisations: 195 seeds, all different."""
    models = planned_models(13, 5, (11, 23, 37))
    assert len(models) == len({model.seed for model in models}) == 195
    assert models[0].seed == 11
    assert models[2 * 13 + 1].seed == 11 + 1000 + 200
    assert {(m.condition, m.outer) for m in models[:65]} == {
        (c, f) for c in range(13) for f in range(5)
    }


def test_counts_fit_cutoffs_on_validation_rows_only(new_benchmark):
    """A perfect, constant-score model retains every admissible test row, and no other."""
    rows = new_benchmark(scenes=5, steps=1)
    cell = (2, 0)
    _, validation, test = split_rows(Model(*cell, 0), rows.fold, rows.folds, rows.condition)
    order = np.concatenate([np.flatnonzero(validation), np.flatnonzero(test)])
    output = np.zeros((order.size, 6))
    output[np.arange(order.size), rows.label[order]] = 1.0
    output[:, -1] = 0.7
    counts, covered = joint_counts_of_models(rows, PRIMARY, {cell: [output, output]})
    np.testing.assert_array_equal(covered, test)
    assert counts.n.sum() == test.sum()
    assert counts.wrong.sum() == 0
    assert counts.admitted[2, :, -1].sum() == test.sum()


def test_quick_training_is_resumable_and_labelled(new_run):
    """The smoke test trains two cells, says so, and trains nothing the second time."""
    run = new_run("run")
    config = load_config()
    quiet = Console(quiet=True)
    result = run_training(run, config, quiet, quick=True)
    statistic = result.statistics["joint_holdout.set_transformer_quick"]
    assert "quick (2 epochs): 2 of 65 cells" in statistic.note
    shards = sorted((run.path / "set_transformer").rglob("*.npy"))
    before = {path: path.stat().st_mtime_ns for path in shards}
    again = run_training(run, config, quiet, quick=True)
    assert len(before) == 2
    assert {path: path.stat().st_mtime_ns for path in shards} == before
    assert again.statistics == result.statistics
    assert training_status(run.path) is None


def test_limited_training_is_partial_and_goes_on(new_run):
    """A limit stops early, the status shows the rest, and the note counts the cells."""
    run = new_run("run")
    config = load_config()
    config.section("set_transformer")["epochs"] = 1
    result = run_training(run, config, Console(quiet=True), limit=1)
    assert "partial: 1 of 65 cells" in result.statistics["joint_holdout.set_transformer"].note
    status = training_status(run.path)
    assert (status.done, status.points) == (1, 195)
    run_training(run, config, Console(quiet=True), limit=1)
    assert training_status(run.path).done == 2


def test_full_plan_has_no_note(new_benchmark):
    """A complete set of trainings is not called partial."""
    rows = new_benchmark(scenes=5, steps=1)
    plan = training_plan(load_config().section("set_transformer"), rows, quick=False)
    outputs: dict[tuple[int, int], list[np.ndarray]] = {}
    for model in plan.models:
        outputs.setdefault((model.condition, model.outer), []).append(np.empty(0))
    assert partial_note(rows, plan, outputs) is None
    del outputs[0, 0]
    assert "64 of 65" in partial_note(rows, plan, outputs)
