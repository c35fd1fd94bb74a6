"""Instances: identities, commands, parents, batches and stored columns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from pact_scenes.conditions import LABELS, load_conditions, register_condition
from pact_scenes.opinions import OpinionParams, synthesise

NAMES = [c.name for c in load_conditions()]


@pytest.fixture(scope="module")
def table():
    """Return the instances of two scenes with two steps each."""
    columns = {
        "scene_id": np.repeat(np.array(["scene_001", "scene_002"]), 2),
        "geometry": np.repeat(np.array(["face_to_face", "side_by_side"]), 2),
        "step": np.array([0, 1, 0, 1]),
        "hand_gripper_distance": np.array([0.8, 0.3, 0.6, 0.1]),
        "path_clearance": np.array([0.4, 0.1, 0.05, 0.3]),
        "separation_margin": np.array([0.5, 0.1, 0.2, -0.1]),
        "closing_speed": np.array([0.0, 0.2, 0.1, 0.6]),
        "occlusion": np.array([0.0, 0.2, 0.6, 0.0]),
    }
    return synthesise(columns, load_conditions(), LABELS, OpinionParams.default(), seed=5)


def row(table, condition: str, label: str = "N", scene: str = "scene_001", step: int = 1):
    """Return one row as a plain object."""
    name = f"{scene}-{label}__{condition}__seed{step:02d}"
    return table.take(table.record_id == name).rows()[0]


def test_identities_have_the_form_of_the_release(table):
    """A record id has three parts; the middle one is the condition."""
    for name, condition in zip(table.record_id, table.condition_name, strict=True):
        cluster, middle, tag = str(name).split("__")
        assert middle == condition
        assert cluster.rsplit("-", 1)[1] in LABELS
        assert tag.startswith("seed")


def test_current_command_is_consistent(table):
    """Under the current command both hashes agree and nothing is carried over."""
    clean = row(table, "clean_control")
    assert clean["command_current_hash"] == clean["command_evidence_hash"]
    assert len(clean["command_current_hash"]) == 64
    assert clean["command_status"] == "current"
    assert clean["command_previous_hash"] is None


def test_stale_command_names_what_it_carries_over(table):
    """Stale language carries the previous command of the same scene and step."""
    stale = row(table, "stale_language_previous_cue", "S")
    before = row(table, "clean_control", "N")
    assert stale["command_status"] == "stale_previous_command"
    assert stale["command_evidence_hash"] == before["command_current_hash"]
    assert stale["command_carried_over_from"] == (
        "scene_001-N__stale_language_previous_cue__seed01"
    )


def test_injected_command_differs_even_for_the_urgent_label(table):
    """The injected text is never the command, not even when the command is urgent."""
    injected = row(table, "unsafe_urgency_injection", "U")
    assert injected["command_evidence_hash"] != injected["command_current_hash"]
    assert injected["command_status"] == "current"


def test_geometry_and_risk_share_the_scene_context_of_their_step(table):
    """They share context and occlusion records, have one of their own, and none with language."""
    clean = row(table, "clean_control", step=1)
    geometry, risk = set(clean["geometry_parents"]), set(clean["risk_parents"])
    assert geometry & risk == {"scene:scene_001/step01", "occlusion:scene_001/step01"}
    assert len(geometry) == len(risk) == 3
    assert not geometry & set(clean["language_parents"])
    stale = row(table, "stale_context_previous_scene", step=1)
    assert "scene:scene_002/step01" in stale["geometry_parents"]


def test_the_batch_has_the_reference_partition(table):
    """Language is one component, geometry and risk are the other, in every row."""
    labels = np.asarray(table.to_batch().component)
    assert (labels[:, 1] == labels[:, 2]).all()
    assert (labels[:, 0] != labels[:, 1]).all()


def test_columns_are_those_of_the_data_dictionary(table):
    """Stored columns are the documented ones, in order, null only where that is allowed."""
    from pact_benchmark.dictionary import INSTANCE_COLUMNS

    columns = table.to_columns()
    assert list(columns) == [column.name for column in INSTANCE_COLUMNS]
    frame = pd.DataFrame(columns)
    for column in INSTANCE_COLUMNS:
        if not column.nullable:
            assert frame[column.name].notna().all(), column.name


def test_stored_rows_give_the_same_sources(table):
    """Reading the stored columns back gives the batch that the table gives."""
    from pact_benchmark.data import from_instances

    stored = from_instances(pd.DataFrame(table.to_columns())).sources
    made = table.to_batch()
    for name in ("opinion", "quality", "conflict", "unavailable", "declared_invalid"):
        assert np.array_equal(getattr(stored, name), getattr(made, name), equal_nan=True), name
    present = ~np.asarray(made.unavailable)[:, 0]
    for name in ("command_mismatch", "command_stale"):
        assert np.array_equal(getattr(stored, name)[present], getattr(made, name)[present]), name


def test_rows_are_json(table):
    """Plain rows hold no NaN and survive JSON."""
    missing = row(table, "all_sources_missing")
    assert missing["risk_p_N"] is None
    assert json.loads(json.dumps(missing, allow_nan=False)) == missing


def test_a_registered_condition_joins_the_others(monkeypatch):
    """A plug-in's condition is generated like the configured ones; a taken name is refused."""
    from pact_scenes import conditions

    monkeypatch.setattr(conditions, "_REGISTERED", {})
    entry = {role: {"like": "clean_control"} for role in ("language", "geometry", "risk")}
    register_condition("mine", {"title": "Mine", **entry})
    register_condition("mine", {"title": "Mine", **entry})
    assert [c.name for c in load_conditions()] == [*NAMES, "mine"]
    with pytest.raises(ValueError, match="exists already"):
        register_condition("clean_control", entry)
