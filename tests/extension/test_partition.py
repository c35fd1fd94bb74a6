"""Custom parents: notation, components and errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pact_core import components
from pact_handover.partition import PartitionError, format_parents, parse_parents

ROLES = ("language", "geometry", "risk")
names = st.lists(st.from_regex(r"[a-z][a-z0-9:/_.]{0,8}", fullmatch=True), min_size=1, unique=True)


def test_shared_parents_form_one_component():
    """Geometry and risk with a common parent are one component, language another."""
    parents = parse_parents("language: command; geometry: scene, relation; risk: scene", ROLES)
    assert components([parents[role] for role in ROLES]) == (0, 1, 1)


def test_unnamed_roles_are_alone():
    """A role that is left out or has no parents shares its origin with nobody."""
    parents = parse_parents("geometry: scene\nrisk:", ROLES)
    assert len(set(components([parents[role] for role in ROLES]))) == 3


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("language command", "no colon"),
        ("vision: camera", "no source"),
        ("risk: a; risk: b", "named twice"),
    ],
)
def test_broken_notation_is_explained(text, part):
    """What cannot be read is refused with the reason."""
    with pytest.raises(PartitionError, match=part):
        parse_parents(text, ROLES)


@given(st.fixed_dictionaries({role: names.map(tuple) for role in ROLES}))
def test_notation_round_trips(parents):
    """Written parents are read back unchanged."""
    assert parse_parents(format_parents(parents), ROLES) == parents
