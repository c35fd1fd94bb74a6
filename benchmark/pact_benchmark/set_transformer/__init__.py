"""A learned reference for the joint holdout; torch is imported only to train and predict."""

from __future__ import annotations

from pact_benchmark.set_transformer.job import training_status

__all__ = ["training_status"]
