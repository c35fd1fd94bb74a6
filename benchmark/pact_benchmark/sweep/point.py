"""One setting of the sweep: synthesise every instance anew, fuse, admit, measure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.curve_metrics import SupportError, ncsaurc
from pact_benchmark.data import assemble
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.selection import Curve
from pact_benchmark.sweep.design import Setting
from pact_benchmark.sweep.memory import keep_freed_memory
from pact_core import AdmissionPolicy
from pact_scenes.conditions import LABELS, Condition
from pact_scenes.opinions import OpinionParams, synthesise


@dataclass(frozen=True)
class SweepInputs:
    """What every point of a sweep shares; small, and sent to each worker.

    Attributes:
        observations: columns of the stored observations, one row per scene and step.
        conditions: the source conditions.
        params: opinion parameters before a setting changes them.
        seed: root of all draws, so that settings differ in nothing but their factors.
        kappa: concentration of each outer fold, that of the main study.
        folds: fold of each scene.
        policy: the common admission policy.
        rules: rules that are measured.
        support: coverage interval of the area.
        target: coverage at which admissions are counted.
    """

    observations: Mapping[str, NDArray[Any]]
    conditions: tuple[Condition, ...]
    params: OpinionParams
    seed: int
    kappa: tuple[float, ...]
    folds: Mapping[str, int]
    policy: AdmissionPolicy
    rules: tuple[str, ...]
    support: tuple[float, float]
    target: float


def measure(inputs: SweepInputs, setting: Setting) -> dict[str, dict[str, Any]]:
    """Return what each rule achieves after admission at one setting."""
    params = inputs.params.override(**setting.to_json())
    table = synthesise(inputs.observations, inputs.conditions, LABELS, params, inputs.seed)
    benchmark = assemble(
        table.to_batch(),
        label=table.label,
        scene_id=table.scene_id,
        condition=table.condition,
        record_id=np.arange(len(table)),
        folds=inputs.folds,
    )
    evaluation = Evaluation(benchmark, kappa=inputs.kappa, policy=inputs.policy)
    return {rule: _outcome(evaluation.curve(rule, stage="after"), inputs) for rule in inputs.rules}


def _outcome(curve: Curve, inputs: SweepInputs) -> dict[str, Any]:
    point = curve.at(inputs.target)
    try:
        area, reason = ncsaurc(curve, *inputs.support), None
    except SupportError as error:
        area, reason = None, str(error)
    return {
        "ncsaurc": area,
        "reason": reason,
        "n": point.n,
        "admitted": point.admitted,
        "wrong": point.wrong,
    }


def point_shard(inputs: SweepInputs, setting: Setting) -> bytes:
    """Return the shard of one setting: JSON with sorted keys."""
    keep_freed_memory()
    content = {"setting": setting.to_json(), "rules": measure(inputs, setting)}
    return (json.dumps(content, sort_keys=True, indent=1) + "\n").encode("ascii")
