"""`pact learned` as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from pact_benchmark.learned.evidence import evidence_to_npz
from pact_benchmark.learned.statistics import IDS
from tests.benchmark.learned.conftest import make_evidence
from tests.conftest import PACT


@pytest.fixture(scope="module")
def without_torch(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which torch cannot be imported."""
    folder = tmp_path_factory.mktemp("no_torch")
    (folder / "torch.py").write_text("raise ImportError('no torch here')\n")
    return {"PYTHONPATH": str(folder)}


@pytest.fixture(scope="module")
def quick_run(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished quick run on the real data."""
    output = tmp_path_factory.mktemp("quick") / "run"
    command = [PACT, "learned", "--data", shared / "data", "--quick", "--quiet", "-o", output]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return output


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A small evidence file."""
    path = tmp_path / "mine.npz"
    path.write_bytes(evidence_to_npz(make_evidence(records=60, views=4)))
    return path


def test_quick_mode_gives_every_id(quick_run: Path, shared: Path) -> None:
    """The quick run has all published ids; exact properties are exact, accuracy is high."""
    found = json.loads((quick_run / "statistics.json").read_text())
    targets = tomllib.loads((shared / "targets" / "learned.toml").read_text())["target"]
    assert set(found) == {target["id"] for target in targets} == set(IDS)
    assert found["hw.copies.max_multiplicity_invariant"]["value"] == 8
    assert found["hw.partitions"]["value"] == 203
    assert found["hw.single_merges"]["value"] == 856
    assert found["hw.merges_budget_monotone"]["value"] == 856
    assert found["hw.budget_intervals_exclude_zero"]["value"] == 1
    assert found["hw.refine.choices"]["value"] == 12
    for model in ("tmc", "rcml"):
        assert found[f"hw.{model}.copies.acc_pct"]["value"] > 90
        assert found[f"hw.{model}.merge.d_ncsaurc"]["value"] > 0
    assert found["scene.tmc.acc30_pct"]["value"] is None
    assert "quick" in found["scene.tmc.acc30_pct"]["note"]


def test_files_of_a_run(quick_run: Path, pact) -> None:
    """Tables, figures and evidences are there, and `pact verify` finds nothing wrong."""
    for name in ("tables/learned_contrasts.md", "tables/learned_partitions.csv"):
        assert (quick_run / name).stat().st_size > 0
    for kind in ("svg", "png", "pdf"):
        assert (quick_run / f"figures/learned_coarsening_surface.{kind}").stat().st_size > 0
    with np.load(quick_run / "evidence/hw-tmc.npz", allow_pickle=False) as archive:
        assert archive["evidence"].shape == (6, 1, 400, 10)
    assert pact("verify", quick_run).returncode == 0


def test_stored_evidences_need_no_torch(
    quick_run: Path, shared: Path, pact, without_torch: dict[str, str], tmp_path: Path
) -> None:
    """After training everything runs without torch, and gives the same figures."""
    again = pact(
        *("learned", "--data", shared / "data", "--quick", "-o", quick_run, "--format", "json"),
        env=without_torch,
    )
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == json.loads((quick_run / "statistics.json").read_text())
    file = quick_run / "evidence/hw-rcml.npz"
    alone = pact(
        *("learned", "--evidence", file, "-o", tmp_path / "own", "--format", "json"),
        *("--draws", "50"),
        env=without_torch,
    )
    assert alone.returncode == 0, alone.stderr
    found, stored = json.loads(alone.stdout), json.loads(again.stdout)
    for name in ("hw.rcml.refine.d_l1", "hw.rcml.merge_lower_selection_pct"):
        assert found[name]["value"] == stored[name]["value"]


def test_training_without_torch_says_what_to_do(
    shared: Path, pact, without_torch: dict[str, str], tmp_path: Path
) -> None:
    """Without torch and without stored evidences the error names the extra."""
    command = ("learned", "--data", shared / "data", "--quick", "-o", tmp_path / "r", "-q")
    result = pact(*command, env=without_torch)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "'learned'" in result.stderr


def test_killed_run_resumes(shared: Path, pact, tmp_path: Path, quick_run: Path) -> None:
    """A run killed after the first training goes on from there to the same figures."""
    output = tmp_path / "killed"
    command = ["learned", "--data", str(shared / "data"), "--quick", "-o", str(output)]
    process = subprocess.Popen([PACT, *command], stderr=subprocess.DEVNULL, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        manifest = output / "run.json"
        if manifest.exists() and "learned/hw-tmc" in manifest.read_text():
            os.kill(process.pid, signal.SIGKILL)
            break
        time.sleep(0.02)
    process.wait(timeout=30)
    process.stdout.close()
    again = pact(*command)
    assert again.returncode == 0, again.stderr
    assert "hw-tmc: evidences of an earlier run are used" in again.stderr
    expected = (quick_run / "statistics.json").read_text()
    assert (output / "statistics.json").read_text() == expected


def test_changed_evidence_file_is_not_used(
    quick_run: Path, shared: Path, pact, tmp_path: Path
) -> None:
    """A stored evidence whose checksum does not match is trained again, not trusted."""
    output = tmp_path / "copy"
    shutil.copytree(quick_run, output)
    file = output / "evidence/hw-tmc.npz"
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    result = pact("learned", "--data", shared / "data", "--quick", "-o", output)
    assert result.returncode == 0, result.stderr
    assert "train hw-tmc" in result.stderr
    assert file.read_bytes() == whole


def test_own_evidences(own: Path, pact, tmp_path: Path) -> None:
    """Own evidences get the same arms and lattice; the second run gives the same answer."""
    command = ("learned", "--evidence", own, "-o", tmp_path / "r", "--draws", "50")
    first = pact(*command, "--format", "json")
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    assert found["own.model.partitions"]["value"] == 15
    assert found["own.model.copies.max_multiplicity_invariant"]["value"] == 8
    assert found["own.model.merges_budget_monotone"] == found["own.model.single_merges"]
    assert json.loads(pact(*command, "--format", "json").stdout) == found
    human = pact(*command)
    assert "own.model.refine.d_ncsaurc" in human.stdout
    assert (tmp_path / "r/figures/learned_own_coarsening_surface.svg").exists()


def test_many_views_and_two_classes(pact, tmp_path: Path) -> None:
    """Nine views of two classes run without the lattice, with a note; --no-lattice is silent."""
    path = tmp_path / "wide.npz"
    path.write_bytes(evidence_to_npz(make_evidence(runs=1, records=30, views=9, classes=2)))
    command = ("learned", "--evidence", path, "-o", tmp_path / "r", "--draws", "20")
    result = pact(*command, "--format", "json")
    assert result.returncode == 0, result.stderr
    assert "at most 8" in result.stderr
    assert "own.model.partitions" not in json.loads(result.stdout)
    assert "at most 8" not in pact(*command, "--no-lattice").stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "--data DIR"),
        (("--evidence", "none.npz"), "no evidence file"),
        (("--data", "nowhere"), "not a folder"),
        (("--data", "."), "none of the known files"),
        (("--evidence", "x.npz", "--quick"), "leave out"),
    ],
)
def test_wrong_requests(pact, tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    """A request that cannot work ends with code 2 and one line, and leaves no folder."""
    result = pact("learned", *arguments, "-o", "out", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert reason in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[learned]\nepoch = 3\n", "epochs"),
        ("[learned]\nepochs = 0\n", "epochs"),
        ("[learned]\ntmc_rate = 7.0\n", "learning rate"),
        ("[learned]\nseeds = []\n", "seeds"),
        ("[learned]\nvalidation_share = 1.0\n", "validation_share"),
    ],
)
def test_wrong_configuration(pact, own: Path, tmp_path: Path, text: str, reason: str) -> None:
    """Unknown keys and unusable values of the configuration are named in one line."""
    (tmp_path / "c.toml").write_text(text)
    result = pact("learned", "--evidence", own, "-c", tmp_path / "c.toml", "-o", tmp_path / "r")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert reason in result.stderr


