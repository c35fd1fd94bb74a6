"""PACT fusion: every proposition, corollary and definition of the paper, on random input."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pact_core import (
    HANDOVER,
    HANDOVER_ROLES,
    RULES,
    Belief,
    FusionOptions,
    Source,
    SourceBatch,
    blocks,
    components,
    fuse,
    fuse_evidence,
    inverse_entropy,
    is_coarsening,
    merge,
    posterior_peak,
    register_rule,
    replicate,
    top_two_margin,
)
from tests.core.oracles import cumulative
from tests.core.strategies import contract_set, evidence, parent_sets, partitions, sound_sources

VALUE_ONLY = ("quality_weighted", "product", "nested_dirichlet", "global_cautious", "pooling")


def batch_of(sources, contracts=HANDOVER):
    """Return a batch of one instance."""
    return SourceBatch.from_instances([sources], contracts)


@given(st.data())
def test_meet_then_sum_and_projection(data):
    """Equations (budget), (cumulative), (posterior) and (vacuity), with base rate and prior."""
    e = data.draw(evidence())
    partition = data.draw(partitions(len(e)))
    strength = data.draw(st.floats(0.1, 50.0))
    weights = np.array(
        data.draw(st.lists(st.integers(1, 9), min_size=e.shape[1], max_size=e.shape[1]))
    )
    base = tuple(weights / weights.sum())
    fused = fuse_evidence(e, partition, FusionOptions(base_rate=base, prior_strength=strength))
    total = cumulative(e, partition)
    np.testing.assert_allclose(fused.evidence, total, atol=1e-12)
    np.testing.assert_allclose(
        fused.posterior, (strength * np.array(base) + total) / (strength + total.sum()), atol=1e-12
    )
    assert fused.vacuity == pytest.approx(strength / (strength + total.sum()))
    assert fused.score == pytest.approx(1.0 - fused.vacuity)
    assert fused.contract == int(np.argmax(fused.posterior))


@given(st.data())
def test_value_only_rules_cannot_tell_a_copy_from_a_second_source(data):
    """Proposition 1, value-only indistinguishability: shared and disjoint parents look alike."""
    (source,) = data.draw(sound_sources(5, roles=("geometry",)))
    twins = [
        [source, Source("geometry", source.opinion, source.quality, source.conflict, parents)]
        for parents in (source.parents, {"elsewhere"})
    ]
    for rule in VALUE_ONLY:
        copy, other = (fuse(batch_of(pair), rule) for pair in twins)
        np.testing.assert_array_equal(copy.posterior, other.posterior)
        np.testing.assert_array_equal(copy.score, other.score)
    copy, other = (fuse(batch_of(pair), "pact") for pair in twins)
    if source.quality * (1.0 - source.conflict) > 1e-9:
        assert other.score > copy.score


def pact_rule(e):
    """Return what PACT keeps of one component."""
    return fuse_evidence(e, [0] * len(e)).evidence


def spread(e):
    """Return how far the members differ, per contract."""
    return e.max(axis=0) - e.min(axis=0)


ADMISSIBLE = {
    "meet shrinking with every member": lambda e: e.min(axis=0) * 0.8 ** (len(e) - 1),
    "nothing but singletons": lambda e: e[0] * (len(e) == 1),
    "meet less disagreement": lambda e: np.maximum(e.min(axis=0) - 0.5 * spread(e), 0.0),
    "meet where members are close": lambda e: e.min(axis=0) * (spread(e) <= 1.0),
    "meet of one leading contract": lambda e: e.min(axis=0) * (len(set(e.argmax(axis=1))) == 1),
}
ABOVE = {
    "maximum": lambda e: e.max(axis=0),
    "mean": lambda e: e.mean(axis=0),
    "sum": lambda e: e.sum(axis=0),
    "median": lambda e: np.median(e, axis=0),
    "first member by value": lambda e: min(e, key=tuple),
    "largest member": lambda e: max(e, key=lambda v: (v.sum(), *v)),
    "meet and a little more": lambda e: e.min(axis=0) + 0.01 * (len(e) > 1),
    "mass of the meet, shifted": lambda e: np.roll(e.min(axis=0), 1 if len(e) > 1 else 0),
}


def breaks_an_axiom(rule, e):
    """Whether a rule changes a singleton or gains by an insertion, in some order of the members."""
    for first in range(len(e)):
        order = [first, *(i for i in range(len(e)) if i != first)]
        kept = [rule(e[order[: n + 1]]) for n in range(len(e))]
        if (kept[0] != e[first]).any() or any((b > a).any() for a, b in pairwise(kept)):
            return True
    return False


@given(evidence())
def test_meet_is_the_greatest_rule_within_a_component(e):
    """Proposition 2, within-component characterization.

    PACT keeps singletons and never gains by an insertion; so do five other rules, which stay below
    it; and whatever exceeds it in a single coordinate breaks one of the two axioms.
    """
    meet = pact_rule(e)
    np.testing.assert_array_equal(meet, e.min(axis=0))
    assert not breaks_an_axiom(pact_rule, e)
    for name, rule in ADMISSIBLE.items():
        assert not breaks_an_axiom(rule, e), name
        assert (rule(e) <= meet).all(), name
    for name, rule in ABOVE.items():
        if (rule(e) > meet).any():
            assert breaks_an_axiom(rule, e), name


@given(st.data())
def test_admissible_budgets_stay_below_the_cumulative_evidence(data):
    """Proposition 3, greatest admissible provenance-aware evidence budget.

    Any budgets that lie below every member of their component sum to no more than E, which is such
    a sum itself; a budget above the meet in one coordinate exceeds a member there.
    """
    e = data.draw(evidence())
    partition = data.draw(partitions(len(e)))
    share = st.lists(st.floats(0.0, 1.0), min_size=e.shape[1], max_size=e.shape[1])
    greatest = fuse_evidence(e, partition).evidence
    below, meets = np.zeros(e.shape[1]), np.zeros(e.shape[1])
    for group in blocks(partition):
        meet = pact_rule(e[list(group)])
        assert (meet <= e[list(group)]).all()
        k = data.draw(st.integers(0, e.shape[1] - 1))
        assert (np.nextafter(meet[k], np.inf) > e[list(group), k]).any()
        below += np.array(data.draw(share)) * meet
        meets += meet
    assert (below <= greatest + 1e-12).all()
    np.testing.assert_allclose(greatest, meets, atol=1e-12)


@given(st.data())
def test_a_common_change_of_units_changes_nothing_but_the_units(data):
    """Assumption 1, commensurate evidence units: E scales with them, and the posterior with W."""
    e = data.draw(evidence())
    partition = data.draw(partitions(len(e)))
    unit = data.draw(st.sampled_from([0.25, 2.0, 1024.0]))
    before = fuse_evidence(e, partition, FusionOptions(prior_strength=3.0))
    after = fuse_evidence(unit * e, partition, FusionOptions(prior_strength=3.0 * unit))
    np.testing.assert_array_equal(after.evidence, unit * before.evidence)
    np.testing.assert_array_equal(after.posterior, before.posterior)
    assert after.score == before.score


@given(st.data())
def test_budgets_of_separate_components_add(data):
    """Assumption 2, separate-component additivity: E of two apart is the sum of their E."""
    contracts = data.draw(st.integers(2, 6))
    parts = [data.draw(evidence(contracts=contracts)) for _ in range(2)]
    labels = [data.draw(partitions(len(part))) for part in parts]
    apart = [*labels[0], *(label + len(parts[0]) for label in labels[1])]
    together = fuse_evidence(np.vstack(parts), apart).evidence
    single = [
        fuse_evidence(part, label).evidence for part, label in zip(parts, labels, strict=True)
    ]
    np.testing.assert_allclose(together, single[0] + single[1], rtol=1e-12, atol=1e-12)


@given(st.data())
def test_evidence_is_conserved_when_a_source_joins(data):
    """Definition 1, provenance-aware evidence conservation.

    A source that joins never adds, an exact copy changes nothing, a new component adds its own.
    """
    parents = data.draw(parent_sets())
    e = data.draw(evidence(sources=len(parents) + 1))
    before = fuse_evidence(e[:-1], components(parents))
    known = sorted(set().union(*parents))
    joining = data.draw(st.frozensets(st.sampled_from(known), min_size=1))
    joined = fuse_evidence(e, components([*parents, joining]))
    assert (joined.evidence <= before.evidence + 1e-12).all()
    source = data.draw(st.integers(0, len(parents) - 1))
    copied = fuse_evidence(np.vstack([e[:-1], e[source]]), components([*parents, parents[source]]))
    np.testing.assert_allclose(copied.posterior, before.posterior, atol=1e-15)
    assert copied.score == before.score
    apart = fuse_evidence(e, components([*parents, {"elsewhere"}]))
    np.testing.assert_allclose(apart.evidence, before.evidence + e[-1], atol=1e-12)


@given(st.data())
def test_coarsening_never_adds_evidence(data):
    """Corollary 1, partition monotonicity: coarser is never more, and the score follows."""
    e = data.draw(evidence())
    fine = data.draw(partitions(len(e)))
    a, b = (data.draw(st.integers(0, len(e) - 1)) for _ in range(2))
    coarse = merge(fine, a, b)
    assert is_coarsening(coarse, fine)
    wide, narrow = fuse_evidence(e, fine), fuse_evidence(e, coarse)
    assert (narrow.evidence <= wide.evidence + 1e-12).all()
    assert narrow.score <= wide.score + 1e-12


@given(evidence())
def test_limiting_partitions(e):
    """All singletons add up (the Dirichlet projection); one component keeps the meet."""
    apart = fuse_evidence(e, range(len(e)))
    np.testing.assert_allclose(apart.evidence, e.sum(axis=0), atol=1e-12)
    contracts = e.shape[1]
    np.testing.assert_allclose(
        apart.posterior, (e.sum(axis=0) + 1.0) / (e.sum() + contracts), atol=1e-12
    )
    np.testing.assert_array_equal(fuse_evidence(e, [0] * len(e)).evidence, e.min(axis=0))


@given(st.data())
def test_copies_leave_pact_unchanged_whatever_the_multiplicity(data):
    """Exact copies with the same parents change nothing; with new parents they add."""
    contracts = data.draw(st.integers(2, 6))
    sources = data.draw(sound_sources(contracts))
    batch = batch_of(sources, contract_set(contracts))
    source, m = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 9))
    native = fuse(batch)
    same = fuse(batch.replicate(source, m))
    np.testing.assert_allclose(same.posterior, native.posterior, atol=1e-15)
    np.testing.assert_allclose(same.score, native.score, atol=1e-15)
    new = fuse(batch.replicate(source, m, parents="new"))
    single = sources[source]
    added = 8.0 * single.quality * (1.0 - single.conflict) * (m - 1)
    assert new.evidence.sum() == pytest.approx(native.evidence.sum() + added, abs=1e-9)


def test_replicated_labels_follow_the_partition_operation():
    """The batch's copies get the components that the partition operation gives."""
    batch = SourceBatch.build(
        np.full((2, 3, 5), 0.2), np.ones((2, 3)), np.zeros((2, 3)),
        component=[0, 1, 1], roles=HANDOVER_ROLES,
    )  # fmt: skip
    for parents in ("same", "new"):
        labels = batch.replicate(1, 3, parents=parents).component[0]
        expected = replicate((0, 1, 1), 1, 2, parents=parents)
        assert [[a == b for b in labels] for a in labels] == [
            [a == b for b in expected] for a in expected
        ]


