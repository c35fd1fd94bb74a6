"""Evidence files: round trip, and one clear line for everything that is wrong."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from pact_benchmark.errors import PactError, UsageError
from pact_benchmark.learned.evidence import EvidenceSet, evidence_to_npz, read_evidence
from tests.benchmark.learned.conftest import make_evidence


def same(left: EvidenceSet, right: EvidenceSet) -> bool:
    """Whether two sets hold the same arrays and names."""
    arrays = ("evidence", "label", "record_id")
    names = ("seed", "dataset", "model", "view_names", "details")
    return all(np.array_equal(getattr(left, a), getattr(right, a)) for a in arrays) and all(
        getattr(left, n) == getattr(right, n) for n in names
    )


@pytest.mark.parametrize("shared", [True, False])
def test_npz_round_trip(tmp_path: Path, shared: bool) -> None:
    """What is written is what is read, with records shared by the runs or not."""
    data = make_evidence()
    if not shared:
        data.record_id[1] += 100
        data.label[1] = data.label[1][::-1]
    path = tmp_path / "e.npz"
    path.write_bytes(evidence_to_npz(data))
    assert same(read_evidence(path)[0], data)
    with np.load(path, allow_pickle=False) as archive:
        assert archive["evidence"].shape == (3, 2, 40, 4)


def test_minimal_npz(tmp_path: Path) -> None:
    """Evidence [view, record, class] and labels are enough."""
    np.savez(tmp_path / "m.npz", evidence=np.ones((2, 5, 3)), label=np.arange(5) % 3)
    data = read_evidence(tmp_path / "m.npz")[0]
    assert (data.runs, data.records, data.views, data.classes) == (1, 5, 2, 3)
    assert data.pair == "own.model"
    assert data.view_names == ("view1", "view2")


def write_lines(path: Path, rows: list[dict]) -> Path:
    """Write rows as JSON lines, gzipped if the name says so."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def line(seed: int = 0, record: int = 0, **other) -> dict:
    """One row as the authors export it."""
    row = {"backbone": "TMC", "split": "test", "seed": seed, "record_id": record, "y": record % 2}
    return {**row, "evidences": [[1.0, 2.0], [0.5, 0.0]], **other}


@pytest.mark.parametrize("name", ["e.jsonl", "e.jsonl.gz"])
def test_lines_of_the_authors_export(tmp_path: Path, name: str) -> None:
    """Test rows are kept, backbones become pairs, records are sorted by id."""
    rows = [line(seed, record) for seed in (5, 3) for record in (2, 0, 1)]
    rows += [line(3, 9, split="validation"), line(1, 4, backbone="RCML")]
    sets = read_evidence(write_lines(tmp_path / name, rows))
    assert [data.model for data in sets] == ["rcml", "tmc"]
    assert sets[1].seed == (3, 5)
    assert sets[1].record_id.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert sets[1].evidence.shape == (2, 3, 2, 2)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([line(0, 0), line(0, 0)], "occurs twice"),
        ([line(0, 0), line(1, 0), line(1, 1)], "different numbers of records"),
        ([line(0, 0, evidences=[[1.0, 2.0]]), line(0, 1)], "shape"),
        ([line(0, 0, evidences=[[1.0, -2.0], [0.0, 0.0]])], "negative"),
        ([line(0, 0, evidences="many")], "views x classes"),
        ([line(0, 0, y=7)], "labels must lie in"),
        ([line(0, 0), line(1, 0, y=1)], "different labels"),
        ([line(split="train")], "no row"),
        ([{"y": 1}], "record_id"),
    ],
)
def test_bad_lines(tmp_path: Path, rows: list[dict], reason: str) -> None:
    """Rows that do not fit together are refused with the reason."""
    with pytest.raises(UsageError, match=reason):
        read_evidence(write_lines(tmp_path / "e.jsonl", rows))


def good(**changed) -> dict:
    """Arrays of a good file, with changes; None leaves one out."""
    arrays = {"evidence": np.ones((2, 1, 4, 3)), "label": np.arange(4) % 3, **changed}
    return {name: value for name, value in arrays.items() if value is not None}


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        (good(label=None), "lacks the array 'label'"),
        (good(evidence=None), "lacks the array 'evidence'"),
        (good(label=np.arange(3)), "one entry per record"),
        (good(label=np.array([0, 1, 2, 3])), "labels must lie in"),
        (good(label=np.zeros(4)), "label integers"),
        (good(evidence=np.full((2, 1, 4, 3), np.nan)), "non-finite"),
        (good(evidence=np.full((2, 1, 4, 3), -1.0)), "negative"),
        (good(evidence=np.ones((4, 3))), "axes"),
        (good(evidence=np.ones((2, 1, 4, 1)), label=np.zeros(4, int)), "two classes"),
        (good(record_id=np.zeros(4, int)), "occurs twice"),
        (good(view_names=np.array(["a"])), "one view name per view"),
        (good(schema_version=np.int64(9)), "schema version 9"),
        (good(label=np.array([{}, 1, 2, 0], dtype=object)), "pickled"),
    ],
)
def test_bad_npz(tmp_path: Path, arrays: dict, reason: str) -> None:
    """Files that break the schema, or hold pickled objects, are refused with the reason."""
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(UsageError, match=reason) as caught:
        read_evidence(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("e.npz", b"not a zip", "not a readable .npz"),
        ("e.jsonl", b"{\n", "line 1: not JSON"),
        ("e.jsonl", b"1\n", "not a JSON object"),
        ("e.jsonl", b"\xff\xfe", "not UTF-8"),
        ("e.jsonl", b"[" * 100_000, "nested too deeply"),
        ("e.jsonl", b" " * 20_000_000, "line is longer"),
        ("e.jsonl.gz", b"\x1f\x8b\x08garbage", "is damaged"),
        ("e.csv", b"1,2", "unknown ending"),
    ],
)
def test_foreign_files(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    """Files of another kind are named in one line."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(PactError, match=reason) as caught:
        read_evidence(path)
    assert "\n" not in str(caught.value)


def test_a_small_file_that_unpacks_to_a_large_one(tmp_path: Path) -> None:
    """Two megabytes of gzip that unpack to two gigabytes are refused, and take little memory."""
    path = tmp_path / "bomb.jsonl.gz"
    block = gzip.compress(b" " * (1 << 24))
    path.write_bytes(block * 128)
    assert path.stat().st_size < 1 << 22
    tracemalloc.start()
    with pytest.raises(UsageError, match="unpacks to"):
        read_evidence(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()


def test_truncated_npz(tmp_path: Path) -> None:
    """Every truncation of a good file is refused, none is read or crashes."""
    whole = evidence_to_npz(make_evidence(records=8))
    path = tmp_path / "cut.npz"
    for end in range(0, len(whole), max(1, len(whole) // 25)):
        path.write_bytes(whole[:end])
        with pytest.raises(UsageError):
            read_evidence(path)


def test_absent_file(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(UsageError, match="no evidence file"):
        read_evidence(tmp_path / "none.npz")
