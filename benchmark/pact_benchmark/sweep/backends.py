"""Where the units of a long job are computed: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from pact_benchmark.console import Bar, Console
from pact_benchmark.errors import PactError, UsageError
from pact_benchmark.sweep.shards import ShardFolder
from pact_benchmark.workers import deaf_to_interrupts, worker_pool
from pact_scenes.installation import install_command

Inputs = TypeVar("Inputs")
Task = TypeVar("Task")
Work = Callable[[Inputs, Task], bytes]

LOCAL_ATTEMPTS = 5
"""Attempts in a row that end with killed workers and no new shard before a job gives up."""
RAY_RETRIES = 8
RAY_PATIENCE = 5.0
"""Seconds after which a silent cluster is looked at."""


class Backend(StrEnum):
    """Where units are computed."""

    LOCAL = "local"
    RAY = "ray"


def run_shards(
    work: Work[Inputs, Task],
    inputs: Inputs,
    tasks: Mapping[str, Task],
    shards: ShardFolder,
    *,
    title: str,
    backend: Backend = Backend.LOCAL,
    jobs: int = 1,
    address: str | None = None,
    console: Console | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> int:
    """Compute every shard that is not there yet and return how many were computed.

    Args:
        work: `work(inputs, task)` returns the bytes of a shard. It is a module-level function;
            equal arguments give equal bytes, wherever and however often it runs.
        inputs: what all units share; sent to each worker.
        tasks: the task of each shard name.
        shards: where the shards go.
        title: what to call the job in the progress display.
        backend: local worker processes, or Ray tasks.
        jobs: worker processes of the local backend.
        address: Ray cluster to join; none starts Ray on this machine.
        console: where progress is shown.
        meanwhile: what this process does each time that local workers start, such as slow
            imports; without workers it is not called.
    """
    missing = shards.missing(tasks)
    screen = console if console is not None else Console(quiet=True)
    if not missing:
        return 0
    with screen.progress(title, len(tasks)) as bar:
        bar.advance(len(tasks) - len(missing))
        if backend is Backend.RAY:
            _run_ray(work, inputs, {name: tasks[name] for name in missing}, shards, address, bar)
        elif jobs == 1:
            for name in missing:
                shards.write(name, work(inputs, tasks[name]))
                bar.advance()
        else:
            _run_local(work, inputs, tasks, shards, jobs, bar, screen, meanwhile)
    shards.clear_leftovers()
    return len(missing)


def _write_shard(
    work: Work[Inputs, Task], inputs: Inputs, name: str, task: Task, shards: ShardFolder
) -> str:
    shards.write(name, work(inputs, task))
    return name


def _run_local(
    work: Work[Inputs, Task],
    inputs: Inputs,
    tasks: Mapping[str, Task],
    shards: ShardFolder,
    jobs: int,
    bar: Bar,
    screen: Console,
    meanwhile: Callable[[], None] | None,
) -> None:
    """Compute in worker processes, which write their own shards; replace killed workers."""
    from joblib import delayed
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    missing = shards.missing(tasks)
    shown, fruitless = len(tasks) - len(missing), 0
    while missing and fruitless < LOCAL_ATTEMPTS:
        parallel = worker_pool(jobs, return_as="generator_unordered")
        calls = (delayed(_write_shard)(work, inputs, name, tasks[name], shards) for name in missing)
        try:
            with deaf_to_interrupts():
                written = parallel(calls)  # the workers start here
            if meanwhile is not None:
                meanwhile()
            for _ in written:
                shown += 1
                bar.advance()
            # The workers end while this process goes on, which would else wait for them at exit.
            get_reusable_executor(reuse=True).shutdown(wait=False)
            return
        except BrokenProcessPool:
            screen.say("a worker process was killed; going on with new ones")
        before, missing = len(missing), shards.missing(tasks)
        fruitless = fruitless + 1 if len(missing) == before else 0
        done = len(tasks) - len(missing)
        bar.advance(max(done - shown, 0))
        shown = max(done, shown)
    if missing:
        raise PactError(
            f"worker processes were killed {LOCAL_ATTEMPTS} times in a row (out of memory?); use"
            " fewer --jobs and run the same command again, finished work is kept"
        )


def _run_ray(
    work: Work[Inputs, Task],
    inputs: Inputs,
    tasks: Mapping[str, Task],
    shards: ShardFolder,
    address: str | None,
    bar: Bar,
) -> None:
    """Compute as Ray tasks; this process writes the shards, so nodes need no common disk."""
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            f"--backend ray needs Ray: run {install_command('ray')}, or use --backend local"
        ) from error
    joined = not ray.is_initialized()
    if joined:
        _join_cluster(ray, address)
    try:
        remote = ray.remote(num_cpus=1, max_retries=RAY_RETRIES)(work)
        shared = ray.put(inputs)
        waiting = {remote.remote(shared, task): name for name, task in tasks.items()}
        while waiting:
            if not ray.is_initialized():
                raise PactError(
                    "the connection to the Ray cluster was closed; run the same command again,"
                    " finished work is kept"
                )
            ready, _ = ray.wait(list(waiting), num_returns=1, timeout=RAY_PATIENCE)
            for reference in ready:
                shards.write(waiting.pop(reference), ray.get(reference))
                bar.advance()
    except ray.exceptions.RayError as error:
        reason = str(error).splitlines()[0]
        raise PactError(
            f"the Ray cluster failed: {reason}; run the same command again, finished work is kept"
        ) from error
    finally:
        if joined:
            ray.shutdown()


def _join_cluster(ray: Any, address: str | None) -> None:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # no hint about GPUs
    quiet: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
    if address is None:
        ray.init(include_dashboard=False, **quiet)
        return
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(
            f"no Ray cluster answers at {address!r}: {reason}; start one with `ray start --head`"
        ) from error


def unit_names(prefix: str, count: int) -> Sequence[str]:
    """Return the names of `count` shards in order: the prefix and a four-digit number."""
    return [f"{prefix}{index:04d}" for index in range(count)]