@given(st.data())
def test_evidence_adapter_uses_reliability_and_scales(data):
    """e = rho kappa p, with kappa per instance and a factor per source."""
    sources = data.draw(sound_sources(5))
    kappa = data.draw(st.floats(0.1, 30.0))
    scale = tuple(data.draw(st.floats(0.1, 3.0)) for _ in sources)
    batch = SourceBatch.from_instances([sources, sources])
    per_row = np.array([kappa, 2.0 * kappa])
    fused = fuse(batch, "pact", FusionOptions(kappa=per_row, source_scale=scale))
    vectors = np.array(
        [
            factor * s.quality * (1.0 - s.conflict) * np.array(s.opinion) / sum(s.opinion)
            for factor, s in zip(scale, sources, strict=True)
        ]
    )
    total = cumulative(vectors, components([s.parents for s in sources]))
    np.testing.assert_allclose(fused.evidence[0], kappa * total, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fused.evidence[1], 2.0 * kappa * total, rtol=1e-9, atol=1e-12)


def test_new_copies_stand_alone_whatever_the_missing_convention():
    """A copy with new parents joins no component, with and without the missing sources' links."""
    sources = [
        Source("view", [0.75, 0.25], 1.0, 0.0, {"a"}),
        Source("view", None, None, None, {"a", "b"}, available=False),
        Source("view", [0.25, 0.75], 1.0, 0.0, {"b"}),
    ]
    batch = batch_of(sources, contract_set(2)).replicate(0, 3, parents="new")
    for missing, expected in (("zero", [12.0, 4.0]), ("remove", [20.0, 12.0])):
        fused = fuse(batch, "pact", FusionOptions(missing=missing))
        np.testing.assert_allclose(fused.evidence[0], expected)


