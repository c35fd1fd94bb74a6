"""A million malformed instances: no exception, none admitted, one verdict from both paths."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from pact_core import (
    HANDOVER_ROLES,
    RULES,
    Response,
    Source,
    SourceBatch,
    decide,
    decide_batch,
    decide_rules,
)
from tests.core import malformed

PIECES, BATCHES, BATCH = 40, 25, 1_000
EXPLAINED = 25
ARRAY_PIECES, ARRAY_PIECE, ARRAY_STEP = 5, 200_000, 40


def expected_check(instance, eligible):
    """Return what must stop an instance, None for what may be admitted."""
    if instance.kind == "parents":  # all agree, so that support must come from three components
        few = len(instance.sources) - instance.shared < 3
        return "component_corroboration" if few else None
    if not eligible:
        return "base_eligibility"
    return "command_consistency" if instance.kind == "timing" else "source_validity"


@pytest.mark.parametrize("piece", range(PIECES))
def test_a_million_malformed_instances(piece):
    """Every named kind, as sources: the right check stops each, scalar and batched alike.

    All of the million (40 pieces of 25 batches of 1,000) go one by one through the scalar path
    and together through the batched one; every verdict, posterior and score is compared. One in
    25 is asked for its reason.
    """
    for batch in range(BATCHES):
        assert_one_verdict(malformed.instances(piece * BATCHES + batch, BATCH))


def assert_one_verdict(rows):
    """Assert that both paths stop every instance at the same, expected check."""
    decisions = [decide(instance.sources) for instance in rows]
    batched = decide_batch(SourceBatch.from_instances([instance.sources for instance in rows]))
    for i, (instance, decision) in enumerate(zip(rows, decisions, strict=True)):
        found = (decision.status, decision.response, decision.check)
        assert found == batched.outcome(i), (i, instance.kind)
        assert decision.check == expected_check(instance, decision.base_eligible), instance.kind
        if i % EXPLAINED == 0:
            assert_reason(instance, decision)
    fused = batched.fused
    np.testing.assert_allclose([d.posterior for d in decisions], fused.posterior, atol=1e-12)
    np.testing.assert_allclose([d.score for d in decisions], fused.score, atol=1e-12)
    assert [d.base_eligible for d in decisions] == batched.base_eligible.tolist()
    assert Counter(d.response for d in decisions)[Response.FALLBACK] > 0.6 * len(rows)


def assert_reason(instance, decision):
    """Assert that a decision names the invalid source, and says what would have helped."""
    role = instance.sources[instance.victim].role
    faults = decision.values.get("faults", {})
    named = any(words for key, words in faults.items() if key.partition("[")[0] == role)
    assert named == (instance.kind in malformed.INVALID), (instance.kind, faults)
    assert (decision.smallest_change is None) == decision.admitted


@pytest.mark.parametrize("piece", range(ARRAY_PIECES))
def test_another_million_as_arrays(piece):
    """Damaged numbers in arrays are withheld, FALLBACK when eligible; the scalar path agrees.

    Arrays have one length, no labels and no absent fields: what is of the wrong shape is refused
    as a whole before there is a decision. The scalar path decides one row in 40.
    """
    arrays = malformed.batch(piece, ARRAY_PIECE)
    result = decide_batch(arrays)
    assert not result.admitted.any()
    responses = np.array(result.responses)[result.stop]
    expected = np.where(result.base_eligible, Response.FALLBACK, Response.HOLD)
    np.testing.assert_array_equal(responses, expected)
    assert np.isfinite(result.fused.posterior).all()
    for i in range(0, ARRAY_PIECE, ARRAY_STEP):
        decision = decide(malformed.row(arrays, i))
        assert (decision.status, decision.response, decision.check) == result.outcome(i)
        np.testing.assert_allclose(decision.posterior, result.fused.posterior[i], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("opinion", np.full((7, 3, 4), 0.25)),
        ("opinion", np.full((7, 2, 5), 0.2)),
        ("opinion", np.full((6, 3, 5), 0.2)),
        ("opinion", np.full((3, 5), 0.2)),
        ("opinion", np.full((7, 3, 5), 0.2 + 1j)),
        ("opinion", np.full((7, 3, 5), "0.2")),
        ("quality", np.ones((7, 2))),
        ("quality", np.full((7, 3), b"1")),
        ("conflict", np.zeros(7)),
        ("component", np.zeros((7, 4), dtype=int)),
        ("unavailable", np.zeros((7, 3, 1), dtype=bool)),
        ("command_stale", np.zeros((7, 3), dtype=bool)),
    ],
    ids=lambda x: x if isinstance(x, str) else f"{x.shape}{x.dtype}",
)
def test_arrays_of_the_wrong_shape_or_type_are_refused(name, value):
    """A batch that does not fit together is the caller's error, raised when it is made."""
    sound = malformed.batch(0, 7)
    with pytest.raises((TypeError, ValueError), match=name):
        replace(sound, **{name: value})


