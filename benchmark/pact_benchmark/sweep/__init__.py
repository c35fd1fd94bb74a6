"""The sensitivity sweep over settings of the opinion generator: resumable, local or on Ray."""

from __future__ import annotations

from pact_benchmark.sweep.job import sweep_status

__all__ = ["sweep_status"]