def test_near_copies_move_mass_and_lower_the_budget():
    """Copies with an opinion of their own keep the parents and can only take evidence away."""
    rng = np.random.default_rng(2)
    batch = SourceBatch.build(
        rng.dirichlet(np.ones(5), (20, 3)), 0.9, 0.1, component=[0, 1, 1], roles=HANDOVER_ROLES
    )
    moved = np.roll(batch.opinion[:, 1], 1, axis=-1)
    near = batch.replicate(1, 3, opinion=moved)
    np.testing.assert_array_equal(near.opinion[:, 4], moved)
    np.testing.assert_array_equal(near.opinion[:, :3], batch.opinion)
    before, after = fuse(batch).evidence, fuse(near).evidence
    expected = (
        8.0
        * 0.81
        * (
            batch.opinion[:, 0]
            + np.minimum(np.minimum(*batch.opinion[:, 1:].swapaxes(0, 1)), moved)
        )
    )
    np.testing.assert_allclose(after, expected, atol=1e-12)
    assert (after <= before + 1e-12).all()


def test_supporters_are_observed_sources_that_lead_with_the_contract():
    """Membership follows the leading contract, with ties to the earlier one."""
    sources = [
        Source("language", [0.4, 0.4, 0.2, 0.0, 0.0], 1.0, 0.0, {"a"}),
        Source("geometry", [0.1, 0.9, 0.0, 0.0, 0.0], 1.0, 0.0, {"b"}),
        Source("risk", [1.0, 0.0, 0.0, 0.0, 0.0], 1.0, 0.0, {"c"}, available=False),
    ]
    batch = SourceBatch.from_instances([sources, sources])
    assert batch.supporters(0).tolist() == [[True, False, False]] * 2
    assert batch.supporters(np.array([1, 2])).tolist() == [[False, True, False], [False] * 3]
    assert batch.observed().tolist() == [[True, True, False]] * 2
    assert batch.base_eligible().all()
    assert not batch.base_eligible(minimum=3).any()


