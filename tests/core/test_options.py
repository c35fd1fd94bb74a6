"""Programming errors raise at once, with a message that names them."""

from __future__ import annotations

import numpy as np
import pytest

from pact_core import (
    FusionOptions,
    SourceBatch,
    bridge,
    decide,
    decide_batch,
    decide_votes,
    from_blocks,
    fuse,
    fuse_evidence,
    merge,
    refine,
    replicate,
)
from tests.core.examples import instance
from tests.core.strategies import contract_set

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("kappa", v) for v in (-1.0, NAN, INF, 1.7e308, "8", None, True, [8.0, NAN])),
        *(("kappa", np.array(v)) for v in ([8.0, -1.0], [NAN, 8.0], [INF, 8.0])),
        *(("source_scale", v) for v in ((1.0, -1.0), (NAN, 1.0), (INF,), (1.0, "2"), (1e308,))),
        *(("base_rate", v) for v in ((0.5, 0.6), (1.5, -0.5), (NAN, 1.0), ())),
        *(("prior_strength", v) for v in (0.0, -1.0, NAN, INF, 1e-320, 1e308, "5")),
        ("missing", "ignore"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_options_out_of_range_are_refused_when_they_are_made(name, value):
    """A scale, a rate, a strength or a convention that means nothing never reaches a decision."""
    with pytest.raises(ValueError, match=name):
        FusionOptions(**{name: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (FusionOptions(source_scale=(1.0,)), "source_scale has 1 entries, expected 3"),
        (FusionOptions(source_scale=(1.0,) * 4), "source_scale has 4 entries, expected 3"),
        (FusionOptions(base_rate=(0.5, 0.5)), "base_rate has 2 entries, expected 5"),
        (FusionOptions(kappa=np.array([4.0, 8.0])), "kappa"),
        (FusionOptions(kappa=[4.0]), "kappa"),
    ],
)
def test_options_that_do_not_fit_are_refused_on_both_paths(options, message):
    """One scale per source, one rate per contract, one kappa per instance."""
    for rule in ("pact", "product"):
        with pytest.raises(ValueError, match=message):
            decide(instance(), rule=rule, options=options)
        with pytest.raises(ValueError, match=message):
            decide_batch(SourceBatch.from_instances([instance()] * 3), rule=rule, options=options)


def test_direct_evidence_checks_its_base_rate():
    """A base rate of another length than the evidence is refused."""
    with pytest.raises(ValueError, match="base_rate has 2 entries, expected 3"):
        fuse_evidence(np.ones((2, 3)), [0, 1], FusionOptions(base_rate=(0.5, 0.5)))


def test_kappa_may_be_given_per_instance_as_a_list():
    """A list is read like the array of the same numbers."""
    batch = SourceBatch.from_instances([instance()] * 2)
    listed = fuse(batch, options=FusionOptions(kappa=[4.0, 8.0]))
    np.testing.assert_array_equal(
        listed.score, fuse(batch, options=FusionOptions(kappa=np.array([4.0, 8.0]))).score
    )
    assert listed.score[0] == decide(instance(), kappa=4).score


@pytest.mark.parametrize("kappa", [np.array([8.0]), np.array([4.0, 8.0]), "8", -1.0, 1.7e308])
def test_one_decision_takes_one_kappa(kappa):
    """Arrays, texts and numbers out of range are refused."""
    with pytest.raises(ValueError, match="kappa must be finite and not negative"):
        decide(instance(), kappa=kappa)


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 2)])
def test_thresholds_must_have_the_shape_of_the_batch(shape):
    """A longer or shorter array is refused, not cut or repeated."""
    batch = SourceBatch.from_instances([instance()] * 2)
    for threshold in (np.full(shape, 0.5), np.full(shape, 0.5).tolist()):
        with pytest.raises(ValueError, match="threshold has shape"):
            decide_batch(batch, threshold=threshold)
    assert decide_batch(batch, threshold=[0.1, 1.0]).selected.tolist() == [True, False]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: refine((0, 1, 1), 99),
        lambda: refine((0, 1, 1), -1),
        lambda: merge((0, 1, 1), 0, 7),
        lambda: merge((0, 1, 1), -1, 0),
        lambda: replicate((0, 1, 1), 7, 1),
        lambda: replicate((0, 1, 1), -1, 1),
        lambda: from_blocks([[-1, 0]], 3),
        lambda: from_blocks([[0, 3]], 3),
        lambda: bridge([{"a"}, {"b"}], 0, 7),
        lambda: bridge([{"a"}, {"b"}], -1, 0),
    ],
)
def test_partition_operations_know_their_sources(wrong):
    """An index that no source has is named, negative ones included."""
    with pytest.raises(ValueError, match=r"sources \[-?\d+\] are not among 0 to \d"):
        wrong()


def test_partition_operations_know_their_counts():
    """Negative copies, a source named twice, and copies of no source are refused."""
    with pytest.raises(ValueError, match="copies must not be negative"):
        replicate((0, 1), 0, -1)
    with pytest.raises(ValueError, match="disjoint"):
        from_blocks([[1, 1]], 3)
    for source in (3, -1):
        with pytest.raises(ValueError, match="is not one of 0 to 2"):
            SourceBatch.from_instances([instance()]).replicate(source, 2)


def test_votes_name_what_is_wrong_with_them():
    """No votes, and origins that are no names, have messages of their own."""
    with pytest.raises(ValueError, match="no votes"):
        decide_votes([], [])
    for origin in (7, None, 1.5):
        with pytest.raises(ValueError, match="origins must be names or collections of names"):
            decide_votes(["a", "b"], ["x", origin])


def test_partitions_without_the_missing_sources_can_be_given_and_kept():
    """``remove`` and ``isolate`` read them; a new partition brings its own or has none."""
    opinion = np.array([[[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]])
    arrays = {"unavailable": [False, True, False], "contracts": contract_set(2)}
    batch = SourceBatch.build(
        opinion, 1.0, 0.0, component=[0, 0, 0], component_present=[0, 1, 2],
        roles=("a", "b", "c"), **arrays,
    )  # fmt: skip

    def evidence(batch, missing):
        return fuse(batch, options=FusionOptions(missing=missing)).evidence[0].tolist()

    assert evidence(batch, "exclude") == [2.0, 2.0]
    for missing in ("remove", "isolate"):
        assert evidence(batch, missing) == [8.0, 8.0]
        assert evidence(batch.with_component([0, 0, 0]), missing) == [2.0, 2.0]
        assert evidence(batch.with_component([0, 0, 0], present=[0, 1, 2]), missing) == [8.0, 8.0]


def test_a_single_source_rule_ignores_an_opinion_that_did_not_arrive():
    """What an unavailable source carries along is not used: the answer is uniform."""
    sources = instance(language={"available": False, "opinion": [0.9, 0.1, 0.0, 0.0, 0.0]})
    expected = pytest.approx([0.2] * 5)
    assert decide(sources, rule="language").posterior == expected
    assert fuse(SourceBatch.from_instances([sources]), "language").posterior[0] == expected
