"""Typed admission: order of responses, requirements, temporal conditions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_benchmark.hrc.admission import (
    RESPONSES,
    Requirements,
    admitted,
    at_least,
    count,
    query_table,
    strict_change,
    typed_responses,
)
from pact_benchmark.hrc.recordings import QUERY_COLUMNS
from pact_core import Response


def queries(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Return query rows; what is not given is a selected candidate of the own target."""
    base = {"checkpoint": "m", "task": "t", "episode": "e", "event": "e", "window": "proximal",
            "query": "q", "target": "t", "target_kind": "episode", "target_match": "matched",
            "readiness": "ready", "identity": "match"}  # fmt: skip
    return pd.DataFrame([{**base, "query": f"q{i}", **row} for i, row in enumerate(rows)])


@pytest.mark.parametrize(
    ("row", "temporal", "expected"),
    [
        ({}, True, Response.NONE),
        ({}, False, Response.HOLD),
        ({"identity": "mismatch"}, True, Response.CONFIRM),
        ({"identity": "mismatch"}, False, Response.CONFIRM),
        ({"identity": None}, True, Response.CONFIRM),
        ({"readiness": "not_ready"}, True, Response.HOLD),
        ({"target_match": "uncertain"}, True, Response.HOLD),
        ({"target_match": "mismatched", "identity": "mismatch"}, True, Response.HOLD),
        ({"target_match": None}, True, Response.FALLBACK),
        ({"readiness": None, "identity": "mismatch"}, False, Response.FALLBACK),
    ],
)
def test_response_order(row: dict[str, object], temporal: bool, expected: Response) -> None:
    """Unparsed before unselected before mismatch before time."""
    table = query_table(queries([row]))
    codes = typed_responses(table, Requirements.IDENTITY_TEMPORAL, np.array([temporal]))
    assert RESPONSES[codes[0]] is expected


def test_before_a_reference_exists() -> None:
    """In the early window the condition is unmet: CONFIRM on a mismatch, else HOLD."""
    frame = queries([{"window": "early"}, {"window": "early", "identity": "mismatch"}])
    index = pd.MultiIndex.from_tuples([("e", "early"), ("e", "proximal")])
    met = strict_change(frame, pd.Series([0.1, 0.9], index=index))
    codes = typed_responses(query_table(frame), Requirements.IDENTITY_TEMPORAL, met)
    assert [RESPONSES[code] for code in codes] == [Response.HOLD, Response.CONFIRM]


def test_strict_change_needs_a_strict_rise() -> None:
    """Ties, falls and gaps fail; the early window counts only against a pre-early one."""
    frame = queries(
        [{"event": "up"}, {"event": "tie"}, {"event": "gap"}, {"event": "up", "window": "early"}]
    )
    values = pd.Series(
        [0.2, 0.3, 0.4, 0.5, 0.5, 0.9],
        index=pd.MultiIndex.from_tuples(
            [("up", "pre_early"), ("up", "early"), ("up", "proximal"), ("tie", "early"),
             ("tie", "proximal"), ("gap", "proximal")]
        ),
    )  # fmt: skip
    assert strict_change(frame, values).tolist() == [True, False, False, False]
    assert strict_change(frame, values, first=True).tolist() == [True, False, False, True]
    assert at_least(frame, values, 0.5).tolist() == [False, True, True, False]


def test_counts_and_rates() -> None:
    """Consistent is the own target in the proximal window; the rest is off-target or early."""
    rows: list[dict[str, object]] = [
        {}, {"window": "early"}, {"target_kind": "counterfactual"}, {"readiness": "not_ready"},
    ]  # fmt: skip
    table = query_table(queries(rows))
    counts = count(table, admitted(typed_responses(table, Requirements.NONE)))
    assert (counts.consistent, counts.off_target, counts.early_on_target) == (1, 1, 1)
    assert counts.recall == 0.5
    assert counts.coverage == 0.75


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "target_match": st.sampled_from(["matched", "mismatched", "uncertain", None]),
                "readiness": st.sampled_from(["ready", "not_ready", None]),
                "identity": st.sampled_from(["match", "mismatch", None]),
                "window": st.sampled_from(["early", "proximal"]),
                "target_kind": st.sampled_from(["episode", "counterfactual"]),
            }
        ),
        min_size=1,
        max_size=20,
    ),
    bits=st.lists(st.booleans(), min_size=20, max_size=20),
)
@settings(max_examples=60, deadline=None)
def test_requirements_only_remove(rows: list[dict[str, object]], bits: list[bool]) -> None:
    """A further requirement never admits what fewer requirements withheld."""
    table = query_table(queries(rows))
    temporal = np.array(bits[: len(rows)])
    admits = {r: admitted(typed_responses(table, r, temporal)) for r in Requirements}
    both = admits[Requirements.IDENTITY_TEMPORAL]
    assert np.array_equal(both, admits[Requirements.IDENTITY] & admits[Requirements.TEMPORAL])
    assert not (both & ~admits[Requirements.NONE]).any()
    assert not (admits[Requirements.NONE] & ~table.candidate).any()


def test_temporal_requirement_without_condition_is_an_error() -> None:
    """Asking for temporal evidence without giving any is a programming error."""
    table = query_table(queries([{}]))
    with pytest.raises(ValueError, match="temporal"):
        typed_responses(table, Requirements.TEMPORAL)


def test_columns_are_those_of_the_format() -> None:
    """The helper above builds complete rows."""
    assert set(queries([{}]).columns) == set(QUERY_COLUMNS)
