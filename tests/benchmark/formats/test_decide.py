"""`pact decide`: the real command on good, bad and hostile input."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pytest

from pact_benchmark.formats.deciding import READERS, Settings, decide_lines
from pact_benchmark.formats.instance import schema
from pact_benchmark.formats.lines import LONGEST_LINE, parse_lines
from pact_core import RULES

SOURCES = [
    {
        "role": "language",
        "opinion": {"N": 0.9, "S": 0.04, "H": 0.03, "T": 0.02, "U": 0.01},
        "quality": 0.9,
        "conflict": 0.05,
        "parents": ["command-7"],
        "command": {"current_hash": "7f", "evidence_hash": "7f", "status": "current"},
    },
    {
        "role": "geometry",
        "opinion": [0.5, 0.2, 0.1, 0.1, 0.1],
        "quality": 0.7,
        "conflict": 0.2,
        "parents": ["frame-12"],
    },
    {
        "role": "risk",
        "opinion": [0.4, 0.3, 0.1, 0.1, 0.1],
        "quality": 0.8,
        "conflict": 0.1,
        "parents": ["frame-12", "path-3"],
    },
]
INSTANCE = {"record_id": "mine-1", "sources": SOURCES}


def validator(name):
    """Return a JSON Schema validator of one definition."""
    jsonschema = pytest.importorskip("jsonschema")
    document = schema()
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": document["$defs"]})


def results(text, **settings):
    """Decide on lines without a process and return the objects."""
    lines = parse_lines(io.BytesIO(text.encode() if isinstance(text, str) else text))
    return list(decide_lines(lines, READERS["instance"], Settings(**settings)))


def test_one_instance_in_one_decision_out(pact):
    """The fixed keys are there, and the object obeys the exported schema."""
    done = pact("decide", stdin=json.dumps(INSTANCE) + "\n")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    decision = json.loads(line)
    assert list(decision)[:10] == [
        "record_id", "rule", "kappa", "contract", "posterior", "score", "base_eligible",
        "status", "response", "check",
    ]  # fmt: skip
    assert decision["record_id"] == "mine-1"
    assert (decision["contract"], decision["status"]) == ("N", "admitted")
    validator("decision").validate(decision)
    validator("instance").validate(INSTANCE)


def test_malformed_lines_are_reported_and_the_stream_goes_on(pact):
    """Error objects carry line and reason; good lines are decided; the exit status is 1."""
    unnamed = {"sources": SOURCES}
    bad = [
        "{not json",
        "17",
        json.dumps({"sources": []}),
        json.dumps({"sources": [{**SOURCES[0], "parents": []}]}),
        json.dumps({"sources": [{**SOURCES[0], "role": 3}]}),
        json.dumps({"sources": SOURCES, "contracts": ["N", "N"]}),
        json.dumps({"sources": [{**SOURCES[0], "available": "yes"}]}),
        json.dumps({"record_id": 5, "sources": SOURCES}),
        json.dumps({"sources": [{**SOURCES[0], "command": {"status": "curent"}}]}),
    ]
    text = "\n".join([json.dumps(INSTANCE), *bad, "", json.dumps(unnamed)]) + "\n"
    done = pact("decide", stdin=text)
    assert done.returncode == 1
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    errors = objects[1:-1]
    assert [error["line"] for error in errors] == list(range(2, 11))
    for error in errors:
        validator("error").validate(error)
    assert "'parents' is empty" in errors[3]["error"]
    assert objects[-1]["record_id"] == 12
    assert "unknown status 'curent'" in errors[8]["error"]
    assert "9 error(s)" in done.stderr


def test_bad_numbers_are_decisions_not_errors():
    """A source with bad numbers is invalid: FALLBACK with the reason, no error object."""
    spoiled = [SOURCES[0], {**SOURCES[1], "opinion": [1, 1, 1, 1, 1]}, SOURCES[2]]
    (decision,) = results(json.dumps({"sources": spoiled}), explain=True)
    assert (decision["response"], decision["check"]) == ("fallback", "source_validity")
    assert decision["explain"]["values"]["faults"] == {"geometry": ["opinion sums to 5"]}


def test_every_rule_and_every_explanation_is_strict_json(pact):
    """`--rule all --explain` gives one object per rule without NaN or infinity."""
    done = pact("decide", "--rule", "all", "--explain", stdin=json.dumps(INSTANCE))
    rows = [
        json.loads(line, parse_constant=lambda word: pytest.fail(word))
        for line in done.stdout.splitlines()
    ]
    assert {"pact", "product", "provenance_pooling", "language"} <= {row["rule"] for row in rows}
    assert rows[7]["explain"]["components"] == [["language"], ["geometry", "risk"]]


def test_threshold_kappa_and_corroboration_are_honoured():
    """The options change what they name."""
    text = json.dumps(INSTANCE)
    (low,), (high,) = results(text, kappa=1.0), results(text, kappa=50.0)
    assert low["score"] < high["score"]
    (held,) = results(text, threshold=0.99)
    assert (held["response"], held["check"], held["admission"]) == (
        "hold",
        "score_selection",
        "none",
    )


def test_pretty_printed_documents_lists_and_own_contracts():
    """A document over several lines, and a list of instances, are read as such."""
    mine = {
        "contracts": ["go", "wait"],
        "sources": [
            {"role": "view", "opinion": [0.9, 0.1], "quality": 1, "conflict": 0, "parents": [name]}
            for name in ("a", "b")
        ],
    }
    (single,) = results(json.dumps(mine, indent=2))
    assert (single["record_id"], single["contract"]) == (1, "go")
    assert len(results(json.dumps([mine, mine], indent=2))) == 2


def test_a_broken_first_line_loses_nothing_after_it():
    """A first line that looks like the start of a document is one error, however long the rest."""
    good = json.dumps(INSTANCE)
    filler = " " * 1_000_000
    lines = ['{"sources": [', *[good + filler for _ in range(20)], good]
    rows = results("\n".join(lines) + "\n")
    assert rows[0] == {"line": 1, "error": "not JSON: Expecting value at column 14"}
    assert [row.get("record_id") for row in rows[1:]] == ["mine-1"] * 21
    short = results('{"sources": [\n' + good)
    assert [("error" in row) for row in short] == [True, False]
    assert results("") == []


@pytest.mark.parametrize(
    "hostile",
    [
        b"[" * 200_000,
        b'{"sources": ' + b"9" * 6000 + b"}",
        b"\xff\xfe\x00",
        b'{"sources": [' + b"{}," * 1000 + b"{}]}",
        b'{"sources": {"a": 1}}',
        b"x" * (LONGEST_LINE + 10),
    ],
    ids=["deep", "digits", "bytes", "many", "object", "long"],
)
def test_hostile_lines_give_error_objects(hostile):
    """Deep nesting, endless digits, wrong bytes and giant lines cost one error object each."""
    good = json.dumps(INSTANCE).encode()
    rows = results(good + b"\n" + hostile + b"\n" + good + b"\n")
    assert [("error" in row) for row in rows] == [False, True, False]
    assert rows[1]["line"] == 2


def test_single_source_rule_without_that_source_is_an_error_object():
    """A rule that was asked for and cannot decide says so; `all` means those that can."""
    text = json.dumps({"sources": SOURCES[1:]})
    (row,) = results(text, rules=("language",))
    assert "no language source" in row["error"]
    rows = results(text, rules=("language", "pact"))
    assert [row.get("rule", "error") for row in rows] == ["error", "pact"]
    rows = results(text, rules=("language", "pact"), applicable=True)
    assert [row["rule"] for row in rows] == ["pact"]


def test_rules_by_name_and_all_on_the_command_line(pact):
    """`--rule all` leaves out what does not apply, a named rule is an error there."""
    text = json.dumps({"sources": SOURCES[1:]})
    assert pact("decide", "--rule", "all", stdin=text).returncode == 0
    named = pact("decide", "--rule", "language", "--rule", "pact", stdin=text)
    assert named.returncode == 1
    assert "no language source for rule 'language'" in named.stdout


def test_an_empty_record_id_is_kept():
    """Only an instance without a name takes its line number."""
    rows = results("\n".join(json.dumps({**INSTANCE, "record_id": n}) for n in ("", None)))
    assert [row["record_id"] for row in rows] == ["", 2]


STATES = {
    "admitted": INSTANCE,
    "base_eligibility": {"sources": SOURCES[:1]},
    "command_consistency": {"sources": [{**SOURCES[0], "command": None}, *SOURCES[1:]]},
    "source_validity": {"sources": [*SOURCES[:2], {**SOURCES[2], "conflict": None}]},
    "risk_support": {
        "sources": [
            {**SOURCES[0], "opinion": [0.96, 0.01, 0.01, 0.01, 0.01], "quality": 0.95},
            SOURCES[1],
            {**SOURCES[2], "available": False},
        ]
    },
    "component_corroboration": {"sources": [{**s, "conflict": 0.1} for s in SOURCES]},
}


@pytest.mark.parametrize("state", STATES)
def test_every_explanation_obeys_the_schema(state):
    """Each check's values, changes and limits are described; nothing else is there."""
    known = set(schema()["$defs"]["values"]["properties"])
    text = json.dumps(STATES[state])
    for row in results(text, rules=tuple(RULES), explain=True, applicable=True):
        assert (row["check"] or "admitted") in (state, "component_corroboration", "admitted")
        validator("decision").validate(row)
        assert set(row["explain"]["values"]) <= known
    (held,) = results(text, threshold=0.999, explain=True)
    validator("decision").validate(held)
    (row,) = results(text, explain=True)
    assert (row["check"] or "admitted") == state


