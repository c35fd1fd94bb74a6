"""The report's words, tables and comparisons, without a browser."""

from __future__ import annotations

import pandas as pd
import pytest

from pact_benchmark.compare import command_for, remark, targets
from pact_benchmark.config import changes, load_config
from pact_benchmark.names import column_name, stratum_name, value_name
from pact_benchmark.report.agreement import NAMED, agreement, figure_text
from pact_benchmark.report.findings import findings
from pact_benchmark.report.page import _sentence
from pact_benchmark.report.provenance import made, provenance
from pact_benchmark.report.tables import SHOWN_ROWS, table_view
from pact_benchmark.results import format_cell, format_column, to_latex, to_markdown
from pact_benchmark.study import Table


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.8, 2.37, 0.25], ["0.80", "2.37", "0.25"]),
        ([0.011667, 3.205e-05, 0.0], ["0.011667", "0.000032", "0.000000"]),
        ([31200.0, 48.0], ["31,200", "48"]),
        ([-0.12853, 0.05], ["−0.1285", "0.0500"]),
        ([0.25, 1e-9], ["0.250000", "≈ 0"]),
        ([1.0, float("nan"), None], ["1", "–", "–"]),
        ([138422.4481, 0.5], ["138,422.4", "0.5"]),
        ([True, False], ["yes", "no"]),
        (["cross-role", "off"], ["cross-role", "off"]),
        ([], []),
    ],
)
def test_a_column_has_one_number_format(values: list[object], expected: list[str]) -> None:
    """All numbers of a column have the same decimals, integers none, and a true minus."""
    assert format_column(values) == expected


def test_a_number_on_its_own() -> None:
    """A single number is short, an integer has no decimals, and a minus is a minus."""
    shown = [format_cell(value) for value in (31200.0, -0.12345678, 1e-15, None)]
    assert shown == ["31,200", "−0.1235", "0", "–"]


def test_stored_tables_for_people_share_the_format() -> None:
    """Markdown and LaTeX have the report's number format."""
    frame = pd.DataFrame({"rule": ["a|b", "c"], "area": [-0.5, 0.25]})
    assert "| a\\|b | −0.50 |" in to_markdown(frame)
    assert "c & 0.25 \\\\" in to_latex(Table("t", "T", frame))
    assert "$-$0.50" in to_latex(Table("t", "T", frame))


def test_names_for_people() -> None:
    """Rules, conditions, strata and columns are shown by their titles, other text as it is."""
    assert value_name("pact_singleton") == "Singleton PACT"
    assert value_name("nested_dirichlet@4") == "Nested Dirichlet, κ = 4"
    assert value_name("adversarial_consensus_wrong") == "Adversarial consensus"
    assert value_name("foggy", {"foggy": "Fog"}) == "Fog"
    assert value_name("some_new_thing") == "some new thing"
    assert value_name("language") == "language"
    assert [stratum_name("all"), value_name("all")] == ["all rows", "all"]
    assert column_name("budget pact_singleton") == "budget Singleton PACT"
    assert column_name("wrong_all") == "R_all"


def test_intervals_join_their_column() -> None:
    """The ends of an interval stand in the cell of their value, formatted alike."""
    frame = pd.DataFrame(
        {
            "rule": ["pact"],
            "R_all": [0.25],
            "low": [0.125],
            "high": [0.5],
            "merged": [1.0],
            "merged low": [None],
            "merged high": [2.0],
        }
    )
    view = table_view(frame, "t", "T", "", {})
    assert [str(head.text) for head in view.heads] == ["rule", "R<sub>all</sub>", "All merged"]
    assert [head.numeric for head in view.heads] == [False, True, True]
    first = view.rows[0]
    assert [first[0].text, first[1].text, first[1].interval] == ["PACT", "0.250", "[0.125, 0.500]"]
    assert first[2].interval == ""


def test_long_tables_are_folded_and_cut() -> None:
    """A long table says how many rows it folds, and how many are only in the file."""
    view = table_view(pd.DataFrame({"n": range(100)}), "t", "T", "", {})
    assert view.folded == len(view.rows) - SHOWN_ROWS
    assert view.more == 100 - len(view.rows)
    assert table_view(pd.DataFrame({"n": range(20)}), "t", "T", "", {}).folded == 0


def test_sentences_keep_names() -> None:
    """A phrase becomes a sentence, and ncsAURC keeps its first letter."""
    assert _sentence("count rows") == "Count rows."
    assert _sentence("ncsAURC of every rule") == "ncsAURC of every rule."
    assert _sentence("Does it matter?") == "Does it matter?"


