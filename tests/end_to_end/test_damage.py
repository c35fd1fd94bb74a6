"""Files that are not what was written are never used: every command that reads says so."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pandas as pd
import pytest

from pact_benchmark.errors import PactError
from pact_benchmark.parquet import to_parquet
from pact_benchmark.store import RunFolder

DEEP = "[" * 100_000 + "]" * 100_000


def flip(path: Path, position: int | None = None) -> None:
    """Flip the lowest bit of one byte, by default in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if position is None else position] ^= 1
    path.write_bytes(content)


def one_line(result) -> str:
    """Return the line that a command which failed ends with."""
    assert result.returncode == 1, result.stderr
    assert "Traceback" not in result.stderr
    assert [line[:6] for line in result.stderr.splitlines()].count("pact: ") == 1, result.stderr
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("instances.parquet", ["evaluate", "prediction", "--quiet"]),
        ("instances.parquet", ["sweep", "--points", "1", "--jobs", "1", "--quiet"]),
        ("observations.parquet", ["sweep", "--points", "1", "--jobs", "1", "--quiet"]),
        ("observations.parquet", ["generate", "--quiet"]),
        ("instances.parquet", ["export", "exported", "--quiet"]),
        ("observations.parquet", ["export", "exported", "--to", "recording", "--quiet"]),
        ("tables/after_admission.csv", ["report", "--quiet"]),
        ("figures/areas_after.svg", ["report", "--quiet"]),
        ("studies/prediction.json", ["report", "--quiet"]),
        ("statistics.json", ["report", "--quiet"]),
        ("statistics.json", ["compare"]),
        ("instances.parquet", ["compare"]),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_altered_file_is_named_and_not_used(
    small_run: Path, tmp_path: Path, pact, name: str, command: list[str]
) -> None:
    """One flipped bit: one line with the file and the command that mends it, and no result."""
    (small_run / "report.html").unlink()
    flip(small_run / name)
    before = {path: path.read_bytes() for path in small_run.rglob("*") if path.is_file()}
    error = one_line(pact(*command, "--output", small_run, cwd=tmp_path))
    assert str(small_run / name) in error
    assert "changed since it was written" in error
    assert "mend it with `pact " in error
    after = {p: p.read_bytes() for p in small_run.rglob("*") if p.is_file() and p.name != ".lock"}
    assert after == before
    assert not (tmp_path / "exported").exists()


def test_observations_of_an_altered_run_are_not_simulated_on(small_run: Path, pact) -> None:
    """`pact hrc --simulate` reads the observations of a run folder through their checksum."""
    flip(small_run / "observations.parquet")
    command = ["hrc", "--simulate", "--observations", small_run, "--quiet"]
    assert "observations.parquet" in one_line(pact(*command, "-o", small_run.parent / "hrc"))


def test_no_flipped_bit_is_read(small_run: Path) -> None:
    """Sixty single flipped bits at random places of a table: none is read."""
    path = small_run / "instances.parquet"
    original = path.read_bytes()
    places = random.Random(7)
    run = RunFolder.open(small_run)
    for _ in range(60):
        flip(path, places.randrange(len(original)))
        with pytest.raises(PactError, match=r"instances\.parquet: changed"):
            run.read_frame("instances.parquet")
        path.write_bytes(original)
    assert len(run.read_frame("instances.parquet")) == 1300


def test_wrong_rows_leave_no_wrong_study(run_copy: Path, pact) -> None:
    """Rows edited as valid Parquet make no figures; the printed command and a rerun mend all."""
    names = ("instances.parquet", "studies/prediction.json", "statistics.json")
    original = {name: (run_copy / name).read_bytes() for name in names}
    rows = pd.read_parquet(run_copy / names[0])
    (run_copy / names[0]).write_bytes(to_parquet(rows.assign(language_quality=0.01)))
    (run_copy / names[1]).unlink()
    error = one_line(pact("evaluate", "prediction", "--quiet", "-o", run_copy))
    assert not (run_copy / names[1]).exists()
    command = shlex.split(error.split("`")[1])
    assert command[0] == "pact"
    pact(*command[1:], check=True)
    pact("run", "--backend", "kinematic", "--quiet", "-o", run_copy, check=True)
    assert {name: (run_copy / name).read_bytes() for name in names} == original


