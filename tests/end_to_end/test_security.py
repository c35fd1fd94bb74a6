"""Inputs are data: nothing in them is executed, escapes its folder or takes unbounded memory."""

from __future__ import annotations

import ast
import io
import json
import resource
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pact_benchmark.errors import UsageError
from pact_benchmark.parquet import UnreadableTableError, from_parquet, to_parquet
from pact_benchmark.store import RunFolder
from tests.conftest import PACT, ROOT

FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
MEMORY = 3_000_000_000


def tracked_sources() -> list[Path]:
    """Return every Python file that is shipped or run by users."""
    folders = ("pact_core", "scenes", "benchmark", "extension", "scripts")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def test_no_code_is_made_from_data() -> None:
    """No shipped file evaluates text, unpickles, or lets NumPy unpickle."""
    for path in tracked_sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN_CALLS, f"{path}: {node.func.id}"
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & FORBIDDEN_MODULES, path
            if isinstance(node, ast.ImportFrom):
                assert node.module not in FORBIDDEN_MODULES, path
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a\\..\\x", "C:x"])
def test_names_cannot_leave_the_run_folder(tmp_path: Path, name: str) -> None:
    """A file name that leads out of the run folder is refused."""
    run = RunFolder.create(tmp_path / "run")
    with pytest.raises(UsageError, match="leads out"):
        run.file(name)


def bounded(*arguments: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run `pact` with a cap on its address space."""

    def cap() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    return subprocess.run(
        [PACT, *arguments], input=stdin, capture_output=True, preexec_fn=cap, timeout=120
    )


HOSTILE = {
    "deep nesting": b"[" * 200_000 + b"]" * 200_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "huge number": b'{"sources": [{"role": "language", "quality": 1' + b"0" * 400_000 + b"}]}",
    "huge exponent": b'{"sources": [{"role": "language", "quality": 1e999999999}]}',
    "million keys": json.dumps({f"k{i}": i for i in range(1_000_000)}).encode(),
    "not text": bytes(range(256)) * 50,
    "nulls": b"\0" * 1000,
    "lone surrogate": b'{"record_id": "\\ud800", "sources": []}',
}


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.replace(" ", "-"))
def test_hostile_json_is_an_error_object(case: str) -> None:
    """Hostile lines give error objects with their line number; the stream goes on."""
    good = b'{"record_id": "good", "sources": []}'
    result = bounded("decide", stdin=HOSTILE[case] + b"\n" + good + b"\n")
    assert result.returncode == 1, result.stderr[-500:]
    assert b"Traceback" not in result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert lines[0]["line"] == 1
    assert "error" in lines[0]


TABLE = to_parquet(pd.DataFrame({"x": range(5000), "name": [f"row {i}" for i in range(5000)]}))


def flipped(content: bytes, position: int) -> bytes:
    """Return the content with one bit changed."""
    return content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PAR1",
        b"PAR1" + b"\xff" * 5000 + b"PAR1",
        TABLE[: len(TABLE) // 2],
        TABLE[:-1],
        TABLE[100:],
        *(flipped(TABLE, position) for position in (200, 1000, 5000, 10_000)),
    ],
    ids=range(10),
)
def test_damaged_parquet_is_an_error(content: bytes) -> None:
    """What is not Parquet, half of a table, or a table with one bit flipped is never a frame."""
    with pytest.raises(UnreadableTableError, match="not readable as Parquet"):
        from_parquet(content)


def test_parquet_that_unpacks_without_end_is_an_error(tmp_path: Path) -> None:
    """A run whose table of 60 KB unpacks to twenty gigabytes is refused within the memory cap."""
    run = RunFolder.create(tmp_path / "run")
    same = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, dtype=np.int32), ["x" * 20_000])
    sink = io.BytesIO()
    pq.write_table(pa.table({"record_id": same}), sink, compression="zstd", store_schema=False)
    assert len(sink.getvalue()) < 60_000
    with run.part("instances", "bomb") as part:
        part.bytes("instances.parquet", sink.getvalue())
    result = bounded("evaluate", "design", "--output", str(run.path), stdin=b"")
    assert result.returncode == 1
    assert b"unpacks to more than" in result.stderr
    assert b"Traceback" not in result.stderr


INSTANCE = json.dumps(
    {
        "sources": [
            {
                "role": "risk",
                "opinion": {"N": 1, "S": 0, "H": 0, "T": 0, "U": 0},
                "quality": 1,
                "conflict": 0,
                "parents": ["image"],
            }
        ]
    }
)


def write_guard(folder: Path) -> None:
    """Write a module that every Python process loads and that refuses connections."""
    guard = folder / "sitecustomize.py"
    guard.write_text(
        "import socket\n"
        "def refuse(self, address):\n"
        "    if self.family != socket.AF_UNIX:\n"
        "        raise RuntimeError(f'network access: {address}')\n"
        "def no_names(host, *rest, **more):\n"
        "    raise RuntimeError(f'network access: {host}')\n"
        "socket.getaddrinfo = no_names\n"
        "socket.socket.connect = refuse\n"
        "socket.socket.connect_ex = refuse\n",
        encoding="utf-8",
    )


def test_no_network_at_run_time(small_run: Path, pact, tmp_path: Path) -> None:
    """Reading, deciding and evaluating open no socket beyond the local machine."""
    write_guard(tmp_path)
    (small_run / "studies" / "design.json").unlink()
    for command in (
        ["doctor"],
        ["status", small_run],
        ["decide"],
        ["evaluate", "design", "--output", small_run],
        ["sweep", "--points", "2", "--jobs", "2", "--output", small_run],
        ["report", small_run],
    ):
        result = pact(*command, stdin=INSTANCE, env={"PYTHONPATH": str(tmp_path)})
        assert "network access" not in result.stderr
        assert result.returncode == 0, result.stderr


def test_the_network_guard_works(pact, tmp_path: Path) -> None:
    """A command that wants the network is stopped by the guard of the test above."""
    pytest.importorskip("torch")
    write_guard(tmp_path)
    result = pact("learned", "--openml", "--quick", env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
    assert result.returncode != 0
    assert "network access" in result.stderr
