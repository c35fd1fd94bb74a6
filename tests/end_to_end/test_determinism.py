"""The same configuration gives the same bytes: processes, worker counts, reruns, seeds."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

FILES = ("observations.parquet", "instances.parquet", "statistics.json")


def test_jobs_and_processes_make_no_difference(finished_run: Path, tmp_path: Path, pact) -> None:
    """One worker in another process gives the bytes that two workers gave."""
    other = tmp_path / "run"
    pact("run", "--backend", "kinematic", "--jobs", "1", "--quiet", "-o", other, check=True)
    for name in FILES:
        digest = [
            hashlib.sha256((run / name).read_bytes()).digest() for run in (finished_run, other)
        ]
        assert digest[0] == digest[1], name


def test_another_seed_stays_within_the_intervals(finished_run: Path, tmp_path: Path, pact) -> None:
    """Another seed changes the rows, and moves the headline figures hardly at all."""
    other = tmp_path / "run"
    for command in (["simulate", "--backend", "kinematic"], ["generate"], ["evaluate", "design"]):
        pact(*command, "--seed", "7", "--quiet", "-o", other, check=True)
    pact("evaluate", "after_admission", "--seed", "7", "--quiet", "-o", other, check=True)
    first = json.loads((finished_run / "statistics.json").read_text())
    second = json.loads((other / "statistics.json").read_text())
    assert (finished_run / FILES[1]).read_bytes() != (other / FILES[1]).read_bytes()
    for name, ours in second.items():
        if name.startswith("design."):
            assert ours["value"] == first[name]["value"], name
        if name.endswith(".ncsaurc"):
            assert abs(ours["value"] - first[name]["value"]) < 0.02, name
