"""The step pipeline: the same answers as the batched rows, partitions, identity of the draws."""

from __future__ import annotations

import numpy as np
import pytest

from pact_core import HANDOVER, RULES, decide_batch
from pact_scenes.catalogue import load_catalogue
from pact_scenes.conditions import LABELS, ROLES, load_conditions
from pact_scenes.model import build_model
from pact_scenes.opinions import OpinionParams, synthesise
from pact_scenes.pipeline import StepPipeline, partition_parents
from pact_scenes.rollout import roll_out
from pact_scenes.simulators import open_simulator

CONDITIONS = load_conditions()


@pytest.fixture(scope="module")
def observations():
    """The observations of two neighbouring scenes on the kinematic backend."""
    rollouts = [
        roll_out(build_model(spec), open_simulator("kinematic"), transfer=False)
        for spec in load_catalogue()[3:5]
    ]
    return [rollout.observations for rollout in rollouts]


@pytest.mark.parametrize("condition", [c.name for c in CONDITIONS])
def test_step_equals_the_row_of_the_benchmark(observations, condition):
    """Sources and every rule's decision are those of the row with the same identity."""
    before, now = observations
    everything = [*before, *now]
    table = {
        name: np.array([getattr(row, name) for row in everything])
        for name in everything[0].__dataclass_fields__
    }
    rows = synthesise(table, CONDITIONS, LABELS, OpinionParams.default(), 11)
    batch = rows.to_batch()
    pipeline = StepPipeline(seed=11, rules=tuple(RULES), threshold=0.45)
    for step, label in ((0, "N"), (9, "U")):
        result = pipeline.decide(now[step], condition, label, previous=before[step])
        identity = f"{now[step].scene_id}-{label}__{condition}__seed{step:02d}"
        i = int(np.flatnonzero(rows.record_id == identity)[0])
        assert result.instances.rows()[0] == rows.take(np.array([i])).rows()[0]
        for decision in result.decisions:
            decided = decide_batch(batch.take(np.array([i])), rule=decision.rule, threshold=0.45)
            assert decided.outcome(0) == (decision.status, decision.response, decision.check)
            assert HANDOVER[int(decided.fused.contract[0])] == decision.contract
            np.testing.assert_allclose(decision.posterior, decided.fused.posterior[0], atol=1e-12)


@pytest.mark.parametrize(
    ("partition", "labels"),
    [
        ("reference", (0, 1, 1)),
        ("singleton", (0, 1, 2)),
        ("merged", (0, 0, 0)),
        ({"language": ("a",), "geometry": ("b",), "risk": ("a", "c")}, (0, 1, 0)),
    ],
)
def test_partitions_group_the_sources(observations, partition, labels):
    """Each partition gives its components; a coarser one never has more evidence."""
    pipeline = StepPipeline(seed=1)
    decision = pipeline.decide(
        observations[1][5], "clean_control", "S", partition=partition
    ).decisions[0]
    assert decision.partition == labels
    finest = pipeline.decide(observations[1][5], "clean_control", "S", partition="singleton")
    assert np.all(np.array(decision.evidence) <= np.array(finest.decisions[0].evidence) + 1e-12)


def test_unknown_names_are_refused(observations):
    """An unknown partition or condition is an error at once."""
    with pytest.raises(ValueError, match="no partition 'halves'"):
        partition_parents("halves")
    with pytest.raises(KeyError):
        StepPipeline(seed=1).decide(observations[1][0], "nice_weather", "N")
    assert set(partition_parents("merged")) == set(ROLES)
