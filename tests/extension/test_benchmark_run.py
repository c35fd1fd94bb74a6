"""The headless run: rows as in the benchmark, resumed runs, failing scenes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields

import pytest

from pact_core import HANDOVER
from pact_handover.benchmark_run import run_benchmark
from pact_scenes.catalogue import load_catalogue
from pact_scenes.conditions import load_conditions
from pact_scenes.observation import Observation
from pact_scenes.simulators import SimulationError, open_simulator
from pact_scenes.simulators.kinematic import KinematicSimulator

SCENES = load_catalogue()[:2]


def rows(folder, name):
    """Return the rows of one file of a recording."""
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run of two scenes on the kinematic backend."""
    folder = tmp_path_factory.mktemp("run")
    with open_simulator("kinematic") as simulator:
        summary = run_benchmark(folder, SCENES, simulator, seed=7, rules=("pact", "product"))
    return folder, summary


def test_every_row_of_the_grid_is_written(run):
    """Scenes x conditions x labels x steps, each once, with the stored columns."""
    folder, summary = run
    assert summary.exit_code == 0
    instances = rows(folder, "instances")
    assert len(instances) == summary.rows == 2 * 13 * 5 * 10
    assert len({row["record_id"] for row in instances}) == len(instances)
    per_condition = Counter(row["condition"] for row in instances)
    assert per_condition == {condition.name: 100 for condition in load_conditions()}
    observations = rows(folder, "observations")
    assert len(observations) == 20
    assert list(observations[0]) == [field.name for field in fields(Observation)]


def test_decisions_have_the_form_of_pact_decide(run):
    """One object per instance and rule, whose posterior sums to one."""
    folder, _ = run
    decisions = rows(folder, "decisions")
    assert Counter(row["rule"] for row in decisions) == {"pact": 1300, "product": 1300}
    for row in decisions[::97]:
        assert sum(row["posterior"]) == pytest.approx(1.0)
        assert row["contract"] in HANDOVER.names
        assert (row["status"] == "admitted") == (row["check"] is None)


def test_a_second_run_resumes_and_writes_the_same_bytes(run):
    """Scenes that are there are not rolled out again, and the files do not change."""
    folder, _ = run
    before = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}

    class NeverOpened(KinematicSimulator):
        def open(self, model, physics_rate):
            raise AssertionError("rolled out again")

    summary = run_benchmark(folder, SCENES, NeverOpened(), seed=7, rules=("pact", "product"))
    assert summary.resumed == tuple(spec.scene_id for spec in SCENES)
    assert {path.name: path.read_bytes() for path in folder.glob("*.jsonl")} == before


class FailsOnce(KinematicSimulator):
    """A simulator that cannot load the second scene the first time."""

    failures = 1

    def open(self, model, physics_rate):
        """Fail on the second scene once."""
        if model.spec.scene_id == SCENES[1].scene_id and self.failures:
            self.failures -= 1
            raise SimulationError("no such body")
        super().open(model, physics_rate)


def test_a_failing_scene_does_not_stop_the_others(tmp_path):
    """The failure is kept with its trace, the exit code says so, and a second run mends it."""
    simulator, said = FailsOnce(), []
    scenes = (SCENES[1], SCENES[0])
    summary = run_benchmark(tmp_path, scenes, simulator, seed=7, say=said.append)
    assert (summary.done, summary.failed) == (("scene_001",), ("scene_002",))
    assert summary.exit_code == 1
    assert "no such body" in (tmp_path / "scenes/scene_002.failed.txt").read_text()
    assert any("FAILED" in line for line in said)
    again = run_benchmark(tmp_path, scenes, simulator, seed=7)
    assert again.exit_code == 0
    assert not list(tmp_path.glob("scenes/*.failed.txt"))
    assert {row["scene_id"] for row in rows(tmp_path, "instances")} == {"scene_001", "scene_002"}


def test_pact_import_takes_the_run_up(run, pact, tmp_path):
    """`pact import` makes a run folder of it, with the same rows."""
    import pandas as pd

    folder, summary = run
    result = pact("import", folder, "--output", tmp_path / "imported")
    assert result.returncode == 0, result.stderr
    imported = pd.read_parquet(tmp_path / "imported" / "instances.parquet")
    assert len(imported) == summary.rows
    assert list(imported["record_id"]) == [row["record_id"] for row in rows(folder, "instances")]
    assert len(pd.read_parquet(tmp_path / "imported" / "observations.parquet")) == 20
