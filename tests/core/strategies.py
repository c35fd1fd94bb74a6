"""Hypothesis strategies: random contract sets, sources, parent sets and evidence."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pact_core import HANDOVER_ROLES, CommandState, ContractSet, Source

ROLES = [*HANDOVER_ROLES, "vision", "view"]


@st.composite
def parent_sets(draw, sources=None, names=8):
    """Draw a nonempty parent set for each of 1 to 7 sources."""
    count = draw(st.integers(1, 7)) if sources is None else sources
    pool = st.integers(0, names - 1)
    return [draw(st.frozensets(pool, min_size=1, max_size=3)) for _ in range(count)]


@st.composite
def partitions(draw, sources):
    """Draw component labels of a given number of sources."""
    labels = draw(st.lists(st.integers(0, sources - 1), min_size=sources, max_size=sources))
    first = {}
    return tuple(first.setdefault(label, i) for i, label in enumerate(labels))


@st.composite
def evidence(draw, sources=None, contracts=None):
    """Draw nonnegative evidence vectors, shape [J, K]."""
    j = draw(st.integers(1, 6)) if sources is None else sources
    k = draw(st.integers(2, 6)) if contracts is None else contracts
    value = st.one_of(st.just(0.0), st.floats(0.0, 30.0, allow_subnormal=False))
    rows = draw(st.lists(st.lists(value, min_size=k, max_size=k), min_size=j, max_size=j))
    return np.array(rows)


def contract_set(contracts):
    """Return a contract set with K names."""
    return ContractSet(tuple(f"c{k}" for k in range(contracts)))


@st.composite
def opinions(draw, contracts):
    """Draw a probability vector with K entries, ties and zeros included."""
    weights = draw(st.lists(st.integers(0, 9), min_size=contracts, max_size=contracts))
    total = sum(weights) or contracts
    return [(w if sum(weights) else 1) / total for w in weights]


commands = st.builds(
    CommandState,
    current_hash=st.sampled_from([None, "", "a", "b"]),
    evidence_hash=st.sampled_from(["a", "a", "b", ""]),
    status=st.sampled_from(["current", "current", "stale_previous_command", None]),
    previous_hash=st.sampled_from([None, "b"]),
    carried_over_from=st.sampled_from([None, "r0"]),
)
current = CommandState("a", "a", "current")


@st.composite
def sound_sources(draw, contracts, roles=HANDOVER_ROLES):
    """Draw valid, available sources with random parents."""
    parents = draw(parent_sets(len(roles), names=5))
    unit = st.floats(0.0, 1.0, allow_subnormal=False)
    return [
        Source(
            role,
            draw(opinions(contracts)),
            draw(unit),
            draw(unit),
            names,
            command=current if role == "language" else None,
        )
        for role, names in zip(roles, parents, strict=True)
    ]


@st.composite
def agreeing_sources(draw):
    """Draw two to five sharp, sound sources that agree, the case that corroboration is for."""
    roles = draw(st.lists(st.sampled_from(ROLES), min_size=2, max_size=5))
    top = draw(st.integers(0, 4))
    opinion = [0.92 if k == top else 0.02 for k in range(5)]
    return [
        Source(
            role,
            opinion,
            draw(st.sampled_from([0.35, 0.8, 0.95])),
            draw(st.sampled_from([0.0, 0.1])),
            draw(st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=2)),
            available=draw(st.sampled_from([True, True, True, False])),
            command=current,
        )
        for role in roles
    ]


def bad_numbers():
    """Draw anything that a careless caller may pass where a number belongs."""
    return st.one_of(
        st.floats(allow_nan=True, allow_infinity=True),
        st.sampled_from([None, True, "0.5", b"1", [], {}, -1, 2, 10**400, 1j, "ü"]),
    )


@st.composite
def wild_sources(draw, names):
    """Draw one to five sources whose numbers may be good, bad or absent in every way."""
    roles = draw(st.lists(st.sampled_from(ROLES), min_size=1, max_size=5))
    k = len(names)
    number = st.one_of(st.sampled_from([0.0, 0.05, 0.35, 0.5, 0.92, 0.95, 1.0]), bad_numbers())
    vector = st.one_of(
        opinions(k),
        opinions(k).map(lambda p: dict(zip(names, p, strict=True))),
        opinions(k + 1),
        st.lists(bad_numbers(), max_size=k + 1),
        st.dictionaries(st.sampled_from([*names, "?"]), bad_numbers(), max_size=k + 1),
        st.sampled_from([None, "words", 3, float("nan")]),
    )
    return [
        Source(
            role,
            draw(vector),
            draw(number),
            draw(number),
            draw(st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=2)),
            available=draw(st.sampled_from([True, True, True, False])),
            declared_valid=draw(st.sampled_from([True, True, True, False])),
            command=draw(st.one_of(st.none(), st.just(current), commands)),
        )
        for role in roles
    ]
