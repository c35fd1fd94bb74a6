"""`pact perf` measures what it says; the numbers themselves are not tested."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pact_benchmark import perf, perf_peers
from pact_core import components, decide, decide_batch

KEYS = [
    "scalar_decision_median", "scalar_decision_p95", "components_64_median",
    "components_growth_exponent", "batch_over_copy", "batch_over_scalar_loop",
    "step_pipeline_median", "batch_over_copy_mixed", "components_pairwise_growth_exponent",
]  # fmt: skip


def test_command_prints_the_fixed_keys(pact):
    """One JSON object with every key; times and ratios are positive numbers."""
    done = pact("perf", "--format", "json", "--instances", "2000", "--quiet")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert all(results[key] > 0 for key in KEYS)
    assert sum(key.startswith("peer_") for key in results) == 5


def test_the_example_decision_passes_every_check():
    """What is timed is a complete decision: all four checks run and admit."""
    assert decide(perf.example_sources(), threshold=0.3).admitted


def test_pairwise_components_are_the_same_components():
    """The compared method solves the same problem."""
    parents = perf.paired_parents(40)
    assert tuple(perf.pairwise_components(parents)) == components(parents)


def test_growth_is_the_exponent_of_a_power():
    """Times that grow with a power of the size give that power."""
    assert perf.growth_exponent({n: 3.0 * n**1.5 for n in (64, 256, 1024)}) == pytest.approx(1.5)


def test_mixed_batches_hold_every_partition():
    """What is timed as mixed has all five partitions, on the same instances."""
    batch = perf.random_batch(300)
    mixed = perf.mixed_partitions(batch)
    assert len(np.unique(mixed.component, axis=0)) == 5
    np.testing.assert_array_equal(mixed.opinion, batch.opinion)


def test_scalar_loop_decides_the_same_instances():
    """The rows of the scalar loop are those of the batch."""
    batch = perf.random_batch(300)
    result = decide_batch(batch, threshold=0.5)
    for i, row in enumerate(perf.batch_to_sources(batch, 300)):
        decision = decide(row, threshold=0.5)
        assert (decision.status, decision.response, decision.check) == result.outcome(i)


def test_torch_composition_is_the_same_rule():
    """The torch peer composes to our nested Dirichlet posterior."""
    torch = pytest.importorskip("torch")
    from tests.core.oracles import dempster_sequence

    evidence = np.random.default_rng(1).gamma(1.0, 2.0, (4, 3, 5))
    posterior, score = perf_peers.torch_sequential_dirichlet(torch.from_numpy(evidence))
    for i in range(4):
        expected = dempster_sequence(evidence[i])
        np.testing.assert_allclose(posterior[i].numpy(), expected[0], atol=1e-12)
        assert float(score[i]) == pytest.approx(expected[1])


@pytest.mark.parametrize("module", ["pyds", "evtools"])
def test_cautious_rules_agree_with_other_libraries(module):
    """Two independent belief-function packages give the same pignistic probabilities."""
    pytest.importorskip(module)
    peer = getattr(perf_peers, f"_{module}")
    for cautious, rule in ((True, "global_cautious"), (False, "hierarchy_cautious")):
        np.testing.assert_allclose(peer(cautious=cautious)(), perf_peers._ours(rule)(), atol=1e-9)
