"""One answer from every path: scalar, batched, any leading shape, NumPy or torch."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_core import (
    HANDOVER,
    RULES,
    AdmissionPolicy,
    FusionOptions,
    SourceBatch,
    decide,
    decide_batch,
    decide_rules,
    fuse,
    fuse_evidence,
    perturbation,
)
from tests.core.examples import instance
from tests.core.strategies import contract_set, evidence, partitions, sound_sources, wild_sources

POLICIES = [
    AdmissionPolicy(corroboration=mode, complete_components=complete)
    for mode in ("unanimity", "component_count", "cross_role", "off")
    for complete in (True, False)
]


def assert_same(decision, batch, index=0):
    """Compare a scalar decision with one row of a batched one."""
    fused = batch.fused
    assert batch.outcome(index) == (decision.status, decision.response, decision.check)
    assert decision.contracts[int(fused.contract[index])] == decision.contract
    np.testing.assert_allclose(decision.posterior, fused.posterior[index], atol=1e-12)
    assert math.isclose(decision.score, fused.score[index], abs_tol=1e-12)
    assert decision.base_eligible == batch.base_eligible[index]
    for ours, theirs in ((decision.evidence, fused.evidence), (decision.vacuity, fused.vacuity)):
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs[index], atol=1e-9)


@settings(max_examples=120)
@given(st.data())
def test_scalar_equals_batched_on_wild_input(data):
    """Every rule and policy gives one verdict for good and bad numbers alike."""
    names = data.draw(st.sampled_from([HANDOVER, contract_set(2), contract_set(9)]))
    sources = data.draw(wild_sources(names.names))
    roles = {source.role for source in sources}
    rules = [r for r in RULES if r in roles or r not in ("language", "geometry", "risk")]
    policy = data.draw(st.sampled_from(POLICIES))
    threshold = data.draw(st.sampled_from([None, 0.2, 0.6]))
    kappa = data.draw(st.sampled_from([4.0, 8.0]))
    batch = SourceBatch.from_instances([sources], names)
    decisions = decide_rules(
        sources, rules, kappa=kappa, threshold=threshold, policy=policy, contracts=names
    )
    for decision in decisions:
        batched = decide_batch(
            batch,
            rule=decision.rule,
            options=FusionOptions(kappa=kappa),
            threshold=threshold,
            policy=policy,
        )
        assert_same(decision, batched)
        assert decision.values is not None
        assert decision.admitted == (decision.changes == ())


@given(st.data())
def test_scalar_takes_every_fusion_option(data):
    """Prior, base rate, source scales and missing conventions act alike on both paths."""
    sources = data.draw(sound_sources(5))
    sources[1] = replace(sources[1], available=data.draw(st.booleans()))
    options = FusionOptions(
        source_scale=(0.5, 1.0, 2.0),
        base_rate=(0.4, 0.3, 0.1, 0.1, 0.1),
        prior_strength=2.0,
        kappa=4.0,
        missing=data.draw(st.sampled_from(["zero", "exclude", "remove", "isolate"])),
    )
    for rule in ("pact", "maximum", "nested_dirichlet"):
        scalar = decide(sources, rule=rule, options=options)
        assert_same(
            scalar, decide_batch(SourceBatch.from_instances([sources]), rule=rule, options=options)
        )


@settings(max_examples=15)
@given(st.data())
def test_any_leading_shape_and_varying_partitions(data):
    """Rows decide alone: reshaping, taking and mixing partitions changes nothing."""
    rows = [data.draw(sound_sources(5)) for _ in range(6)]
    batch = SourceBatch.from_instances(rows)
    shaped = batch.reshape(3, 1, 2)
    for rule in RULES:
        flat, folded = decide_batch(batch, rule=rule), decide_batch(shaped, rule=rule)
        np.testing.assert_array_equal(folded.fused.posterior.reshape(6, 5), flat.fused.posterior)
        np.testing.assert_array_equal(folded.stop.reshape(6), flat.stop)
        for i, row in enumerate(rows):
            alone = decide_batch(SourceBatch.from_instances([row]), rule=rule)
            np.testing.assert_allclose(
                alone.fused.posterior[0], flat.fused.posterior[i], atol=1e-15
            )
            single = decide_batch(batch.take(i), rule=rule)
            assert single.fused.posterior.shape == (5,)
            assert single.outcome(()) == flat.outcome(i)


def test_blocks_do_not_show():
    """A batch larger than a block equals its parts, whatever the rule."""
    rng = np.random.default_rng(7)
    n = 30_000
    batch = SourceBatch.build(
        rng.dirichlet(np.ones(5), (n, 3)),
        rng.random((n, 3)),
        rng.random((n, 3)),
        component=rng.integers(0, 3, (n, 3)),
        unavailable=rng.random((n, 3)) < 0.2,
        roles=("language", "geometry", "risk"),
    )
    for rule in RULES:
        whole = decide_batch(batch, rule=rule, threshold=0.4)
        part = decide_batch(batch.take(slice(20_000, 20_100)), rule=rule, threshold=0.4)
        np.testing.assert_array_equal(whole.stop[20_000:20_100], part.stop)
        np.testing.assert_allclose(
            whole.fused.posterior[20_000:20_100], part.fused.posterior, atol=1e-15
        )


def test_an_empty_batch_stays_empty():
    """No instances in, no decisions out."""
    batch = SourceBatch.build(
        np.zeros((0, 3, 5)), 1.0, 0.0, component=[0, 1, 1], roles=("language", "geometry", "risk")
    )
    assert decide_batch(batch).stop.shape == (0,)
    assert fuse(batch, "hierarchy_cautious").posterior.shape == (0, 5)


def test_inputs_are_not_changed():
    """Deciding leaves the caller's arrays as they were."""
    rng = np.random.default_rng(3)
    opinion = rng.dirichlet(np.ones(5), (50, 3))
    opinion[::7] = np.nan
    kept = opinion.copy()
    batch = SourceBatch.build(
        opinion, 0.9, 0.1, component=[0, 1, 1], roles=("language", "geometry", "risk")
    )
    for rule in RULES:
        decide_batch(batch, rule=rule)
    np.testing.assert_array_equal(opinion, kept)


