"""A million malformed instances: no exception, none admitted, one verdict from both paths."""

from __future__ import annotations

import numpy as np
import pytest

from pact_core import (
    HANDOVER,
    HANDOVER_ROLES,
    CommandState,
    Response,
    Source,
    SourceBatch,
    decide,
    decide_batch,
)

INSTANCES = 1_000_000
SCALAR_SAMPLE = 25_000
PIECE = 200_000

BAD = np.array([np.nan, np.inf, -np.inf, -0.3, 1.7, 1e308, -1e-7, 5e-324])


def malformed(seed, n):
    """Return sharp agreeing sources of which at least one present source is damaged per row."""
    rng = np.random.default_rng(seed)
    opinion = rng.dirichlet([20, 1, 1, 1, 1], (n, 3))
    quality, conflict = rng.uniform(0.9, 1.0, (n, 3)), rng.uniform(0.0, 0.1, (n, 3))
    declared = np.zeros((n, 3), dtype=bool)
    victim = rng.integers(0, 3, n)
    unavailable = rng.random((n, 3)) < 0.1
    unavailable[np.arange(n), victim] = False
    kind = rng.integers(0, 6, n)
    rows = np.arange(n)
    spoiled, place = rng.choice(BAD, n), rng.integers(0, 5, n)

    def where(code):
        return rows[kind == code], victim[kind == code]

    i, j = where(0)
    opinion[i, j, place[i]] = np.where(spoiled[i] == 5e-324, 1.5, spoiled[i])
    i, j = where(1)
    opinion[i, j] *= rng.choice([0.0, 0.5, 1.001, 1e9], len(i))[:, None]
    i, j = where(2)
    quality[i, j] = rng.choice([np.nan, np.inf, -np.inf, -0.1, 1.1], len(i))
    i, j = where(3)
    conflict[i, j] = rng.choice([np.nan, np.inf, -np.inf, -0.1, 1.1], len(i))
    declared[where(4)] = True
    opinion[where(5)] = np.nan
    component = np.where(rng.random((n, 1)) < 0.5, [[0, 1, 1]], [[0, 1, 2]])
    return SourceBatch.build(
        opinion, quality, conflict, component=component, roles=HANDOVER_ROLES,
        unavailable=unavailable, declared_invalid=declared,
    ), kind  # fmt: skip


def one(batch, i):
    """Return one row as single sources."""
    return [
        Source(
            role,
            batch.opinion[i, j].tolist(),
            float(batch.quality[i, j]),
            float(batch.conflict[i, j]),
            {f"p{batch.component[i, j]}"},
            available=not batch.unavailable[i, j],
            declared_valid=not batch.declared_invalid[i, j],
            command=CommandState("c", "c", "current") if j == 0 else None,
        )
        for j, role in enumerate(HANDOVER_ROLES)
    ]


def test_a_million_malformed_instances_are_never_admitted():
    """Every damaged row is withheld: FALLBACK when eligible, and the scalar path agrees."""
    for piece in range(INSTANCES // PIECE):
        batch, _ = malformed(piece, PIECE)
        result = decide_batch(batch)
        assert not result.admitted.any()
        responses = np.array(result.responses)[result.stop]
        expected = np.where(result.base_eligible, Response.FALLBACK, Response.HOLD)
        np.testing.assert_array_equal(responses, expected)
        assert np.isfinite(result.fused.posterior).all()
        for i in range(0, PIECE, PIECE * (INSTANCES // PIECE) // SCALAR_SAMPLE):
            decision = decide(one(batch, i))
            assert (decision.status, decision.response, decision.check) == result.outcome(i)
            np.testing.assert_allclose(
                decision.posterior, result.fused.posterior[i], rtol=0, atol=1e-12
            )


def test_every_comparator_survives_malformed_rows():
    """All rules give finite distributions for damaged rows, and admission withholds them."""
    batch, _ = malformed(99, 20_000)
    for rule in ("quality_weighted", "product", "nested_dirichlet", "global_cautious",
                 "hierarchy_cautious", "pooling", "provenance_pooling", "maximum"):  # fmt: skip
        result = decide_batch(batch, rule=rule)
        assert not result.admitted.any()
        np.testing.assert_allclose(result.fused.posterior.sum(axis=-1), 1.0)
        assert np.isfinite(result.fused.score).all()


STRUCTURAL = [
    None, "", "words", b"bytes", 7, True, [], {}, [1.0], [0.2] * 6, ["0.2"] * 5, [[0.2]] * 5,
    [None] * 5, [True, False, False, False, False], {"N": 1.0}, dict.fromkeys("NSHTX", 0.2),
    dict.fromkeys(["ñ", "S", "H", "T", "U"], 0.2), {**dict.fromkeys("NSHTU", 0.2), "Z": 0.0},
    [10**400, 0, 0, 0, 0], [1j, 0, 0, 0, 0], object(), np.full((5, 5), 0.2), float("nan"),
]  # fmt: skip


@pytest.mark.parametrize("opinion", STRUCTURAL, ids=lambda o: type(o).__name__ + str(o)[:16])
def test_opinions_of_the_wrong_shape_or_type_are_invalid(opinion):
    """Absent, mislabelled, mistyped and misshapen opinions end in FALLBACK on both paths."""
    good = [
        Source(r, [0.2] * 5, 0.9, 0.0, {f"{r} ☃" * 50, "q" * 10_000}, command=c)
        for r, c in zip(
            HANDOVER_ROLES, (CommandState("c", "c", "current"), None, None), strict=True
        )
    ]
    many = frozenset(f"parent-{i}" for i in range(5_000))
    sources = [good[0], Source("geometry", opinion, 0.9, 0.0, many), good[2]]
    decision = decide(sources)
    assert decision.response is Response.FALLBACK
    assert decision.values["faults"]["geometry"]
    assert decide_batch(SourceBatch.from_instances([sources], HANDOVER)).outcome(0)[1:] == (
        Response.FALLBACK,
        "source_validity",
    )
