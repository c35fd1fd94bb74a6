"""`pact decide` as a stream: no line is lost, whatever comes and wherever it goes."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmark.formats.test_decide import INSTANCE, SOURCES, results
from tests.conftest import PACT

GOOD = json.dumps(INSTANCE)


def pact_bytes(*arguments, stdin=b"", **options):
    """Run the real command on bytes."""
    return subprocess.run([PACT, *arguments], input=stdin, capture_output=True, **options)


def shell(line, cwd):
    """Run a line of bash with the real command on its path."""
    path = f"{PACT.parent}:/usr/bin:/bin"
    return subprocess.run(
        ["bash", "-c", f"PATH={path}; {line}"], cwd=cwd, capture_output=True, text=True
    )


def names(output):
    """Return the record ids of printed decisions."""
    return [json.loads(line).get("record_id") for line in output.splitlines()]


@pytest.mark.parametrize("form", ["json", "human"])
def test_names_that_the_terminal_cannot_show_are_escaped(form):
    """Lone surrogates and an ASCII terminal cost no line."""
    odd = [
        json.dumps({"record_id": "\ud800", "sources": SOURCES}),
        json.dumps({"record_id": "Täßchen 😀", "sources": SOURCES}),
        json.dumps(
            {
                "contracts": ["\udfff", "go"],
                "sources": [{"role": "\ud800", "parents": ["x"], "opinion": [0.5, 0.5]}],
            }
        ),
    ]
    text = "\n".join([*odd, GOOD]).encode()
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = pact_bytes("decide", "--explain", "--format", form, stdin=text, env=ascii_only)
    assert done.returncode == 0, done.stderr
    if form == "json":
        assert names(done.stdout) == ["\ud800", "Täßchen 😀", 3, "mine-1"]
    else:
        assert rb"\ud800 pact: contract" in done.stdout
        assert rb"mine-1 pact: contract" in done.stdout


@pytest.mark.parametrize("damage", ["cut", "spoilt", "foreign"])
def test_damaged_gzip_is_said_in_one_line(tmp_path, damage):
    """What came before the damage is decided; then one line names the file."""
    good = gzip.compress((GOOD + "\n").encode() * 3)
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(
        {
            "cut": good[:-6],
            "spoilt": good[:-8] + bytes(8),
            "foreign": b"\x1f\x8b" + b"nonsense" * 9,
        }[damage]
    )
    done = pact_bytes("decide", str(path))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert b"x.jsonl.gz is damaged" in done.stderr
    assert set(names(done.stdout)) <= {"mine-1"}


def test_pipes_and_standard_input_are_read_plain_and_compressed(tmp_path):
    """Process substitution, /dev/stdin, a dash and compressed standard input all work."""
    (tmp_path / "x.jsonl").write_text(GOOD + "\n" + GOOD + "\n")
    (tmp_path / "x.gz").write_bytes(gzip.compress((GOOD + "\n" + GOOD).encode()))
    for line in (
        "pact decide <(cat x.jsonl)",
        "pact decide <(cat x.gz)",
        "cat x.jsonl | pact decide /dev/stdin",
        "cat x.jsonl | pact decide -",
        "cat x.gz | pact decide",
        "pact decide < x.gz",
    ):
        done = shell(line, tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), line
        assert names(done.stdout) == ["mine-1", "mine-1"], line
    closed = shell("pact decide <&-", tmp_path)
    assert (closed.returncode, len(closed.stderr.splitlines())) == (2, 1)


def test_a_full_disk_is_one_line_and_status_one(tmp_path):
    """A failing output is said once, without a traceback."""
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    (tmp_path / "x.jsonl").write_text(GOOD + "\n")
    done = shell("pact decide x.jsonl > /dev/full", tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("pact: cannot write the decisions: No space left")
    assert shell("pact decide x.jsonl | true", tmp_path).stderr == ""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "head", ['{"sources": [', '{"record_id":', '{"sources": [{"role": "a"', "["]
)
def test_a_cut_first_line_does_not_hold_up_a_live_stream(head):
    """The next complete lines release the error and their decisions while the stream is open."""
    process = subprocess.Popen([PACT, "decide"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdin.write(f"{head}\n{GOOD}\n{GOOD}\n".encode())
        process.stdin.flush()
        first = json.loads(process.stdout.readline())
        assert (first["line"], "not JSON" in first["error"]) == (1, True)
        assert json.loads(process.stdout.readline())["record_id"] == "mine-1"
        assert json.loads(process.stdout.readline())["record_id"] == "mine-1"
    finally:
        process.stdin.close()
        process.wait()


def test_documents_are_told_from_cut_lines():
    """Lines of a document may be complete JSON of their own; several spellings are one instance."""
    one_per_line = '{"record_id": "d", "sources": [\n' + ",\n".join(map(json.dumps, SOURCES))
    for text in (
        one_per_line + "\n]}",
        "\n\n  \n" + json.dumps(INSTANCE, indent=2),
        "\ufeff" + json.dumps(INSTANCE, indent=2),
        json.dumps([INSTANCE], indent=1),
        f"[\n{GOOD}\n]\n",
        f"[\n{GOOD},\n{GOOD}\n]\n{GOOD}",
    ):
        assert all(row.get("contract") == "N" for row in results(text)), text
    after = results(json.dumps(INSTANCE, indent=2) + "\n" + GOOD + "\n{bad\n" + GOOD)
    assert [row.get("record_id") for row in after] == ["mine-1", "mine-1", None, "mine-1"]
    assert after[2]["line"] == 2 + len(json.dumps(INSTANCE, indent=2).splitlines())


def test_brackets_in_strings_do_not_end_a_document():
    """Only brackets outside of strings count."""
    odd = {**INSTANCE, "record_id": 'a "]}]}" \\ name'}
    (row,) = results(json.dumps(odd, indent=1))
    assert row["record_id"] == odd["record_id"]


def test_lists_on_one_line_are_their_items():
    """Items are named by line and position; a bad one is told with both."""
    unnamed = {"sources": SOURCES}
    rows = results("\n".join([GOOD, json.dumps([unnamed, 7, INSTANCE]), json.dumps(unnamed), "[]"]))
    assert [row.get("record_id") for row in rows] == ["mine-1", "2.1", None, "mine-1", 3]
    assert rows[2] == {"line": 2, "item": 2, "error": "the instance must be a JSON object"}


def test_an_unterminated_string_costs_linear_time():
    """A megabyte of escaped quotes after a cut line is read in well under a minute."""
    code = (
        "import io, json\nfrom pact_benchmark.formats.lines import parse_lines\n"
        "text = b'{\"sources\": [\\n\"' + b'\\\\\"' * 1_000_000 + b'\\n'\n"
        "print(len(list(parse_lines(io.BytesIO(text)))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "2\n"
