"""Appendix A: the perturbation bounds hold on random evidence, and certificates keep their word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_core import (
    MISSING_CONVENTIONS,
    ContractSet,
    FusionOptions,
    Source,
    certificate,
    counting_partition,
    decide,
    fuse_evidence,
    near_copy_loss,
    perturbation,
    posterior_bound,
    score_bound,
    selection_holds,
)
from tests.core.examples import instance
from tests.core.strategies import contract_set, evidence, opinions, partitions, sound_sources

CERTIFIED = ["pact", "pact_singleton", "maximum", "representative"]

SLACK = 1e-10


@st.composite
def perturbed(draw):
    """Draw evidence, a changed version of it, a partition and a prior strength."""
    e = draw(evidence())
    changed = draw(evidence(sources=e.shape[0], contracts=e.shape[1]))
    step = draw(st.floats(0.0, 1.0))
    partition = draw(partitions(len(e)))
    return e, e + step * (changed - e), partition, draw(st.floats(0.2, 20.0))


@given(perturbed())
def test_distribution_and_score_stability(case):
    """Theorem 1, distribution and score stability under a given partition: the bounds hold."""
    e, changed, partition, strength = case
    options = FusionOptions(prior_strength=strength)
    before, after = (fuse_evidence(x, partition, options) for x in (e, changed))
    delta = perturbation(e, changed, partition)
    z, z_changed = strength + before.evidence.sum(), strength + after.evidence.sum()
    assert np.abs(after.evidence - before.evidence).sum() <= delta + SLACK
    drift = np.abs(after.posterior - before.posterior).sum()
    bound = posterior_bound(delta, strength, z, z_changed)
    assert drift <= bound + SLACK
    assert bound <= 2.0 * delta / strength + SLACK
    bound = score_bound(delta, strength, z, z_changed)
    assert abs(after.score - before.score) <= bound + SLACK
    assert bound <= delta / strength + SLACK


@given(st.data())
def test_perturbation_is_the_defined_sum(data):
    """Delta adds, over components and contracts, the largest change of a member."""
    e = data.draw(evidence())
    changed = data.draw(evidence(sources=e.shape[0], contracts=e.shape[1]))
    partition = data.draw(partitions(len(e)))
    expected = sum(
        np.abs(changed - e)[[i for i, other in enumerate(partition) if other == label]]
        .max(axis=0)
        .sum()
        for label in set(partition)
    )
    assert perturbation(e, changed, partition) == pytest.approx(expected)
    stacked = perturbation(np.stack([e, e]), np.stack([changed, e]), partition)
    np.testing.assert_allclose(stacked, [expected, 0.0])


@given(st.data())
def test_near_copy_insertion(data):
    """Corollary 2, within-component near-copy insertion: (b - e)_+ is lost, 2 eps / W moves."""
    e = data.draw(evidence())
    partition = data.draw(partitions(len(e)))
    member = data.draw(st.integers(0, len(e) - 1))
    noise = data.draw(evidence(sources=1, contracts=e.shape[1]))[0]
    inserted = e[member] + data.draw(st.floats(0.0, 0.2)) * (noise - e[member])
    before = fuse_evidence(e, partition)
    after = fuse_evidence(np.vstack([e, inserted]), [*partition, partition[member]])
    group = [i for i, label in enumerate(partition) if label == partition[member]]
    loss = near_copy_loss(e[group].min(axis=0), inserted)
    np.testing.assert_allclose(after.evidence, before.evidence - loss, atol=1e-9)
    contracts = e.shape[1]
    drift = np.abs(after.posterior - before.posterior).sum()
    assert drift <= 2.0 * loss.sum() / contracts + SLACK
    assert after.score <= before.score + SLACK
    assert loss.sum() <= np.abs(inserted - e[member]).sum() + SLACK


@given(perturbed(), st.floats(0.0, 1.0))
def test_margin_conditions_preserve_the_selection(case, threshold):
    """Corollary 3, margin-conditional prediction and score-selection stability."""
    e, changed, partition, strength = case
    options = FusionOptions(prior_strength=strength)
    before, after = (fuse_evidence(x, partition, options) for x in (e, changed))
    ordered = np.sort(before.posterior)
    holds = selection_holds(
        float(perturbation(e, changed, partition)),
        margin=float(ordered[-1] - ordered[-2]),
        score=float(before.score),
        threshold=threshold,
        strength=strength,
        z=float(strength + before.evidence.sum()),
        z_changed=float(strength + after.evidence.sum()),
    )
    if holds:
        assert after.contract == before.contract
        assert (after.score >= threshold) == (before.score >= threshold)


def vectors(sources, kappa):
    """Return the evidence vectors of sound sources, zero for the unavailable ones."""
    return np.array(
        [
            kappa * s.available * s.quality * (1.0 - s.conflict) * np.array(s.opinion)
            for s in sources
        ]
    )


@settings(max_examples=300)
@given(st.sampled_from(CERTIFIED), st.sampled_from(MISSING_CONVENTIONS), st.data())
def test_certificate_keeps_contract_and_selection(rule, missing, data):
    """No perturbation below the certified size changes contract or selection.

    For every certified rule and missing-source convention; Delta is that of the partition which
    fusion counted by.
    """
    sources = data.draw(sound_sources(3, roles=("view",) * data.draw(st.integers(2, 5))))
    sources = [replace(s, available=data.draw(st.integers(0, 3)) > 0) for s in sources]
    options = FusionOptions(missing=missing, prior_strength=data.draw(st.sampled_from([None, 1.0])))
    threshold = data.draw(st.sampled_from([None, 0.3, 0.6]))
    fixed = {"rule": rule, "options": options, "contracts": contract_set(3)}
    before = decide(sources, threshold=threshold, **fixed)
    limit = certificate(before)
    unit = st.floats(0.0, 1.0)
    step = data.draw(st.sampled_from([0.02, 0.2, 1.0]))
    changed = []
    for source in sources:
        other = np.array(data.draw(opinions(3)))
        mixed = (1.0 - step) * np.array(source.opinion) + step * other
        quality = (1.0 - step) * source.quality + step * data.draw(unit)
        changed.append(replace(source, opinion=mixed.tolist(), quality=quality))
    after = decide(changed, threshold=threshold, **fixed)
    delta = perturbation(vectors(sources, 8.0), vectors(changed, 8.0), counting_partition(before))
    if delta < limit.contract - SLACK:
        assert after.contract == before.contract
    if delta < limit.selection - SLACK:
        assert (before.check == "score_selection") == (after.check == "score_selection")
    assert limit.delta == min(limit.contract, limit.selection)
    assert limit.contract_corollary == pytest.approx(limit.contract / 2.0)


@pytest.mark.parametrize(
    ("rule", "missing"), [("pact_singleton", "zero"), ("pact", "remove"), ("pact", "isolate")]
)
def test_certificates_are_measured_by_the_partition_of_fusion(rule, missing):
    """Two sources that only a missing one links move the evidence twice, and Delta says so."""

    def decision(quality):
        p = [0.7, 0.3]
        sources = [
            Source("view", p, quality, 0.0, {"a"}),
            Source("view", p, quality, 0.0, {"b"}),
            Source("view", p, 0.0, 0.0, {"a", "b"}, available=False),
        ]
        options = FusionOptions(missing=missing)
        return decide(sources, rule=rule, options=options, contracts=contract_set(2), threshold=0.7)

    before, after = decision(0.40), decision(0.25)
    assert before.partition == (0, 0, 0)
    assert counting_partition(before) == (0, 1, 2)
    assert (before.check, after.check) == (None, "score_selection")
    e, changed = vectors(before.sources, 8.0), vectors(after.sources, 8.0)
    assert perturbation(e, changed, before.partition) < certificate(before).selection
    assert perturbation(e, changed, counting_partition(before)) >= certificate(before).selection


def test_certificate_is_tight():
    """Just beyond the certified size a perturbation exists that changes contract or selection."""
    two = ContractSet(("go", "wait"))

    def decision(p, quality):
        sources = [
            Source("a", [p, 1.0 - p], quality, 0.0, {"a"}),
            Source("b", [0.5, 0.5], 0.5, 0.0, {"b"}),
        ]
        return decide(sources, contracts=two, threshold=0.8)

    before = decision(0.6, 0.5)
    limit = certificate(before)
    evidence_before = 8.0 * 0.5 * np.array([0.6, 0.4])
    moved = evidence_before + np.array([-1.0, 1.0]) * (limit.contract / 2.0 + 1e-6)
    after = decision(moved[0] / moved.sum(), moved.sum() / 8.0)
    assert (before.contract, after.contract) == ("go", "wait")
    needed = before.evidence[0] + before.evidence[1] + limit.selection
    assert needed / (2.0 + needed) == pytest.approx(0.8)


def test_no_certificate_without_cumulative_evidence():
    """Rules of another form are refused."""
    with pytest.raises(ValueError, match="no certificate for rule 'product'"):
        certificate(decide(instance(), rule="product"))
