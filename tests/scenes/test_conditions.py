"""The thirteen conditions: promises of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from pact_scenes.conditions import (
    ROLES,
    Command,
    Supports,
    adjusted,
    load_conditions,
    parse_conditions,
)
from pact_scenes.configuration import ConfigurationError, default_section


@pytest.fixture(scope="module")
def conditions():
    """Return the shipped conditions by name."""
    return {c.name: c for c in load_conditions()}


def test_there_are_thirteen_documented_conditions(conditions):
    """Every condition says what it perturbs, why, and what each source says."""
    assert len(conditions) == 13
    for condition in conditions.values():
        assert condition.title
        assert condition.perturbs
        assert condition.why
        assert all(state.says for state in condition.sources)


def test_availability_and_validity_add_up(conditions):
    """Eight conditions have three valid sources, three lose one, one loses all, one is invalid."""
    missing = [sum(not s.available for s in c.sources) for c in conditions.values()]
    invalid = [sum(s.available and not s.valid for s in c.sources) for c in conditions.values()]
    assert sorted(missing) == [0] * 9 + [1] * 3 + [3]
    assert sorted(invalid) == [0] * 12 + [1]
    assert sum(c.observed_valid == 3 for c in conditions.values()) == 8
    assert sum(c.observed_valid >= 2 for c in conditions.values()) == 12


def test_adversarial_consensus_meets_every_threshold_of_corroboration(conditions):
    """All three sources support one wrong contract, sharply, with quality and without conflict."""
    sources = conditions["adversarial_consensus_wrong"].sources
    assert all(s.supports is Supports.WRONG for s in sources)
    assert all(s.peak > 0.4 and s.quality > 0.3 and s.conflict < 0.15 for s in sources)


def test_command_states(conditions):
    """Only stale language and the urgency injection depart from the current command."""
    states = {name: c.source("language").command for name, c in conditions.items()}
    assert states.pop("stale_language_previous_cue") is Command.STALE
    assert states.pop("unsafe_urgency_injection") is Command.INJECTED
    assert set(states.values()) == {Command.CURRENT}


def test_only_the_dropout_condition_lacks_the_conflict_attribute(conditions):
    """The conflict attribute is absent from all three sources of one condition."""
    lacking = {
        name for name, c in conditions.items() if not all(s.conflict_recorded for s in c.sources)
    }
    assert lacking == {"conflict_bit_dropout_all_wrong"}


def test_like_takes_everything_over_but_what_is_listed(conditions):
    """A source that is like an earlier one differs from it only where the entry says so."""
    clean = conditions["clean_control"].source("language")
    stale = conditions["stale_language_previous_cue"].source("language")
    assert (stale.peak, stale.conflict, stale.spread) == (clean.peak, clean.conflict, clean.spread)
    assert stale.quality != clean.quality
    assert stale.reference_peak


def test_the_language_peak_reaches_only_sources_that_take_it_over(conditions):
    """The sweep's language peak moves the undegraded language and its followers, nothing else."""
    changed = {
        (name, role)
        for name, c in conditions.items()
        for role, before, after in zip(
            ROLES, c.sources, adjusted(c, language_peak=0.65).sources, strict=True
        )
        if before != after
    }
    assert ("clean_control", "language") in changed
    assert ("adversarial_consensus_wrong", "language") not in changed
    assert all(role == "language" for _, role in changed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"peak": 1.5}, "peak"),
        ({"spread": 0.0}, "spread"),
        ({"attribute_spread": -1.0}, "attribute_spread"),
        ({"supports": "everything"}, "everything"),
        ({"colour": "red"}, "colour"),
        ({"like": "later"}, "not defined above"),
    ],
)
def test_bad_entries_are_refused_by_name(change, message):
    """An entry out of range or unknown is an error that names the condition and source."""
    section = default_section("conditions")
    section["conditions"]["clean_control"]["risk"] |= change
    with pytest.raises(ConfigurationError, match=r"clean_control, risk.*" + message):
        parse_conditions(section)


def test_the_documented_table_is_current(root: Path):
    """docs/conditions.md holds the table that the configuration gives."""
    from pact_benchmark.dictionary import conditions_table

    assert conditions_table() in (root / "docs" / "conditions.md").read_text(encoding="utf-8")
