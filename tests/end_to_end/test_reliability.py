"""Faults: kills, damage, full and read-only disks, two writers, odd places and clocks."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pact_benchmark.errors import PactError
from pact_benchmark.store import RunFolder, write_atomically
from tests.conftest import PACT


def digests(folder: Path, *, without: tuple[str, ...] = ("run.json", ".lock")) -> dict[str, str]:
    """Return the SHA-256 of every file below a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in without
    }


def test_killed_run_resumes_to_the_same_bytes(finished_run: Path, tmp_path: Path) -> None:
    """A run killed with SIGKILL at random moments ends with the same bytes as one that was not."""
    target = tmp_path / "run"
    command = [PACT, "run", "--backend", "kinematic", "--jobs", "2", "--quiet", "-o", target]
    moments = random.Random(20260718)
    for _ in range(4):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(2.0, 9.0))
        process.kill()
        process.wait()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=280)
    mine, reference = digests(target), digests(finished_run)
    mine.pop("report.html"), reference.pop("report.html")  # it names its folder and timings
    assert mine == reference


def test_second_run_recomputes_nothing(run_copy: Path, pact) -> None:
    """Running the same command again touches no result."""
    before = {path: path.stat().st_mtime_ns for path in run_copy.rglob("*.parquet")}
    pact("run", "--backend", "kinematic", "--quiet", "-o", run_copy, check=True)
    assert {path: path.stat().st_mtime_ns for path in run_copy.rglob("*.parquet")} == before


@pytest.mark.parametrize("name", ["instances.parquet", "observations.parquet", "statistics.json"])
@pytest.mark.parametrize("damage", ["truncate", "flip", "delete"])
def test_verify_finds_damage(run_copy: Path, pact, name: str, damage: str) -> None:
    """Damage of any kind is found, named, and comes with the command that mends it."""
    path = run_copy / name
    content = bytearray(path.read_bytes())
    if damage == "truncate":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        path.unlink()
    result = pact("verify", run_copy)
    assert result.returncode == 1
    assert name in result.stdout
    assert "rerun: pact" in result.stdout


def test_damaged_rows_are_not_used(run_copy: Path, pact) -> None:
    """A damaged table is made anew by `pact run`, to the same bytes."""
    path = run_copy / "instances.parquet"
    original = path.read_bytes()
    path.write_bytes(original[:-100])
    pact("run", "--backend", "kinematic", "--quiet", "-o", run_copy, check=True)
    assert path.read_bytes() == original
    assert pact("verify", run_copy).returncode == 0


def test_the_printed_command_mends_to_the_same_bytes(run_copy: Path, tmp_path: Path, pact) -> None:
    """What `pact verify` says to rerun has the options that made the file, in mending order."""
    pact("generate", "--seed", "7", "--quiet", "-o", run_copy, check=True)
    pact("evaluate", "design", "--quiet", f"--output={run_copy}", check=True)
    states = json.loads(pact("status", run_copy, "--format", "json", check=True).stdout)["parts"]
    outdated = {part["part"] for part in states if part["state"] == "outdated"}
    assert {"study:copies", "decisions", "report"} <= outdated
    assert not {"study:design", "instances", "observations"} & outdated
    told = pact("report", run_copy, check=True)
    assert "studies are not up to date" in told.stderr
    assert f"run `pact evaluate --output {run_copy}` first" in told.stderr
    states = json.loads(pact("status", run_copy, "--format", "json", check=True).stdout)["parts"]
    assert [part["state"] for part in states if part["part"] == "report"] == ["finished"]
    page = (run_copy / "report.html").read_text(encoding="utf-8")
    assert "Not all of one piece" in page
    marked = page.count("Made from rows that have been replaced since.")
    assert marked == len([name for name in outdated if name.startswith("study:")])
    names = ["instances.parquet", "studies/design.json", "statistics.json"]
    originals = {name: (run_copy / name).read_bytes() for name in names}
    for name in names:
        (run_copy / name).write_bytes(b"damaged")
    problems = json.loads(pact("verify", run_copy, "--format", "json").stdout)["problems"]
    assert problems[0]["file"] == "instances.parquet"
    for problem in problems:
        pact(*shlex.split(problem["rerun"])[1:], check=True)
    assert {name: (run_copy / name).read_bytes() for name in names} == originals
    assert pact("verify", run_copy).returncode == 0


