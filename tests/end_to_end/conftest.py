"""A small finished run, for faults that do not depend on its size."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pact_benchmark.config import load_config
from pact_benchmark.console import Console
from pact_benchmark.job import describe, evaluate_run, study_context
from pact_benchmark.report import write_report
from tests.benchmark.sweep.conftest import make_run

STUDIES = ["design", "prediction", "after_admission"]


@pytest.fixture(scope="session")
def small_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of ten scenes with three studies and a report; do not write to it."""
    run = make_run(tmp_path_factory.mktemp("small") / "run")
    config = load_config()
    describe(run, config)
    evaluate_run(run, study_context(run, config, 1, Console(quiet=True)), STUDIES)
    write_report(run)
    return run.path


@pytest.fixture
def small_run(small_original: Path, tmp_path: Path) -> Path:
    """Return a copy of the small run that a test may damage."""
    return Path(shutil.copytree(small_original, tmp_path / "small"))