def test_a_decision_needs_sources_and_a_known_rule():
    """Programming errors raise: no source, unknown rule, ragged batches."""
    source = instance()[0]
    with pytest.raises(ValueError, match="at least one expected source"):
        decide([])
    for kappa in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="kappa must be finite"):
            decide([source], kappa=kappa)
        with pytest.raises(ValueError, match="kappa must be finite"):
            FusionOptions(kappa=kappa)
    with pytest.raises(ValueError, match="unknown rule"):
        decide([source], rule="nope")
    with pytest.raises(ValueError, match="every instance must have the roles"):
        SourceBatch.from_instances([[source], [source, source]])
    with pytest.raises(ValueError, match="at least one instance"):
        SourceBatch.from_instances([])


@settings(max_examples=15)
@given(st.data())
def test_torch_gives_the_same_numbers(data):
    """Tensors in, tensors out, with NumPy's values."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    roles = ["language", "geometry", "risk", "vision"]
    rows = []
    for _ in range(3):
        wild = data.draw(wild_sources(HANDOVER.names))
        rows.append([replace(wild[i % len(wild)], role=role) for i, role in enumerate(roles)])
    batch = SourceBatch.from_instances(rows)
    tensors = {
        f.name: torch.from_numpy(np.ascontiguousarray(getattr(batch, f.name)))
        for f in fields(batch)
        if f.name not in ("roles", "contracts")
    }
    twin = replace(batch, **tensors)
    for rule in RULES:
        for missing in ("zero", "remove"):
            options = FusionOptions(missing=missing)
            ours = decide_batch(batch, rule=rule, options=options, threshold=0.3)
            theirs = decide_batch(twin, rule=rule, options=options, threshold=0.3)
            assert isinstance(theirs.fused.posterior, torch.Tensor)
            np.testing.assert_allclose(
                theirs.fused.posterior.numpy(), ours.fused.posterior, atol=1e-12
            )
            np.testing.assert_array_equal(theirs.stop.numpy(), ours.stop)
    np.testing.assert_array_equal(twin.observed().numpy(), batch.observed())
    np.testing.assert_array_equal(twin.base_eligible().numpy(), batch.base_eligible())


@given(st.data())
def test_torch_evidence_keeps_gradients(data):
    """Direct evidence can be differentiated through the meet and the sum."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    e = data.draw(evidence(sources=3, contracts=4))
    partition = data.draw(partitions(3))
    tensor = torch.tensor(e, requires_grad=True)
    labels = torch.tensor(partition)
    fused = fuse_evidence(tensor, labels)
    np.testing.assert_allclose(
        fused.posterior.detach().numpy(), fuse_evidence(e, partition).posterior, atol=1e-12
    )
    fused.score.backward()
    assert torch.isfinite(tensor.grad).all()
    moved = perturbation(tensor.detach(), tensor.detach() + 1.0, labels)
    assert float(moved) == pytest.approx(4.0 * len(set(partition)))
