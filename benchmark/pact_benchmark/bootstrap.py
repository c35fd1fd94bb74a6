"""Scene bootstrap, and intervals for shares where nothing was observed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS = 2000
LEVEL = 0.95

# Seeds of the published intervals, by study.
SEED_MAIN = 1886
SEED_MATCHED = 51402
SEED_MATCHED_POINT = 51403
SEED_RANDOM_ORDER = 56202


@lru_cache(maxsize=64)
def scene_weights(seed: int, draws: int = DRAWS, scenes: int = 48) -> Floats:
    """Return how often each scene is drawn in each resample [draws, scenes].

    Each row is one multinomial draw of `scenes` scenes with replacement; the rows come from one
    generator in sequence, so that the first rows do not depend on `draws`. The array is shared
    between callers and read-only.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(scenes, np.full(scenes, 1.0 / scenes), size=draws)
    weights = drawn.astype(np.float64)
    weights.setflags(write=False)
    return weights


def interval(draws: Floats, level: float = LEVEL) -> tuple[float | None, float | None]:
    """Return the percentile interval of bootstrap draws, by interpolated quantiles.

    An undefined draw (NaN) leaves the interval undefined: a part of the resamples would
    otherwise stand for all of them.
    """
    if draws.size == 0 or np.isnan(draws).any():
        return None, None
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(draws, [tail, 1.0 - tail])
    return float(low), float(high)


def clopper_pearson(events: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact binomial interval for `events` of `n`; at 0 events it is [0, u], u > 0."""
    if n < 1 or not 0 <= events <= n:
        raise ValueError(f"{events} events of {n} is not a share")
    from scipy import stats  # slow to import, and most callers want something else

    tail = (1.0 - level) / 2.0
    low = 0.0 if events == 0 else float(stats.beta.ppf(tail, events, n - events + 1))
    high = 1.0 if events == n else float(stats.beta.ppf(1.0 - tail, events + 1, n - events))
    return low, high


def wilson(events: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval for `events` of `n`."""
    if n < 1 or not 0 <= events <= n:
        raise ValueError(f"{events} events of {n} is not a share")
    from scipy import stats

    z = float(stats.norm.ppf(0.5 + level / 2.0))
    share = events / n
    scale = 1.0 + z * z / n
    middle = share + z * z / (2 * n)
    half = z * np.sqrt(share * (1.0 - share) / n + z * z / (4 * n * n))
    return max(0.0, float((middle - half) / scale)), min(1.0, float((middle + half) / scale))


def resample(
    statistic: Callable[[Floats], Floats], seed: int, scenes: int, draws: int = DRAWS
) -> Floats:
    """Return a statistic of scene weights [B, S] → [B] in every resample (empty for no draws)."""
    if draws == 0:
        return np.empty(0)
    return statistic(scene_weights(seed, draws, scenes))