def test_partitions_can_be_replaced():
    """Labels for all instances or per instance give the evidence of their own partition."""
    rng = np.random.default_rng(4)
    batch = SourceBatch.build(
        rng.dirichlet(np.ones(5), (6, 3)), 0.9, 0.1, component=[0, 1, 1], roles=HANDOVER_ROLES
    )
    labels = np.array([[0, 1, 2], [0, 0, 0], [5, 5, 1]] * 2)
    mixed = fuse(batch.with_component(labels)).evidence
    for row, label in enumerate(labels):
        alone = fuse(batch.with_component(label)).evidence
        np.testing.assert_array_equal(mixed[row], alone[row])
        vectors = 8.0 * 0.81 * batch.opinion[row]
        np.testing.assert_allclose(mixed[row], cumulative(vectors, label), atol=1e-12)


BRIDGED = ({"a"}, {"a", "b"}, {"b"})


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("zero", [0.0, 0.0]),
        ("exclude", [2.0, 2.0]),
        ("remove", [8.0, 8.0]),
        ("isolate", [8.0, 8.0]),
    ],
)
def test_missing_source_conventions(missing, expected):
    """A missing bridge kills the component, drops out of the meet, or frees its neighbours."""
    sources = [
        Source("view", [0.75, 0.25], 1.0, 0.0, BRIDGED[0]),
        Source("view", None, None, None, BRIDGED[1], available=False),
        Source("view", [0.25, 0.75], 1.0, 0.0, BRIDGED[2]),
    ]
    fused = fuse(batch_of(sources, contract_set(2)), "pact", FusionOptions(missing=missing))
    np.testing.assert_allclose(fused.evidence[0], expected)


def test_invalid_present_source_stays_a_zero_vector_under_every_convention():
    """Only unavailable sources are excluded; a present invalid one keeps its component at zero."""
    sources = [
        Source("view", [0.75, 0.25], 1.0, 0.0, {"a"}),
        Source("view", [0.9, 0.9], 1.0, 0.0, {"a"}),
    ]
    for missing in ("zero", "exclude", "remove", "isolate"):
        fused = fuse(batch_of(sources, contract_set(2)), "pact", FusionOptions(missing=missing))
        np.testing.assert_array_equal(fused.evidence[0], [0.0, 0.0])


