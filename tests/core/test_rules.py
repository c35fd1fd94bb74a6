"""The compared rules against independent, slow implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_core import (
    HANDOVER,
    HANDOVER_ROLES,
    FusionOptions,
    Source,
    SourceBatch,
    components,
    decide,
    fuse,
)
from tests.core.oracles import Lattice, dempster_sequence
from tests.core.strategies import contract_set, sound_sources

UNIFORM = [0.2] * 5


def some_missing(data, sources):
    """Make a random subset of the sources unavailable."""
    gone = data.draw(st.lists(st.booleans(), min_size=len(sources), max_size=len(sources)))
    return [
        Source(s.role, s.opinion, s.quality, s.conflict, s.parents, not out, True, s.command)
        for s, out in zip(sources, gone, strict=True)
    ]


def reliability(source):
    """Return q (1 - d)."""
    return source.quality * (1.0 - source.conflict)


@settings(max_examples=60)
@given(st.data())
def test_cautious_rules_match_the_subset_lattice(data):
    """The closed forms equal brute force over all subsets, the empty set included."""
    contracts = data.draw(st.integers(2, 4))
    sources = some_missing(data, data.draw(sound_sources(contracts)))
    batch = SourceBatch.from_instances([sources], contract_set(contracts))
    lattice = Lattice(contracts)
    vacuous = lattice.masses([0.0] * contracts, 0.0)
    masses = [
        lattice.masses(s.opinion, min(0.99, max(1e-12, reliability(s)))) if s.available else vacuous
        for s in sources
    ]
    bets, _ = lattice.cautious(masses, [0] * len(sources))
    fused = fuse(batch, "global_cautious")
    np.testing.assert_allclose(fused.posterior[0], bets, atol=1e-9)
    assert fused.score[0] == pytest.approx(bets.max(), abs=1e-9)
    bets, frame = lattice.cautious(masses, components([s.parents for s in sources]))
    fused = fuse(batch, "hierarchy_cautious")
    np.testing.assert_allclose(fused.posterior[0], bets, atol=1e-9)
    assert fused.score[0] == pytest.approx(1.0 - frame, abs=1e-9)


def test_conjunctive_weights_of_singleton_masses():
    """w_k = u / (b_k + u), larger proper subsets weigh one, and the empty set u / prod w_k."""
    lattice = Lattice(4)
    mass = lattice.masses([0.5, 0.3, 0.2, 0.0], 0.6)
    u = mass[lattice.frame]
    logs = lattice.log_weights(mass)
    singles = [np.log(u / (mass[frozenset({k})] + u)) for k in range(4)]
    for a, log in logs.items():
        if len(a) == 1:
            assert log == pytest.approx(singles[min(a)])
        elif a:
            assert log == pytest.approx(0.0, abs=1e-12)
    assert logs[frozenset()] == pytest.approx(np.log(u) - sum(singles))


@given(st.data())
def test_nested_dirichlet_is_the_sequential_composition(data):
    """The product identity equals the printed sequential formula in source order."""
    contracts = data.draw(st.integers(2, 6))
    sources = some_missing(data, data.draw(sound_sources(contracts)))
    kappa = data.draw(st.floats(0.5, 24.0))
    batch = SourceBatch.from_instances([sources], contract_set(contracts))
    fused = fuse(batch, "nested_dirichlet", FusionOptions(kappa=kappa))
    present = [s for s in sources if s.available]
    if len(present) < 2:
        np.testing.assert_allclose(fused.posterior[0], 1.0 / contracts)
        assert fused.score[0] == 0.0
        assert not fused.native_eligible[0]
        return
    e = np.array([kappa * reliability(s) * np.array(s.opinion) for s in present])
    posterior, score = dempster_sequence(e)
    np.testing.assert_allclose(fused.posterior[0], posterior, atol=1e-10)
    assert fused.score[0] == pytest.approx(score, abs=1e-10)


@given(st.data())
def test_averaging_and_product_match_their_formulas(data):
    """Quality weighting and the discounted product, missing sources omitted."""
    sources = some_missing(data, data.draw(sound_sources(5)))
    batch = SourceBatch.from_instances([sources])
    present = [s for s in sources if s.available]
    weight = sum(s.quality for s in present)
    mean = sum(s.quality * np.array(s.opinion) for s in present) / weight if weight > 0 else UNIFORM
    np.testing.assert_allclose(fuse(batch, "quality_weighted").posterior[0], mean, atol=1e-9)
    product = np.ones(5)
    for s in present:
        product *= reliability(s) * np.array(s.opinion) + (1.0 - reliability(s)) / 5
    expected = product / product.sum() if product.sum() > 0 else UNIFORM
    np.testing.assert_allclose(fuse(batch, "product").posterior[0], expected, atol=1e-9)


@given(st.data())
def test_pooling_matches_its_formula(data):
    """Log weights 2q - 2d - 4m + log delta, with the declared vision role always missing."""
    sources = some_missing(data, data.draw(sound_sources(5)))
    batch = SourceBatch.from_instances([sources])
    labels = components([s.parents for s in sources])
    tops = [int(np.argmax(s.opinion)) for s in sources]
    for rule in ("pooling", "provenance_pooling"):
        logits, vectors = [-4.0], [UNIFORM]
        for i, s in enumerate(sources):
            linked = sum(
                j != i and labels[j] == labels[i] and tops[j] == tops[i] and sources[j].available
                for j in range(3)
            )
            counts = rule == "provenance_pooling" and s.available
            logits.append(
                2 * s.quality - 2 * s.conflict - 4 * (not s.available)
                - np.log(1 + linked if counts else 1)
            )  # fmt: skip
            vectors.append(s.opinion)
        weights = np.exp(logits) / np.exp(logits).sum()
        log_pool = weights @ np.log(np.maximum(vectors, 1e-12))
        expected = np.exp(log_pool) / np.exp(log_pool).sum()
        np.testing.assert_allclose(fuse(batch, rule).posterior[0], expected, atol=1e-9)
    limit = max(s.conflict for s in sources) <= 0.65
    assert fuse(batch, "pooling").native_eligible[0] == limit


def test_pooling_declares_vision_only_for_handover_sources():
    """Sources with other roles are pooled among themselves."""
    opinion = np.array([[[0.7, 0.3], [0.4, 0.6]]])
    batch = SourceBatch.build(
        opinion, 0.5, 0.0, component=[0, 1], roles=("a", "b"), contracts=contract_set(2)
    )
    expected = np.sqrt(opinion[0, 0] * opinion[0, 1])
    np.testing.assert_allclose(fuse(batch, "pooling").posterior[0], expected / expected.sum())


def test_provenance_pooling_discounts_by_components():
    """A chain of overlaps counts like three sources with one parent, on both paths."""
    opinions = ([0.6, 0.1, 0.1, 0.1, 0.1], [0.5, 0.2, 0.1, 0.1, 0.1], [0.4, 0.3, 0.1, 0.1, 0.1])

    def posteriors(*parents):
        sources = [
            Source(role, p, 0.8, 0.1, names)
            for role, p, names in zip(HANDOVER_ROLES, opinions, parents, strict=True)
        ]
        fused = fuse(SourceBatch.from_instances([sources]), "provenance_pooling")
        single = decide(sources, rule="provenance_pooling").posterior
        assert fused.posterior[0].tolist() == single
        return single

    chain, star = posteriors({"b"}, {"a"}, {"a", "b"}), posteriors({"a"}, {"a"}, {"a"})
    assert chain == star
    assert posteriors({"a"}, {"b"}, {"c"}) != chain


@given(st.data())
def test_ablations_and_single_sources(data):
    """Maximum, representative, singleton and single-source rules by their definitions."""
    sources = some_missing(data, data.draw(sound_sources(5)))
    batch = SourceBatch.from_instances([sources])
    e = np.array([8.0 * reliability(s) * np.array(s.opinion) * s.available for s in sources])
    labels = components([s.parents for s in sources])
    groups = [[i for i in range(3) if labels[i] == label] for label in sorted(set(labels))]
    complete = [g for g in groups if all(sources[i].available for i in g)]
    join = sum((e[g].max(axis=0) for g in complete), start=np.zeros(5))
    np.testing.assert_allclose(fuse(batch, "maximum").evidence[0], join, atol=1e-9)
    first = sum(e[g[0]] for g in groups)
    np.testing.assert_allclose(fuse(batch, "representative").evidence[0], first, atol=1e-9)
    np.testing.assert_allclose(fuse(batch, "pact_singleton").evidence[0], e.sum(axis=0), atol=1e-9)
    for i, role in enumerate(HANDOVER_ROLES):
        fused = fuse(batch, role)
        expected = sources[i].opinion if sources[i].available else UNIFORM
        np.testing.assert_allclose(fused.posterior[0], expected, atol=1e-9)
        np.testing.assert_allclose(decide(sources, rule=role).posterior, expected, atol=1e-9)
        assert fused.native_eligible[0] == sources[i].available


@given(st.data())
def test_maximum_is_copy_invariant_too_but_amplifies(data):
    """Exact-copy invariance alone does not identify the meet."""
    sources = data.draw(sound_sources(5))
    batch = SourceBatch.from_instances([sources])
    before, after = fuse(batch, "maximum"), fuse(batch.replicate(1, 4), "maximum")
    np.testing.assert_allclose(before.posterior, after.posterior, atol=1e-12)
    assert (before.evidence >= fuse(batch, "pact").evidence - 1e-12).all()


@pytest.mark.parametrize("opinion", [[0.0] * 5, [np.nan] * 5, [0.5, 0.6, 0.0, 0.0, 0.0], None])
def test_comparators_read_an_invalid_present_opinion_as_uniform(opinion):
    """A present source without a distribution counts as uniform with its own reliability."""
    rest = [
        Source("geometry", [0.6, 0.1, 0.1, 0.1, 0.1], 0.8, 0.1, {"s"}),
        Source("risk", [0.5, 0.2, 0.1, 0.1, 0.1], 0.7, 0.1, {"s"}),
    ]
    bad = SourceBatch.from_instances([[Source("language", opinion, 0.6, 0.1, {"c"}), *rest]])
    flat = SourceBatch.from_instances([[Source("language", UNIFORM, 0.6, 0.1, {"c"}), *rest]])
    for rule in (
        "quality_weighted", "product", "nested_dirichlet", "global_cautious",
        "hierarchy_cautious", "pooling", "provenance_pooling",
    ):  # fmt: skip
        np.testing.assert_array_equal(fuse(bad, rule).posterior, fuse(flat, rule).posterior)
    zero = fuse(bad).evidence[0] - fuse(flat).evidence[0]
    np.testing.assert_allclose(zero, -8 * 0.6 * 0.9 * 0.2)


def test_product_of_many_sources_does_not_underflow():
    """A thousand sharp sources still give a distribution."""
    opinion = np.broadcast_to([0.9996, 1e-4, 1e-4, 1e-4, 1e-4], (1, 1000, 5))
    batch = SourceBatch.build(
        opinion, 1.0, 0.0, component=np.arange(1000), roles=("view",) * 1000, contracts=HANDOVER
    )
    assert fuse(batch, "product").posterior[0, 0] == pytest.approx(1.0)
