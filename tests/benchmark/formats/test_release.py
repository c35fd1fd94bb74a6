"""Source records of the release: what is missing, what is invalid, and what is no record."""

from __future__ import annotations

import io
import json

import pytest

from pact_benchmark.formats.deciding import READERS, Settings, decide_lines
from pact_benchmark.formats.lines import parse_lines

LABELS = ("normal", "slow_clearance", "hold_confirm", "retreat_fallback", "bounded_urgent")
PEAKED = dict(zip(LABELS, (0.6, 0.1, 0.1, 0.1, 0.1), strict=True))


def payload(**changes):
    """Return the payload of one source; it passes every check."""
    return {"probabilities": PEAKED, "quality": 0.9, "conflict": 0.2, **changes}


def record(**sources):
    """Return a record with three sound sources, some replaced or added."""
    route = {
        "current_command_hash": "7f",
        "payload_text_hash": "7f",
        "source_status": "current",
    }
    listed = {"language": payload(source_route=route), "geometry": payload(), "risk": payload()}
    return {
        "record_id": "r",
        "sources": {**listed, **sources},
        "registered_parents": {"language": ["c"], "geometry": ["s", "g"], "risk": ["s", "r"]},
    }


def decide(value):
    """Return the one object that a record gives, with its explanation."""
    lines = parse_lines(io.BytesIO(json.dumps(value).encode()))
    (result,) = decide_lines(lines, READERS["release"], Settings(explain=True))
    return result


def test_a_sound_record_is_admitted():
    """What the cases below spoil is admitted unspoilt."""
    assert decide(record())["status"] == "admitted"


@pytest.mark.parametrize(
    "risk",
    [
        payload(probabilities=dict(zip("NSHTU", PEAKED.values(), strict=True))),
        payload(probabilities={**PEAKED, "normal": 5, "N": 0.6}),
        payload(probabilities={**PEAKED, "other": 0.0}),
        payload(probabilities=list(PEAKED.values())),
        [1, 2],
        "x",
        0,
        payload(schema_valid="false"),
        payload(schema_valid=0),
        payload(schema_valid=None),
        payload(missing="false"),
        payload(missing=0),
        payload(missing="true"),
    ],
    ids=[
        "our-labels", "six-labels", "extra-label", "list", "payload-list", "payload-text",
        "payload-number", "valid-text", "valid-number", "valid-null", "missing-text",
        "missing-number", "missing-true-text",
    ],
)  # fmt: skip
def test_malformed_sources_are_present_and_invalid(risk):
    """A payload, label set or flag that is not the release's answers FALLBACK."""
    result = decide(record(risk=risk))
    assert (result["response"], result["check"]) == ("fallback", "source_validity")
    assert list(result["explain"]["values"]["faults"]) == ["risk"]
    assert "risk" in result["explain"]["values"]["present"]


@pytest.mark.parametrize("risk", [{}, None, {"missing": True}, payload(missing=True)])
def test_missing_sources_are_not_faults(risk):
    """No payload, an empty one and one that says so are absent: the other two decide."""
    assert decide(record(risk=risk))["status"] == "admitted"


@pytest.mark.parametrize("empty", [{}, None, {"missing": True}])
def test_empty_legal_roles_are_ignored(empty):
    """The release's unused source names may be there as long as nothing is in them."""
    plain = decide(record())
    assert decide(record(vision=empty, semantic=empty, depth=empty)) == plain
    assert "'vision' is present" in decide(record(vision=payload()))["error"]
    assert "unknown source 'smell'" in decide(record(smell={}))["error"]
