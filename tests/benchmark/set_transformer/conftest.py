"""The stand-in benchmark and run of the neighbouring suites."""

from __future__ import annotations

from tests.benchmark.studies.conftest import new_benchmark
from tests.benchmark.sweep.conftest import new_run

__all__ = ["new_benchmark", "new_run"]
