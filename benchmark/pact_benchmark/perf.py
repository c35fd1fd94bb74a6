"""Latency and throughput of the decision layer, measured here and now, as times and ratios."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from pact_core import (
    HANDOVER,
    HANDOVER_ROLES,
    CommandState,
    Source,
    SourceBatch,
    components,
    decide,
    decide_batch,
)

WARM_UP, BLOCKS, CALLS = 200, 5, 1000
PUBLISHED = {"scalar_decision": 195.8, "components_64": 150.8}
"""Microseconds that the paper reports for its own implementation and machine."""

GROWTH_SIZES = (64, 256, 1024, 4096, 16384, 65536)
PAIRWISE_SIZES = (64, 256, 1024)
"""Source counts of the pairwise method, which takes seconds beyond them."""

PARTITIONS = np.array([[0, 0, 0], [0, 0, 2], [0, 1, 0], [0, 1, 1], [0, 1, 2]])
"""Every partition of the three handover sources; the benchmark's own is the fourth."""

_MICRO = 1e6


def call_times(call: Callable[[], object], blocks: int = BLOCKS, calls: int = CALLS) -> list[float]:
    """Return the sorted times [s] of single calls after a warm-up, without garbage collection."""
    for _ in range(min(WARM_UP, calls)):
        call()
    clock, times = time.perf_counter_ns, []
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(blocks * calls):
            start = clock()
            call()
            times.append((clock() - start) * 1e-9)
    finally:
        if enabled:
            gc.enable()
    return sorted(times)


def median(times: Sequence[float]) -> float:
    """Return the median of sorted times."""
    return float(np.median(times))


def upper(times: Sequence[float], level: float = 0.95) -> float:
    """Return a quantile of sorted times by its rank, rounded up."""
    return times[int(np.ceil(level * len(times))) - 1]


