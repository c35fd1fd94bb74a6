"""Rounding, overflow and the versions of NumPy: one verdict from every path."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_core import (
    HANDOVER_ROLES,
    RULES,
    AdmissionPolicy,
    Belief,
    FusionOptions,
    Source,
    SourceBatch,
    Status,
    decide,
    decide_batch,
    decide_rules,
    fuse,
    fuse_evidence,
    register_rule,
)
from tests.core.strategies import contract_set, current

OFF = AdmissionPolicy(corroboration="off")
ANY_SOURCE = [rule for rule in RULES if rule not in HANDOVER_ROLES]


def rough_sources(rng, contracts, count=3):
    """Return sources whose sums and products round: odd weights, odd qualities."""
    roles = [HANDOVER_ROLES[j % 3] for j in range(count)]
    return [
        Source(
            role,
            rng.dirichlet(np.full(contracts, 0.7)).tolist(),
            float(rng.random()),
            float(rng.random()) / 3.0,
            {f"p{rng.integers(0, 4)}"},
            available=bool(rng.random() < 0.9),
            command=current,
        )
        for role in roles
    ]


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([5, 9, 16]), st.sampled_from([3, 11]))
def test_one_verdict_at_the_very_edge_of_the_threshold(seed, contracts, count):
    """Scores are equal to the last bit: alone, among others, and on the scalar path."""
    rng = np.random.default_rng(seed)
    names = contract_set(contracts)
    rows = [rough_sources(rng, contracts, count) for _ in range(4)]
    batch = SourceBatch.from_instances(rows, names)
    for rule in RULES:
        many = decide_batch(batch, rule=rule, policy=OFF)
        for i, row in enumerate(rows):
            alone = decide_batch(batch.take(slice(i, i + 1)), rule=rule, policy=OFF)
            scalar = decide(row, rule=rule, contracts=names, policy=OFF)
            assert scalar.score == many.fused.score[i] == alone.fused.score[0], rule
            assert scalar.posterior == many.fused.posterior[i].tolist(), rule
            np.testing.assert_array_equal(many.fused.posterior[i], alone.fused.posterior[0])
            above = float(np.nextafter(scalar.score, 2.0))
            for threshold in (scalar.score, above):
                verdict = decide(
                    row, rule=rule, contracts=names, threshold=threshold, policy=OFF
                ).check
                batched = decide_batch(batch, rule=rule, threshold=threshold, policy=OFF)
                assert batched.outcome(i)[2] == verdict, rule


@pytest.mark.parametrize("rule", RULES)
def test_single_precision_stays_single(rule):
    """Arrays of float32 give posteriors and scores of float32, near those of float64."""
    rng = np.random.default_rng(3)
    arrays = (rng.dirichlet(np.ones(5), (40, 3)), rng.random((40, 3)), rng.random((40, 3)))
    arrays[0][::5] = np.nan

    def fused(dtype):
        batch = SourceBatch.build(
            *(array.astype(dtype) for array in arrays), roles=HANDOVER_ROLES,
            component=np.arange(120).reshape(40, 3) % 7 % 3, unavailable=arrays[1] < 0.1,
        )  # fmt: skip
        return fuse(batch, rule)

    single, double = fused(np.float32), fused(np.float64)
    assert single.posterior.dtype == single.score.dtype == np.float32
    np.testing.assert_allclose(single.posterior, double.posterior, atol=1e-5)


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([2, 9, 16]))
def test_direct_evidence_is_the_same_alone_and_among_others(seed, contracts):
    """Evidence that is given directly fuses to the same bits in a batch of one."""
    evidence = np.random.default_rng(seed).gamma(1.0, 3.0, (4, 3, contracts))
    many = fuse_evidence(evidence, [0, 1, 1])
    for i in range(4):
        alone = fuse_evidence(evidence[i], [0, 1, 1])
        np.testing.assert_array_equal(alone.posterior, many.posterior[i])
        assert alone.score == many.score[i]


def crowd(count, *, agree=True, apart=True):
    """Return many sharp sources, agreeing or not, apart or of one origin."""
    opinions = ([0.9, 0.04, 0.03, 0.02, 0.01], [0.04, 0.9, 0.03, 0.02, 0.01])
    return [
        Source("view", opinions[0 if agree else j % 2], 1.0, 0.0, {j if apart else 0})
        for j in range(count)
    ]


@pytest.mark.parametrize("rule", ANY_SOURCE)
@pytest.mark.parametrize(("count", "kappa"), [(160, 8.0), (800, 8.0), (1500, 24.0), (6, 1e100)])
@pytest.mark.parametrize("agree", [True, False])
@pytest.mark.parametrize("apart", [True, False])
def test_many_sources_and_large_scales_do_not_overflow(rule, count, kappa, agree, apart):
    """Every rule gives a distribution and a score in [0, 1], the same scalar and batched."""
    sources = crowd(count, agree=agree, apart=apart)
    decision = decide(sources, rule=rule, kappa=kappa)
    fused = fuse(SourceBatch.from_instances([sources] * 2), rule, FusionOptions(kappa=kappa))
    assert sum(decision.posterior) == pytest.approx(1.0)
    assert min(decision.posterior) >= 0.0
    assert 0.0 <= decision.score <= 1.0
    assert decision.posterior[0] == pytest.approx(max(decision.posterior))
    np.testing.assert_allclose(fused.posterior, [decision.posterior] * 2, atol=1e-12)
    np.testing.assert_allclose(fused.score, decision.score, atol=1e-12)
    if fused.evidence is not None:
        assert np.isfinite(fused.evidence).all()
        assert np.isfinite(decision.evidence).all()


@pytest.mark.parametrize("rule", ["nested_dirichlet", "hierarchy_cautious"])
def test_logarithms_continue_the_product(rule):
    """Where the product just fits and where it just does not, the posterior goes on smoothly."""
    counts = range(100, 400, 4)
    balanced = [decide(crowd(n, agree=False), rule=rule).posterior for n in counts]
    steps = np.abs(np.diff(np.array(balanced), axis=0)).max()
    assert steps < 1e-9
    assert balanced[-1][:2] == pytest.approx([0.5, 0.5])


def test_a_batch_may_hold_overflowing_and_ordinary_rows():
    """A row that needs logarithms leaves its neighbours' bits alone."""
    ordinary = [
        Source("view", s.opinion, 0.01 if j < 9 else 0.0, 0.0, {j})
        for j, s in enumerate(crowd(400, agree=False))
    ]
    for rule in ("nested_dirichlet", "hierarchy_cautious"):
        both = fuse(SourceBatch.from_instances([crowd(400), ordinary]), rule)
        alone = fuse(SourceBatch.from_instances([ordinary]), rule)
        np.testing.assert_array_equal(both.posterior[1], alone.posterior[0])
        np.testing.assert_allclose(both.posterior.sum(axis=-1), 1.0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", ["posterior", "score"])
def test_what_is_not_finite_is_never_admitted(value, place):
    """A rule that gives no number leaves the candidate unselected, on both paths."""

    def broken(x, options):
        posterior, score = x.p[0] + 0.0, x.p[0, 0] + 0.0
        if place == "posterior":
            posterior[1] = value
        else:
            score[:] = value
        return Belief(posterior, score)

    register_rule("test_broken")(broken)
    try:
        sources = crowd(3)
        for threshold in (None, 0.1):
            decision = decide(sources, rule="test_broken", threshold=threshold)
            batch = decide_batch(
                SourceBatch.from_instances([sources]), rule="test_broken", threshold=threshold
            )
            assert batch.outcome(0) == (decision.status, decision.response, decision.check)
            assert (decision.status, decision.check) == (Status.WITHHELD, "score_selection")
            assert decision.smallest_change.needed == "finite"
    finally:
        del RULES["test_broken"]


def test_direct_evidence_that_overflows_is_refused():
    """Finite vectors whose sum is not finite are the caller's error."""
    with pytest.raises(ValueError, match="overflows"):
        fuse_evidence([[1e308, 1e308], [1e308, 0.0]], [0, 1])


VERDICTS = """
import sys
import numpy as np
from pact_core import RULES, SourceBatch, decide_batch, decide_rules
from tests.core import malformed
print(np.__version__, file=sys.stderr)
for seed in (0, 1):
    rows = [m.sources for m in malformed.instances(seed, 600)]
    batch = SourceBatch.from_instances(rows)
    for rule in RULES:
        result = decide_batch(batch, rule=rule, threshold=0.3)
        assert np.isfinite(result.fused.score).all()
        print(rule, result.stop.tolist(), result.fused.contract.tolist())
    for row in rows:
        print([(d.status, d.contract, d.check) for d in decide_rules(row, list(RULES))])
"""


@pytest.fixture(scope="module")
def numpy_one():
    """Return a folder that holds NumPy 1.26.4, installed once per machine, or skip."""
    version = "1.26.4"
    folder = Path(tempfile.gettempdir()) / f"pact-numpy-{version}-{sys.implementation.cache_tag}"
    if not (folder / "numpy").is_dir():
        with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            command += ["--only-binary=:all:", "--target", f"{fresh}/got", f"numpy=={version}"]
            try:
                subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                words = str(error.stderr or error).strip().splitlines()
                pytest.skip(f"pip gives no NumPy {version} to this Python: {words[-1]}")
            (Path(fresh) / "got").rename(folder)
    return folder


def test_numpy_one_and_two_decide_alike(numpy_one, root):
    """Malformed instances get the same verdicts by every rule under NumPy 1.26 and NumPy 2."""
    outputs = []
    for extra in ([], [str(numpy_one)]):
        paths = os.pathsep.join([*extra, str(root)])
        done = subprocess.run(
            [sys.executable, "-c", VERDICTS],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append((done.stderr.split()[0], done.stdout))
    (ours, here), (old, there) = outputs
    assert old == "1.26.4"
    assert here == there, ours


@pytest.mark.parametrize(
    "wrong",
    [
        {"opinion": np.full((5, 1), 0.2)},
        {"quality": np.array([0.9])},
        {"conflict": np.array([[0.0]])},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_an_array_of_one_number_is_not_a_number(wrong):
    """What NumPy 1 converts and NumPy 2 refuses is invalid under both."""
    fields = {"opinion": [0.2] * 5, "quality": 0.9, "conflict": 0.0} | wrong
    sources = [
        Source("geometry", parents={"g"}, **fields),
        *(Source("view", [0.2] * 5, 0.9, 0.0, {j}) for j in range(2)),
    ]
    assert decide_rules(sources, ["pact"])[0].check == "source_validity"
    assert decide_batch(SourceBatch.from_instances([sources])).outcome(0)[2] == "source_validity"
