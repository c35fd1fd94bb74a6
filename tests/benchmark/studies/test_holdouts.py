"""Joint holdout, fold assignments, source scales; and that every published id is there."""

from __future__ import annotations

import random
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from pact_benchmark.concentration import choose_concentrations
from pact_benchmark.estimates import Settings
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.plotting import render, style
from pact_benchmark.selection import TARGETS, Curve, Ranking
from pact_benchmark.studies import after_admission
from pact_benchmark.studies._holdout import joint_counts, listed_weights, unsupported_scenes
from pact_benchmark.studies.fold_assignments import (
    fold_assignments,
    selection_candidates,
    shuffled_assignment,
)
from pact_benchmark.studies.joint_holdout import joint_holdout
from pact_benchmark.studies.source_scales import (
    chosen_scales,
    on_the_edge,
    scale_grid,
    scene_log_loss,
)
from pact_benchmark.study import all_studies
from pact_core import FusionOptions, fuse

FAMILIES = (
    "copies",
    "near_copies",
    "maximum",
    "representative",
    "misspecification",
    "multiplicity",
    "regrouping",
    "checks",
    "corroboration_rules",
    "cost",
    "joint_holdout",
    "source_scales",
)
OWN = (*FAMILIES, "fold_assignments")
KAPPA = (8.0,) * 5


def test_joint_holdout_cutoffs_see_neither_condition_nor_fold(benchmark_rows):
    """Scores of the held condition elsewhere, and of the held fold, do not move the cutoffs."""
    evaluation = Evaluation(benchmark_rows, kappa=KAPPA)
    rankings = evaluation.rankings("pact", stage="after")
    plain = joint_counts(benchmark_rows, rankings)
    held, inside = benchmark_rows.condition == 2, benchmark_rows.fold == 1
    noise = np.random.default_rng(0).random(benchmark_rows.n)
    unseen = (held & ~inside) | (~held & inside)
    moved = [replace(r, score=np.where(unseen, noise, r.score)) for r in rankings]
    scenes = np.unique(benchmark_rows.scene[inside])
    changed = joint_counts(benchmark_rows, moved)
    np.testing.assert_array_equal(changed.admitted[2, scenes], plain.admitted[2, scenes])


def test_joint_holdout_counts_by_hand():
    """Two scenes, two conditions, one row each: the cutoff is the only other row's score."""
    from pact_benchmark.data import Benchmark

    fold = np.array([0, 0, 1, 1])
    condition = np.array([0, 1, 0, 1])
    rows = Benchmark(
        sources=None,  # not read by the counts
        label=np.zeros(4, dtype=np.int64),
        scene=fold,
        scene_ids=("a", "b"),
        fold=fold,
        condition=condition,
        condition_names=("x", "y"),
        geometry=np.array([""] * 4),
        step=np.zeros(4, dtype=np.int64),
        record_id=np.arange(4),
    )
    ranking = Ranking(
        np.array([0.9, 0.2, 0.5, 0.4]), np.ones(4, bool), np.array([True, False, True, True])
    )
    counts = joint_counts(rows, [ranking, ranking])
    # Row 0 (fold 0, condition x) is fitted on row 3 (0.4) and passes; row 3 on row 0 and fails.
    # Row 1 (fold 0, y) is fitted on row 2 (0.5) and fails; row 2 on row 1 (0.2) and passes.
    last = counts.admitted[:, :, -1]
    assert last.tolist() == [[1, 1], [0, 0]]
    assert counts.wrong.sum() == 0
    assert counts.aggregate().n.tolist() == [2, 2]


def test_unsupported_scenes_by_hand():
    """A scene whose curve starts too high or ends too low has no support."""
    n = np.array([10, 10, 10])
    admitted = np.zeros((3, TARGETS.size), dtype=np.int64)
    admitted[:, -1] = (4, 3, 10)
    admitted[2, :] = np.linspace(2, 10, TARGETS.size).astype(int)
    curve = Curve(TARGETS, n, admitted, np.zeros_like(admitted))
    assert unsupported_scenes(curve, (0.10, 0.35)) == 2


