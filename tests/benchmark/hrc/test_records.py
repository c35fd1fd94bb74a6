"""The record format: round trips, validation with row numbers, hostile input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pact_benchmark.errors import PactError
from pact_benchmark.hrc import files
from pact_benchmark.hrc.files import RecordError
from pact_benchmark.hrc.load import load_file, load_recordings, to_records, write_records
from pact_benchmark.hrc.recordings import Recordings, combine
from pact_benchmark.hrc.schema import COLUMNS, json_schema

OUTPUT: dict[str, Any] = {
    "record": "output", "checkpoint": "m", "task": "t", "episode": "1", "event": "1_01",
    "window": "early", "camera": "exo", "prompt": "canonical", "log_odds_map0": 0.5,
    "log_odds_map1": -0.25,
}  # fmt: skip
QUERY: dict[str, Any] = {
    "record": "query", "checkpoint": "m", "task": "t", "episode": "1", "event": "1_01",
    "window": "proximal", "query": "q1", "target": "t", "target_kind": "episode",
    "target_match": "matched", "readiness": "ready", "identity": "match",
}  # fmt: skip
PROXIMITY: dict[str, Any] = {
    "record": "proximity", "task": "t", "episode": "1", "event": "1_01", "window": "early",
    "setting": "all_five", "predictor": "in_task", "score": 0.25,
}  # fmt: skip


def write(path: Path, *rows: dict[str, Any]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_round_trip(simulated: Recordings, tmp_path: Path, suffix: str) -> None:
    """What is written is read back equal, with its mark."""
    path = tmp_path / f"records{suffix}"
    small = Recordings(
        outputs=simulated.outputs.head(50),
        queries=simulated.queries.head(20),
        features=simulated.features.head(5),
        simulated=True,
    )
    write_records(small, path)
    again = load_recordings(path)
    assert again.simulated
    for name in ("outputs", "queries", "features"):
        left, right = getattr(small, name), getattr(again, name)
        pd.testing.assert_frame_equal(
            left.reset_index(drop=True), right, check_dtype=False, check_like=True
        )


def test_rows_of_the_simulation_fit_the_schema(simulated: Recordings) -> None:
    """Written rows satisfy the JSON Schema that is printed for users."""
    validator = jsonschema.Draft202012Validator(json_schema())
    rows = to_records(simulated).groupby("record").head(5).to_dict("records")
    for row in rows:
        filled = {str(k): list(v) if isinstance(v, tuple) else v for k, v in row.items()}
        validator.validate({k: v for k, v in filled.items() if v is not None})


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(-2, 2, allow_nan=False),
    st.sampled_from(["early", "t", "", "match", "in_task", "development"]),
    st.lists(st.sampled_from(["a", ""]), max_size=2),
    st.lists(st.floats(-1, 1), max_size=2),
)


@given(
    base=st.sampled_from([OUTPUT, QUERY, PROXIMITY]),
    changes=st.dictionaries(st.sampled_from([c.name for c in COLUMNS]), VALUES, max_size=3),
    dropped=st.lists(st.sampled_from([c.name for c in COLUMNS]), max_size=2),
)
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_validation_agrees_with_the_json_schema(
    tmp_path: Path, base: dict[str, Any], changes: dict[str, Any], dropped: list[str]
) -> None:
    """A row is accepted exactly when the published schema accepts it."""
    row = {k: v for k, v in {**base, **changes}.items() if k not in dropped}
    if "record" not in row:
        return
    good = jsonschema.Draft202012Validator(json_schema()).is_valid(row)
    path = write(tmp_path / "one.jsonl", row)
    if good:
        assert load_file(path).files
    else:
        with pytest.raises(RecordError, match=r"one\.jsonl, row 1: "):
            load_file(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**OUTPUT, "log_odds_map0": "x"}, "log_odds_map0 = 'x' is not a finite number"),
        ({**OUTPUT, "log_odds_map0": 1e300}, "log_odds_map0"),
        ({**OUTPUT, "window": "late"}, "window = 'late' is not one of pre_early, early, proximal"),
        ({**OUTPUT, "camera": None}, "camera is missing"),
        ({**OUTPUT, "score": 0.5}, "score does not belong to output rows"),
        ({**OUTPUT, "colour": 1}, "unknown column 'colour'"),
        ({**OUTPUT, "schema_version": 2}, "schema_version"),
        ({**QUERY, "target_kind": "x"}, "target_kind"),
        ({**PROXIMITY, "score": None}, "proximity rows need score and predictor"),
        ({**PROXIMITY, "score": 1.5}, "score = 1.5"),
        (OUTPUT, "second output row"),
    ],
)
def test_errors_name_the_row(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    """A bad row is named by its number, with what is wrong, in one line."""
    path = write(tmp_path / "bad.jsonl", OUTPUT, row)
    with pytest.raises(RecordError) as caught:
        load_recordings(path)
    text = str(caught.value)
    assert text.startswith("bad.jsonl, row 2: ")
    assert message in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "content",
    [
        b"{not json}\n",
        b'{"record": NaN}\n',
        b'["record"]\n',
        b"\xff\xfe\n",
        b'{"record": "output"' + b"[" * 5000 + b"\n",
        b'{"record": "' + b"x" * (files.LINE_LIMIT + 10) + b'"}\n',
    ],
)
def test_hostile_lines(tmp_path: Path, content: bytes) -> None:
    """Broken, nested, binary or endless lines end in one clear line."""
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"^bad\.jsonl, row 1: [^\n]*$"):
        load_recordings(path)


def test_hostile_files(tmp_path: Path) -> None:
    """Truncated gzip, false Parquet, empty folders and unknown suffixes are user errors."""
    packed = gzip.compress(json.dumps(OUTPUT).encode() * 100)[:40]
    cases = {"cut.jsonl.gz": packed, "false.parquet": b"PAR1 no", "note.txt": b"hello"}
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PactError, match=name):
            load_recordings(tmp_path / name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordError, match="no recordings found"):
        load_recordings(tmp_path / "empty")
    with pytest.raises(RecordError, match="no such file"):
        load_recordings(tmp_path / "absent")


def test_row_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with more rows than the limit is refused before it fills the memory."""
    monkeypatch.setattr(files, "ROW_LIMIT", 3)
    rows = [{**OUTPUT, "repeat": number} for number in range(4)]
    with pytest.raises(RecordError, match="more than 3 rows"):
        load_recordings(write(tmp_path / "long.jsonl", *rows))
    frame = pd.DataFrame(rows)
    frame.to_parquet(tmp_path / "long.parquet")
    with pytest.raises(RecordError, match="more than 3 rows"):
        load_recordings(tmp_path / "long.parquet")


