"""One physics step: its sources and decisions are those of the table's row."""

from __future__ import annotations

import numpy as np
import pytest

from pact_core import FusionOptions, decide_batch
from pact_scenes.conditions import LABELS, load_conditions
from pact_scenes.observation import Observation
from pact_scenes.opinions import OpinionParams, synthesise
from pact_scenes.pipeline import StepPipeline

RULES = (
    "quality_weighted",
    "product",
    "nested_dirichlet",
    "global_cautious",
    "hierarchy_cautious",
    "pooling",
    "provenance_pooling",
    "pact",
)


def observation(scene: str, step: int, distance: float, clearance: float) -> Observation:
    """Return a plausible observation."""
    return Observation(
        scene_id=scene,
        geometry="face_to_face",
        step=step,
        time=0.1 * step,
        hand_object_distance=distance,
        hand_gripper_distance=distance,
        closing_speed=0.2,
        clearance=clearance,
        path_clearance=clearance,
        separation_margin=distance - 0.2,
        occlusion_robot=0.3,
        occlusion_human=0.0,
        occlusion_overhead=0.0,
        occlusion=0.3,
        contact_force=0.0,
        contact=False,
        tracking_error=0.0,
        backend="kinematic",
    )


SCENES = [observation("scene_001", 4, 0.6, 0.3), observation("scene_002", 4, 0.25, 0.1)]


@pytest.fixture(scope="module")
def table():
    """Return the instances of two scenes at one step."""
    columns = {
        name: np.array([getattr(o, name) for o in SCENES])
        for name in Observation.__dataclass_fields__
    }
    return synthesise(columns, load_conditions(), LABELS, OpinionParams.default(), seed=9)


@pytest.mark.parametrize("condition", [c.name for c in load_conditions()])
def test_a_step_gives_the_row_and_its_decisions(table, condition):
    """Sources, contracts, scores and responses of a step equal those of the batched table."""
    pipeline = StepPipeline(seed=9, rules=RULES, kappa=8.0)
    result = pipeline.decide(SCENES[1], condition, "H", previous=SCENES[0])
    row = table.take(table.record_id == f"scene_002-H__{condition}__seed04")
    assert result.instances.rows() == row.rows()
    for rule, decision in zip(RULES, result.decisions, strict=True):
        batch = decide_batch(row.to_batch(), rule=rule, options=FusionOptions(kappa=8.0))
        assert decision.contract == LABELS[int(batch.fused.contract[0])], rule
        assert decision.score == pytest.approx(float(batch.fused.score[0]), abs=1e-12), rule
        assert decision.base_eligible == bool(batch.base_eligible[0]), rule


def test_an_unknown_condition_is_an_error():
    """A condition that is not there is named in the error."""
    with pytest.raises(KeyError, match="nowhere"):
        StepPipeline(seed=9).decide(SCENES[0], "nowhere", "N")
