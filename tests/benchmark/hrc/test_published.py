"""With the real recordings the published figures must come out."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

import pytest

from pact_benchmark.hrc.analysis import Part, analyse, statistics_of_parts
from pact_benchmark.hrc.load import load_recordings
from pact_benchmark.hrc.needs import need_of, published_ids
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.study import Table

# Published from 10,000 sampled permutations; two standard errors of that sample.
SAMPLED = {"temporal.p_60": 0.0063}


@pytest.fixture(scope="module")
def recordings(real_folder: Path) -> Recordings:
    """Return the real recordings."""
    return load_recordings(real_folder)


@pytest.fixture(scope="module")
def parts(recordings: Recordings) -> list[Part]:
    """Return the analysis of the real recordings."""
    return analyse(recordings)


def table(parts: list[Part], name: str) -> Table:
    """Return one table by id."""
    return next(t for part in parts for t in part.result.tables if t.id == name)


def targets() -> dict[str, dict[str, object]]:
    """Return the published figures by id."""
    text = resources.files("pact_benchmark").joinpath("targets/hrc.toml").read_text("utf-8")
    return {entry["id"]: entry for entry in tomllib.loads(text)["target"]}


def digits(value: float) -> int:
    """Return the decimals a published number is given with."""
    text = repr(value)
    return len(text.split(".")[1]) if "." in text else 0


def test_every_file_is_understood(recordings: Recordings) -> None:
    """No file of the release is left out."""
    assert recordings.skipped == ()
    assert len(recordings.files) == 8
    assert not recordings.simulated


def test_published_values(parts: list[Part]) -> None:
    """Counts are equal and points agree to the published digits."""
    computed = statistics_of_parts(parts)
    compared = 0
    for name, entry in targets().items():
        published = entry.get("value")
        if name not in computed or not isinstance(published, (int, float)):
            continue
        value = computed[name].value
        assert value is not None
        if name in SAMPLED:
            assert abs(value - published) < SAMPLED[name], name
        elif isinstance(published, int):
            assert value == published, name
        else:
            assert round(float(value), digits(published)) == pytest.approx(published), name
        compared += 1
    assert compared >= 80


def test_published_intervals(parts: list[Part]) -> None:
    """Intervals agree to the published digits."""
    computed = statistics_of_parts(parts)
    for name in (
        "panelA.q8b.joint_minus_candidate_pp",
        "retention_table.q8b.d_inconsistent_pp",
        "retention_table.q32b.d_inconsistent_pp",
        "retention_table.internvl3_8b.d_inconsistent_pp",
    ):
        low, high = targets()[name]["ci"]  # type: ignore[misc]
        assert round(computed[name].low or 0.0, 2) == pytest.approx(low)
        assert round(computed[name].high or 0.0, 2) == pytest.approx(high)


def test_result_tables_of_the_release_are_equal(parts: list[Part]) -> None:
    """Every row of the result tables that came with the recordings is reproduced."""
    checks = table(parts, "hrc_checks").frame
    assert list(checks["Rows"]) == [12, 72, 9]
    assert (checks["Rows"] == checks["Equal"]).all()
    heldout = table(parts, "hrc_loto_checks").frame
    assert list(heldout["Equal"]) == [6]


def test_caveats_stand_with_the_tables(parts: list[Part]) -> None:
    """What the data's description warns of is said where the numbers are."""
    note = table(parts, "hrc_requirements").note
    assert "by definition" in note
    assert "same event for all 3 checkpoints: 008372_02 (early)" in note
    assert "never admits an early window" in table(parts, "hrc_loto").note


def test_ids_not_computed_name_their_files(parts: list[Part]) -> None:
    """Every published id is computed or the coverage table says which recordings it needs."""
    computed = statistics_of_parts(parts)
    for name in published_ids():
        assert need_of(name) is not None, name
    frame = table(parts, "hrc_coverage").frame
    assert int(frame["Computed"].sum()) == sum(name in computed for name in published_ids())
    assert int((frame["Computed"] + frame["Missing"]).sum()) == len(published_ids())
    complete = frame.loc[frame["Missing"] == 0, "Recordings"]
    assert any("scored_rows_three_checkpoint.csv" in text for text in complete)


def test_one_setting_does_not_pass_for_the_published_area(parts: list[Part]) -> None:
    """Scores of one camera setting give an id of their own, never the published one."""
    computed = statistics_of_parts(parts)
    assert "loto.auroc" not in computed
    assert computed["loto.auroc_all_five"].value == pytest.approx(0.92596, abs=1e-5)


def test_single_file(real_folder: Path) -> None:
    """One file alone is enough for what it holds."""
    found = analyse(load_recordings(real_folder / "checkpoint_pair_errors.csv"))
    statistics = statistics_of_parts(found)
    assert statistics["family.rank_pooled"].value == 7
    assert statistics["family.rank_without_llava"].value == 3
    assert "panelA.q8b.candidate_only.consistent" not in statistics