def test_every_rule_survives_malformed_rows():
    """All rules give finite distributions for damaged arrays, and admission withholds them."""
    arrays = malformed.batch(99, 20_000)
    for rule in RULES:
        result = decide_batch(arrays, rule=rule)
        assert not result.admitted.any()
        np.testing.assert_allclose(result.fused.posterior.sum(axis=-1), 1.0)
        assert np.isfinite(result.fused.score).all()


def test_every_rule_gives_both_paths_one_verdict():
    """Whatever the rule, malformed sources get the same verdict one by one and together."""
    rows = [instance.sources for instance in malformed.instances(99, 1_200)]
    singles = [decide_rules(sources, list(RULES)) for sources in rows]
    batch = SourceBatch.from_instances(rows)
    for r, rule in enumerate(RULES):
        result = decide_batch(batch, rule=rule)
        for i, decisions in enumerate(singles):
            decision = decisions[r]
            assert (decision.status, decision.response, decision.check) == result.outcome(i), rule


@pytest.mark.parametrize(
    "opinion", malformed.WRONG_OPINIONS, ids=lambda o: type(o).__name__ + str(o)[:16]
)
def test_opinions_of_the_wrong_shape_or_type_are_invalid(opinion):
    """Absent, mislabelled, mistyped and misshapen opinions end in FALLBACK on both paths."""
    sources = [
        Source(role, [0.2] * 5, 0.9, 0.0, {role}, command=malformed.CURRENT)
        for role in HANDOVER_ROLES
    ]
    sources[1] = Source("geometry", opinion, 0.9, 0.0, {"geometry"})
    decision = decide(sources)
    assert decision.response is Response.FALLBACK
    assert decision.values["faults"]["geometry"]
    assert decide_batch(SourceBatch.from_instances([sources])).outcome(0)[1:] == (
        Response.FALLBACK,
        "source_validity",
    )


@pytest.mark.parametrize(
    "parents",
    [set(), (), [], {}, np.array([]), None, 0, 7, "", "image", b"image", iter(["image"])],
    ids=lambda p: type(p).__name__ + str(p)[:16],
)
def test_parents_that_are_no_names_are_the_callers_error(parents):
    """Nothing, one text, or what can be read only once is refused before there is a decision."""
    with pytest.raises(ValueError, match="parents"):
        Source("geometry", [0.2] * 5, 0.9, 0.0, parents)


@pytest.mark.parametrize("parent", [["image"], {"file": "image"}, {"image"}, np.zeros(2)])
def test_a_parent_that_has_no_hash_is_the_callers_error(parent):
    """A nested collection as one parent is named, one instance or many."""
    sources = [Source(role, [0.2] * 5, 0.9, 0.0, (role, parent)) for role in HANDOVER_ROLES]
    with pytest.raises(ValueError, match="source 0 cannot be a name"):
        decide(sources)
    with pytest.raises(ValueError, match="source 0 cannot be a name"):
        SourceBatch.from_instances([sources])
