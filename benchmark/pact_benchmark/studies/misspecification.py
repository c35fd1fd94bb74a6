"""Wrong provenance for a share of the instances, with opinions unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.bootstrap import interval
from pact_benchmark.data import Benchmark
from pact_benchmark.estimates import evaluation_of, exact_share
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILION, new_figure
from pact_benchmark.studies._arms import row_kappa
from pact_benchmark.studies._cutoffs import above_cutoff, fold_cutoffs
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study
from pact_core import FusionOptions, Partition, admissible, bridge, components, fuse

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Parents = tuple[frozenset[Hashable], ...]

RATES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
MASK_SEEDS = range(10)
DRAWS = 1000
SEED_INTERVAL = 195600
SEED_SINGLETON = 195601
WRONG_COST, WITHHELD_COST = 5.0, 0.5
CANDIDATES = ("product", "pact")

REFERENCE_PARENTS: Parents = (
    frozenset({"command"}),
    frozenset({"scene", "relation", "occlusion"}),
    frozenset({"scene", "risk_band", "occlusion"}),
)
"""What language, geometry and risk of one decision descend from."""


def _renamed(names: Collection[Hashable], owner: str) -> frozenset[Hashable]:
    shared = {"scene", "occlusion"}
    return frozenset(f"{name}@{owner}" if name in shared else name for name in names)


def intervened_parents(name: str) -> Parents:
    """Return the parent sets that an intervention leaves."""
    language, geometry, risk = REFERENCE_PARENTS
    if name == "false_refinement":
        return language, geometry, _renamed(risk, "risk")
    if name == "distinct_parents":
        return frozenset({"private:0"}), frozenset({"private:1"}), frozenset({"private:2"})
    if name == "merging":
        return language | {"extra"}, geometry | {"extra"}, risk | {"extra"}
    if name == "bridging":
        return bridge(REFERENCE_PARENTS, 0, 2)
    if name == "recoverable_deletion":
        # The deleted scene edge is restored from the manifest before components are built.
        deleted = (language, geometry - {"scene"}, risk - {"scene"})
        return tuple(names | whole for names, whole in zip(deleted, REFERENCE_PARENTS, strict=True))
    raise ValueError(f"unknown intervention {name!r}")


INTERVENTIONS = (
    "false_refinement",
    "merging",
    "recoverable_deletion",
    "distinct_parents",
    "bridging",
)
MASK_KEY = {name: name for name in INTERVENTIONS} | {"distinct_parents": "false_refinement"}
SHORT = {
    "false_refinement": "refinement",
    "merging": "merging",
    "recoverable_deletion": "deletion",
    "distinct_parents": "distinct_parents",
    "bridging": "bridging",
}
LOOK = {
    "false_refinement": ("false refinement", VERMILION, "^", "-", 3.2),
    "distinct_parents": ("incorrect distinct parents", ORANGE, "x", "--", 1.4),
    "merging": ("merging", BLUE, "o", "-", 4.6),
    "bridging": ("bridging", PURPLE, "s", "--", 2.8),
    "recoverable_deletion": ("recoverable deletion", GREEN, "D", ":", 1.4),
}
"""Label, colour, marker, line and width; interventions that coincide lie on top of each other."""


def corrupted(benchmark: Benchmark, key: str, seed: int, rate: float) -> Bools:
    """Return the rows whose scene and label were drawn for corruption [n].

    Each of the clusters (scene × label) has one uniform number per key and seed; a larger rate
    corrupts a superset.
    """
    labels = len(benchmark.sources.contracts)
    numbers = [
        _uniform(f"{scene}-{label}|{key}|{seed}")
        for scene in benchmark.scene_ids
        for label in benchmark.sources.contracts
    ]
    return np.asarray(np.array(numbers)[benchmark.scene * labels + benchmark.label] < rate)


def _uniform(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2.0**64


@dataclass(frozen=True, slots=True)
class Decisions:
    """Which rows are admitted, and wrongly, under one partition of all rows; each [n]."""

    admitted: Bools
    wrong: Bools


def decide_under(
    evaluation: Evaluation, rule: str, partition: Partition, cutoffs: Floats
) -> Decisions:
    """Fuse and admit under another partition, at cutoffs fitted under the declared one."""
    benchmark = evaluation.benchmark
    sources = benchmark.sources.with_component(np.asarray(partition))
    fused = fuse(sources, rule=rule, options=FusionOptions(kappa=row_kappa(evaluation)))
    contract = np.asarray(fused.contract)
    admitted = (
        benchmark.base_eligible
        & above_cutoff(evaluation, np.asarray(fused.score), cutoffs)
        & np.asarray(admissible(sources, contract, evaluation.policy))
    )
    return Decisions(admitted, admitted & (contract != benchmark.label))


def pairwise_f1(partition: Partition, share: float) -> float:
    """Return the F1 of linked pairs when this share of the clusters has the wrong partition."""
    reference = components(REFERENCE_PARENTS)
    pairs = [(i, j) for i in range(3) for j in range(i + 1, 3)]
    true = np.array([reference[i] == reference[j] for i, j in pairs])
    found = np.array([partition[i] == partition[j] for i, j in pairs])
    hits = share * (true & found).sum() + (1.0 - share) * true.sum()
    reported = share * found.sum() + (1.0 - share) * true.sum()
    return float(2.0 * hits / (reported + true.sum()))


def _grid(
    evaluation: Evaluation, rule: str, decisions: dict[Partition, Decisions]
) -> list[dict[str, Any]]:
    """Return the outcome of every intervention and rate, with intervals."""
    benchmark = evaluation.benchmark
    scenes = benchmark.scenes
    rows = np.bincount(benchmark.scene, minlength=scenes).astype(np.float64)
    reference = decisions[components(REFERENCE_PARENTS)]
    records = []
    for position, name in enumerate(INTERVENTIONS):
        partition = components(intervened_parents(name))
        changed = decisions[partition]
        for rate in RATES:
            masks = [corrupted(benchmark, MASK_KEY[name], seed, rate) for seed in MASK_SEEDS]
            wrong, admitted = (
                np.stack(
                    [
                        np.bincount(
                            benchmark.scene,
                            np.where(mask, getattr(changed, what), getattr(reference, what)),
                            scenes,
                        )
                        for mask in masks
                    ]
                )
                for what in ("wrong", "admitted")
            )
            found = wrong_share(wrong, rows, SEED_INTERVAL + int(100 * rate) + position)
            total = rows.sum()
            cost = WRONG_COST * wrong.sum(axis=1) + WITHHELD_COST * (total - admitted.sum(axis=1))
            share = float(np.mean([mask.mean() for mask in masks]))
            records.append(
                {
                    "candidates": rule,
                    "intervention": name,
                    "rate": rate,
                    "corrupted rows": share,
                    "R_all": found.value,
                    "low": found.low,
                    "high": found.high,
                    "coverage": float(admitted.sum(axis=1).mean() / total),
                    "cost": float(cost.mean() / total),
                    "partition F1": pairwise_f1(partition, share),
                    "note": found.note,
                }
            )
    return records


@lru_cache(maxsize=64)
def two_stage_draws(seed: int, masks: int, scenes: int) -> tuple[Ints, Ints]:
    """Return the mask [draws] and then the scenes [draws, S] that each draw picks in turn."""
    rng = np.random.default_rng(seed)
    pairs = [(rng.integers(masks), rng.integers(scenes, size=scenes)) for _ in range(DRAWS)]
    return np.array([mask for mask, _ in pairs]), np.array([picked for _, picked in pairs])


def wrong_share(wrong: NDArray[Any], rows: Floats, seed: int) -> Statistic:
    """Return wrong admissions over all rows, averaged over masks, with a two-stage interval.

    Args:
        wrong: wrong admissions by mask and scene [masks, S].
        rows: rows of each scene [S].
        seed: seed of the draws.
    """
    size = int(rows.sum())
    if not wrong.any():
        return exact_share(0, size, int(np.count_nonzero(rows)))
    masks, scenes = two_stage_draws(seed, *wrong.shape)
    draws = wrong[masks[:, None], scenes].sum(axis=1) / rows[scenes].sum(axis=1)
    return Statistic(float(wrong.sum(axis=1).mean() / size), *interval(draws), size)


@study(
    "misspecification",
    title="Misspecified provenance",
    purpose="What do wrong parent records do to admission when the opinions stay the same?",
    order=240,
)
def misspecification(context: StudyContext) -> StudyResult:
    """Corrupt the provenance of a share of the clusters, cutoffs held at 0.13."""
    evaluation = evaluation_of(context)
    benchmark = evaluation.benchmark
    partitions = {components(intervened_parents(name)) for name in INTERVENTIONS}
    distinct = components(intervened_parents("distinct_parents"))
    statistics: dict[str, Statistic] = {}
    records: list[dict[str, Any]] = []
    singleton: dict[str, float] = {}
    rows = np.bincount(benchmark.scene, minlength=benchmark.scenes).astype(np.float64)
    for rule in CANDIDATES:
        cutoffs = fold_cutoffs(evaluation, evaluation.rankings(rule, stage="after"))
        decisions = {
            partition: decide_under(evaluation, rule, partition, cutoffs)
            for partition in partitions | {components(REFERENCE_PARENTS)}
        }
        wrong = np.bincount(benchmark.scene, decisions[distinct].wrong, benchmark.scenes)
        baseline = wrong_share(wrong[None], rows, SEED_SINGLETON)
        rate = singleton[rule] = float(wrong.sum() / rows.sum())
        prefix = "misspecification" if rule == "product" else f"misspecification.{rule}"
        note = f"{rule} candidates"
        statistics[f"{prefix}.singleton.wrong_all"] = baseline.noted(note)
        grid = _grid(evaluation, rule, decisions)
        records += grid
        for row in (row for row in grid if row["rate"] == 0.5):
            name = f"{prefix}.{SHORT[row['intervention']]}_050"
            achieved = f"{note}; the masks corrupt {row['corrupted rows']:.1%} of rows on average"
            statistics[f"{name}.wrong_all"] = Statistic(
                row["R_all"], row["low"], row["high"], benchmark.n, row["note"]
            ).noted(achieved)
            statistics[f"{name}.below_singleton"] = Statistic(
                1.0 - row["R_all"] / rate if rate > 0 else None, n=benchmark.n, note=note
            )
    frame = pd.DataFrame.from_records(records).drop(columns="note")
    table = Table(
        "misspecification",
        "Wrong admissions under misspecified provenance, cutoffs fitted under the declared one",
        frame,
        "Mean over ten masks; intervals draw a mask and then scenes, or are exact binomial ones"
        " where no admission is wrong. The published figures replay"
        " an earlier runtime whose candidates product fusion matches; PACT's are reported beside.",
    )
    figure = Figure(
        "misspecification",
        "Wrong admissions by misspecification rate",
        "Share of wrong admissions against the rate of misspecified clusters for five"
        " interventions, with product's and with PACT's candidates; refinement and distinct"
        " parents rise to the singleton reference, the others do not.",
        lambda: _draw(frame, singleton),
    )
    reading = (
        "Splitting a component admits what corroboration would have stopped; merging and a"
        " deletion that the manifest restores do not. Refinement and distinct parents coincide."
    )
    return StudyResult(statistics, [table], [figure], reading)


def _draw(frame: pd.DataFrame, singleton: dict[str, float]) -> MatplotlibFigure:
    figure = new_figure(8.0, 3.8)
    axes = figure.subplots(1, 2, sharey=True)
    titles = {"product": "(a) product candidates", "pact": "(b) PACT candidates"}
    for axis, (rule, title) in zip(axes, titles.items(), strict=True):
        for name, (label, colour, marker, line, width) in LOOK.items():
            rows = frame[(frame["candidates"] == rule) & (frame["intervention"] == name)]
            axis.plot(
                rows["rate"],
                rows["R_all"],
                color=colour,
                marker=marker,
                linestyle=line,
                linewidth=width,
                markersize=2 * width,
                label=label,
            )
            axis.fill_between(
                rows["rate"], rows["low"], rows["high"], color=colour, alpha=0.12, linewidth=0
            )
        axis.axhline(
            singleton[rule], color=BLACK, linewidth=0.9, linestyle="--", label="singleton reference"
        )
        axis.set_xlabel("misspecification rate")
        axis.set_title(title)
    axes[0].set_ylabel("wrong admissions / all instances")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure
