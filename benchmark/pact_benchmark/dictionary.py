"""Tables of the documentation: columns of `instances.parquet`, and the source conditions."""

from __future__ import annotations

from dataclasses import dataclass

from pact_scenes.conditions import LABELS, ROLES, SourceState, load_conditions

CONTRACT_NAMES = {
    "N": "normal",
    "S": "slow-clearance",
    "H": "hold-confirm",
    "T": "retreat-fallback",
    "U": "bounded-urgent",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A stored column.

    Attributes:
        name: Name in the file.
        type: "text", "integer", "number", "boolean" or "texts" (a list).
        nullable: Whether a row may lack it.
        description: What it holds, with units.
    """

    name: str
    type: str
    nullable: bool
    description: str


def _source_columns(role: str) -> list[Column]:
    masses = [
        Column(
            f"{role}_p_{label}",
            "number",
            True,
            f"mass that {role} gives to {CONTRACT_NAMES[label]} ({label}); absent when missing",
        )
        for label in LABELS
    ]
    return [
        *masses,
        Column(f"{role}_quality", "number", True, f"quality of {role} in [0, 1]"),
        Column(f"{role}_conflict", "number", True, f"conflict of {role} in [0, 1], or absent"),
        Column(f"{role}_unavailable", "boolean", False, f"{role} is missing"),
        Column(f"{role}_invalid", "boolean", False, f"{role} is present but declared invalid"),
        Column(f"{role}_parents", "texts", False, f"records that {role} derives from"),
    ]


INSTANCE_COLUMNS: tuple[Column, ...] = (
    Column("record_id", "text", False, "<scene>-<label>__<condition>__seed<step>; unique"),
    Column("scene_id", "text", False, "scene_001 … scene_048; the unit of folds and resampling"),
    Column("geometry", "text", False, "face_to_face, side_by_side or table_mediated"),
    Column("condition", "text", False, "source condition, one of thirteen"),
    Column("label", "text", False, "commanded label and reference contract: N, S, H, T or U"),
    Column("step", "integer", False, "decision step of the approach, 0 … 9"),
    *(column for role in ROLES for column in _source_columns(role)),
    Column("command_current_hash", "text", False, "SHA-256 of the command given"),
    Column(
        "command_evidence_hash",
        "text",
        True,
        "SHA-256 of the command under the language evidence; absent when language is missing",
    ),
    Column("command_status", "text", True, "current or stale_previous_command"),
    Column("command_previous_hash", "text", True, "SHA-256 of the command carried over"),
    Column(
        "command_carried_over_from", "text", True, "record that the command is carried over from"
    ),
    Column("relation_class", "text", False, "class that geometry reads in the scene: N, S, H or T"),
    Column("risk_class", "text", False, "class that risk reads in the scene: N, S, H or T"),
    Column("occlusion_band", "text", False, "none, partial or heavy (the robot's camera)"),
)


def markdown_table() -> str:
    """Return the dictionary as a Markdown table."""
    lines = ["| column | type | may be absent | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{c.name}` | {c.type} | {'yes' if c.nullable else 'no'} | {c.description} |"
        for c in INSTANCE_COLUMNS
    ]
    return "\n".join(lines) + "\n"


def conditions_table() -> str:
    """Return the shipped conditions as a Markdown table."""
    lines = [
        "| condition | perturbs | language | geometry | risk |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{c.name}`<br>{c.title} | {c.perturbs} | "
        + " | ".join(_source_cell(state) for state in c.sources)
        + " |"
        for c in load_conditions()
    ]
    return "\n".join(lines) + "\n"


def _source_cell(state: SourceState) -> str:
    if not state.available:
        return state.says
    conflict = f"{state.conflict:.3g}" if state.conflict_recorded else "absent"
    numbers = f"{state.peak:.3g} / {state.quality:.3g} / {conflict}"
    spread = "" if state.spread == 1.0 else f", spread {state.spread:.3g}"
    noise = state.attribute_spread
    attributes = "" if noise == 1.0 else f", attribute spread {noise:.3g}"
    return f"{state.says}<br>{numbers}{spread}{attributes}"
