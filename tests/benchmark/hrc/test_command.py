"""The command as a user runs it."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd

Command = Callable[..., CompletedProcess[str]]


def test_real_recordings(pact: Command, real_folder: Path, tmp_path: Path) -> None:
    """`pact hrc --records DIR` prints the statistics as JSON and leaves a whole run folder."""
    output = tmp_path / "run"
    done = pact("hrc", "--records", str(real_folder), "--output", str(output), "--format", "json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["panelA.q8b.target_plus_proximity.inconsistent"]["value"] == 1
    assert printed["retention_table.q32b.d_inconsistent_pp"]["n"] == 720
    stored = json.loads((output / "statistics.json").read_text())
    assert stored == printed
    assert (output / "report.html").stat().st_size > 50_000
    for name in ("hrc_requirements", "hrc_scores", "hrc_pairings"):
        assert all(
            (output / "figures" / f"{name}.{kind}").exists() for kind in ("svg", "png", "pdf")
        )
    report = (output / "report.html").read_text()
    assert "by definition" in report
    assert "task_heldout_phase_predictions.csv" in report


def test_simulated_recordings_in_time(
    pact: Command, observations: pd.DataFrame, tmp_path: Path
) -> None:
    """720 queries under every rule with 2,000 resamples stay well within thirty seconds."""
    observations.to_parquet(tmp_path / "observations.parquet")
    output = tmp_path / "run"
    # Processor time, so that a busy machine does not decide; the work is single-threaded.
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = pact("hrc", "--simulate", "--observations", str(tmp_path), "--output", str(output))
    assert done.returncode == 0, done.stderr
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 30
    assert "simulated recordings" in done.stdout
    assert "Simulated recordings" in (output / "report.html").read_text()
    kept = tmp_path / "kept.parquet"
    kept.write_bytes((output / "records.parquet").read_bytes())
    again = pact(
        "hrc", "--records", str(kept), "--output", str(output), "--format", "json", "--draws", "20"
    )
    assert again.returncode == 0, again.stderr
    assert all(name.startswith("simulated.") for name in json.loads(again.stdout))
    assert pact("verify", str(output)).returncode == 0


def test_schema_is_printed(pact: Command) -> None:
    """`--schema` prints the JSON Schema of the record format."""
    done = pact("hrc", "--schema")
    assert json.loads(done.stdout)["title"] == "PACT offline HRC record"


def test_wrong_requests_are_one_line(pact: Command, tmp_path: Path) -> None:
    """Usage errors end with code 2 and one line without a traceback."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"record": "output"}\n')
    for arguments in (
        ("hrc",),
        ("hrc", "--records", str(tmp_path / "absent")),
        ("hrc", "--records", str(bad)),
        ("hrc", "--simulate", "--records", str(bad)),
        ("hrc", "--records", str(bad), "--observations", str(bad)),
        ("hrc", "--skeleton", str(tmp_path)),
    ):
        done = pact(*arguments)
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_other_recordings_replace_earlier_results(
    pact: Command, real_folder: Path, tmp_path: Path
) -> None:
    """Figures of earlier recordings do not stay beside those of new ones."""
    output = tmp_path / "run"
    for name in ("scored_rows_three_checkpoint.csv", "checkpoint_pair_errors.csv"):
        done = pact("hrc", "--records", str(real_folder / name), "--output", str(output))
        assert done.returncode == 0, done.stderr
    stored = json.loads((output / "statistics.json").read_text())
    assert "family.rank_pooled" in stored
    assert not any(name.startswith("factorial.") for name in stored)
    assert not (output / "tables" / "hrc_factorial.csv").exists()
