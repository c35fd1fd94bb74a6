"""Checks, corroboration rules, cost and misspecified provenance."""

from __future__ import annotations

import numpy as np
import pytest

from pact_benchmark.evaluation import Evaluation
from pact_benchmark.studies._cutoffs import above_cutoff, fold_cutoffs
from pact_benchmark.studies.checks import ablated_admissions, checks, responses, source_variants
from pact_benchmark.studies.corroboration_rules import corroboration_policies, corroboration_rules
from pact_benchmark.studies.cost import cost, decision_cost, resampled_scenes
from pact_benchmark.studies.misspecification import (
    INTERVENTIONS,
    RATES,
    REFERENCE_PARENTS,
    corrupted,
    decide_under,
    intervened_parents,
    misspecification,
    pairwise_f1,
)
from pact_core import PRIMARY, Response, admission_response, components

KAPPA = (8.0,) * 5


@pytest.fixture(scope="module")
def evaluation(benchmark_rows):
    """Return the rules on the small benchmark at a fixed concentration."""
    return Evaluation(benchmark_rows, kappa=KAPPA)


def test_cutoffs_come_from_other_folds(evaluation):
    """Changing the scores of one fold leaves that fold's cutoff alone and moves the others."""
    from dataclasses import replace

    rankings = evaluation.rankings("nested_dirichlet", stage="after")
    before = fold_cutoffs(evaluation, rankings)
    inside = evaluation.benchmark.fold == 2
    moved = [
        replace(r, score=np.where(inside, r.score + 1.0, r.score), available=r.available)
        for r in rankings
    ]
    after = fold_cutoffs(evaluation, moved)
    assert after[2] == before[2]
    assert (np.delete(after, 2) > np.delete(before, 2)).all()


def test_above_cutoff_uses_each_rows_own_fold(evaluation):
    """A row is compared with the cutoff of its fold, and ties are kept."""
    limits = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    kept = above_cutoff(evaluation, np.zeros(evaluation.benchmark.n), limits)
    np.testing.assert_array_equal(kept, evaluation.benchmark.fold == 0)


def test_removing_a_check_only_adds_admissions(evaluation):
    """Every admission of the full policy stays when a check is removed."""
    admitted = ablated_admissions(evaluation, "nested_dirichlet")
    for name, kept in admitted.items():
        assert (kept | ~admitted["all"]).all(), name


def test_removed_check_adds_what_it_alone_stopped(evaluation):
    """The added rows are those whose only failing check is the removed one."""
    admitted = ablated_admissions(evaluation, "nested_dirichlet")
    added = admitted["component_corroboration"] & ~admitted["all"]
    assert added.any()
    assert evaluation.benchmark.in_condition("adversarial_consensus_wrong")[added].all()
    codes = admission_response(
        evaluation.benchmark.sources, evaluation.held_out("nested_dirichlet").contract, PRIMARY
    )
    assert set(np.asarray(codes)[added].tolist()) == {4}


def test_source_variants_give_the_typed_responses(evaluation):
    """Two components confirm, three admit, invalid geometry falls back, stale language holds."""
    admitted = ablated_admissions(evaluation, "nested_dirichlet")["all"]
    variants = source_variants(evaluation, admitted)
    consensus = int(evaluation.benchmark.in_condition("adversarial_consensus_wrong").sum())
    assert variants["two_components"][Response.CONFIRM] == consensus
    assert variants["three_components"][Response.NONE] == consensus
    assert variants["incomplete_geometry"][Response.FALLBACK] == consensus
    assert variants["stale_language"] == {
        Response.NONE: 0,
        Response.HOLD: int(admitted.sum()),
        Response.CONFIRM: 0,
        Response.FALLBACK: 0,
    }


def test_responses_count_every_row(evaluation):
    """The counts of the typed responses add up to the rows."""
    benchmark = evaluation.benchmark
    counts = responses(benchmark.sources, evaluation.held_out("pact").contract, PRIMARY)
    assert sum(counts.values()) == benchmark.n


def test_checks_study_reports_nested_and_pact(context):
    """Without corroboration all adversarial-consensus rows are wrong admissions."""
    statistics = checks(context).statistics
    rows = int(context.benchmark.in_condition("adversarial_consensus_wrong").sum())
    assert statistics["checks.without_corroboration.wrong_added"].value == rows
    assert statistics["checks.without_corroboration.wrong_all"].value >= rows / context.benchmark.n
    assert statistics["checks.pact.without_risk_support.wrong_added"].value >= 0


def test_corroboration_off_is_the_weakest(evaluation):
    """Every rule admits at most what no corroboration admits."""
    policies = corroboration_policies(PRIMARY)
    open_rows = evaluation.responses("pact", 8.0, policies["off"]) == 0
    for name, policy in policies.items():
        passed = evaluation.responses("pact", 8.0, policy) == 0
        assert (open_rows | ~passed).all(), name