def test_two_damaged_studies_are_mended_one_by_one(small_run: Path, pact) -> None:
    """While one result is mended the other stays out of the statistics, then both are back."""
    statistics = (small_run / "statistics.json").read_bytes()
    for name in ("design", "prediction"):
        flip(small_run / "studies" / f"{name}.json")
    for name in ("design", "prediction"):
        pact("evaluate", name, "--quiet", "-o", small_run, check=True)
    assert (small_run / "statistics.json").read_bytes() == statistics
    assert "studies/" not in pact("verify", small_run).stdout


def test_status_and_compare_see_damage(small_run: Path, pact) -> None:
    """A part with a damaged file is not called finished, and `pact compare` says what to run."""
    flip(small_run / "tables" / "prediction.csv")
    parts = json.loads(pact("status", small_run, "--format", "json", check=True).stdout)["parts"]
    states = {part["part"]: part["state"] for part in parts}
    assert states["study:prediction"] == "damaged"
    assert states["study:design"] == "finished"
    said = pact("compare", small_run, check=True).stderr
    assert "study:prediction is damaged" in said
    assert f"pact evaluate --output {small_run}" in said


def test_compare_on_an_unfinished_run_says_what_to_run(small_run: Path, pact) -> None:
    """Without statistics it names the command that makes them."""
    run = RunFolder.open(small_run)
    for part in [name for name in run.manifest["parts"] if name.startswith("stud")]:
        run.forget(part)
    run.forget("statistics")
    result = pact("compare", small_run)
    assert result.returncode == 2
    assert f"has no statistics.json; make it with `pact evaluate --output {small_run}`" in (
        result.stderr
    )


def test_report_says_whether_it_wrote(small_run: Path, pact) -> None:
    """A report that is up to date is not said to be written."""
    assert "report.html is up to date" in pact("report", small_run, check=True).stderr
    (small_run / "report.html").unlink()
    assert "wrote " in pact("report", small_run, check=True).stderr
    (small_run / "report.html").unlink()
    (small_run / "tables" / "prediction.csv").unlink()
    assert "tables/prediction.csv: missing; mend it" in one_line(pact("report", small_run))


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": 1}',
        '{"schema": 1, "parts": [], "files": {}}',
        '{"schema": 1, "parts": {"instances": null}, "files": {}}',
        '{"schema": 1, "parts": {"report": {"key": "a", "files": [1], "seconds": 1}}, "files": {}}',
        '{"schema": 1, "parts": {}, "files": {"a": {"sha256": 3, "bytes": 1}}}',
        '{"schema": 1, "parts": {}, "files": {}, "config": 3}',
        '{"schema": null}',
        "[1]",
        DEEP,
    ],
    ids=range(9),
)
def test_manifest_of_the_wrong_shape_is_damaged(tmp_path: Path, pact, text: str) -> None:
    """Valid JSON that is no manifest gives the same line as text that is no JSON."""
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(PactError, match=r"run\.json is damaged; delete that file"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize("command", ["status", "verify", "run"])
def test_commands_name_a_damaged_manifest(tmp_path: Path, pact, command: str) -> None:
    """One line, and nothing is touched."""
    (tmp_path / "run.json").write_text('{"schema": 1}', encoding="utf-8")
    assert "run.json is damaged" in one_line(pact(command, "--output", tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("name", ["statistics.json", "studies/design.json"])
def test_deeply_nested_json_is_named(small_run: Path, pact, name: str) -> None:
    """Even where the checksum is right, text that cannot be parsed is one line."""
    run = RunFolder.open(small_run)
    run.write_bytes(name, DEEP.encode())
    run.describe()
    assert f"{name}: not valid JSON" in one_line(pact("report", small_run))
    verified = pact("verify", small_run)
    assert verified.returncode == 1
    assert f"{name}: unreadable" in verified.stdout
    assert "Traceback" not in verified.stderr


def test_damaged_shard_is_computed_again(small_run: Path, pact) -> None:
    """A setting of the sweep that was altered on disk is not taken for a result."""
    command = ["sweep", "--points", "2", "--jobs", "1", "--quiet", "-o", small_run]
    pact(*command, check=True)
    shard = next((small_run / "sweep").rglob("p0000.json"))
    original = shard.read_bytes()
    flip(shard)
    pact(*command, check=True)
    assert shard.read_bytes() == original
    (small_run / "sweep" / "job.json").write_text('{"points": []}', encoding="utf-8")
    assert pact("status", small_run).returncode == 0
