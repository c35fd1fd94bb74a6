"""The catalogue as a table, for `pact scenes list` and for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from pact_scenes.catalogue import SceneSpec
from pact_scenes.model import SceneModel, build_model
from pact_scenes.observation import Observer, SceneState
from pact_scenes.plan import MissingPlanError
from pact_scenes.transforms import quaternion_from_matrix
from pact_scenes.viewpoints import LEAST_OCCLUSION

__all__ = ["catalogue_frame", "catalogue_markdown", "catalogue_text"]

_COLUMNS: Final = {
    "scene_id": "scene",
    "geometry": "geometry",
    "posture": "posture",
    "receiving_hand": "hand",
    "transfer": "transfer [m]",
    "hand_distance": "hand distance [m]",
    "path_clearance": "path clearance [m]",
    "reach_speed": "reach speed [m/s]",
    "approach_side": "approach side [deg]",
    "approach_time": "approach [s]",
    "obstacle": "obstacle",
    "occluder": "occluder",
    "object": "object",
    "object_mass": "mass [kg]",
}


def catalogue_frame(specs: Sequence[SceneSpec]) -> pd.DataFrame:
    """One row per scene: its axes, the transfer point in the world and what the plan achieves.

    A scene without a stored plan shows what it asks for. Otherwise two columns are what the plan
    achieves: `hand_distance` is at most what was asked (a hand that rests nearer does not
    withdraw), `path_clearance`, of arm and human without the receiving hand and forearm, at least.
    """
    rows = []
    for spec in specs:
        row: dict[str, Any] = {
            name: getattr(spec, name) for name in _COLUMNS if hasattr(spec, name)
        }
        row["geometry"], row["object"] = spec.geometry.value, spec.object_shape
        row["occluder"] = "screen" if spec.occluder >= LEAST_OCCLUSION else "none"
        row.update(_achieved(spec))
        rows.append({name: row[name] for name in _COLUMNS})
    return pd.DataFrame(rows)


def _achieved(spec: SceneSpec) -> dict[str, Any]:
    """What the stored plan of a scene adds to or changes of its axes; no transfer without one."""
    try:
        model = build_model(spec)
    except MissingPlanError:
        return {"transfer": "not planned"}
    x, y, z = model.plan.transfer
    return {
        "transfer": f"{x:.2f}, {y:+.2f}, {z:.2f}",
        "hand_distance": _hand_distance(model),
        "path_clearance": model.plan.achieved["bystander"],
    }


def _hand_distance(model: SceneModel) -> float:
    """Distance of hand and object when both are at rest before the transfer [m]."""
    plan = model.plan
    time = max(plan.approach_time, plan.reach_start + plan.reach_time)
    position, rotation = model.planned_poses(time)
    still = np.zeros_like(position)
    state = SceneState(time, position, quaternion_from_matrix(rotation), still, still)
    return round(Observer(model).observe(state).hand_object_distance, 4)


def _cells(specs: Sequence[SceneSpec]) -> list[list[str]]:
    digits = {"approach_side": "{:+.0f}", "hand_distance": "{:.3f}", "approach_time": "{:.1f}"}
    table = [list(_COLUMNS.values())]
    for _, row in catalogue_frame(specs).iterrows():
        table.append(
            [
                digits.get(name, "{:.2f}").format(row[name])
                if isinstance(row[name], float)
                else str(row[name]).replace("_", " " if name != "scene_id" else "_")
                for name in _COLUMNS
            ]
        )
    return table


def catalogue_text(specs: Sequence[SceneSpec]) -> str:
    """The table in aligned columns."""
    table = _cells(specs)
    widths = [max(len(row[i]) for row in table) for i in range(len(_COLUMNS))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in table]
    return "\n".join(line.rstrip() for line in lines)


def catalogue_markdown(specs: Sequence[SceneSpec]) -> str:
    """The table in Markdown."""
    table = _cells(specs)
    rule = ["---"] * len(_COLUMNS)
    return "\n".join("| " + " | ".join(row) + " |" for row in (table[0], rule, *table[1:])) + "\n"