def test_component_count_loses_only_two_supporter_rows(context):
    """Unanimity loses nothing against itself; the statistics name both compared rules."""
    statistics = corroboration_rules(context).statistics
    assert statistics["corroboration_rules.unanimity.correct_lost"].value == 0
    assert statistics["corroboration_rules.component_count.correct_lost"].value >= 0
    assert statistics["corroboration_rules.cross_role.wrong_all"].value > 0.05


def test_decision_cost_by_hand():
    """Two wrong of five admitted among ten: (10 × 2 + 5) / 10."""
    assert decision_cost(np.array(2.0), np.array(5.0), np.array(10.0), 10.0) == pytest.approx(2.5)


def test_resampled_scenes_draw_all_scenes_with_replacement():
    """Each draw has as many scenes as there are, and the published generator is used."""
    weights = resampled_scenes(2052, 50, 48)
    np.testing.assert_array_equal(weights.sum(axis=1), 48)
    first = np.random.default_rng(2052).integers(0, 48, size=(50, 48))[0]
    np.testing.assert_array_equal(weights[0], np.bincount(first, minlength=48))


def test_cost_of_simple_policies(context):
    """Always withholding costs one, always continuing the ratio times the error rate."""
    statistics = cost(context).statistics
    wrong = 1.0 - Evaluation(context.benchmark, kappa=KAPPA).held_out("pact").correct.mean()
    assert statistics["cost.always_withhold"].value == 1.0
    assert statistics["cost.always_continue"].value == pytest.approx(10 * wrong)
    assert statistics["cost.two_components"].value > statistics["cost.unanimity"].value


def test_interventions_make_the_partitions_they_are_named_for():
    """Refinement and distinct parents split all, merging and bridging join all."""
    partitions = {name: components(intervened_parents(name)) for name in INTERVENTIONS}
    assert components(REFERENCE_PARENTS) == (0, 1, 1)
    assert partitions["false_refinement"] == partitions["distinct_parents"] == (0, 1, 2)
    assert partitions["merging"] == partitions["bridging"] == (0, 0, 0)
    assert partitions["recoverable_deletion"] == (0, 1, 1)
    with pytest.raises(ValueError, match="unknown intervention"):
        intervened_parents("nothing")


def test_corruption_masks_are_nested_and_by_cluster(benchmark_rows):
    """A larger rate corrupts a superset; scene and label decide, whatever the condition."""
    small, large = (corrupted(benchmark_rows, "merging", 3, rate) for rate in (0.25, 0.75))
    assert (large | ~small).all()
    assert small.any()
    assert not large.all()
    cluster = benchmark_rows.scene * 5 + benchmark_rows.label
    for value in np.unique(cluster):
        assert len(set(large[cluster == value].tolist())) == 1
    assert corrupted(benchmark_rows, "merging", 3, 1.0).all()
    assert not corrupted(benchmark_rows, "merging", 3, 0.0).any()


def test_pairwise_f1_by_hand():
    """Full refinement finds no pair; merging finds the true one among three."""
    assert pairwise_f1((0, 1, 2), 1.0) == 0.0
    assert pairwise_f1((0, 0, 0), 1.0) == pytest.approx(2 * 1 / (3 + 1))
    assert pairwise_f1((0, 1, 1), 0.5) == 1.0
    assert pairwise_f1((0, 1, 2), 0.5) == pytest.approx(2 * 0.5 / (0.5 + 1))


def test_splitting_admits_what_corroboration_stopped(evaluation):
    """With distinct components the adversarial consensus passes; merged it does not."""
    cutoffs = fold_cutoffs(evaluation, evaluation.rankings("product", stage="after"))
    rows = evaluation.benchmark.in_condition("adversarial_consensus_wrong")
    split = decide_under(evaluation, "product", (0, 1, 2), cutoffs)
    joined = decide_under(evaluation, "product", (0, 0, 0), cutoffs)
    assert split.wrong[rows].all()
    assert not joined.admitted[rows].any()


def test_misspecification_ends_at_both_references(context):
    """Rate 0 is the declared partition, rate 1 the singleton reference; two pairs coincide."""
    result = misspecification(context)
    frame = result.tables[0].frame
    for rule in ("product", "pact"):
        part = frame[frame["candidates"] == rule]
        table = part.pivot_table(index="intervention", columns="rate", values="R_all")
        assert list(table.columns) == list(RATES)
        assert table[0.0].nunique() == 1
        refined, distinct = table.loc["false_refinement"], table.loc["distinct_parents"]
        np.testing.assert_array_equal(refined, distinct)
        np.testing.assert_array_equal(table.loc["merging"], table.loc["bridging"])
        prefix = "misspecification" if rule == "product" else "misspecification.pact"
        singleton = result.statistics[f"{prefix}.singleton.wrong_all"].value
        assert table.loc["false_refinement", 1.0] == pytest.approx(singleton)
        assert table.loc["recoverable_deletion"].nunique() == 1
