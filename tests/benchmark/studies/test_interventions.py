"""Copies, near copies, operators, multiplicity and regroupings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pact_benchmark.evaluation import Evaluation
from pact_benchmark.studies._arms import (
    GEOMETRY,
    MERGED,
    RISK,
    SINGLETON,
    EvidenceArm,
    aggregate,
    group_arm,
    row_kappa,
    rule_arm,
    source_evidence,
)
from pact_benchmark.studies.copies import copy_effect
from pact_benchmark.studies.multiplicity import counting_arms, multiplicity, transfer_posteriors
from pact_benchmark.studies.near_copies import (
    move_mass,
    near_copies,
    near_copy_effect,
    zero_intercept_slope,
)
from pact_benchmark.studies.operators import (
    budget_raised,
    maximum,
    next_observed_arm,
    representative,
)
from pact_benchmark.studies.regrouping import regrouping
from pact_core import HANDOVER_ROLES, FusionOptions, SourceBatch, fuse

KAPPA = (8.0, 8.0, 4.0, 8.0, 8.0)


@pytest.fixture(scope="module")
def evaluation(benchmark_rows):
    """Return the rules on the small benchmark at given concentrations."""
    return Evaluation(benchmark_rows, kappa=KAPPA)


def test_aggregate_matches_fusion_under_every_partition(benchmark_rows):
    """The algebra gives what fusing under the same partition gives."""
    evidence = source_evidence(benchmark_rows.sources)
    for groups, labels in (
        (((0,), (1, 2)), [0, 1, 1]),
        (((0, 1), (2,)), [0, 0, 2]),
        (((0, 2), (1,)), [0, 1, 0]),
        (SINGLETON, [0, 1, 2]),
        (MERGED, [0, 0, 0]),
    ):
        arm = EvidenceArm(aggregate(evidence, groups), benchmark_rows.label)
        fused = fuse(
            benchmark_rows.sources.with_component(np.array(labels)),
            options=FusionOptions(kappa=8.0),
        )
        np.testing.assert_allclose(arm.posterior(8.0), fused.posterior, atol=1e-12)
        np.testing.assert_allclose(arm.score(8.0), fused.score, atol=1e-12)
        np.testing.assert_array_equal(arm.contract, fused.contract)


def test_arm_of_one_row_by_hand():
    """Language [2, 0, …] and a scene meet of [1, 1, …] give the posterior of the definition."""
    evidence = np.zeros((1, 3, 5))
    evidence[0, 0, 0] = 2.0
    evidence[0, 1, :2] = (1.0, 3.0)
    evidence[0, 2, :2] = (4.0, 1.0)
    arm = EvidenceArm(aggregate(evidence, ((0,), (1, 2))), np.array([0]))
    assert arm.budget.tolist() == [4.0]
    np.testing.assert_allclose(arm.posterior(1.0), [[4 / 9, 2 / 9, 1 / 9, 1 / 9, 1 / 9]])
    assert arm.score(1.0)[0] == pytest.approx(4 / 9)
    assert arm.correct.tolist() == [True]


@pytest.mark.parametrize("rule", ["pact", "hierarchy_cautious", "global_cautious"])
def test_copies_within_component_change_nothing(evaluation, rule):
    """Copies that share the parents of the original leave the posterior bit for bit."""
    effect = copy_effect(evaluation, rule, "same")
    assert effect.drift.max() == 0.0
    assert not effect.changed.any()


@pytest.mark.parametrize("rule", ["product", "nested_dirichlet", "quality_weighted", "pooling"])
def test_copies_of_rules_without_provenance_coincide(evaluation, rule):
    """Shared and separate parents give the same numbers, and copies do count."""
    within, separate = copy_effect(evaluation, rule, "same"), copy_effect(evaluation, rule, "new")
    np.testing.assert_array_equal(within.drift, separate.drift)
    assert within.drift.max() > 0.1


def test_separate_copies_add_up(evaluation):
    """Seven separate copies of geometry add seven times its evidence to PACT's."""
    benchmark = evaluation.benchmark
    evidence = source_evidence(benchmark.sources)
    total = rule_arm(evaluation).evidence + 7 * evidence[:, GEOMETRY]
    arm = EvidenceArm(total, benchmark.label)
    drift = np.abs(
        arm.posterior(row_kappa(evaluation)) - evaluation.held_out("pact").posterior
    ).sum(axis=1)
    effect = copy_effect(evaluation, "pact", "new")
    np.testing.assert_allclose(effect.drift[:, GEOMETRY], drift, atol=1e-12)


