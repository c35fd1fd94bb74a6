"""Roll scenes out in one simulator and write the benchmark's rows, scene by scene.

The output is a recording folder that `pact import` turns into a run folder. Every scene's
observations are written as soon as they are there, so that an interrupted run goes on where it was
and a scene that fails does not cost the others.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pact_core import HANDOVER, FusionOptions, decide_batch
from pact_scenes.catalogue import SceneSpec
from pact_scenes.conditions import LABELS, load_conditions
from pact_scenes.instances import InstanceTable
from pact_scenes.model import build_model
from pact_scenes.opinions import OpinionParams, synthesise
from pact_scenes.rollout import roll_out
from pact_scenes.simulators.protocol import Simulator

from .recorder import Recorder, json_line, write_text

Say = Callable[[str], None]
PARTS = "scenes"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did: scene ids by what became of them, and the number of rows."""

    done: tuple[str, ...]
    resumed: tuple[str, ...]
    failed: tuple[str, ...]
    rows: int

    @property
    def exit_code(self) -> int:
        """0 when every scene is there, otherwise 1."""
        return 1 if self.failed or not (self.done or self.resumed) else 0


def run_benchmark(
    output: Path,
    scenes: Sequence[SceneSpec],
    simulator: Simulator,
    *,
    seed: int,
    rules: Sequence[str] = ("pact",),
    kappa: float = 8.0,
    say: Say = lambda _text: None,
) -> Summary:
    """Roll out the scenes that are not there yet, then write the rows of all that are.

    Args:
        output: Folder of the run; a run of the same scenes in it is continued.
        scenes: Scenes to roll out.
        simulator: An open backend; one scene at a time.
        seed: Seed of the synthesised opinions.
        rules: Rules whose decisions are written as well.
        kappa: Evidence scale of these decisions.
        say: Called with one line of progress per scene.
    """
    done, resumed, failed = [], [], []
    for number, spec in enumerate(scenes, start=1):
        place = f"[{number}/{len(scenes)}] {spec.scene_id}"
        if _part(output, spec.scene_id).exists():
            resumed.append(spec.scene_id)
            say(f"{place}: there already")
            continue
        try:
            _roll_out_scene(output, spec, simulator)
        except Exception as error:  # a failing scene is recorded and must not stop the others
            failed.append(spec.scene_id)
            _write_failure(output, spec.scene_id, error)
            say(f"{place}: FAILED: {error}")
        else:
            done.append(spec.scene_id)
            say(f"{place}: done")
    rows = 0
    if done or resumed:
        kept = [spec.scene_id for spec in scenes if spec.scene_id not in failed]
        rows = _write_rows(output, kept, seed, rules, kappa)
    return Summary(tuple(done), tuple(resumed), tuple(failed), rows)


def _part(output: Path, scene_id: str) -> Path:
    return output / PARTS / f"{scene_id}.jsonl"


def _roll_out_scene(output: Path, spec: SceneSpec, simulator: Simulator) -> None:
    rollout = roll_out(build_model(spec), simulator)
    rows = [json_line(observation.as_dict()) for observation in rollout.observations]
    write_text(_part(output, spec.scene_id), "".join(rows))
    (output / PARTS / f"{spec.scene_id}.failed.txt").unlink(missing_ok=True)


def _write_failure(output: Path, scene_id: str, error: Exception) -> None:
    text = "".join(traceback.format_exception(error))
    write_text(output / PARTS / f"{scene_id}.failed.txt", text)


def _write_rows(
    output: Path, scene_ids: Sequence[str], seed: int, rules: Sequence[str], kappa: float
) -> int:
    """Write observations, instances and decisions of the scenes as one recording."""
    observations = [
        json.loads(line)
        for scene_id in sorted(scene_ids)
        for line in _part(output, scene_id).read_text(encoding="utf-8").splitlines()
    ]
    columns = {name: np.array([row[name] for row in observations]) for name in observations[0]}
    table = synthesise(columns, load_conditions(), LABELS, OpinionParams.default(), seed)
    (output / "manifest.json").unlink(missing_ok=True)
    recorder = Recorder(
        output,
        {
            "backend": observations[0]["backend"],
            "seed": seed,
            "scenes": sorted(scene_ids),
            "kappa": kappa,
            "rules": list(rules),
        },
    )
    recorder.write("observations", observations)
    recorder.write("instances", table.rows())
    for rule in rules:
        recorder.write("decisions", decision_rows(table, rule, kappa))
    recorder.close()
    return len(table)


def decision_rows(table: InstanceTable, rule: str, kappa: float) -> Iterator[dict[str, Any]]:
    """Yield one rule's decisions on all rows, in the form of `pact decide`."""
    decided = decide_batch(table.to_batch(), rule=rule, options=FusionOptions(kappa=kappa))
    fused, identities = decided.fused, table.record_id
    for i in range(len(table)):
        status, response, check = decided.outcome(i)
        yield {
            "record_id": str(identities[i]),
            "rule": rule,
            "kappa": kappa,
            "contract": HANDOVER[int(fused.contract[i])],
            "posterior": fused.posterior[i],
            "score": float(fused.score[i]),
            "base_eligible": bool(decided.base_eligible[i]),
            "status": str(status),
            "response": str(response),
            "check": check,
        }
