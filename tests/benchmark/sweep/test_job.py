"""The sweep on a run folder: resuming, killing, workers, status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pact_benchmark.config import load_config
from pact_benchmark.console import Console
from pact_benchmark.errors import PactError, UsageError
from pact_benchmark.sweep import backends
from pact_benchmark.sweep.backends import run_shards
from pact_benchmark.sweep.design import FACTORS, SweepDesign
from pact_benchmark.sweep.job import (
    Workers,
    discard_shards,
    run_config,
    run_sweep,
    sweep_inputs,
    sweep_status,
)
from pact_benchmark.sweep.shards import ShardFolder, job_status
from pact_benchmark.sweep.summary import SweepOutcome, summarise_sweep
from tests.conftest import PACT

QUIET = Console(quiet=True)


def shard_bytes(run_path: Path) -> dict[str, bytes]:
    """Return the content of every shard by name."""
    return {path.name: path.read_bytes() for path in (run_path / "sweep").rglob("*.json")}


def test_sweep_measures_the_rules_and_labels_a_part(new_run):
    """Three rules get a range; fewer points than the design are called partial."""
    run = new_run("run")
    result = run_sweep(run, load_config(), Workers(), QUIET, points=3)
    statistics = result.statistics
    for rule in ("pact", "nested_dirichlet", "provenance_pooling"):
        found = statistics[f"sobol.{rule}.range"]
        assert found.value == [found.low, found.high]
        assert found.low <= found.high
        assert "partial: 3 of 256" in found.note
    assert statistics["sobol.pact.wrong_at_013"].n == 3
    stored = json.loads(run.file("statistics.json").read_text())
    assert stored["sobol.pact.range"]["low"] == statistics["sobol.pact.range"].low
    status = sweep_status(run.path)
    assert (status.points, status.done) == (3, 3)


def test_sweep_goes_on_where_it_was(new_run):
    """A longer sweep keeps the points of a shorter one; the bytes do not depend on workers."""
    run, other = new_run("run"), new_run("other")
    run_sweep(run, load_config(), Workers(), QUIET, points=2)
    kept = {path: path.stat().st_mtime_ns for path in run.path.rglob("p000*.json")}
    run_sweep(run, load_config(), Workers(jobs=2), QUIET, points=4)
    assert len(kept) == 2
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    run_sweep(other, load_config(), Workers(), QUIET, points=4)
    assert shard_bytes(run.path) == shard_bytes(other.path)
    discard_shards(run.path)
    assert sweep_status(run.path) is None


def test_indices_need_seven_matrices(new_run):
    """Two points per matrix make fourteen more settings and an index for each factor."""
    run = new_run("run")
    result = run_sweep(run, load_config(), Workers(), QUIET, points=1, index_points=2)
    assert sweep_status(run.path).points == 15
    assert "sobol.pact.total.language_peak" in result.statistics
    assert {table.id for table in result.tables} == {"sobol_points", "sobol_indices"}
    with pytest.raises(UsageError, match="power of two"):
        run_sweep(run, load_config(), Workers(), QUIET, points=1, index_points=3)


def test_rule_without_support_somewhere_has_no_index_and_says_so():
    """One setting without an area leaves every index of the rule empty, with the reason."""
    section = {**load_config().section("sweep"), "rules": ["pact"], "index_resamples": 0}
    shard = {"setting": dict.fromkeys(FACTORS, 1.0), "rules": {"pact": outcome_of(0.1)}}
    short = {**shard, "rules": {"pact": outcome_of(None)}}
    matrices = {name: [shard, shard] for name in ("A", "B", *(f"AB{i}" for i in range(5)))}
    matrices["AB3"] = [shard, short]
    outcome = SweepOutcome(SweepDesign.from_section(section), [shard], matrices)
    statistics = summarise_sweep(outcome).statistics
    for factor in FACTORS:
        found = statistics[f"sobol.pact.total.{factor}"]
        assert found.value is None
        assert found.note == "1 of 14 settings without support: no index"
    wrong = statistics["sobol.pact.wrong_at_013"]
    assert wrong.value == 0 < wrong.high
    assert "no event in the 200 rows" in wrong.note


def outcome_of(area: float | None) -> dict[str, object]:
    """Return what one rule achieves at a setting, without a wrong admission."""
    return {"ncsaurc": area, "reason": None, "n": 200, "admitted": 20, "wrong": 0}


def test_sweep_uses_the_configuration_of_the_run(new_run):
    """Without a file of the user's the run's own sections count, but for the sweep's."""
    run = new_run("run")
    made_with = load_config(seed=99).sections
    made_with["evaluation"]["fold_concentrations"] = [4, 24, 4, 24, 16]
    run.describe(config=made_with)
    used = run_config(run, load_config(), own=False)
    assert used.seed == 99
    assert sweep_inputs(run, used).kappa == (4, 24, 4, 24, 16)
    assert run_config(run, load_config(), own=True).seed == load_config().seed


def test_killed_sweep_ends_with_the_same_bytes(new_run):
    """SIGKILL in the middle loses at most the points in hand; resuming completes the rest."""
    run, whole = new_run("run"), new_run("whole")
    command = [str(PACT), "sweep", "--points", "24", "--quiet", "--jobs", "2", "--output"]
    process = subprocess.Popen([*command, str(run.path)], start_new_session=True)
    deadline = time.monotonic() + 60
    while len(shard_bytes(run.path)) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = len(list((run.path / "sweep").rglob("p*.json.sha256")))
    assert 0 < done < 24
    status = sweep_status(run.path)
    assert (status.done, status.points) == (done, 24)
    subprocess.run([*command, str(run.path)], check=True)
    subprocess.run([*command, str(whole.path)], check=True)
    assert shard_bytes(run.path) == shard_bytes(whole.path)
    assert not list((run.path / "sweep").rglob("*.tmp"))
    for name in ("tables/sobol_points.csv", "figures/sobol.svg", "statistics.json"):
        assert run.file(name).read_bytes() == whole.file(name).read_bytes()