@pytest.mark.parametrize(
    ("drift", "expected"), [(0.0, "stays exactly as it was"), (2e-16, "moves by at most 2e-16")]
)
def test_findings_read_well_at_zero(drift: float, expected: str) -> None:
    """No movement is said in words."""
    statistics = {
        "copies.pact_within.max_drift": {"value": drift},
        "copies.pact_separate.contract_changed": {"value": 0.327},
    }
    (sentence,) = findings(statistics)
    assert expected in sentence
    assert "32.7%" in sentence


def test_changes_of_the_configuration_are_named() -> None:
    """The default configuration changes nothing; seeds and added conditions are named."""
    sections = load_config().sections
    assert changes(sections) == []
    default = sections["run"]["seed"]
    sections["run"]["seed"] = 7
    conditions = sections["conditions"]["conditions"]
    conditions["foggy"] = dict(conditions["clean_control"])
    del conditions["all_sources_missing"]
    assert changes(sections) == [
        "conditions.all_sources_missing left out",
        "conditions.foggy added",
        f"run.seed = 7 (default {default})",
    ]
    assert "conditions.foggy added" in remark(changes(sections))
    assert remark([]) == ""
    assert "and 2 more" in remark([str(number) for number in range(7)])


def test_agreement_names_what_differs_and_what_is_missing() -> None:
    """Differing figures come first, with their values; missing ones with the command for them."""
    published = {t.id: t for t in targets("controlled") if isinstance(t.value, (int, float))}
    statistics = {name: {"value": t.value} for name, t in published.items() if "sobol" not in name}
    statistics["near_copies.slope"] = {"value": 0.5, "low": 0.4, "high": 0.6}
    found = agreement(statistics, [])
    assert found is not None
    assert found.fitted
    assert found.remark == ""
    assert [figure.id for figure in found.differing] == ["near_copies.slope"]
    assert found.differing[0].ours == "0.5000 [0.4000, 0.6000]"
    assert "sobol.pact.wrong_at_013" in found.missing["pact sweep --output RUN"]
    assert [str(head.text) for head in found.table.heads][:2] == ["figure", "verdict"]
    assert found.table.rows[0][1].text == "differs"
    assert agreement({"mine.own": {"value": 1}}, []) is None


def test_many_differing_figures_are_not_all_named() -> None:
    """A run of another design names a few of the figures that differ and counts the rest."""
    statistics = {t.id: {"value": -1e6} for t in targets("controlled")}
    found = agreement(statistics, ["conditions.foggy added"])
    assert found is not None
    assert len(found.differing) == NAMED
    assert found.unnamed > 100
    assert "conditions.foggy added" in found.remark


def test_every_published_figure_has_a_command() -> None:
    """The command that computes a figure names a command, and a study where there is one."""
    from pact_benchmark.study import all_studies

    known = all_studies()
    for target in targets("controlled"):
        words = command_for(target.id, "RUN").split()
        assert words[1] in ("sweep", "set-transformer") or words[2] in known, target.id
    assert command_for("hw.tmc.refine.d_ncsaurc", "RUN").startswith("pact learned")


def test_figures_are_integers_where_they_are() -> None:
    """Counts have no decimals, ranges two ends, tiny numbers an exponent."""
    shown = [figure_text(value) for value in (31200.0, (0.1, 0.25), -0.0217, 3e-6, None, True)]
    assert shown == ["31,200", "0.1000 to 0.2500", "−0.0217", "3.0e-06", "–", "true"]


def test_provenance_tells_date_commit_and_changes() -> None:
    """Date, version, commit and what differs from the default come from the manifest."""
    facts = {
        "parts": {
            "instances": {"finished": "2026-02-03T04:05:06Z", "seconds": 1.0},
            "statistics": {"finished": "2027-01-01T00:00:00Z", "seconds": 0.1},
            "report": {"finished": "2027-01-01T00:00:00Z", "seconds": 9.0},
        },
        "pact": "0.1.0",
        "commit": "abc1234",
        "config": {},
    }
    assert made(facts) == "2026-02-03 04:05:06 UTC"
    told = dict(provenance(facts, ["run.seed = 7 (default 1)"]))
    assert told["PACT"] == "0.1.0, commit abc1234"
    assert told["configuration"] == "run.seed = 7 (default 1)"
    assert dict(provenance({"parts": {}, "config": {}}, []))["configuration"].startswith("the def")
    assert made({"parts": {}}) == ""
