"""Published entries that are pairs of numbers."""

from __future__ import annotations

import pytest

from pact_benchmark.compare import DIFFERS, MATCH, Target, compare_runs, verdict
from pact_benchmark.report.findings import findings

PAIR = Target("range", "controlled", (0.05, 0.30), None, "generator", "")


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        ({"value": [0.055, 0.29], "low": None, "high": None}, MATCH),
        ({"value": 0.1, "low": 0.055, "high": 0.29}, MATCH),
        ({"value": [0.055, 0.40], "low": 0.05, "high": 0.30}, DIFFERS),
        ({"value": None, "low": None, "high": None}, DIFFERS),
    ],
)
def test_pair_matches_when_both_ends_do(statistic, expected):
    """A pair is read from the value, and from the ends of the interval where it is not there."""
    assert verdict(PAIR, statistic) == expected


def test_pair_against_a_single_number_differs():
    """A statistic that is a pair does not match a figure that is one number."""
    single = Target("one", "controlled", 0.05, None, "generator", "")
    assert verdict(single, {"value": [0.05, 0.05]}) == DIFFERS


def test_runs_with_pairs_are_compared_end_by_end():
    """Two runs whose statistics hold pairs compare; the pair that moved differs."""
    first = {"a": {"value": [0.1, 0.2]}, "b": {"value": [0.1, 0.2]}}
    second = {"a": {"value": [0.1, 0.2]}, "b": {"value": [0.1, 0.9]}}
    frame = compare_runs(first, second).set_index("id")
    assert list(frame.loc[["a", "b"], "verdict"]) == [MATCH, DIFFERS]


def test_finding_names_both_ends_of_the_sweep():
    """The sentence about the sweep gives the smallest and the largest area."""
    ends = {"sobol.pact.range": (0.05, 0.11), "sobol.nested_dirichlet.range": (0.09, 0.2)}
    statistics = {
        name: {"value": list(pair), "low": pair[0], "high": pair[1]} for name, pair in ends.items()
    }
    (sentence,) = findings(statistics)
    assert "0.050 and 0.110" in sentence
    assert "0.090 to 0.200" in sentence
    assert findings({"sobol.pact.range": statistics["sobol.pact.range"]}) == []


def test_a_negative_change_reads_with_a_minus_sign():
    """Numbers in sentences are typeset, not printed as code."""
    (sentence,) = findings({"matched.partition_effect.without_adversarial": {"value": -0.0561}})
    assert "ncsAURC by \N{MINUS SIGN}0.056 against" in sentence
