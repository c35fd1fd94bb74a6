"""Import and export: nothing of a record is lost on the way."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_benchmark.errors import PactError, UsageError
from pact_benchmark.formats import recording, release
from pact_benchmark.formats.edits import apply_edits, edits_between
from pact_benchmark.formats.instance import FormatError
from pact_benchmark.formats.transfer import (
    LABELS_FILE,
    RECORDS_FILE,
    export_recording,
    export_release,
    import_records,
)
from pact_benchmark.store import RunFolder
from pact_core import HANDOVER_ROLES

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-2, 2), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=2), json_values, max_size=4)


def exact(value):
    """Return a text in which 1, 1.0 and True differ and key order does not matter."""
    return json.dumps(value, sort_keys=True)


@given(objects, objects)
def test_edits_turn_one_object_into_another(base, target):
    """Applying the difference gives the target exactly and leaves the base alone."""
    before = exact(base)
    assert exact(apply_edits(base, edits_between(base, target))) == exact(target)
    assert exact(base) == before
    assert edits_between(target, target) == []


def record(index=0, **changes):
    """Return a complete source record."""
    vector = {
        "slow_clearance": 0.1, "normal": 0.6, "hold_confirm": 0.1, "retreat_fallback": 0.1,
        "bounded_urgent": 0.1,
    }  # fmt: skip
    base = {
        "record_id": f"scene_001-cue{index}__clean_control__seed{index:02d}",
        "metadata": {
            "scene_id": "scene_001",
            "relation_label": "side_by_side",
            "risk_band": "low",
            "occlusion_band": "none",
            "note": "kept",
        },
        "sources": {
            role: {"probabilities": vector, "quality": 0.75, "conflict": 0.125, "missing": False}
            for role in HANDOVER_ROLES
        },
    }
    base["sources"]["language"]["source_route"] = {
        "current_command_hash": "ab",
        "payload_text_hash": "ab",
        "source_status": "current",
    }
    return {**base, **changes}


def label(index=0, **changes):
    """Return the label that belongs to a record."""
    return {
        "record_id": f"scene_001-cue{index}__clean_control__seed{index:02d}",
        "scene_id": "scene_001",
        "preferred_contract": "slow_clearance",
        **changes,
    }


payloads = st.one_of(
    st.just({}),
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "probabilities": st.one_of(
                st.none(),
                st.just({}),
                st.dictionaries(
                    st.sampled_from([*release.CONTRACT_OF, "other"]),
                    st.one_of(st.floats(0, 1), st.integers(-1, 2), st.none(), st.text(max_size=2)),
                ),
            ),
            "quality": st.one_of(st.none(), st.floats(0, 1), st.integers(0, 1), st.just("high")),
            "conflict": st.one_of(st.none(), st.floats(0, 1)),
            "missing": st.one_of(st.booleans(), st.none()),
            "schema_valid": st.one_of(st.booleans(), st.none()),
            "source_route": st.one_of(objects, st.just("text")),
            "unknown": json_values,
        },
    ),
)


@settings(max_examples=200)
@given(st.fixed_dictionaries(dict.fromkeys(HANDOVER_ROLES, payloads)), objects)
def test_any_record_survives_the_round_trip(sources, extra):
    """Whatever a record's sources hold, export gives the record back exactly."""
    original = record(sources=sources)
    original["metadata"] = {**extra, **original["metadata"]}
    extended = label(cue_family="urgent")
    row = json.loads(json.dumps(release.row_of(original, extended)))
    ((back, its_label),) = release.export_rows([row])
    assert exact(back) == exact(original)
    assert exact(its_label) == exact(extended)


def test_conformance_records_survive_the_files(shared, tmp_path):
    """Import to a run and export from it give the same records and labels."""
    folder = shared / "conformance"
    run = RunFolder.create(tmp_path / "run")
    count = import_records(folder / RECORDS_FILE, folder / LABELS_FILE, run)
    assert count == 234
    for name, path in zip(
        (RECORDS_FILE, LABELS_FILE), export_release(run, tmp_path / "out"), strict=True
    ):
        with gzip.open(folder / name) as theirs, gzip.open(path) as ours:
            assert [json.loads(x) for x in ours] == [json.loads(x) for x in theirs]
    again = RunFolder.create(tmp_path / "again")
    import_records(tmp_path / "out" / RECORDS_FILE, tmp_path / "out" / LABELS_FILE, again)
    frames = [r.read_frame("instances.parquet") for r in (run, again)]
    pd.testing.assert_frame_equal(*frames)


def own_row(index, rng):
    """Return a row as the generator writes it."""
    row = {
        "record_id": f"scene_00{index}-N__clean_control__seed0{index}",
        "scene_id": f"scene_00{index}",
        "geometry": "face_to_face",
        "condition": "clean_control",
        "label": "N",
        "step": index,
    }
    for role in HANDOVER_ROLES:
        gone = role == "risk" and index == 1
        p = rng.dirichlet(np.ones(5))
        row |= {
            f"{role}_p_{k}": None if gone else float(v) for k, v in zip("NSHTU", p, strict=True)
        }
        row |= {
            f"{role}_quality": None if gone else 0.5,
            f"{role}_conflict": None if index == 2 else 0.25,
            f"{role}_unavailable": gone,
            f"{role}_invalid": role == "language" and index == 3,
            f"{role}_parents": ["command:x"] if role == "language" else ["scene:1", f"{role}:1"],
        }
    row |= {
        "command_current_hash": "aa",
        "command_evidence_hash": "aa" if index else None,
        "command_status": "current" if index else None,
        "command_previous_hash": None,
        "command_carried_over_from": None,
        "relation_class": "S",
        "risk_class": "H",
        "occlusion_band": "partial",
    }
    return row