def test_every_rule_with_a_certificate_says_its_limits():
    """The limits are those of the library, for PACT and for its variants."""
    found = {
        row["rule"]
        for row in results(json.dumps(INSTANCE), rules=tuple(RULES), explain=True)
        if "stays_below" in row["explain"]
    }
    assert {"pact", "pact_singleton", "maximum", "representative"} <= found
    assert "product" not in found


def test_people_get_the_explanation_too(pact):
    """`--format human --explain` prints what the JSON object holds, indented."""
    text = json.dumps(STATES["component_corroboration"])
    done = pact("decide", "--format", "human", "--explain", stdin=text)
    first, *rest = done.stdout.splitlines()
    assert first.endswith("confirm (stopped by component_corroboration)")
    assert all(line.startswith("  ") for line in rest)
    assert "  components: language, geometry + risk" in rest
    assert "  to pass: complete supporting components 3, is 2" in rest
    assert any(line.startswith("  stays below (contract): ") for line in rest)


def test_human_format_schema_and_wrong_rule(pact, tmp_path):
    """People get one line, the schema prints, and a typo in a rule is a usage error."""
    path = tmp_path / "instances.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(INSTANCE).encode()))
    shown = pact("decide", path, "--format", "human")
    assert shown.stdout.startswith("mine-1 pact: contract N, score 0.")
    printed = pact("decide", "--schema")
    assert json.loads(printed.stdout) == schema()
    wrong = pact("decide", "--rule", "pakt", stdin="")
    assert wrong.returncode == 2
    assert "unknown rule 'pakt'" in wrong.stderr
    assert pact("decide", tmp_path / "none.jsonl").returncode == 2
    for kappa in ("1e120", "inf", "nan"):
        refused = pact("decide", "--kappa", kappa, stdin=json.dumps(INSTANCE))
        assert refused.returncode == 2
        assert refused.stdout == ""
        assert refused.stderr.count("\n") == 1
        assert "kappa" in refused.stderr


