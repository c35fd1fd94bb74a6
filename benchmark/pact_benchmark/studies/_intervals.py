"""Means and counts over rows with scene-bootstrap intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.estimates import Estimator
from pact_benchmark.study import Statistic


def row_mean(
    estimate: Estimator, values: NDArray[Any], scene: NDArray[np.int64], scenes: int
) -> Statistic:
    """Return the mean of per-row numbers, or the share of per-row flags, with its interval.

    Args:
        estimate: number and seed of the resamples.
        values: flags or numbers [n], or [n, C] for C comparisons of each row.
        scene: scene of each row [n].
        scenes: number of scenes.
    """
    table = np.asarray(values).reshape(len(scene), -1)
    total = np.bincount(scene, table.sum(axis=1), minlength=scenes)
    count = np.bincount(scene, minlength=scenes) * table.shape[1]
    if table.dtype == np.bool_:
        return estimate.share(total, count)
    return estimate.mean(total, count)


def row_count(
    estimate: Estimator, flags: NDArray[np.bool_], scene: NDArray[np.int64], scenes: int
) -> Statistic:
    """Return how many per-row flags are set, with an interval (arguments as in `row_mean`)."""
    table = flags if flags.ndim == 2 else flags[:, None]
    total = np.bincount(scene, table.sum(axis=1), minlength=scenes).astype(np.int64)
    return estimate.total(total, np.bincount(scene, minlength=scenes) * table.shape[1])
