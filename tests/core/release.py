"""The conformance records as sources, read by the tests' own few lines."""

from __future__ import annotations

import gzip
import json

from pact_core import HANDOVER_ROLES, RELEASE_NAMES, CommandState, Source

CONTRACT = {name: label for label, name in RELEASE_NAMES.items()}


def lines(path):
    """Return the objects of a gzip JSON-lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def sources_of(record):
    """Return the three sources of a record."""
    meta, result = record["metadata"], []
    scene = meta["scene_id"]
    for role in HANDOVER_ROLES:
        item = record["sources"].get(role) or {}
        route = item.get("source_route") or {}
        spoken = route.get("payload_text_hash") or route.get("current_command_hash") or ""
        context = {scene, f"{scene}/occlusion/{meta['occlusion_band']}"}
        parents = {
            "language": {f"command:{spoken}"},
            "geometry": context | {f"{scene}/relation/{meta['relation_label']}"},
            "risk": context | {f"{scene}/risk/{meta['risk_band']}"},
        }[role]
        command = CommandState(
            route.get("current_command_hash"),
            route.get("payload_text_hash"),
            route.get("source_status"),
            route.get("previous_command_hash"),
            route.get("carryover_from_record_id"),
        )
        opinion = item.get("probabilities") or None
        result.append(
            Source(
                role,
                opinion and {CONTRACT[name]: value for name, value in opinion.items()},
                item.get("quality"),
                item.get("conflict"),
                parents,
                available=bool(item) and not item.get("missing", False),
                declared_valid=item.get("schema_valid", True),
                command=command if route else None,
            )
        )
    return result