def median_time(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time [s] of a long call."""
    return median(call_times(call, blocks=1, calls=repeats))


def example_sources() -> list[Source]:
    """Return three sources with one shared origin that pass every check."""
    language = (0.84, 0.04, 0.04, 0.04, 0.04)
    geometry = (0.36, 0.28, 0.16, 0.12, 0.08)
    risk = (0.35, 0.25, 0.20, 0.12, 0.08)
    command = CommandState("c0ffee", "c0ffee", "current")
    scene = {"acquisition:0", "occlusion:0"}
    return [
        Source("language", language, 0.80, 0.05, {"command:0"}, command=command),
        Source("geometry", geometry, 0.71, 0.10, scene | {"relation:0"}),
        Source("risk", risk, 0.75, 0.10, scene | {"risk_band:0"}),
    ]


def scalar_latency() -> dict[str, float]:
    """Time complete decisions, from parent sets to typed response, and with explanation."""
    sources = example_sources()
    plain = call_times(lambda: decide(sources, threshold=0.3))
    explained = call_times(lambda: decide(sources, threshold=0.3).values, blocks=2)
    return {
        "scalar_decision_median": median(plain) * _MICRO,
        "scalar_decision_p95": upper(plain) * _MICRO,
        "scalar_decision_published": PUBLISHED["scalar_decision"],
        "scalar_explained_median": median(explained) * _MICRO,
    }


def paired_parents(sources: int) -> list[frozenset[str]]:
    """Return parents that link sources 0-1, 2-3, and so on; each also has one of its own."""
    return [frozenset({f"pair-{i // 2}", f"own-{i}"}) for i in range(sources)]


def pairwise_components(parents: Sequence[Collection[str]]) -> list[int]:
    """Return components by testing every pair of parent sets, for comparison."""
    label = list(range(len(parents)))
    names = [frozenset(group) for group in parents]
    for i in range(len(parents)):
        for j in range(i):
            if label[i] != label[j] and not names[i].isdisjoint(names[j]):
                low, high = sorted((label[i], label[j]))
                label = [low if value == high else value for value in label]
    return label


def component_latency() -> dict[str, float]:
    """Time component discovery and fit how it grows with the number of sources.

    The exponents are of the fastest runs on disjoint pairs, sources with one shared and one private
    parent each. What ours has above one is the price of memory outside the caches.
    """
    parents = paired_parents(64)
    ours = median(call_times(lambda: components(parents)))
    pairwise = median(call_times(lambda: pairwise_components(parents), 1, 100))
    times = {n: fastest(components, n, max(15, 20000 // n)) for n in GROWTH_SIZES}
    slow = {n: fastest(pairwise_components, n, max(1, 3000 // n)) for n in PAIRWISE_SIZES}
    largest = PAIRWISE_SIZES[-1]
    return {
        "components_64_median": ours * _MICRO,
        "components_64_published": PUBLISHED["components_64"],
        "components_64_pairwise_over_ours": pairwise / ours,
        f"components_{largest}_pairwise_over_ours": slow[largest] / times[largest],
        "components_growth_exponent": growth_exponent(times),
        "components_pairwise_growth_exponent": growth_exponent(slow),
    }


def fastest(method: Callable[[list[frozenset[str]]], object], sources: int, calls: int) -> float:
    """Return the time [s] of the least disturbed discovery among that many sources."""
    return call_times(partial(method, paired_parents(sources)), 1, calls)[0]


def growth_exponent(times: dict[int, float]) -> float:
    """Return the slope of log time over log size."""
    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])


def random_batch(instances: int, seed: int = 0) -> SourceBatch:
    """Return a batch of the handover benchmark's shape with every array written out."""
    rng = np.random.default_rng(seed)
    lead = (instances, len(HANDOVER_ROLES))
    return SourceBatch(
        opinion=rng.dirichlet(np.ones(len(HANDOVER)), lead),
        quality=rng.random(lead),
        conflict=0.3 * rng.random(lead),
        unavailable=rng.random(lead) < 0.1,
        declared_invalid=rng.random(lead) < 0.02,
        component=np.tile(np.array([0, 1, 1]), (instances, 1)),
        command_missing=np.zeros(instances, dtype=bool),
        command_mismatch=rng.random(instances) < 0.05,
        command_stale=rng.random(instances) < 0.05,
        roles=HANDOVER_ROLES,
    )


def mixed_partitions(batch: SourceBatch, seed: int = 1) -> SourceBatch:
    """Return a batch in which every instance has one of the five partitions, at random."""
    kinds = np.random.default_rng(seed).integers(0, len(PARTITIONS), batch.shape)
    return batch.with_component(PARTITIONS[kinds])


def batch_arrays(batch: SourceBatch) -> list[np.ndarray[Any, Any]]:
    """Return the arrays that a batch holds."""
    names = [name for name in batch.__slots__ if name not in ("roles", "contracts")]
    return [value for name in names if (value := getattr(batch, name)) is not None]


def batch_throughput(instances: int) -> dict[str, float]:
    """Compare batched fusion, selection and admission with one copy of the inputs."""
    batch = random_batch(instances)
    mixed = mixed_partitions(batch)
    arrays = batch_arrays(batch)
    copies, decisions, varied = [], [], []
    for _ in range(7):  # interleaved, so that a busy machine slows all
        copies.append(median_time(lambda: [array.copy() for array in arrays], 1))
        decisions.append(median_time(lambda: decide_batch(batch, threshold=0.5), 1))
        varied.append(median_time(lambda: decide_batch(mixed, threshold=0.5), 1))
    per_instance = median(decisions) / instances
    tracemalloc.start()
    held = decide_batch(batch, threshold=0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del held
    rows = batch_to_sources(batch, min(instances, 5000))
    loop = median_time(lambda: [decide(row, threshold=0.5) for row in rows], 3) / len(rows)
    return {
        "batch_instances": instances,
        "batch_seconds": median(decisions),
        "batch_over_copy": median(decisions) / median(copies),
        "batch_over_copy_mixed": median(varied) / median(copies),
        "batch_over_scalar_loop": loop / per_instance,
        "batch_peak_memory_over_inputs": peak / sum(array.nbytes for array in arrays),
    }


def batch_to_sources(batch: SourceBatch, count: int) -> list[list[Source]]:
    """Return the first instances of a random batch as single sources with the same partition."""
    parents = ({"command"}, {"scene", "geometry"}, {"scene", "risk"})
    rows = []
    for i in range(count):
        stale = bool(batch.command_mismatch[i] | batch.command_stale[i])
        command = CommandState("now", "before" if stale else "now", "current")
        rows.append(
            [
                Source(
                    role,
                    batch.opinion[i, j].tolist(),
                    float(batch.quality[i, j]),
                    float(batch.conflict[i, j]),
                    parents[j],
                    available=not batch.unavailable[i, j],
                    declared_valid=not batch.declared_invalid[i, j],
                    command=command if j == 0 else None,
                )
                for j, role in enumerate(batch.roles)
            ]
        )
    return rows


STEP_RULES = (
    "pact", "pact_singleton", "nested_dirichlet", "product", "quality_weighted",
    "global_cautious", "hierarchy_cautious", "provenance_pooling",
)  # fmt: skip


def step_latency() -> dict[str, float]:
    """Time one step of the extension: observe, synthesise, decide by eight rules."""
    from pact_scenes.catalogue import load_catalogue
    from pact_scenes.model import build_model
    from pact_scenes.observation import Observer
    from pact_scenes.pipeline import StepPipeline
    from pact_scenes.rollout import roll_out
    from pact_scenes.simulators.kinematic import KinematicSimulator

    model = build_model(load_catalogue()[0])
    state = roll_out(model, KinematicSimulator(), transfer=False).states[-1]
    observer, pipeline = Observer(model), StepPipeline(rules=STEP_RULES, seed=0)

    def step() -> object:
        return pipeline.decide(observer.observe(state), "clean_control", "N")

    return {"step_pipeline_median": median(call_times(step, blocks=1, calls=300)) * _MICRO}


def measure(instances: int = 1_000_000) -> dict[str, float | None]:
    """Measure everything; times in microseconds, ratios as plain numbers, None = not available.

    Args:
        instances: Size of the batch.
    """
    from pact_benchmark.perf_peers import peer_ratios

    results: dict[str, float | None] = {}
    for part in (
        scalar_latency(),
        component_latency(),
        batch_throughput(instances),
        step_latency(),
        peer_ratios(),
    ):
        results.update(part)
    return results
