"""From held-out counts to statistics with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark import bootstrap
from pact_benchmark.admission import admission_policy
from pact_benchmark.concentration import CONCENTRATIONS
from pact_benchmark.errors import UsageError
from pact_benchmark.evaluation import RULES, Evaluation
from pact_benchmark.selection import (
    GRID_POINTS,
    NARROW_SUPPORT,
    OPERATING_TARGET,
    SUPPORT,
    Curve,
    SupportError,
    ncsaurc,
    ncsaurc_draws,
)
from pact_benchmark.study import Statistic, StudyContext
from pact_core import RULES as REGISTERED

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Constants of the protocol, as the configuration gives them.

    Attributes:
        draws: resamples of the scenes; 0 leaves all intervals out.
        concentrations: candidates of the concentration's selection.
        operating_target: target coverage at which admissions are counted.
        support: coverage interval of the primary area.
        narrow_support: coverage interval of the sensitivity analyses.
        seeds: seed of each family of intervals.
        extra_rules: further rules to compare, such as those of a plug-in.
    """

    draws: int = bootstrap.DRAWS
    concentrations: tuple[float, ...] = CONCENTRATIONS
    operating_target: float = OPERATING_TARGET
    support: tuple[float, float] = SUPPORT
    narrow_support: tuple[float, float] = NARROW_SUPPORT
    seeds: Mapping[str, int] = field(
        default_factory=lambda: {
            "main": bootstrap.SEED_MAIN,
            "matched": bootstrap.SEED_MATCHED,
            "matched_operating_point": bootstrap.SEED_MATCHED_POINT,
            "random_order": bootstrap.SEED_RANDOM_ORDER,
        }
    )

    extra_rules: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """All rules that are compared, the published ones first."""
        return (*RULES, *(rule for rule in self.extra_rules if rule not in RULES))

    @classmethod
    def from_section(cls, section: Mapping[str, Any]) -> Settings:
        """Return the settings of the configuration's section `evaluation`.

        Raises:
            UsageError: if it names a rule that is not registered.
        """
        unknown = [rule for rule in section["extra_rules"] if rule not in REGISTERED]
        if unknown:
            raise UsageError(
                f"section [evaluation] of the configuration: unknown rule {unknown[0]!r} in "
                f"extra_rules; registered are {', '.join(REGISTERED)}"
            )
        low, high = section["support"]
        narrow_low, narrow_high = section["narrow_support"]
        return cls(
            draws=int(section["draws"]),
            concentrations=tuple(float(value) for value in section["concentrations"]),
            operating_target=float(section["operating_target"]),
            support=(float(low), float(high)),
            narrow_support=(float(narrow_low), float(narrow_high)),
            seeds=dict(section["seeds"]),
            extra_rules=tuple(section["extra_rules"]),
        )


def settings_of(context: StudyContext) -> Settings:
    """Return the settings under which a study runs."""
    return Settings.from_section(context.config.section("evaluation"))


def evaluation_of(context: StudyContext) -> Evaluation:
    """Return the evaluation that all studies of one process share."""
    sections = context.config.sections
    return context.shared(
        "evaluation",
        lambda: Evaluation(
            context.benchmark,
            concentrations=sections["evaluation"]["concentrations"],
            policy=admission_policy(sections["admission"]),
        ),
    )


@dataclass(frozen=True, slots=True)
class Area:
    """The area under one curve: its value, its value in each resample, or why there is none."""

    value: float | None
    draws: Floats
    n: int
    note: str | None = None

    def statistic(self) -> Statistic:
        """Return the value with its percentile interval."""
        if self.value is None:
            return Statistic(None, n=self.n, note=self.note)
        return _with_interval(self.value, self.draws, self.n)

    def minus(self, other: Area, *, mean: bool = False) -> Statistic:
        """Return the paired contrast with another area, resample by resample.

        Args:
            other: the area to subtract; both must come from the same resamples.
            mean: report the mean over resamples in place of the difference of the values.
        """
        if self.value is None or other.value is None:
            return Statistic(None, n=self.n, note=self.note or other.note)
        return contrast(self.value - other.value, self.draws - other.draws, self.n, mean=mean)