def test_listed_weights_use_pythons_generator():
    """The weights count the indices of random.Random, one list after the other."""
    source = random.Random(7)
    first = [source.randrange(4) for _ in range(4)]
    weights = listed_weights(7, 3, 4)
    np.testing.assert_array_equal(weights[0], np.bincount(first, minlength=4))
    assert listed_weights(7, 0, 4).shape == (0, 4)


def test_joint_holdout_gives_a_reason_instead_of_extrapolating(context):
    """Conditions without common support have no value but a note with the scenes."""
    statistics = joint_holdout(context).statistics
    missing = statistics["joint_holdout.condition.all_sources_missing"]
    assert missing.value is None
    assert "no common support" in missing.note
    conditions = [name for name in statistics if ".condition." in name]
    assert len(conditions) == len(context.benchmark.condition_names)


def test_assignments_follow_the_published_shuffle(benchmark_rows):
    """A scene's fold is its place in the shuffled list modulo five; scenes stay together."""
    order = list(range(benchmark_rows.scenes))
    random.Random(1930).shuffle(order)
    fold = shuffled_assignment(benchmark_rows, 0)
    for scene in range(benchmark_rows.scenes):
        assert set(fold[benchmark_rows.scene == scene]) == {order.index(scene) % 5}
    assert (shuffled_assignment(benchmark_rows, 1) != fold).any()


def test_assignment_candidates_choose_as_the_main_study_does(benchmark_rows):
    """Under the main folds the candidates lead to the main study's concentrations."""
    evaluation = Evaluation(benchmark_rows)
    choice = choose_concentrations(selection_candidates(evaluation), benchmark_rows.fold)
    np.testing.assert_array_equal(choice.kappa, evaluation.kappa)


def test_fold_assignments_count_signs(context):
    """Fifty assignments, each with a sign."""
    statistics = fold_assignments(context).statistics
    found = statistics["fold_assignments.pact_minus_product"]
    assert found.low <= found.value <= found.high
    assert 0 <= statistics["fold_assignments.pact_minus_product.negative"].value <= 50


def test_scale_grid_has_unit_geometric_mean_and_no_duplicates():
    """All scales multiply to one, equal scales are among them, once."""
    grid = scale_grid()
    np.testing.assert_allclose(np.prod(grid, axis=1), 1.0)
    assert sum(np.allclose(scales, 1.0) for scales in grid) == 1


def test_chosen_scales_minimise_training_nll(benchmark_rows):
    """The choice of a fold has the lowest NLL on the rows of the other folds."""
    evaluation = Evaluation(benchmark_rows, kappa=KAPPA)
    train = benchmark_rows.fold != 0
    rows = np.flatnonzero(train)
    losses = []
    for scales in scale_grid():
        fused = fuse(
            benchmark_rows.sources.take(rows),
            options=FusionOptions(kappa=8.0, source_scale=scales),
        )
        label = benchmark_rows.label[rows]
        losses.append(-np.log(np.asarray(fused.posterior)[np.arange(rows.size), label]).mean())
    assert chosen_scales(evaluation)[0] == scale_grid()[int(np.argmin(losses))]


def test_scene_log_loss_sums_over_scenes(benchmark_rows):
    """With equal scales the summed loss over rows is PACT's NLL."""
    evaluation = Evaluation(benchmark_rows, kappa=KAPPA)
    loss = scene_log_loss(evaluation, [(1.0, 1.0, 1.0)])[8.0].sum() / benchmark_rows.n
    posterior = evaluation.outputs("pact", 8.0).posterior
    rows = np.arange(benchmark_rows.n)
    assert loss == pytest.approx(-np.log(posterior[rows, benchmark_rows.label]).mean())


