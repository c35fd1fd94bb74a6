"""Evidence mapping, counting rules, and copies that are not witnesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_benchmark.hrc.admission import Requirements, query_table, typed_responses
from pact_benchmark.hrc.arms import counting_arms
from pact_benchmark.hrc.evidence import (
    Counting,
    evidence_of,
    fuse,
    output_table,
    ready_probability,
)
from pact_benchmark.hrc.multiplicity_study import multiplicity_study, responses
from pact_benchmark.hrc.recordings import OUTPUT_COLUMNS, QUERY_COLUMNS, Recordings
from pact_core import fuse_evidence

CAMERAS = ("exo", "front", "wrist")
PROMPTS = ("canonical", "evidence_first", "compact")
VERDICTS = st.sampled_from(["matched", "mismatched", "uncertain", None])
READY = st.sampled_from(["ready", "not_ready", "uncertain", None])
LOG_ODDS = st.floats(-40, 40, allow_nan=False)
PARENTS = st.none() | st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=3).map(
    tuple
)


def output_row(event: str, window: str, camera: str, prompt: str, **more: Any) -> dict[str, Any]:
    """Return one output row with zero log odds."""
    row: dict[str, Any] = dict.fromkeys(OUTPUT_COLUMNS)
    row |= {"checkpoint": "m", "task": "t", "episode": event, "event": event, "window": window}
    row |= {"camera": camera, "prompt": prompt, "repeat": 0.0, "time": np.nan}
    return row | {"log_odds_map0": 0.0, "log_odds_map1": 0.0} | more


@st.composite
def recordings(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw outputs (any holes, any parents) and queries of a few events."""
    rows, queries = [], []
    for number in range(draw(st.integers(1, 3))):
        event = f"e{number}"
        for window in ("early", "proximal"):
            for camera in CAMERAS:
                for prompt in PROMPTS:
                    if draw(st.booleans()):
                        odds = {"log_odds_map0": draw(LOG_ODDS), "log_odds_map1": draw(LOG_ODDS)}
                        parents = draw(PARENTS)
                        rows.append(
                            output_row(event, window, camera, prompt, parents=parents, **odds)
                        )
            query: dict[str, Any] = dict.fromkeys(QUERY_COLUMNS)
            query |= {"checkpoint": "m", "task": "t", "episode": event, "event": event}
            query |= {"window": window, "query": f"{event}{window}", "target": "t"}
            query |= {"target_kind": "episode", "target_match": draw(VERDICTS)}
            query |= {"readiness": draw(READY), "identity": draw(st.sampled_from(["match", None]))}
            queries.append(query)
    if not rows:
        rows.append(output_row("e0", "early", CAMERAS[0], PROMPTS[0]))
    frame = pd.DataFrame(rows)
    frame["parents"] = pd.Series([row["parents"] for row in rows], dtype=object)
    return frame, pd.DataFrame(queries)


@given(
    data=recordings(),
    copies=st.lists(st.integers(0, 4), min_size=1, max_size=54),
    seed=st.integers(0, 99),
)
@settings(max_examples=80, deadline=None)
def test_copies_within_their_camera_change_nothing(
    data: tuple[pd.DataFrame, pd.DataFrame], copies: list[int], seed: int
) -> None:
    """Any number of exact copies of any outputs, in any row order, leaves every bit as it was."""
    outputs, queries = data
    table, asked = output_table(outputs), query_table(queries)
    before = fuse(table, Counting.ACQUISITION)
    extra = []
    for index, row in enumerate(outputs.to_dict("records")):
        for copy in range(copies[index % len(copies)]):
            extra.append({**row, "repeat": copy + 1.0})
    more = pd.DataFrame([*outputs.to_dict("records"), *extra]).sample(frac=1.0, random_state=seed)
    more["parents"] = pd.Series(
        [p if isinstance(p, tuple) else None for p in more["parents"]],
        index=more.index,
        dtype=object,
    )
    copied = output_table(more)
    after = fuse(copied, Counting.ACQUISITION)
    assert np.array_equal(before.p_ready, after.p_ready)
    assert np.array_equal(before.budget, after.budget)
    assert np.array_equal(responses(asked, table, before), responses(asked, copied, after))