def test_copies_of_an_unavailable_source_change_nothing(evaluation):
    """A source that is not there can be copied without effect."""
    rows = evaluation.benchmark.in_condition("all_sources_missing")
    for rule in ("pact", "product", "nested_dirichlet"):
        assert copy_effect(evaluation, rule, "new").drift[rows].max() == 0.0


def test_move_mass_by_hand():
    """Mass moves from the first to the second contract, at most half of the first."""
    opinion = np.array([[0.1, 0.6, 0.3], [0.02, 0.49, 0.49]])
    np.testing.assert_allclose(move_mass(opinion, 0.02)[0], [0.1, 0.58, 0.32])
    np.testing.assert_allclose(move_mass(opinion, 0.02)[1], [0.02, 0.47, 0.51])
    np.testing.assert_allclose(move_mass(np.array([[1.0, 0.0]]), 0.9), [[0.5, 0.5]])


def test_zero_intercept_slope_by_hand():
    """Points (1, 2) and (2, 2) have slope (2 + 4) / (1 + 4)."""
    assert zero_intercept_slope(np.array([1.0, 2.0]), np.array([2.0, 2.0])) == pytest.approx(1.2)


def test_near_copies_never_raise_the_budget(evaluation):
    """A near copy in the component lowers the score or leaves it."""
    sources = evaluation.benchmark.sources.take(evaluation.benchmark.three_valid)
    base = fuse(sources, options=FusionOptions(kappa=8.0))
    copy = move_mass(np.asarray(sources.opinion[:, GEOMETRY]), 0.02)
    fused = fuse(sources.replicate(GEOMETRY, 2, "same", copy), options=FusionOptions(kappa=8.0))
    assert (np.asarray(fused.score) <= np.asarray(base.score) + 1e-15).all()


def test_near_copy_drift_grows_with_the_magnitude(evaluation):
    """Drift is bounded by the mass that moved, and larger magnitudes drift further."""
    rows = evaluation.benchmark.in_condition("clean_control")
    _, drift = near_copy_effect(evaluation, rows)
    assert (drift <= 2 * np.array([0.001, 0.005, 0.01, 0.02])).all()
    assert (np.diff(drift.mean(axis=0)) > 0).all()


EVIDENCE = arrays(np.float64, (4, 3, 5), elements=st.floats(0.0, 1.0))


@settings(max_examples=50, deadline=None)
@given(EVIDENCE)
def test_meet_never_raises_a_budget_and_maximum_never_lowers_it(evidence):
    """Inserting a member is monotone in opposite directions for the two operators."""
    assert not budget_raised(evidence, np.minimum).any()
    expected = (np.maximum(evidence[:, 2] - evidence[:, 1], 0.0)).sum(axis=-1) > 1e-12
    np.testing.assert_array_equal(budget_raised(evidence, np.maximum), expected)


def test_maximum_study_has_a_share_for_both_operators(context):
    """The maximum raises budgets, the meet does not, and its summed budget is larger."""
    statistics = maximum(context).statistics
    assert statistics["maximum.meet.budget_raised_share"].value == 0.0
    assert statistics["maximum.budget_raised_share"].value > 0.5
    assert statistics["maximum.budget_increase"].value > 0.0
    low, high = statistics["maximum.minus_meet"].low, statistics["maximum.minus_meet"].high
    assert low <= statistics["maximum.minus_meet"].value <= high


def test_representative_equals_the_meet_where_geometry_is_smallest():
    """The first member speaks for the component; it is the meet when it is the smaller one."""
    opinion = np.tile([[0.6, 0.1, 0.1, 0.1, 0.1]], (3, 1))[None]
    sources = SourceBatch.build(
        opinion,
        np.array([0.9, 0.3, 0.8]),
        np.zeros(3),
        component=np.array([0, 1, 1]),
        roles=HANDOVER_ROLES,
    )
    first = fuse(sources, rule="representative")
    np.testing.assert_allclose(first.posterior, fuse(sources, rule="pact").posterior, atol=1e-15)
    swapped = SourceBatch.build(
        opinion,
        np.array([0.9, 0.8, 0.3]),
        np.zeros(3),
        component=np.array([0, 1, 1]),
        roles=HANDOVER_ROLES,
    )
    assert fuse(swapped, rule="representative").score[0] > fuse(swapped, rule="pact").score[0]


def test_representative_study_counts_at_the_operating_point(context):
    """Retained and wrong counts belong together, shares lie in [0, 1]."""
    statistics = representative(context).statistics
    wrong = statistics["representative.wrong_at_013"].value
    assert 0 <= wrong <= statistics["representative.retained_at_013"].value
    assert 0.0 <= statistics["representative.score_changed_same_contract"].value <= 1.0


def test_next_observed_source_speaks_where_the_first_is_not_observed(evaluation):
    """Only rows whose geometry is not observed and whose risk is differ from the fixed one."""
    fixed, other = rule_arm(evaluation, "representative"), next_observed_arm(evaluation)
    observed = evaluation.benchmark.observed
    taken_over = ~observed[:, GEOMETRY] & observed[:, RISK]
    np.testing.assert_allclose(other.evidence[~taken_over], fixed.evidence[~taken_over], atol=1e-12)
    risk = source_evidence(evaluation.benchmark.sources)[:, RISK]
    gained = (other.evidence - fixed.evidence)[taken_over]
    np.testing.assert_allclose(gained, risk[taken_over], atol=1e-12)
    assert taken_over.any()


def test_both_readings_of_the_representative_are_reported(context):
    """Each statistic of the fixed representative has its sibling under the other reading."""
    statistics = representative(context).statistics
    other = "representative.next_observed."
    names = {name.removeprefix(other) for name in statistics if name.startswith(other)}
    assert {f"representative.{name}" for name in names} == {
        name for name in statistics if not name.startswith(other)
    }


def test_budget_of_repeated_geometry(evaluation):
    """Within a component and merged the budget stays; as singletons it grows linearly in m."""
    one, many = counting_arms(evaluation, 1), counting_arms(evaluation, 32)
    for name in ("pact", "merged"):
        np.testing.assert_array_equal(one[name].budget, many[name].budget)
    geometry = source_evidence(evaluation.benchmark.sources)[:, GEOMETRY].sum(axis=-1)
    grown = many["pact_singleton"].budget - one["pact_singleton"].budget
    np.testing.assert_allclose(grown, 31 * geometry, atol=1e-12)


def test_repeated_geometry_matches_fusing_the_copies(evaluation):
    """Each arm's posterior at m = 4 is that of the fused copies."""
    benchmark = evaluation.benchmark
    copies = benchmark.sources.replicate(GEOMETRY, 4)
    answers = transfer_posteriors(evaluation, 4)
    for name, rule, labels in (
        ("pact", "pact", [0, 1, 1, 1, 1, 1]),
        ("pact_singleton", "pact", range(6)),
        ("merged", "pact", [0] * 6),
        ("nested_dirichlet", "nested_dirichlet", range(6)),
    ):
        regrouped = copies.with_component(np.array(labels))
        fused = fuse(regrouped, rule=rule, options=FusionOptions(kappa=8.0))
        np.testing.assert_allclose(answers[name](8.0)[0], fused.posterior, atol=1e-12)


def test_false_split_rises_and_starts_at_the_matched_contrast(context):
    """At m = 1 the false split is the partition contrast without corroboration."""
    statistics = multiplicity(context).statistics
    split = [statistics[f"multiplicity.false_split_m{m}"].value for m in (1, 8, 32)]
    assert split[0] < split[1] < split[2]
    from pact_benchmark.studies import matched

    reference = matched.run(context).statistics[
        "matched.partition_effect.without_corroboration.all"
    ]
    assert split[0] == pytest.approx(-reference.value, abs=0.01)


def test_regrouping_is_symmetric_when_geometry_equals_risk(context, benchmark_rows):
    """With equal scene sources it does not matter which of them language is grouped with."""
    evaluation = Evaluation(benchmark_rows, kappa=KAPPA)
    evidence = source_evidence(benchmark_rows.sources)
    evidence[:, 2] = evidence[:, 1]
    first = group_arm(evaluation, evidence, ((0, 1), (2,)))
    second = group_arm(evaluation, evidence, ((0, 2), (1,)))
    np.testing.assert_array_equal(first.evidence, second.evidence)
    assert regrouping(context).statistics["regrouping.language_geometry"].low is not None


def test_near_copies_without_undegraded_rows_says_so(context, benchmark_rows):
    """A run without the undegraded condition gets ids without values, and a reason."""
    from dataclasses import replace

    from pact_benchmark.study import StudyContext

    names = tuple(name.replace("clean", "other") for name in benchmark_rows.condition_names)
    bare = StudyContext(replace(benchmark_rows, condition_names=names), context.config)
    statistics = near_copies(bare).statistics
    assert statistics["near_copies.slope"].value is None
    assert "clean_control" in statistics["near_copies.slope"].note
