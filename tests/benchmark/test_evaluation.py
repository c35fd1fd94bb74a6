"""Rules on a benchmark: outputs per fold, rankings and curves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pact_benchmark.admission import admission_policy
from pact_benchmark.config import load_config
from pact_benchmark.curve_metrics import ncsaurc
from pact_benchmark.data import from_instances
from pact_benchmark.errors import UsageError
from pact_benchmark.evaluation import RULES, Evaluation, Variant
from pact_core import PRIMARY, decide
from tests.benchmark.test_data import sources_of


def test_operating_point_equals_scalar_decisions(instances, benchmark_rows):
    """Counts at the target equal those of deciding every row alone, fold by fold."""
    kappa = [4.0, 8.0, 8.0, 12.0, 4.0]
    evaluation = Evaluation(benchmark_rows, kappa=kappa)
    rows = [sources_of(row) for _, row in instances.iterrows()]
    label = instances["label"].tolist()
    for rule in ("pact", "nested_dirichlet", "product"):
        admitted = wrong = 0
        for fold in range(5):
            answers = [decide(row, rule=rule, kappa=kappa[fold]) for row in rows]
            train = [i for i in range(len(rows)) if benchmark_rows.fold[i] != fold]
            scores = sorted(
                (
                    answers[i].score
                    for i in train
                    if answers[i].check is None and answers[i].status == "admitted"
                ),
                reverse=True,
            )
            rank = min(round(0.13 * len(train)), len(scores))
            cutoff = scores[rank - 1] if rank else math.inf
            for i in np.flatnonzero(benchmark_rows.fold == fold):
                if answers[i].status == "admitted" and answers[i].score >= cutoff - 1e-12:
                    admitted += 1
                    wrong += answers[i].contract != label[i]
        point = evaluation.curve(rule, stage="after").at(0.13)
        assert (point.admitted, point.wrong) == (admitted, wrong), rule


def test_held_out_rows_take_their_own_concentration(benchmark_rows):
    """Each row's output is the one at the concentration of its fold."""
    evaluation = Evaluation(benchmark_rows, kappa=[4, 8, 12, 16, 24])
    held = evaluation.held_out("nested_dirichlet")
    for fold, kappa in enumerate(evaluation.kappa):
        inside = benchmark_rows.fold == fold
        expected = evaluation.outputs("nested_dirichlet", kappa)
        np.testing.assert_array_equal(held.posterior[inside], expected.posterior[inside])
        np.testing.assert_array_equal(held.score[inside], expected.score[inside])
    assert evaluation.outputs("product", 4.0) is evaluation.outputs("product", 24.0)


def test_concentration_is_one_of_the_candidates(evaluation):
    """Every fold's concentration is chosen among the candidates, and all are listed."""
    assert set(evaluation.kappa.tolist()) <= {4.0, 8.0, 12.0, 16.0, 24.0}
    assert len(evaluation.choice.frame) == 5 * 10


def test_admission_only_takes_rows_away(evaluation):
    """Rows that are available after admission were available before it."""
    for rule in RULES:
        before = evaluation.rankings(rule)
        after = evaluation.rankings(rule, stage="after")
        for first, second in zip(before, after, strict=True):
            assert not (second.available & ~first.available).any()
            assert (second.available != first.available).any()


def test_corroboration_holds_back_adversarial_consensus(evaluation):
    """With the check every adversarial row is confirmed, without it every one is admitted."""
    rows = evaluation.benchmark.in_condition("adversarial_consensus_wrong")
    on = evaluation.held_out_responses("pact")
    off = evaluation.held_out_responses("pact", evaluation.without_corroboration)
    assert (on[rows] == 1 + PRIMARY.checks.index("component_corroboration")).all()
    assert (off[rows] == 0).all()


def test_pooled_model_never_sees_the_held_out_fold(instances):
    """Changing the labels of one fold leaves that fold's correctness model as it was."""
    rows = from_instances(instances)
    inside = rows.fold == 2
    changed = instances["label"].where(~inside, "N")
    other = from_instances(instances.assign(label=changed))
    kappa = [8.0] * 5
    first = Evaluation(rows, kappa=kappa).correctness_models()
    second = Evaluation(other, kappa=kappa).correctness_models()
    np.testing.assert_array_equal(first[2].coefficient, second[2].coefficient)
    assert not np.array_equal(first[0].coefficient, second[0].coefficient)


def test_row_order_does_not_matter(instances, evaluation):
    """Shuffled rows give the same concentrations and the same counts."""
    mixed = instances.sample(frac=1.0, random_state=3)
    other = Evaluation(from_instances(mixed))
    np.testing.assert_array_equal(other.kappa, evaluation.kappa)
    for stage in ("before", "after"):
        first, second = (item.curve("pact", stage=stage) for item in (evaluation, other))
        np.testing.assert_array_equal(first.admitted, second.admitted)
        np.testing.assert_array_equal(first.wrong, second.wrong)


def test_mixed_curve_is_the_plain_one_at_one_concentration(benchmark_rows):
    """With one concentration for all folds, ranking rows together changes nothing."""
    evaluation = Evaluation(benchmark_rows, kappa=[8.0] * 5)
    plain, mixed = evaluation.curve("pact"), evaluation.mixed_curve("pact")
    np.testing.assert_array_equal(plain.wrong, mixed.wrong)


def test_monotone_scores_give_the_same_curve(evaluation):
    """Product's native score is its posterior peak, so the two curves are one."""
    native = evaluation.curve("product")
    peak = evaluation.curve("product", score="peak")
    assert ncsaurc(native) == pytest.approx(ncsaurc(peak), abs=5e-3)


def test_variants_are_kept_apart(evaluation):
    """A variant has outputs of its own, and leaving it plain gives the rule's."""
    plain = evaluation.outputs("pact", 8.0)
    assert evaluation.outputs(Variant("pact"), 8.0) is plain
    removed = evaluation.outputs(Variant("pact", missing="remove"), 8.0)
    assert (removed.contract != plain.contract).any()


def test_unknown_score_is_refused(evaluation):
    """A score that does not exist is named."""
    with pytest.raises(ValueError, match="luck"):
        evaluation.scores("pact", "luck")


def test_shipped_policy_is_the_primary_one():
    """The configuration's defaults are the paper's policy; unknown checks are refused."""
    section = load_config().section("admission")
    assert admission_policy(section) == PRIMARY
    with pytest.raises(UsageError, match=r"\[admission\]"):
        admission_policy({**section, "checks": ["horoscope"]})
