"""The sweep's tasks on a real Ray cluster of several nodes on this machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pact_benchmark.config import load_config
from pact_benchmark.console import Console
from pact_benchmark.errors import UsageError
from pact_benchmark.sweep.backends import Backend, run_shards
from pact_benchmark.sweep.job import Workers, run_sweep
from pact_benchmark.sweep.shards import ShardFolder

ray = pytest.importorskip("ray")


def slow_square(folder: str, task: int) -> bytes:
    """Note which node works on a task, take a moment, and square it."""
    node = ray.get_runtime_context().get_node_id()
    with (Path(folder) / f"{task}-{os.getpid()}").open("w") as note:
        note.write(node)
    time.sleep(0.5)
    return str(task * task).encode()


@pytest.fixture
def cluster():
    """Start a head without workers and two nodes with one worker each."""
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "include_dashboard": False,
            "object_store_memory": 80_000_000,
        },
    )
    nodes = [made.add_node(num_cpus=1, object_store_memory=80_000_000) for _ in range(2)]
    made.wait_for_nodes()
    yield made, nodes
    ray.shutdown()
    made.shutdown()


def test_sweep_survives_the_loss_of_a_node(cluster, tmp_path):
    """A node that dies in the middle costs nothing but time; every shard is right."""
    import threading

    made, nodes = cluster
    notes = tmp_path / "notes"
    notes.mkdir()
    shards = ShardFolder(tmp_path / "shards", "0" * 64, ".txt")
    tasks = {f"t{index:02d}": index for index in range(12)}
    lost = []

    def lose() -> None:
        """Kill a node that works on a task and that the driver is not attached to."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            busy = {note.read_text() for note in notes.iterdir()}
            own = ray.get_runtime_context().get_node_id() if ray.is_initialized() else None
            chosen = [node for node in nodes if node.node_id in busy and node.node_id != own]
            if own is not None and chosen:
                lost.append(chosen[0])
                made.remove_node(chosen[0], allow_graceful=False)
                return
            time.sleep(0.05)

    loser = threading.Thread(target=lose)
    loser.start()
    run_shards(
        slow_square,
        str(notes),
        tasks,
        shards,
        title="job",
        backend=Backend.RAY,
        address=made.address,
    )
    loser.join()
    assert len(lost) == 1
    assert lost[0] not in made.worker_nodes
    for name, index in tasks.items():
        assert shards.read(name) == str(index * index).encode()
    assert {note.read_text() for note in notes.iterdir()} == {node.node_id for node in nodes}


def test_command_on_a_cluster_writes_the_shards_of_a_local_sweep(cluster, pact, new_run):
    """`pact sweep --backend ray --address …` ends with the bytes of local workers."""
    made, _ = cluster
    alone, joined = new_run("alone"), new_run("joined")
    run_sweep(alone, load_config(), Workers(), Console(quiet=True), points=4)
    remote = pact(
        *("sweep", "--points", "4", "--output", joined.path),
        *("--backend", "ray", "--address", made.address),
    )
    assert remote.returncode == 0, remote.stderr
    expected, found = (
        {path.name: path.read_bytes() for path in (run.path / "sweep" / "points").rglob("*.json")}
        for run in (alone, joined)
    )
    assert len(expected) == 4
    assert found == expected


def test_unreachable_cluster_is_explained(tmp_path):
    """An address where nothing listens ends with one line that says how to start a cluster."""
    shards = ShardFolder(tmp_path / "shards", "0" * 64, ".txt")
    with pytest.raises(UsageError, match="ray start"):
        run_shards(
            slow_square,
            "",
            {"a": 1},
            shards,
            title="job",
            backend=Backend.RAY,
            address="nowhere:1:2",
        )
