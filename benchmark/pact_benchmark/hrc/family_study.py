"""Model families as a grouping hypothesis: budgets, operators and the ranking of pairings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pact_benchmark.hrc.evidence import PRIOR_STRENGTH, evidence_of, ready_probability
from pact_benchmark.hrc.names import LLAVA, in_order, label
from pact_benchmark.hrc.pairings import (
    Pair,
    Ranking,
    checkpoints_of,
    equal_task_weights,
    error_tables,
    family_pairing,
    pair_phi,
    rank_pairings,
)
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.schema import PROXIMAL
from pact_benchmark.hrc.statistics import (
    Floats,
    Strata,
    ncsaurc,
    ncsaurc_draws,
    percentile_interval,
    quantile_ece,
)
from pact_benchmark.study import Statistic, StudyResult, Table

SEED = 5401
FAMILY, SEPARATE, MERGED = "pact_family", "pact_separate", "pact_merged"
OPERATORS = {
    "product": "Product",
    "nested_dirichlet": "Nested Dirichlet",
    "hier_cautious": "Hierarchy-matched cautious",
    FAMILY: "PACT, model families",
    SEPARATE: "PACT, checkpoints separate",
    MERGED: "PACT, all checkpoints merged",
}
COMPARED = ("product", "nested_dirichlet", "hier_cautious", FAMILY, SEPARATE)


@dataclass(frozen=True, slots=True)
class Panel:
    """READY probabilities of several checkpoints on the same event windows.

    Attributes:
        frame: Columns task, episode, event, window; one row per event window.
        checkpoints: Column names of `p`.
        p: Shape [rows, checkpoints].
        ready: The reference, shape [rows].
        group: Family index of each checkpoint, shape [checkpoints].
    """

    frame: pd.DataFrame
    checkpoints: tuple[str, ...]
    p: Floats
    ready: npt.NDArray[np.bool_]
    group: npt.NDArray[np.int64]


def build_panel(recordings: Recordings) -> Panel | None:
    """Return the event windows that every checkpoint of the panel answered; None without any."""
    outputs = recordings.panel_outputs
    if outputs["checkpoint"].nunique() < 2:
        return None
    p = ready_probability(
        outputs["log_odds_map0"].to_numpy(dtype=float),
        outputs["log_odds_map1"].to_numpy(dtype=float),
    )
    keys = ["task", "episode", "event", "window"]
    first = outputs.assign(p=p).drop_duplicates([*keys, "checkpoint"])
    wide = first.pivot(index=keys, columns="checkpoint", values="p").dropna().sort_index()
    if not len(wide):
        return None
    checkpoints = tuple(in_order(wide.columns))
    families = [recordings.families.get(name, name) for name in checkpoints]
    order = {family: index for index, family in enumerate(dict.fromkeys(families))}
    frame = wide.index.to_frame(index=False)
    return Panel(
        frame=frame,
        checkpoints=checkpoints,
        p=wide[list(checkpoints)].to_numpy(dtype=float),
        ready=(frame["window"] == PROXIMAL).to_numpy(dtype=bool),
        group=np.array([order[family] for family in families], dtype=np.int64),
    )


def _meet_sum(evidence: Floats, group: npt.NDArray[np.int64]) -> Floats:
    """Return summed evidence, shape [rows, 2], of the coordinatewise minimum in each group."""
    parts = [evidence[:, group == g].min(axis=1) for g in np.unique(group)]
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


def fused_ready(panel: Panel) -> dict[str, tuple[Floats, Floats]]:
    """Return fused p(READY) and the evidence budget (NaN where there is none) of every operator.

    The operators take each checkpoint at half weight: belief (or mass) p/2, uncertainty (or mass
    of the frame) 1/2. Hierarchy-matched cautious fusion takes the minimum of the weights within a
    family, composes across families and normalises once.
    """
    p = panel.p
    # Belief p/2 over uncertainty 1/2 leaves p itself as the ratio.
    ratio = np.stack([1.0 - p, p], axis=-1)
    families = np.unique(panel.group)
    cautious = np.stack([ratio[:, panel.group == g].min(axis=1) for g in families], axis=1)
    clipped = np.clip(p, 1e-12, 1.0 - 1e-12)
    odds = np.clip((np.log(clipped) - np.log1p(-clipped)).sum(axis=1), -60.0, 60.0)
    none = np.full(len(p), np.nan)
    results: dict[str, tuple[Floats, Floats]] = {
        "product": (1.0 / (1.0 + np.exp(-odds)), none),
        "nested_dirichlet": (_composed(ratio), none),
        "hier_cautious": (_composed(cautious), none),
    }
    evidence = evidence_of(p)
    size = len(panel.checkpoints)
    groups = {
        FAMILY: panel.group,
        SEPARATE: np.arange(size),
        MERGED: np.zeros(size, dtype=np.int64),
    }
    for name, group in groups.items():
        total = _meet_sum(evidence, group)
        budget = total.sum(axis=1)
        results[name] = (
            (total[:, 1] + 0.5 * PRIOR_STRENGTH) / (budget + PRIOR_STRENGTH),
            budget,
        )
    return results


def _composed(ratio: Floats) -> Floats:
    """Return p(READY) of opinions composed by 1 + r_k = Π_i (1 + r_ik), r = belief / uncertainty.

    Args:
        ratio: Shape [rows, opinions, 2] in the order (NOT READY, READY).
    """
    total = np.prod(1.0 + ratio, axis=1) - 1.0
    return np.asarray((total[:, 1] + 0.5) / (1.0 + total.sum(axis=1)), dtype=np.float64)


def family_study(recordings: Recordings, draws: int) -> StudyResult | None:
    """Rank pairings and compare operators; None without pair tables or panel outputs."""
    panel = build_panel(recordings)
    statistics: dict[str, Statistic] = {}
    tables: list[Table] = []
    if panel is not None:
        _operators(panel, draws, statistics, tables)
    rankings = family_rankings(recordings, panel)
    for name, ranking in rankings.items():
        n = len(ranking.pairings)
        statistics[f"family.rank_{name}"] = Statistic(ranking.rank, n=n)
        statistics[f"family.tied_or_higher_{name}"] = Statistic(ranking.tied_or_higher, n=n)
        statistics[f"family.tail_{name}"] = Statistic(ranking.tail, n=n)
    if rankings:
        tables.append(_ranking_table(rankings))
    if not tables:
        return None
    reading = (
        "The supplied families change the budget; whether errors of the checkpoints point to the "
        "same pairs is asked by ranking the family pairing among all pairings."
    )
    return StudyResult(statistics, tables, [], reading)


def family_rankings(recordings: Recordings, panel: Panel | None) -> dict[str, Ranking]:
    """Return the ranking under pooled weights, equal task weights, and without each family."""
    association: dict[str, dict[Pair, float]] = {}
    names: tuple[str, ...] = ()
    if panel is not None:
        # READY on ties, as the panel's protocol has it.
        wrong = (panel.p >= 0.5) != panel.ready[:, None]
        names = panel.checkpoints
        ones = np.ones(len(wrong))
        weights = equal_task_weights(panel.frame["task"].to_numpy())
        association["pooled"] = pair_phi(error_tables(wrong, ones, names))
        association["equal_task"] = pair_phi(error_tables(wrong, weights, names))
    elif len(recordings.pairs):
        names = checkpoints_of(recordings.pairs)
        association["pooled"] = pair_phi(recordings.pairs)
    found: dict[str, Ranking] = {}
    for name, values in association.items():
        ranking = _rank(values, names, recordings.families)
        if ranking is not None:
            found[name] = ranking
    for family in dict.fromkeys(recordings.families.get(name, "") for name in names):
        rest = tuple(name for name in names if recordings.families.get(name) != family)
        ranking = _rank(association.get("pooled", {}), rest, recordings.families)
        if ranking is not None:
            found[f"without_{_slug(family)}"] = ranking
    return found


def _slug(family: str) -> str:
    return (
        "llava" if family == LLAVA else "".join(c if c.isalnum() else "_" for c in family).lower()
    )


def _rank(
    association: Mapping[Pair, float], names: tuple[str, ...], families: Mapping[str, str]
) -> Ranking | None:
    family = family_pairing(names, families)
    complete = all(frozenset((a, b)) in association for a in names for b in names if a != b)
    if family is None or not complete or not 2 < len(names) <= 12:
        return None
    return rank_pairings(association, names, family)


def _operators(
    panel: Panel, draws: int, statistics: dict[str, Statistic], tables: list[Table]
) -> None:
    fused = fused_ready(panel)
    family_p, family_budget = fused[FAMILY]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = {
            name: float((budget / family_budget).mean()) for name, (_, budget) in fused.items()
        }
    # A retained row counts as wrong when the reference is NOT READY; rows rank by fused p(READY).
    risk = (~panel.ready).astype(float)
    rows: list[dict[str, Any]] = []
    areas: dict[str, float] = {}
    for name, (p, _) in fused.items():
        correct = (p >= 0.5) == panel.ready
        truth = np.clip(np.where(panel.ready, p, 1.0 - p), 1e-12, 1.0)
        areas[name] = ncsaurc(p, risk)
        rows.append(
            {
                "Operator": OPERATORS[name],
                "Acc. (%)": 100.0 * float(correct.mean()),
                "NLL": float(-np.log(truth).mean()),
                "Brier": float((2.0 * (p - panel.ready) ** 2).mean()),
                "ECE": quantile_ece(np.maximum(p, 1.0 - p), correct),
                "ncsAURC": areas[name],
                "Budget ratio": ratios[name],
                "ℓ1 drift": float((2.0 * np.abs(p - family_p)).mean()),
            }
        )  # fmt: skip
    places = list(fused)
    n = len(panel.frame)

    def cell(name: str, column: str) -> Statistic:
        return Statistic(float(rows[places.index(name)][column]), n=n)

    low, high = _area_interval(panel, fused["nested_dirichlet"][0], family_p, risk, draws)
    compared = [areas[name] for name in COMPARED]
    statistics |= {
        "family.separate.budget_ratio": cell(SEPARATE, "Budget ratio"),
        "family.merge_all.budget_ratio": cell(MERGED, "Budget ratio"),
        "family.acc_pct": cell(FAMILY, "Acc. (%)"),
        "family.separate.acc_pct": cell(SEPARATE, "Acc. (%)"),
        "family.merge_all.acc_pct": cell(MERGED, "Acc. (%)"),
        "family.separate.l1": cell(SEPARATE, "ℓ1 drift"),
        "family.merge_all.l1": cell(MERGED, "ℓ1 drift"),
        "family.nested_dirichlet_acc_pct": cell("nested_dirichlet", "Acc. (%)"),
        "family.hier_cautious_acc_pct": cell("hier_cautious", "Acc. (%)"),
        "family.product_nll": cell("product", "NLL"),
        "family.pact_nll": cell(FAMILY, "NLL"),
        "family.ncsaurc_min": Statistic(min(compared), n=n),
        "family.ncsaurc_max": Statistic(max(compared), n=n),
        "family.nested_minus_pact_ncsaurc": Statistic(
            areas["nested_dirichlet"] - areas[FAMILY], low, high, n
        ),
    }
    note = (
        "Pooled over event windows. ncsAURC ranks by fused p(READY) and counts a retained window "
        "as wrong when the reference is NOT READY. Budget ratio and drift are relative to model "
        "families."
    )
    title = "Fusion operators on the checkpoint panel"
    tables.append(Table("hrc_family_operators", title, pd.DataFrame(rows), note))


def _area_interval(
    panel: Panel, left: Floats, right: Floats, risk: Floats, draws: int
) -> tuple[float, float]:
    """Return the interval of ncsAURC(left) − ncsAURC(right), episodes resampled within tasks."""
    strata = Strata.of(panel.frame)
    counts = strata.counts(SEED, draws)
    offset, start = {}, 0
    for task in strata.tasks:
        offset[task] = start
        start += len(strata.episodes[task])
    unit = np.empty(len(panel.frame), dtype=np.int64)
    tasks = panel.frame["task"].to_numpy()
    for task in strata.tasks:
        rows = tasks == task
        unit[rows] = offset[task] + strata.unit(task, panel.frame.loc[rows, "episode"])
    pooled = np.hstack([counts[task] for task in strata.tasks])
    difference = ncsaurc_draws(left, risk, unit, pooled) - ncsaurc_draws(right, risk, unit, pooled)
    return percentile_interval(difference)


def _ranking_table(rankings: Mapping[str, Ranking]) -> Table:
    labels = {"pooled": "Pooled event windows", "equal_task": "Equal task weights"}
    rows = []
    for name, ranking in rankings.items():
        best = ranking.pairings[int(np.argmax(ranking.statistic))]
        pairs = "; ".join(sorted(" + ".join(label(x) for x in sorted(pair)) for pair in best))
        rows.append(
            {
                "Weighting": labels.get(name, f"Pooled, {name.replace('_', ' ')} (post hoc)"),
                "Pairings": len(ranking.pairings),
                "Family statistic": float(ranking.statistic[ranking.family]),
                "Rank": ranking.rank,
                "Tied or higher": ranking.tied_or_higher,
                "Tail": ranking.tail,
                "Highest pairing": pairs,
            }
        )
    note = (
        "Mean within-pair minus mean between-pair φ of binary errors. Equal task weighting gives "
        "every task the same total weight in the two-by-two tables. The family labels are a "
        "surrogate: a high rank would not establish shared errors, a low one does not refute them."
    )
    return Table("hrc_pairings", "Where the model-family pairing ranks", pd.DataFrame(rows), note)
