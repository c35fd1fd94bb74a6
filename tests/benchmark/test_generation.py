"""`pact generate`: rows, dataset card, documentation, reuse."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pandas as pd
import pytest

from pact_benchmark.config import load_config
from pact_benchmark.console import Console
from pact_benchmark.dictionary import INSTANCE_COLUMNS, markdown_table
from pact_benchmark.generation import CARD, INSTANCES, OBSERVATIONS, generate, generate_into
from pact_benchmark.store import RunFolder


@pytest.fixture(scope="module")
def observations(finished_run: Path) -> pd.DataFrame:
    """Return the stored observations of a finished run."""
    return pd.read_parquet(finished_run / OBSERVATIONS)


@pytest.fixture
def run(observations: pd.DataFrame, tmp_path: Path) -> RunFolder:
    """Return a run folder that holds observations only."""
    folder = RunFolder.create(tmp_path / "run")
    with folder.part("observations", "given") as part:
        part.frame(OBSERVATIONS, observations)
    return folder


def test_the_table_is_whole_quick_and_repeatable(observations):
    """31,200 rows in a few seconds, the same twice, another with another seed."""
    started = time.perf_counter()
    first = generate(observations, load_config())
    seconds = time.perf_counter() - started
    assert len(first) == 31_200
    assert seconds < 5.0
    pd.testing.assert_frame_equal(first, generate(observations, load_config()))
    other = generate(observations, load_config(seed=7))
    assert not other["language_p_N"].equals(first["language_p_N"])


def test_a_current_part_is_not_made_again(run):
    """Generating twice leaves the first files; another seed makes them anew."""
    generate_into(run, load_config(), Console(quiet=True))
    first = run.manifest["files"][INSTANCES]["sha256"]
    written = run.file(INSTANCES).stat().st_mtime_ns
    generate_into(run, load_config(), Console(quiet=True))
    assert run.file(INSTANCES).stat().st_mtime_ns == written
    generate_into(run, load_config(seed=7), Console(quiet=True))
    assert run.manifest["files"][INSTANCES]["sha256"] != first


def test_the_dataset_card_is_valid_croissant(run):
    """The card loads in the Croissant reference library without an issue and names every column."""
    mlcroissant = pytest.importorskip("mlcroissant")
    generate_into(run, load_config(), Console(quiet=True))
    dataset = mlcroissant.Dataset(str(run.file(CARD)))
    assert not dataset.metadata.ctx.issues.errors
    card = json.loads(run.file(CARD).read_text(encoding="utf-8"))
    assert card["distribution"][0]["sha256"] == run.manifest["files"][INSTANCES]["sha256"]
    fields = [field["name"] for field in card["recordSet"][0]["field"]]
    assert fields == [column.name for column in INSTANCE_COLUMNS]
    record = next(iter(dataset.records("instances")))
    assert record["instances/scene_id"] == b"scene_001"


def test_the_data_dictionary_is_current(root: Path):
    """docs/data-dictionary.md holds the table of columns."""
    text = (root / "docs" / "data-dictionary.md").read_text(encoding="utf-8")
    assert markdown_table() in text


def test_the_command_takes_a_condition_of_the_user(finished_run: Path, tmp_path: Path, pact):
    """A condition in the user's configuration is generated beside the shipped ones."""
    folder = tmp_path / "run"
    shutil.copytree(finished_run, folder)
    sources = "\n".join(
        f'[conditions.conditions.mine.{role}]\nlike = "clean_control"'
        for role in ("language", "geometry", "risk")
    )
    settings = tmp_path / "mine.toml"
    settings.write_text(f'[conditions.conditions.mine]\ntitle = "Mine"\n{sources}\n')
    done = pact("generate", "-o", folder, "-c", settings, "--format", "json", check=True)
    counts = json.loads(done.stdout)["conditions"]
    assert counts["mine"] == 2_400
    assert sum(counts.values()) == 33_600


def test_a_bad_parameter_is_one_line_and_exit_code_two(run_copy: Path, tmp_path: Path, pact):
    """An impossible value is refused with its place, without a traceback."""
    settings = tmp_path / "bad.toml"
    settings.write_text("[conditions.conditions.clean_control.risk]\npeak = 1.5\n")
    done = pact("generate", "-o", run_copy, "-c", settings)
    assert done.returncode == 2
    assert "clean_control, risk" in done.stderr
    assert "Traceback" not in done.stderr