@pytest.fixture
def own_run(tmp_path):
    """Return a run folder with four rows of our own and two observations."""
    rng = np.random.default_rng(5)
    run = RunFolder.create(tmp_path / "own")
    frame = recording.frame_of([own_row(i, rng) for i in range(4)], tmp_path)
    with run.part("instances", "k") as part:
        part.frame("instances.parquet", frame)
        part.frame(
            "observations.parquet", pd.DataFrame({"scene_id": ["a", "b"], "time": [0.0, 1.5]})
        )
    return run


def test_own_rows_survive_the_authors_format(own_run, tmp_path):
    """Our rows exported as records and imported again are the same rows."""
    records, labels = export_release(own_run, tmp_path / "out")
    again = RunFolder.create(tmp_path / "again")
    import_records(records, labels, again)
    before = own_run.read_frame("instances.parquet")
    after = again.read_frame("instances.parquet").drop(
        columns=[release.RECORD_EDITS, release.LABEL_EDITS]
    )
    pd.testing.assert_frame_equal(before, after, check_like=True)


def test_recordings_survive_and_carry_observations(own_run, tmp_path):
    """A recording written from a run and imported again has the same rows and observations."""
    folder = export_recording(own_run, tmp_path / "rec")[0].parent
    again = RunFolder.create(tmp_path / "again")
    assert import_records(folder, None, again) == 4
    for name in ("instances.parquet", "observations.parquet"):
        pd.testing.assert_frame_equal(own_run.read_frame(name), again.read_frame(name))
    single = RunFolder.create(tmp_path / "single")
    assert import_records(folder / recording.INSTANCES, None, single) == 4


@pytest.mark.parametrize(
    ("records", "labels", "message"),
    [
        ([record()], [label(1)], "no label for it"),
        ([record(), record()], [label()], "appears twice"),
        ([record()], [label(), label(1)], "no record for"),
        ([record()], [label(), label()], "appears twice"),
        ([record(record_id="odd")], [label(record_id="odd")], "is not <cluster>"),
        ([record(sources=[])], [label()], "'sources' must be an object"),
        ([record(sources={"smell": {}})], [label()], "unknown source 'smell'"),
        ([record()], [label(preferred_contract="fly")], "'preferred_contract' 'fly'"),
        ([record()], [label(scene_id="scene_002")], "different scenes"),
        ([record(registered_parents={"language": []})], [label()], "registered_parents.language"),
        ([record(metadata={})], [label()], "neither 'registered_parents' nor"),
        ([], [], "holds no record"),
    ],
)
def test_unfit_records_are_refused_with_line_and_reason(tmp_path, records, labels, message):
    """What cannot be read or matched stops the import before anything is written."""
    paths = [tmp_path / "r.jsonl", tmp_path / "l.jsonl"]
    for path, rows in zip(paths, (records, labels), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = RunFolder.create(tmp_path / "run")
    with pytest.raises(PactError, match=message):
        import_records(*paths, run)
    assert not run.file("instances.parquet").exists()


def test_missing_labels_and_damaged_files_are_said(tmp_path):
    """No labels, no file, cut gzip data and a foreign manifest are told apart."""
    run = RunFolder.create(tmp_path / "run")
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(record()).encode())[:-9])
    with pytest.raises(PactError, match="damaged"):
        import_records(path, None, run)
    path.write_bytes(gzip.compress(json.dumps(record()).encode()))
    with pytest.raises(UsageError, match="--labels"):
        import_records(path, None, run)
    with pytest.raises(UsageError, match="cannot read"):
        import_records(tmp_path / "none", None, run)
    with pytest.raises(UsageError, match=r"holds no instances\.jsonl"):
        import_records(tmp_path, None, run)
    (tmp_path / recording.MANIFEST).write_text('{"kind": "other", "schema_version": 1}')
    with pytest.raises(PactError, match="this version reads"):
        import_records(tmp_path, None, run)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("risk_parents", []), ("risk_parents", [1]), ("risk_quality", "high"), ("label", "X"),
        ("risk_unavailable", 1), ("record_id", 4), ("geometry_p_N", True),
    ],
)  # fmt: skip
def test_recordings_with_wrong_values_are_refused(own_run, tmp_path, name, value):
    """A value of the wrong type names its line and column."""
    rows = recording.plain_rows(own_run.read_frame("instances.parquet"))
    rows[2][name] = value
    path = tmp_path / "instances.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PactError, match=f"line 3: '{name}'"):
        recording.read_rows(path)


def test_reader_needs_an_object():
    """A record that is no object is a format error."""
    with pytest.raises(FormatError, match="must be a JSON object"):
        release.read_record([1])