def test_files_that_unpack_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small Parquet or gzip file that unpacks to a large one is refused, not kept in memory."""
    path = tmp_path / "dense.parquet"
    rows = 20_000
    frame = pd.DataFrame({**{k: [v] * rows for k, v in OUTPUT.items()}, "repeat": range(rows)})
    frame["task"] = "t" * 1_000
    frame.to_parquet(path)
    assert path.stat().st_size < 1 << 20
    monkeypatch.setattr(files, "BYTE_LIMIT", 1 << 20)
    with pytest.raises(RecordError, match="unpacks to more than 1 MiB"):
        load_recordings(path)
    packed = tmp_path / "dense.jsonl.gz"
    packed.write_bytes(gzip.compress((json.dumps(OUTPUT) + "\n").encode() * 20_000))
    assert packed.stat().st_size < 1 << 20
    with pytest.raises(RecordError, match="more than 1 MiB"):
        load_recordings(packed)


def test_real_and_simulated_do_not_mix(simulated: Recordings, tmp_path: Path) -> None:
    """Neither one file nor one folder may mix real rows with simulated ones."""
    mixed = write(tmp_path / "mixed.jsonl", {**OUTPUT, "simulated": True}, {**OUTPUT, "repeat": 1})
    with pytest.raises(RecordError, match=r"mixed\.jsonl, row 2: real and simulated"):
        load_recordings(mixed)
    real = load_recordings(write(tmp_path / "real.jsonl", OUTPUT))
    with pytest.raises(RecordError, match="real and simulated"):
        combine([simulated, real])


def test_contradicting_files(tmp_path: Path) -> None:
    """Equal rows may come twice; rows that differ under one key may not."""
    write(tmp_path / "a.jsonl", PROXIMITY)
    write(tmp_path / "b.jsonl", PROXIMITY)
    assert len(load_recordings(tmp_path).scores) == 1
    write(tmp_path / "b.jsonl", {**PROXIMITY, "score": 0.5})
    with pytest.raises(RecordError, match="differ in score"):
        load_recordings(tmp_path)


def test_byte_order_mark_and_blank_lines(tmp_path: Path) -> None:
    """A mark at the start and blank lines are no obstacle."""
    path = tmp_path / "marked.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(OUTPUT).encode() + b"\n\n")
    assert len(load_recordings(path).outputs) == 1