def die_once(folder: str, task: int) -> bytes:
    """Kill the own process the first time that task 3 is tried."""
    marker = Path(folder) / "died"
    if task == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return str(task).encode()


def die_always(folder: str, task: int) -> bytes:
    """Kill the own process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def test_killed_worker_is_replaced(tmp_path):
    """A worker that dies costs its point in hand; the job ends with every shard."""
    shards = ShardFolder(tmp_path / "shards", "0123456789abcdef", ".txt")
    tasks = {f"t{index}": index for index in range(8)}
    run_shards(die_once, str(tmp_path), tasks, shards, title="job", jobs=2)
    assert [shards.read(f"t{index}") for index in range(8)] == [
        str(index).encode() for index in range(8)
    ]
    assert run_shards(die_once, str(tmp_path), tasks, shards, title="job", jobs=2) == 0


def die_every_other(folder: str, task: int) -> bytes:
    """Kill the own process on the first try of every odd task, after others had time."""
    marker = Path(folder) / f"died-{task}"
    if task % 2 and not marker.exists():
        time.sleep(0.2)
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return str(task).encode()


def test_only_attempts_without_a_new_shard_count(tmp_path, monkeypatch):
    """A job that gets on with every attempt goes on, however many workers die over time."""
    monkeypatch.setattr(backends, "LOCAL_ATTEMPTS", 2)
    shards = ShardFolder(tmp_path / "shards", "0123456789abcdef", ".txt")
    tasks = {f"t{index}": index for index in range(6)}
    run_shards(die_every_other, str(tmp_path), tasks, shards, title="job", jobs=2)
    assert shards.missing(tasks) == []
    assert len(list(tmp_path.glob("died-*"))) == 3


def test_workers_that_always_die_are_an_error(tmp_path):
    """After several attempts the user is told what to do."""
    shards = ShardFolder(tmp_path / "shards", "0123456789abcdef", ".txt")
    with pytest.raises(PactError, match="fewer --jobs"):
        run_shards(die_always, "", {"a": 1, "b": 2}, shards, title="job", jobs=2)


def test_status_of_shards_by_hand(tmp_path):
    """Four of six done, one per second: two seconds left; other inputs do not count."""
    shards = ShardFolder(tmp_path, "a" * 64, ".json")
    names = [f"p{index}" for index in range(6)]
    for index, name in enumerate(names[:4]):
        shards.write(name, b"{}")
        os.utime(shards.file(name), (1000.0 + index, 1000.0 + index))
    ShardFolder(tmp_path, "b" * 64, ".json").write("p5", b"{}")
    status = job_status(shards, names)
    assert (status.points, status.done) == (6, 4)
    assert status.rate == pytest.approx(1.0)
    assert status.seconds_left == pytest.approx(2.0)


def test_rate_leaves_out_what_an_earlier_session_wrote(tmp_path):
    """Three shards, an hour's pause, then one per two seconds: the pause does not count."""
    shards = ShardFolder(tmp_path, "a" * 64, ".json")
    names = [f"p{index}" for index in range(10)]
    for name, when in zip(names, (0, 1, 2, 3600, 3602, 3604), strict=False):
        shards.write(name, b"{}")
        os.utime(shards.file(name), (1000.0 + when, 1000.0 + when))
    status = job_status(shards, names, since=1000.0 + 3599)
    assert (status.points, status.done) == (10, 6)
    assert status.rate == pytest.approx(0.5)
    assert status.seconds_left == pytest.approx(8.0)
    assert job_status(shards, names, since=1000.0 + 3603).rate is None


def test_status_of_a_resumed_sweep_has_the_rate_of_its_session(new_run):
    """Shards that were written an hour before the command was given again leave the rate alone."""
    run = new_run("run")
    run_sweep(run, load_config(), Workers(), QUIET, points=2)
    for shard in run.path.rglob("p000*.json"):
        os.utime(shard, (shard.stat().st_mtime - 3600,) * 2)
    run_sweep(run, load_config(), Workers(), QUIET, points=5)
    assert sweep_status(run.path).rate > 0.1


def test_sweep_command_explains_wrong_options(pact, new_run):
    """An unknown backend, or an address without Ray, ends with one line and exit code 2."""
    run = new_run("run")
    for extra in (["--backend", "dask"], ["--address", "auto"]):
        done = pact("sweep", "--output", str(run.path), *extra)
        assert done.returncode == 2
        assert "ray" in done.stderr


def test_older_configuration_gets_new_keys(new_run):
    """A key that the stored configuration lacks takes its default; stored values count."""
    run = new_run("run")
    stored = load_config().sections
    del stored["evaluation"]["narrow_support"]
    stored["evaluation"]["operating_target"] = 0.2
    run.describe(config=stored)
    section = run_config(run, load_config(), own=False).section("evaluation")
    assert section["narrow_support"] == [0.10, 0.35]
    assert section["operating_target"] == 0.2


def test_an_outdated_sweep_is_renewed_with_its_options(new_run, pact):
    """What is said about replaced rows names the sweep as it was made."""
    run = new_run("run")
    pact("sweep", "--points", "2", "--output", run.path, "--quiet", check=True)
    pact("generate", "--seed", "7", "--output", run.path, "--quiet", check=True)
    told = pact("compare", run.path, check=True).stderr
    assert "1 study is" not in told  # the studies of the main job are missing, too
    assert f"pact sweep --points 2 --quiet --output {run.path}`" in told