def test_grids_of_scales_say_where_the_choice_lies(context, results):
    """Each grid has a line; a choice of the largest ratio that its levels allow is at the edge."""
    result = results["source_scales"]
    frame = next(t.frame for t in result.tables if t.id == "source_scales_grids")
    assert len(frame) == 4
    assert "0.5, 1, 2" in set(frame["levels"])
    assert frame[["language", "geometry", "risk"]].prod(axis=1).to_numpy() == pytest.approx(1.0)
    shipped = frame[frame["levels"] == "0.5, 1, 2"].iloc[0]
    found = result.statistics["source_scales.language"]
    assert shipped["language"] == found.value
    assert f"at the edge of the grid in {shipped['folds at the edge']} of 5 folds" in found.note
    before = result.statistics["source_scales.pact.before_admission"].value
    assert shipped["ncsAURC before admission"] == before


def test_edge_of_a_grid_by_hand():
    """Levels 0.5 and 2 allow a ratio of 4."""
    assert on_the_edge([(0.5, 0.5, 2.0), (1.0, 1.0, 1.0)], (0.5, 1.0, 2.0)) == 1


def test_non_nested_winners_are_noted(context, results, monkeypatch):
    """An assignment in which a rule without a concentration costs least is not passed silently."""
    nested = results["fold_assignments"].tables[0].frame["nested chosen"]
    note = results["fold_assignments"].statistics["fold_assignments.pact_minus_nested"].note
    assert ("without a concentration" in note) == bool((nested < 5).any())
    choice = choose_concentrations(
        selection_candidates(Evaluation(context.benchmark)), context.benchmark.fold
    )
    assert replace(choice, winner=("nested_dirichlet@4",) * 5).passed_over is None
    mixed = replace(choice, winner=("product", "nested_dirichlet@8", "product"))
    assert mixed.passed_over.startswith("product cost least in 2 of 3 folds")
    monkeypatch.setattr(Evaluation, "choice", mixed)
    found = after_admission.compute(Evaluation(context.benchmark), Settings(draws=0)).statistics
    assert "product cost least" in found["after_admission.pact.ncsaurc"].note
    assert found["after_admission.product.ncsaurc"].note is None


def test_held_concentrations_are_noted(context):
    """Concentrations that were held instead of chosen are stated, and said to be held."""
    held = [4.0, 8.0, 4.0, 8.0, 16.0]
    found = after_admission.compute(
        Evaluation(context.benchmark, kappa=held), Settings(draws=0)
    ).statistics
    named = [found[f"after_admission.concentration.fold_{fold}"].value for fold in range(5)]
    assert named == held
    note = found["after_admission.nested_dirichlet.ncsaurc"].note
    assert note == "concentrations held at 4, 8, 4, 8, 16"


@pytest.fixture(scope="module")
def results(context):
    """Return the result of every study of this part."""
    studies = all_studies()
    return {name: studies[name].function(context) for name in OWN}


def test_every_published_id_is_computed(results, shared):
    """Each id of these families in the published figures is among the statistics."""
    targets = tomllib.loads((shared / "targets" / "controlled.toml").read_text())["target"]
    by_command = {"joint_holdout.set_transformer"}
    wanted = {t["id"] for t in targets if t["id"].split(".")[0] in FAMILIES} - by_command
    found = {name for result in results.values() for name in result.statistics}
    assert wanted - found == set()


def test_every_study_draws_its_figures(results):
    """Figures render, and say in words what they show."""
    for result in results.values():
        assert result.reading
        for figure in result.figures:
            with style():
                drawn = figure.plot()
            assert render(drawn, "png").startswith(b"\x89PNG")
            assert len(figure.alt) > 30


def test_statistics_are_finite_or_absent(results):
    """A value is a finite number or None, and an interval holds together."""
    for result in results.values():
        for name, statistic in result.statistics.items():
            assert statistic.value is None or np.isfinite(statistic.value), name
            if statistic.low is not None:
                assert statistic.low <= statistic.high, name
