"""Import and export: nothing of a record is lost on the way."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

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
from pact_benchmark.parquet import from_parquet, to_parquet
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
    json_values,
    st.fixed_dictionaries(
        {},
        optional={
            "probabilities": st.one_of(
                st.none(),
                st.just({}),
                st.dictionaries(
                    st.sampled_from([*release.CONTRACT_OF, "other", "N"]),
                    st.one_of(st.floats(0, 1), st.integers(-1, 2), st.none(), st.text(max_size=2)),
                ),
            ),
            "quality": st.one_of(st.none(), st.floats(0, 1), st.integers(0, 1), st.just("high")),
            "conflict": st.one_of(st.none(), st.floats(0, 1)),
            "missing": st.one_of(st.booleans(), json_values),
            "schema_valid": st.one_of(st.booleans(), json_values),
            "source_route": st.one_of(objects, st.just("text")),
            "unknown": json_values,
        },
    ),
)


bands = st.one_of(st.none(), st.integers(-5, 5), st.floats(-2, 2), st.text(max_size=3), json_values)
metadata = st.builds(
    lambda extra, known: {"scene_id": "scene_001", **extra, **known},
    objects,
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("relation_label", "relation_class", "risk_band", "occlusion_band"), bands
        ),
    ),
)


def stored_and_exported(pairs, folder):
    """Return records and labels after a way through `instances.parquet`."""
    path = folder / "instances.parquet"
    frame = recording.frame_of([release.row_of(*pair) for pair in pairs], folder)
    path.write_bytes(to_parquet(frame))
    return list(release.export_rows(recording.plain_rows(from_parquet(path))))


sources = st.fixed_dictionaries(
    dict.fromkeys(HANDOVER_ROLES, payloads),
    optional=dict.fromkeys(release.UNUSED_ROLES, st.sampled_from([{}, None, {"missing": True}])),
)


@settings(max_examples=200)
@given(st.lists(st.tuples(sources, metadata, json_values), min_size=1, max_size=3))
def test_any_records_survive_the_round_trip(tmp_path_factory, drawn):
    """Whatever records hold, together in one file, export gives each back exactly."""
    pairs = []
    for index, (listed, meta, extra) in enumerate(drawn):
        pairs.append(
            (
                record(index, sources=listed, metadata=meta, extra=extra),
                label(index, cue_family=extra),
            )
        )
    for before, after in zip(
        pairs, stored_and_exported(pairs, tmp_path_factory.getbasetemp()), strict=True
    ):
        assert exact(after[0]) == exact(before[0])
        assert exact(after[1]) == exact(before[1])


PARENTS = {role: ["p"] for role in HANDOVER_ROLES}


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": {"scene_id": "scene_001", "relation_class": 3}},
        {
            "metadata": {
                "scene_id": "scene_001",
                "relation_label": 5,
                "risk_band": [],
                "x": "\ud800",
            }
        },
        {"metadata": {"scene_id": "scene_001", "occlusion_band": {"a": 1}}},
        {"metadata": {"scene_id": 3, "risk_band": "\udfff"}, "registered_parents": PARENTS},
        {"metadata": ["scene_001"], "registered_parents": PARENTS},
        {"metadata": "scene_001", "registered_parents": PARENTS},
        {"sources": {"language": {"source_route": {"source_status": "\ud800"}}}},
        {"sources": {"risk": [1, 2], "language": "x", "geometry": 0}},
        {"sources": {"risk": {"quality": 10**400, "conflict": 2**70}}},
    ],
    ids=["class", "band", "occlusion", "scene", "list", "text", "status", "payloads", "numbers"],
)
def test_values_that_no_column_takes_are_kept(tmp_path, changes):
    """A record with values of other types comes back beside one that has none."""
    pairs = [(record(), label()), (record(1, **changes), label(1))]
    for before, after in zip(pairs, stored_and_exported(pairs, tmp_path), strict=True):
        assert exact(after[0]) == exact(before[0])
    paths = written(tmp_path, *zip(*pairs, strict=True))
    import_records(*paths, tmp_path / "run")
    back, _ = export_release(RunFolder.open(tmp_path / "run"), tmp_path / "out")
    with gzip.open(back) as stream:
        assert [exact(json.loads(x)) for x in stream] == [exact(pair[0]) for pair in pairs]


def written(folder, records, labels):
    """Write records and labels as JSON lines and return the two paths."""
    paths = [folder / "r.jsonl", folder / "l.jsonl"]
    for path, rows in zip(paths, (records, labels), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return paths


def test_conformance_records_survive_the_files(shared, tmp_path):
    """Import to a run and export from it give the same records and labels."""
    folder = shared / "conformance"
    count = import_records(folder / RECORDS_FILE, folder / LABELS_FILE, tmp_path / "run")
    assert count == 234
    run = RunFolder.open(tmp_path / "run")
    for name, path in zip(
        (RECORDS_FILE, LABELS_FILE), export_release(run, tmp_path / "out"), strict=True
    ):
        with gzip.open(folder / name) as theirs, gzip.open(path) as ours:
            assert [json.loads(x) for x in ours] == [json.loads(x) for x in theirs]
    out = tmp_path / "out"
    import_records(out / RECORDS_FILE, out / LABELS_FILE, tmp_path / "again")
    again = RunFolder.open(tmp_path / "again")
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
    import_records(records, labels, tmp_path / "again")
    again = RunFolder.open(tmp_path / "again")
    before = own_run.read_frame("instances.parquet")
    after = again.read_frame("instances.parquet").drop(
        columns=[release.RECORD_EDITS, release.LABEL_EDITS]
    )
    pd.testing.assert_frame_equal(before, after, check_like=True)


def test_recordings_survive_and_carry_observations(own_run, tmp_path):
    """A recording written from a run and imported again has the same rows and observations."""
    folder = export_recording(own_run, tmp_path / "rec")[0].parent
    assert import_records(folder, None, tmp_path / "again") == 4
    again = RunFolder.open(tmp_path / "again")
    for name in ("instances.parquet", "observations.parquet"):
        pd.testing.assert_frame_equal(own_run.read_frame(name), again.read_frame(name))
    assert import_records(folder / recording.INSTANCES, None, tmp_path / "single") == 4


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
        ([record(record_id=["a"])], [label()], "line 1: 'record_id' must be a string"),
        ([record()], [label(preferred_contract=["normal"])], "line 1: 'preferred_contract'"),
        (
            [record(), record(1, record_id="a__b__seed" + "1" * 30)],
            [label(), label(1, record_id="a__b__seed" + "1" * 30)],
            "line 2: 'record_id' .* is not <cluster>",
        ),
        (
            [record(record_id="\ud800__b__seed01")],
            [label(record_id="\ud800__b__seed01")],
            "is not <cluster>",
        ),
        (
            [record(registered_parents={role: ["\ud800"] for role in HANDOVER_ROLES})],
            [label()],
            "line 1: parent .* is not text",
        ),
    ],
)
def test_unfit_records_are_refused_with_line_and_reason(tmp_path, records, labels, message):
    """What cannot be read or matched stops the import before anything is written."""
    with pytest.raises(PactError, match=message):
        import_records(*written(tmp_path, records, labels), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_missing_labels_and_damaged_files_are_said(tmp_path):
    """No labels, no file, a pipe, cut gzip data and a foreign manifest are told apart."""
    run = tmp_path / "run"
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(record()).encode())[:-9])
    with pytest.raises(PactError, match="damaged"):
        import_records(path, None, run)
    path.write_bytes(gzip.compress(json.dumps(record()).encode()))
    with pytest.raises(UsageError, match="--labels"):
        import_records(path, None, run)
    with pytest.raises(UsageError, match="cannot read"):
        import_records(tmp_path / "none", None, run)
    with pytest.raises(UsageError, match="is not a file"):
        import_records(Path("/dev/null"), None, run)
    with pytest.raises(UsageError, match=r"holds no instances\.jsonl"):
        import_records(tmp_path, None, run)
    (tmp_path / recording.MANIFEST).write_text('{"kind": "other", "schema_version": 1}')
    with pytest.raises(PactError, match="this version reads"):
        import_records(tmp_path, None, run)
    assert not run.exists()


def test_a_generated_run_is_not_replaced_unasked(own_run, tmp_path, pact):
    """Only new, empty and imported folders are written to, unless forced."""
    paths = written(tmp_path, [record()], [label()])
    before = own_run.file("instances.parquet").read_bytes()
    arguments = ["import", paths[0], "--labels", paths[1], "--output", own_run.path]
    done = pact(*arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "not from an import" in line
    assert "--force" in line
    assert own_run.file("instances.parquet").read_bytes() == before
    assert pact(*arguments, "--force").returncode == 0
    forced = RunFolder.open(own_run.path)
    assert len(forced.read_frame("instances.parquet")) == 1
    assert not forced.file("observations.parquet").exists()
    assert "observations.parquet" not in forced.manifest["files"]
    assert pact(*arguments).returncode == 0


def test_only_free_folders_take_an_import(own_run, tmp_path):
    """An empty folder and an imported run are free; a folder with other files is not."""
    paths = written(tmp_path, [record()], [label()])
    recorded = export_recording(own_run, tmp_path / "rec")[0].parent
    free = tmp_path / "free"
    free.mkdir()
    assert import_records(recorded, None, free) == 4
    assert import_records(*paths, free) == 1
    assert not (free / "observations.parquet").exists()
    with pytest.raises(UsageError, match="not from an import"):
        import_records(*paths, recorded)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("risk_parents", []), ("risk_parents", [1]), ("risk_quality", "high"), ("label", "X"),
        ("risk_unavailable", 1), ("record_id", 4), ("geometry_p_N", True), ("step", "x"),
        ("step", 1.5), ("step", 10**30), ("command_status", 5), ("geometry", {}),
        ("geometry", "\ud800"), ("risk_quality", 10**400), ("record_id", "\ud800"),
        ("risk_parents", ["\ud800"]), ("scene_id", None), ("occlusion_band", 3),
        ("occlusion_band", {"a": 1}), ("risk_invalid", None),
    ],
    ids=lambda value: ascii(value)[:20],
)  # fmt: skip
def test_recordings_with_wrong_values_are_refused(own_run, tmp_path, name, value):
    """A value of the wrong type names its line and column."""
    rows = recording.plain_rows(own_run.read_frame("instances.parquet"))
    rows[2][name] = value
    path = tmp_path / "instances.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PactError, match=f"line 3: '{name}'"):
        recording.read_rows(path)


def test_observations_that_no_table_holds_are_refused(own_run, tmp_path):
    """Columns of observations have one kind of value; an odd one names its line."""
    folder = export_recording(own_run, tmp_path / "rec")[0].parent
    path = folder / recording.OBSERVATIONS
    for odd in ({"time": "late"}, {"time": {}}, {"\ud800": 1}, {"note": "\ud800"}):
        row = {"scene_id": "a", "time": 0.5}
        path.write_text("".join(json.dumps(x) + "\n" for x in (row, {**row, **odd})))
        with pytest.raises(PactError, match=r"observations\.jsonl, line 2: "):
            import_records(folder, None, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_reader_needs_an_object():
    """A record that is no object is a format error."""
    with pytest.raises(FormatError, match="must be a JSON object"):
        release.read_record([1])