@given(data=recordings(), multiplicity=st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_multiplied_tables_change_nothing_under_grouping(
    data: tuple[pd.DataFrame, pd.DataFrame], multiplicity: int
) -> None:
    """Multiplying every output leaves grouped results, and multiplies per-output budgets."""
    table = output_table(data[0])
    copied = table.copied(multiplicity)
    for rule in (Counting.ACQUISITION, Counting.ALL_VIEW_MERGE, Counting.ONE_PER_CAMERA):
        assert np.array_equal(fuse(table, rule).p_ready, fuse(copied, rule).p_ready)
        assert np.array_equal(fuse(table, rule).budget, fuse(copied, rule).budget)
    grown = fuse(copied, Counting.PER_OUTPUT).budget
    assert np.array_equal(grown, multiplicity * fuse(table, Counting.PER_OUTPUT).budget)


def test_mapping_orients_and_averages() -> None:
    """READY minus NOT READY is B − A under map0 and A − B under map1."""
    p = ready_probability(np.array([2.0, 0.0, 1.0]), np.array([-2.0, 0.0, 1.0]))
    assert p == pytest.approx([1 / (1 + np.exp(-2.0)), 0.5, 0.5])
    assert evidence_of(np.array([0.75])) == pytest.approx(np.array([[0.5, 1.5]]))
    extreme = ready_probability(np.array([1e6, -1e6]), np.array([-1e6, 1e6]))
    assert extreme == pytest.approx([1.0, 0.0])


def rectangular(seed: int = 0, events: int = 6) -> pd.DataFrame:
    """Return all cameras and prompts of several events with random log odds."""
    rng = np.random.default_rng(seed)
    rows = [
        output_row(f"e{e}", w, c, p, log_odds_map0=rng.normal(), log_odds_map1=rng.normal())
        for e in range(events)
        for w in ("early", "proximal")
        for c in CAMERAS
        for p in PROMPTS
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("rule", "component"),
    [
        (Counting.ACQUISITION, [0, 0, 0, 1, 1, 1, 2, 2, 2]),
        (Counting.PER_OUTPUT, list(range(9))),
        (Counting.ALL_VIEW_MERGE, [0] * 9),
        (Counting.SHUFFLED, [0, 1, 2, 1, 2, 0, 2, 0, 1]),
    ],
)
def test_rules_agree_with_the_core(rule: Counting, component: list[int]) -> None:
    """Meet within and sum across equal the core's fusion of the same evidence."""
    table = output_table(rectangular())
    order = np.lexsort((table.prompt, table.camera, table.window))
    evidence = table.evidence[order].reshape(12, 9, 2)
    if rule is Counting.SHUFFLED:
        component = [(camera - prompt) % 3 for camera in range(3) for prompt in range(3)]
    core = fuse_evidence(evidence, component)
    ours = fuse(table, rule)
    assert ours.p_ready == pytest.approx(core.posterior[:, 1], abs=1e-14)
    assert ours.score == pytest.approx(core.score, abs=1e-14)


def test_identical_vectors_merge_across_cameras() -> None:
    """Equal pairs count once in the whole event window, wherever they come from."""
    rows = [
        output_row("e", "early", "exo", "canonical", log_odds_map0=1.0, log_odds_map1=-1.0),
        output_row("e", "early", "front", "canonical", log_odds_map0=1.0, log_odds_map1=-1.0),
        output_row("e", "early", "front", "compact", log_odds_map0=0.5, log_odds_map1=0.0),
    ]
    fused = fuse(output_table(pd.DataFrame(rows)), Counting.IDENTICAL_MERGE)
    assert fused.counted.tolist() == [2]
    assert fused.budget.tolist() == [4.0]


def test_known_budgets_are_exact() -> None:
    """Rounding does not order windows whose budget is known to be equal."""
    table = output_table(rectangular(3, 40))
    assert set(fuse(table, Counting.PER_OUTPUT).budget) == {18.0}
    assert set(fuse(table, Counting.ONE_PER_CAMERA).budget) == {6.0}
    assert set(fuse(table.first_prompts(1), Counting.ACQUISITION).budget) == {6.0}


def test_parents_decide_over_cameras() -> None:
    """Two cameras that share a parent count once; unrelated outputs of one camera count twice."""
    shared = [
        output_row("e", "early", camera, "canonical", parents=("frame",), log_odds_map0=2.0)
        for camera in ("exo", "front")
    ]
    apart = [
        output_row("e", "early", "exo", prompt, parents=(prompt,), log_odds_map0=2.0)
        for prompt in ("canonical", "compact")
    ]
    for rows, expected in ((shared, 1), (apart, 2)):
        frame = pd.DataFrame(rows)
        fused = fuse(output_table(frame), Counting.ACQUISITION)
        assert fused.counted.tolist() == [expected]


def test_paper_amplification(simulated: Recordings) -> None:
    """Seven more copies of 20 outputs of mass two add 280 per event window, and change nothing."""
    result = multiplicity_study(simulated)
    assert result is not None
    values = {name: entry.value for name, entry in result.statistics.items()}
    assert values["copy.per_output_extra_mass"] == 280
    assert values["copy.typed_responses_unchanged"] == 720
    copies = result.tables[0].frame.query("Varied == 'copies'")
    grouped = copies[copies["Counting rule"] == "Camera-grouped PACT"]
    assert (grouped["Responses changed"] == 0).all()
    assert grouped.groupby("Checkpoint")["Mean budget"].nunique().eq(1).all()


def test_arms_cover_every_rule_and_prompt_count(simulated: Recordings) -> None:
    """One row per event window, rule and number of prompts; one output per camera is the unit."""
    arms = counting_arms(simulated)
    assert set(arms["arm"]) == {str(rule) for rule in Counting}
    assert set(arms["prompts"]) == {1, 2, 4}
    base = arms[arms["arm"] == "one_per_camera"]
    assert base["budget_ratio"].eq(1.0).all()
    assert base["posterior_l1"].eq(0.0).all()
    shuffled = arms[(arms["arm"] == "shuffled") & (arms["prompts"] == 4)]
    grouped = arms[(arms["arm"] == "acquisition") & (arms["prompts"] == 4)]
    assert shuffled["budget"].mean() < grouped["budget"].mean()


def test_missing_cameras_are_no_evidence() -> None:
    """A window without outputs has no budget and meets no temporal condition."""
    frame = rectangular(1, 1)
    gone = output_table(frame).take(np.zeros(len(frame), dtype=bool))
    fused = fuse(gone, Counting.ACQUISITION)
    assert fused.budget.tolist() == [0.0, 0.0]
    assert fused.p_ready.tolist() == [0.5, 0.5]
    queries = pd.DataFrame([dict.fromkeys(QUERY_COLUMNS)])
    queries["event"], queries["window"], queries["target_kind"] = "e0", "proximal", "episode"
    queries["target_match"], queries["readiness"], queries["identity"] = "matched", "ready", "match"
    asked = query_table(queries)
    assert responses(asked, gone, fused).tolist() == [1]
    assert typed_responses(asked, Requirements.IDENTITY).tolist() == [0]
