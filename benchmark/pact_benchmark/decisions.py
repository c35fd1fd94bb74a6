"""The held-out decisions of every rule at the reported operating point, row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pact_benchmark.evaluation import Evaluation
from pact_benchmark.selection import target_counts, threshold
from pact_core import FusionOptions, Status, decide_batch


def held_out_decisions(evaluation: Evaluation, rule: str, target: float) -> pd.DataFrame:
    """Return one row per instance: candidate, score, cutoff, status, response and check.

    Each row is decided with the concentration of its own outer fold and the cutoff fitted on the
    other folds, among the rows that pass admission there.
    """
    benchmark = evaluation.benchmark
    cutoff = np.empty(benchmark.n)
    for fold, ranking in enumerate(evaluation.rankings(rule, stage="after")):
        test = benchmark.fold == fold
        count = int(target_counts(target, int((~test).sum()))[0])
        cutoff[test] = threshold(ranking.score[~test], ranking.available[~test], count)
    kappa = evaluation.kappa[benchmark.fold]
    decided = decide_batch(
        benchmark.sources,
        rule=rule,
        options=FusionOptions(kappa=kappa),
        threshold=cutoff,
        policy=evaluation.policy,
    )
    contracts = benchmark.sources.contracts.names
    stop = np.asarray(decided.stop)
    frame = pd.DataFrame(
        {
            "record_id": benchmark.record_id,
            "outer_fold": benchmark.fold,
            "kappa": kappa,
            "contract": np.array(contracts)[np.asarray(decided.fused.contract)],
            "label": np.array(contracts)[benchmark.label],
            "score": np.asarray(decided.fused.score),
            "cutoff": cutoff,
            "base_eligible": np.asarray(decided.base_eligible),
            "status": np.where(stop == 0, Status.ADMITTED.value, Status.WITHHELD.value),
            "response": np.array([response.value for response in decided.responses])[stop],
            "check": np.array([None, *decided.stops], dtype=object)[stop],
        }
    )
    posterior = np.asarray(decided.fused.posterior)
    for index, name in enumerate(contracts):
        frame[f"posterior_{name}"] = posterior[:, index]
    return frame
