"""The catalogue as a table, for `pact scenes list` and for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from pact_scenes.catalogue import SceneSpec
from pact_scenes.planning import model_for

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

    `path_clearance` is the planned clearance of arm and human without the receiving hand and
    forearm; the configuration asks for it, the plan may exceed it.
    """
    rows = []
    for spec in specs:
        plan = model_for(spec).plan
        x, y, z = plan.transfer
        rows.append(
            {
                "scene_id": spec.scene_id,
                "geometry": spec.geometry.value,
                "posture": spec.posture,
                "receiving_hand": spec.receiving_hand,
                "transfer": f"{x:.2f}, {y:+.2f}, {z:.2f}",
                "hand_distance": spec.hand_distance,
                "path_clearance": plan.achieved["bystander"],
                "reach_speed": spec.reach_speed,
                "approach_side": spec.approach_side,
                "approach_time": spec.approach_time,
                "obstacle": spec.obstacle,
                "occluder": "screen" if any(b.name == "screen" for b in plan.boxes) else "none",
                "object": spec.object_shape,
                "object_mass": spec.object_mass,
            }
        )
    return pd.DataFrame(rows)


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
