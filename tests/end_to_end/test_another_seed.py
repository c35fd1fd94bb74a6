"""What another seed changes: draws, not findings."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from pact_benchmark.compare import MATCH

FAMILIES = ("design", "prediction", "after_admission", "strata")


@pytest.fixture(scope="module")
def redrawn(finished_run: Path, tmp_path_factory: pytest.TempPathFactory, pact) -> list[dict]:
    """Return how figures of another seed compare with the finished run, concentrations held."""
    folder = tmp_path_factory.mktemp("seed")
    run = Path(shutil.copytree(finished_run, folder / "run"))
    statistics = json.loads((run / "statistics.json").read_text("utf-8"))
    held = [statistics[f"after_admission.concentration.fold_{fold}"]["value"] for fold in range(5)]
    config = folder / "held.toml"
    config.write_text(f"[evaluation]\nfold_concentrations = {held}\n", "utf-8")
    options = ("--output", run, "--seed", 5, "--config", config, "--quiet")
    pact("generate", *options, check=True)
    pact("evaluate", *FAMILIES, *options, check=True)
    compared = pact("compare", run, finished_run, "--format", "json", check=True)
    return [row for row in json.loads(compared.stdout)["figures"] if row["id"].startswith(FAMILIES)]


def test_figures_stay_within_their_intervals(redrawn: list[dict]) -> None:
    """Nearly every figure of another seed lies in the interval, or within the usual tolerance."""
    outside = [row["id"] for row in redrawn if row["verdict"] != MATCH]
    assert len(redrawn) > 200
    assert len(outside) <= 0.03 * len(redrawn), outside


def test_what_the_design_fixes_does_not_move(redrawn: list[dict]) -> None:
    """Counts of the design and the concentrations held are the same at another seed."""
    fixed = [row for row in redrawn if re.search(r"^design\.|\.concentration\.", row["id"])]
    assert len(fixed) > 10
    assert all(row["difference"] == 0 for row in fixed)


def test_the_draws_do_move(redrawn: list[dict]) -> None:
    """Another seed is another benchmark: most figures are not the same number."""
    assert sum(row["difference"] not in (0, None) for row in redrawn) > 0.5 * len(redrawn)
