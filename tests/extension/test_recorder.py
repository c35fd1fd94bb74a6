"""Recordings: the schema of the rows, absent values, and interrupted recordings."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pact_handover.recorder import FILES, Recorder, json_line, plain, recording_folder

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(), values))
def test_every_row_is_one_line_of_strict_json(row):
    """Any row becomes one line; what is not finite becomes null, the rest is unchanged."""
    line = json_line(row)
    assert line.count("\n") == 1
    assert line.endswith("\n")
    assert json.loads(line) == plain(row)


def test_numpy_values_become_plain():
    """NumPy scalars and arrays, NaN and sets become what JSON can hold."""
    row = {
        "a": np.float64("nan"),
        "b": np.array([1.0, math.inf]),
        "c": np.bool_(True),
        "d": {"y", "x"},
    }
    assert plain(row) == {"a": None, "b": [1.0, None], "c": True, "d": ["x", "y"]}


def test_recording_is_complete_when_closed(tmp_path):
    """The manifest counts the rows and says whether the recording was finished."""
    recorder = Recorder(tmp_path / "r", {"backend": "kinematic"})
    recorder.write("instances", [{"record_id": "a"}, {"record_id": "b"}])
    assert json.loads((tmp_path / "r/manifest.json").read_text())["complete"] is False
    recorder.close()
    recorder.close()
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["rows"] == {"observations": 0, "instances": 2, "decisions": 0}
    assert manifest["backend"] == "kinematic"
    assert {p.name for p in (tmp_path / "r").iterdir()} == {
        "manifest.json",
        *(f"{name}.jsonl" for name in FILES),
    }


def test_a_recording_is_never_overwritten(tmp_path):
    """A folder that holds a recording is refused, and names are counted up."""
    Recorder(tmp_path / "x-001", {}).close()
    with pytest.raises(FileExistsError, match="already"):
        Recorder(tmp_path / "x-001", {})
    assert recording_folder(tmp_path, "x").name == "x-002"