def test_no_evidence_gives_uniform_first_contract_and_score_zero():
    """With nothing observed the posterior is uniform, ties go to the first contract."""
    sources = [Source(role, None, None, None, {role}, available=False) for role in HANDOVER_ROLES]
    for rule in RULES:
        fused = fuse(batch_of(sources), rule)
        np.testing.assert_allclose(fused.posterior[0], 0.2)
        assert fused.contract[0] == 0
    assert fuse(batch_of(sources)).score[0] == 0.0
    assert not fuse(batch_of(sources), "nested_dirichlet").native_eligible[0]


@given(st.integers(2, 7), st.data())
def test_posterior_scores(contracts, data):
    """Peak, margin and inverse entropy have their defining values."""
    e = data.draw(evidence(sources=1, contracts=contracts))
    p = fuse_evidence(e, [0]).posterior
    ordered = sorted(p)
    assert posterior_peak(p) == ordered[-1]
    assert top_two_margin(p) == pytest.approx(ordered[-1] - ordered[-2])
    assert inverse_entropy(p) == pytest.approx(1.0 + (p * np.log(p)).sum() / np.log(contracts))
    assert inverse_entropy(np.full(contracts, 1.0 / contracts)) == pytest.approx(0.0)
    assert inverse_entropy(np.eye(contracts)[0]) == pytest.approx(1.0)


@given(st.data())
def test_every_rule_gives_a_distribution_and_a_score_in_the_unit_interval(data):
    """Posteriors sum to one and scores stay within [0, 1] for all rules."""
    sources = data.draw(sound_sources(5))
    batch = batch_of(sources)
    for rule in RULES:
        fused = fuse(batch, rule)
        assert fused.posterior.sum() == pytest.approx(1.0)
        assert (fused.posterior >= 0.0).all()
        assert -1e-12 <= fused.score[0] <= 1.0 + 1e-12


def test_rules_can_be_registered_once():
    """A user's rule joins the registry; another function under its name is refused."""

    def first_source(x, options):
        return Belief(x.p[0])

    register_rule("test_first_source")(first_source)
    register_rule("test_first_source")(first_source)
    try:
        batch = SourceBatch.build(
            np.array([[[0.7, 0.3], [0.1, 0.9]]]), 1.0, 0.0,
            component=[0, 1], roles=("a", "b"), contracts=contract_set(2),
        )  # fmt: skip
        np.testing.assert_allclose(fuse(batch, "test_first_source").posterior, [[0.7, 0.3]])
        with pytest.raises(ValueError, match="registered already"):
            register_rule("test_first_source")(lambda x, options: Belief(x.p[1]))
    finally:
        del RULES["test_first_source"]


def test_wrong_calls_raise_at_once():
    """Programming errors name what is wrong: rule, shapes, options."""
    batch = SourceBatch.build(np.full((4, 2, 5), 0.2), 1.0, 0.0, component=[0, 1], roles=("a", "b"))
    with pytest.raises(ValueError, match="unknown rule 'nope'"):
        fuse(batch, "nope")
    with pytest.raises(ValueError, match="kappa has shape"):
        fuse(batch, "pact", FusionOptions(kappa=np.ones(3)))
    with pytest.raises(ValueError, match="source_scale"):
        fuse(batch, "pact", FusionOptions(source_scale=(1.0,)))
    with pytest.raises(ValueError, match="missing must be"):
        FusionOptions(missing="ignore")
    with pytest.raises(ValueError, match="base_rate"):
        FusionOptions(base_rate=(0.5, 0.6))
    with pytest.raises(ValueError, match="prior_strength"):
        FusionOptions(prior_strength=0.0)
    with pytest.raises(ValueError, match="opinion has shape"):
        SourceBatch.build(np.full((4, 2, 3), 0.2), 1.0, 0.0, component=[0, 1], roles=("a", "b"))
    with pytest.raises(ValueError, match="component has shape"):
        replace(batch, component=np.zeros((4, 3), dtype=int))
    with pytest.raises(ValueError, match="replicate needs"):
        batch.replicate(0, 0)
    with pytest.raises(ValueError, match="finite and nonnegative"):
        fuse_evidence([[-1.0, 2.0]], [0])
    with pytest.raises(ValueError, match="no 'language' source"):
        fuse(batch, "language")


@given(evidence())
def test_ties_go_to_the_earlier_contract(e):
    """Equal evidence on all contracts predicts the first one."""
    assume(len(e) > 0)
    flat = np.repeat(e[:, :1], e.shape[1], axis=1)
    assert fuse_evidence(flat, range(len(e))).contract == 0
