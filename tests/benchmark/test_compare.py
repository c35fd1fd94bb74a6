"""Comparison with published figures and between runs."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

from pact_benchmark.compare import (
    COLUMNS,
    DIFFERS,
    FAMILIES,
    KEPT_BACK,
    MATCH,
    MISSING,
    PARTIAL,
    Target,
    compare_curves,
    compare_runs,
    compare_with_published,
    published_curves,
    summarise,
    targets,
    verdict,
)
from pact_benchmark.selection import Curve


def target(value, *, kind="generator", interval=None) -> Target:
    """Return a made-up published figure."""
    return Target("made.up", "controlled", value, interval, kind, "")


@pytest.mark.parametrize(
    ("published", "ours", "expected"),
    [
        (target(0.30), 0.3199, MATCH),
        (target(0.30), 0.33, DIFFERS),
        (target(3256), 3350, MATCH),
        (target(3256), 3450, DIFFERS),
        (target(-0.41, interval=(-0.46, -0.37)), -0.455, MATCH),
        (target(-0.41, interval=(-0.46, -0.37)), -0.47, DIFFERS),
        (target(2400, kind="exact"), 2400, MATCH),
        (target(2400, kind="exact"), 2401, DIFFERS),
        (target(1.609, kind="exact"), 1.6094, MATCH),
        (target(1.609, kind="exact"), 1.611, DIFFERS),
        (target(None), 0.1, KEPT_BACK),
        (target(0.3), None, DIFFERS),
    ],
)
def test_verdicts(published, ours, expected):
    """Tolerance, interval, exactness and kept-back figures are judged as documented."""
    assert verdict(published, {"value": ours, "low": None, "high": None}) == expected


def test_a_figure_that_was_not_computed_is_missing():
    """No statistic is "missing", also for a kept-back figure."""
    assert verdict(target(0.3), None) == MISSING


def test_a_partial_figure_is_not_judged():
    """A statistic of a part of the published design neither matches nor differs."""
    statistic = {"value": 2, "note": "partial: 16 of 256 settings"}
    assert verdict(target(0), statistic) == PARTIAL
    assert verdict(target(None), None) == MISSING


def test_every_controlled_figure_has_a_row_when_one_is_there():
    """A run with one figure of a family is compared with the whole family and no other."""
    name = targets("controlled")[0].id
    frame = compare_with_published({name: {"value": targets("controlled")[0].value}})
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == len(targets("controlled"))
    assert (frame["verdict"] == MATCH).sum() == 1
    assert len(compare_with_published({})) == 0


def test_published_values_match_themselves():
    """Feeding the published figures back gives a match for every one that has a value."""
    for family in FAMILIES:
        found = {}
        for t in targets(family):
            low, high = t.value if isinstance(t.value, tuple) else (None, None)
            value = list(t.value) if isinstance(t.value, tuple) else t.value
            found[t.id] = {"value": value, "low": low, "high": high}
        frame = compare_with_published(found)
        frame = frame[frame["id"].isin({t.id for t in targets(family)})]
        assert set(frame["verdict"]) <= {MATCH, KEPT_BACK}
        assert (
            summarise(frame)[0]["value"].split("/")[0] == summarise(frame)[0]["value"].split("/")[1]
        )


def test_runs_are_compared_by_interval_and_tolerance():
    """Two runs agree inside the second one's interval; a figure of only one run is missing."""
    first = {"a": {"value": 1.0}, "b": {"value": 2.0}, "c": {"value": 1.0}}
    second = {"a": {"value": 1.5, "low": 0.9, "high": 2.0}, "b": {"value": 3.0}}
    found = dict(compare_runs(first, second).set_index("id")["verdict"])
    assert found == {"a": MATCH, "b": DIFFERS, "c": MISSING}


def test_figures_without_a_value_agree_when_both_runs_have_none():
    """A figure that is undefined in both runs matches, in one of them it differs."""
    first = {"a": {"value": None}, "b": {"value": None}, "c": {"value": 1.0}}
    second = {"a": {"value": None}, "b": {"value": 1.0}, "c": {"value": None}}
    frame = compare_runs(first, second)
    assert dict(frame.set_index("id")["verdict"]) == {"a": MATCH, "b": DIFFERS, "c": DIFFERS}
    labels = [card["label"] for card in summarise(frame, published=False)]
    assert labels == ["figures of the other run matched"]


def test_curves_are_compared_at_the_published_targets():
    """A curve with the published counts deviates by nothing, a shifted one by the shift."""
    (key, points), *_ = published_curves().items()
    wrong = points["wrong"].to_numpy()[None]
    exact = Curve(
        points["target"].to_numpy(), np.array([31200]), points["admitted"].to_numpy()[None], wrong
    )
    shifted = Curve(exact.targets, exact.n, exact.admitted, wrong + 10)
    assert compare_curves({key: exact})["mean_deviation"].tolist() == [0.0]
    assert compare_curves({key: shifted})["mean_deviation"].tolist() == [10.0]


def test_shipped_figures_are_the_reference_figures(shared: Path):
    """The figures shipped with the package are those of the reference data, value by value."""
    for family in (*FAMILIES, "curves"):
        given = tomllib.loads((shared / "targets" / f"{family}.toml").read_text(encoding="utf-8"))
        if family == "curves":
            assert set(published_curves()) == {(c["stage"], c["rule"]) for c in given["curve"]}
            continue
        values = {
            t.id: list(t.value) if isinstance(t.value, tuple) else t.value for t in targets(family)
        }
        assert values == {entry["id"]: entry.get("value") for entry in given["target"]}


def test_only_comparison_code_reads_the_published_figures(root: Path):
    """Nothing that computes a result mentions the published figures."""
    allowed = {"compare.py", "calibrate.py", "calibration_figures.py"}
    for folder in ("pact_core", "scenes", "benchmark", "extension"):
        for file in (root / folder).rglob("*.py"):
            if file.name in allowed or "targets" in file.parts:
                continue
            text = file.read_text(encoding="utf-8")
            assert "pact_benchmark.targets" not in text, file


def test_the_command_prints_figures_and_summary(finished_run: Path, pact):
    """`pact compare` lists every figure, in words for people and as JSON for programs."""
    human = pact("compare", finished_run, check=True).stdout
    assert "design.instances" in human
    assert "published figures matched" in human
    machine = json.loads(pact("compare", "--output", finished_run, "--format", "json").stdout)
    assert len(machine["curves"]) == 8
    assert "/" in machine["summary"]["published_figures_matched"]
    assert machine["configuration_changes"] == []
    assert "not computed yet: pact sweep --output" in human
    assert {row["verdict"] for row in machine["figures"]} >= {MATCH}
    same = json.loads(pact("compare", finished_run, finished_run, "--format", "json").stdout)
    assert {row["verdict"] for row in same["figures"]} <= {MATCH, KEPT_BACK}


def test_a_changed_configuration_is_told(finished_run: Path, tmp_path: Path, pact):
    """A run of another configuration says what it changes, in `compare` and in the report."""
    copy = Path(shutil.copytree(finished_run, tmp_path / "copy"))
    manifest = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    conditions = manifest["config"]["conditions"]["conditions"]
    conditions["foggy"] = conditions["clean_control"]
    (copy / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "conditions.foggy added" in pact("compare", copy, check=True).stdout
    pact("report", copy, "--quiet", check=True)
    page = (copy / "report.html").read_text(encoding="utf-8")
    assert "Not the default configuration" in page
    assert "conditions.foggy added" in page
    untouched = (finished_run / "report.html").read_text(encoding="utf-8")
    assert "Not the default configuration" not in untouched