def test_damaged_data_stops_before_training(shared: Path, pact, tmp_path: Path) -> None:
    """A truncated data file is one line and code 2, and nothing is trained."""
    whole = (shared / "data" / "handwritten_6views.mat").read_bytes()
    (tmp_path / "handwritten_6views.mat").write_bytes(whole[: len(whole) // 3])
    result = pact("learned", "--data", tmp_path, "-o", tmp_path / "r")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "cut short" in result.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_full_study_against_the_published_figures(shared: Path, pact, tmp_path: Path) -> None:
    """The full study reaches the published accuracies, drifts, budgets and signs."""
    command = ("learned", "--data", shared / "data", "-o", tmp_path / "r", "--format", "json")
    result = pact(*command, timeout=1200)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    targets = tomllib.loads((shared / "targets" / "learned.toml").read_text())["target"]
    published = {target["id"]: target["value"] for target in targets if "value" in target}
    for name, value in published.items():
        ours = found[name]["value"]
        if name.endswith("acc_pct") or ".acc." in name or name == "scene.tmc.acc30_pct":
            assert ours == pytest.approx(value, abs=1.5), name
        elif name.endswith("d_l1"):
            assert ours == pytest.approx(value, abs=0.03), name
        elif "ncsaurc" in name and "d_" in name:
            assert np.sign(ours) == np.sign(value), name
        elif "budget_ratio" in name or ".budget." in name:
            assert ours == pytest.approx(value, rel=0.05), name
    for target in targets:
        if target["kind"] in ("invariant", "protocol", "boolean"):
            assert found[target["id"]]["value"] == pytest.approx(target["value"]), target["id"]