@dataclass(frozen=True, slots=True)
class Estimator:
    """Statistics of curves under one choice of seed, support and grid.

    Attributes:
        draws: number of resamples; 0 leaves intervals out.
        seed: seed of the resamples.
        support: coverage interval of the area.
        points: grid points of the area.
    """

    draws: int
    seed: int
    support: tuple[float, float] = SUPPORT
    points: int = GRID_POINTS

    def weights(self, scenes: int) -> Floats:
        """Return how often each scene counts in each resample [draws, scenes]."""
        return bootstrap.scene_weights(self.seed, self.draws, scenes)

    def area(self, curve: Curve) -> Area:
        """Return the area under a curve; none, with the reason, where it does not span."""
        n = int(curve.n.sum())
        try:
            value = ncsaurc(curve, *self.support, self.points)
        except SupportError as error:
            return Area(None, np.empty(0), n, str(error))
        return Area(
            value, ncsaurc_draws(curve, self.weights(curve.n.size), *self.support, self.points), n
        )

    def total(self, per_scene: NDArray[Any], rows: NDArray[Any] | None = None) -> Statistic:
        """Return a count that is summed over scenes [S].

        Args:
            per_scene: events of each scene [S].
            rows: rows of each scene that could have been events [S]; where none was, the upper
                end of the interval is then that of the exact binomial one.
        """
        count = int(per_scene.sum())
        size = None if rows is None else int(rows.sum())
        if count == 0 and size and self.draws:
            high = bootstrap.clopper_pearson(0, size)[1] * size
            return Statistic(
                0, 0.0, high, size, f"no event in {size} rows: exact binomial interval"
            )
        return _with_interval(count, self.weights(per_scene.size) @ per_scene, size)

    def share(self, events: NDArray[Any], n: NDArray[Any]) -> Statistic:
        """Return events over rows, both summed over scenes [S].

        Where no event, or nothing but events, was observed, every resample is alike; the
        interval is then the exact binomial one over the rows, and the note says what the scenes
        alone support.
        """
        hit, size = int(events.sum()), int(n.sum())
        if size == 0:
            return Statistic(None, n=0, note="no row to count over")
        if hit in (0, size) and self.draws:
            low, high = bootstrap.clopper_pearson(hit, size)
            scenes = int(np.count_nonzero(n))
            bound = bootstrap.clopper_pearson(0, scenes)[1]
            seen = "no event" if hit == 0 else "nothing but events"
            note = (
                f"{seen} in {size} rows: exact binomial interval, as if rows were independent; "
                f"as {scenes} scenes, the share of scenes that differ is at most {bound:.3f}"
            )
            return Statistic(hit / size, low, high, size, note)
        return self.mean(events, n)

    def mean(self, total: NDArray[Any], n: NDArray[Any]) -> Statistic:
        """Return a mean over rows from its sums and row counts per scene [S]."""
        size = int(n.sum())
        if size == 0:
            return Statistic(None, n=0, note="no row to average over")
        weights = self.weights(n.size)
        drawn_size = weights @ n
        drawn = np.divide(
            weights @ total, drawn_size, out=np.full(drawn_size.shape, np.nan), where=drawn_size > 0
        )
        return _with_interval(float(total.sum() / size), drawn, size)


def contrast(value: float, draws: Floats, n: int | None, *, mean: bool = False) -> Statistic:
    """Return a contrast with its interval; `mean` reports the mean over resamples."""
    defined = draws.size > 0 and not np.isnan(draws).any()
    return _with_interval(float(draws.mean()) if mean and defined else value, draws, n)


def estimator(settings: Settings, seed: str = "main", **choices: Any) -> Estimator:
    """Return the estimator of a family of intervals."""
    return Estimator(
        draws=settings.draws,
        seed=settings.seeds[seed],
        **{"support": settings.support, **choices},
    )


def _with_interval(value: float, draws: Floats, n: int | None) -> Statistic:
    low, high = bootstrap.interval(draws)
    undefined = int(np.isnan(draws).sum())
    note = (
        f"{undefined} of {draws.size} resamples are undefined: no interval" if undefined else None
    )
    return Statistic(value, low, high, n, note)