def test_release_records_agree_with_the_expected_answers(pact, shared):
    """The command itself meets the conformance set for every rule."""
    folder = shared / "conformance"
    with gzip.open(folder / "expected.jsonl.gz", "rt") as stream:
        expected = {row["record_id"]: row for row in map(json.loads, stream)}
    names = ("normal", "slow_clearance", "hold_confirm", "retreat_fallback", "bounded_urgent")
    done = pact(
        "decide", folder / "source_records.jsonl.gz", "--input-format", "release", "--rule", "all",
        "--kappa", "4", "--corroboration", "component_count",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = 0
    for row in map(json.loads, done.stdout.splitlines()):
        answers = expected[row["record_id"]]
        name = f"{row['rule']}@4" if row["rule"] in ("pact", "nested_dirichlet") else row["rule"]
        if name not in answers["rules"]:
            continue
        answer = answers["rules"][name]
        seen += 1
        assert names["NSHTU".index(row["contract"])] == answer["contract"]
        np.testing.assert_allclose(row["posterior"], answer["posterior"], atol=1e-9)
        assert abs(row["score"] - answer["score"]) <= 1e-9
        assert row["base_eligible"] == answers["base_eligible"]
        assert row["admission"].replace("none", "admit") == answer["response"]["component_count"]
        if row["base_eligible"]:
            assert row["response"] == row["admission"]
    assert seen == 8 * len(expected)