def test_the_printed_command_works_anywhere(finished_run: Path, tmp_path: Path, pact) -> None:
    """Relative paths with spaces, a file of options: the command mends from another folder."""
    home, elsewhere = tmp_path / "my work", tmp_path / "elsewhere"
    shutil.copytree(finished_run, home / "a run")
    elsewhere.mkdir()
    (home / "mine.toml").write_text("[run]\nseed = 7\n", encoding="utf-8")
    for given in (["--config", "mine.toml"], ["--config=mine.toml"], ["-cmine.toml"]):
        pact("generate", "--quiet", *given, "-o", "a run", cwd=home, check=True)
        table = home / "a run" / "instances.parquet"
        original = table.read_bytes()
        table.write_bytes(b"damaged")
        found = json.loads(pact("verify", "a run", "--format", "json", cwd=home).stdout)
        line = found["problems"][0]["rerun"]
        search = os.pathsep.join([str(PACT.parent), os.environ["PATH"]])
        subprocess.run(
            line, shell=True, cwd=elsewhere, check=True, env={**os.environ, "PATH": search}
        )
        assert table.read_bytes() == original
    missing = pact("status", "no run", cwd=home).stderr
    assert f"pact run --output {shlex.quote(str(home / 'no run'))}" in missing


def test_damaged_manifest_is_named(tmp_path: Path, pact) -> None:
    """A damaged run.json gives one line that says what to do."""
    copy = tmp_path / "run"
    copy.mkdir()
    (copy / "run.json").write_text('{"schema": 1, "par', encoding="utf-8")
    result = pact("status", copy)
    assert result.returncode == 1
    assert "damaged" in result.stderr
    assert "Traceback" not in result.stderr


def test_two_writers_do_not_meet(tmp_path: Path) -> None:
    """While one process holds a run, a second one says so and changes nothing."""
    first = RunFolder.create(tmp_path / "run")
    with first.lock():
        result = subprocess.run(
            [PACT, "run", "--backend", "kinematic", "-o", tmp_path / "run"],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert result.returncode == 1
    assert f"in use by another process (pid {os.getpid()})" in result.stderr


def test_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """A write that does not fit leaves the old file and no remains."""
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from pact_benchmark.store import write_atomically\n"
        "from pact_benchmark.errors import PactError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    write_atomically(Path(sys.argv[1]), b'x' * 5000)\n"
        "except PactError as error:\n"
        "    print(error)\n"
    )
    path = tmp_path / "statistics.json"
    path.write_bytes(b"old")
    result = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
    )
    assert "cannot write" in result.stdout
    assert "finished work is kept" in result.stdout
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_unwritable_place_is_one_line(tmp_path: Path, pact) -> None:
    """An output below a file, where nothing can be made, is one line and no traceback."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = pact("run", "--backend", "kinematic", "-o", tmp_path / "file" / "run")
    assert result.returncode in (1, 2)
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_odd_place_time_zone_and_language(finished_run: Path, tmp_path: Path, pact) -> None:
    """A non-ASCII path, another locale and another time zone give the same bytes."""
    place = tmp_path / "Übergabe – 手渡し" / "läufe"
    shutil.copytree(finished_run, place)
    (place / "studies" / "design.json").unlink()
    env = {"LC_ALL": "C", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati", "PYTHONUTF8": "0"}
    result = pact("evaluate", "design", "--output", place, "--quiet", env=env)
    assert result.returncode == 0, result.stderr
    same = "studies/design.json"
    assert (place / same).read_bytes() == (finished_run / same).read_bytes()


@pytest.mark.parametrize("year", [1985, 2090])
def test_clock_set_back_or_forward_reruns_nothing(small_run: Path, pact, year: int) -> None:
    """Times of files far in the past or the future do not change what is made anew."""
    when = (year - 1970) * 31_556_952
    names = ("instances.parquet", "studies/design.json", "statistics.json", "report.html")
    for name in (*names[::2], "run.json"):  # the others keep their time: older and newer mix
        os.utime(small_run / name, (when, when))
    before = {name: (small_run / name).stat().st_mtime_ns for name in names[:2]}
    content = {name: (small_run / name).read_bytes() for name in names}
    pact("evaluate", "design", "--quiet", "-o", small_run, check=True)
    assert "up to date" in pact("report", small_run, check=True).stderr
    assert {name: (small_run / name).stat().st_mtime_ns for name in names[:2]} == before
    assert {name: (small_run / name).read_bytes() for name in names} == content
    states = json.loads(pact("status", small_run, "--format", "json", check=True).stdout)["parts"]
    assert {s["state"] for s in states if s["part"] in ("study:design", "instances")} == {
        "finished"
    }


def test_manifest_lists_every_file(finished_run: Path) -> None:
    """run.json holds the checksum of every file of the run, and they are right."""
    manifest = json.loads((finished_run / "run.json").read_text(encoding="utf-8"))
    on_disk = digests(finished_run)
    listed = {name: entry["sha256"] for name, entry in manifest["files"].items()}
    assert {n: v for n, v in on_disk.items() if not n.startswith("shards/")} == listed


def test_atomic_write_into_missing_folder(tmp_path: Path) -> None:
    """Folders are made as needed; a file in their place is an error."""
    write_atomically(tmp_path / "a" / "b", b"1")
    with pytest.raises(PactError, match="cannot write"):
        write_atomically(tmp_path / "a" / "b" / "c", b"1")
