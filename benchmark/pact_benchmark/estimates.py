"""From held-out counts to statistics with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark import bootstrap, plugins
from pact_benchmark.admission import admission_policy
from pact_benchmark.config import Config
from pact_benchmark.curve_metrics import (
    GRID_POINTS,
    NARROW_SUPPORT,
    SUPPORT,
    SupportError,
    coverage_at_risk,
    coverage_at_risk_draws,
    generalised_risk_area,
    generalised_risk_area_draws,
    ncsaurc,
    ncsaurc_draws,
    risk_at_coverage,
    risk_at_coverage_draws,
)
from pact_benchmark.data import Benchmark
from pact_benchmark.errors import UsageError
from pact_benchmark.evaluation import RULES, Evaluation
from pact_benchmark.selection import OPERATING_TARGET, Curve
from pact_benchmark.study import Statistic, StudyContext
from pact_core import RULES as REGISTERED

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Constants of the protocol, as the configuration gives them.

    Attributes:
        draws: resamples of the scenes; 0 leaves all intervals out.
        operating_target: target coverage at which admissions are counted.
        support: coverage interval of the primary area.
        narrow_support: coverage interval of the sensitivity analyses.
        seeds: seed of each family of intervals.
        extra_rules: further rules to compare, such as those of a plug-in.
    """

    draws: int = bootstrap.DRAWS
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
    return context.shared("evaluation", lambda: evaluation_under(context.config, context.benchmark))


def evaluation_under(config: Config, benchmark: Benchmark) -> Evaluation:
    """Return the evaluation of some rows as a configuration asks for it.

    Raises:
        UsageError: if it holds concentrations, and not one for each outer fold of the rows.
    """
    plugins.load("pact.rules", "pact.checks")
    section = config.section("evaluation")
    held = section["fold_concentrations"]
    if held and len(held) != benchmark.folds:
        raise UsageError(
            f"evaluation.fold_concentrations has {len(held)} values and these rows have "
            f"{benchmark.folds} outer folds; give one per fold, or none to choose"
        )
    return Evaluation(
        benchmark,
        kappa=held or None,
        concentrations=section["concentrations"],
        policy=admission_policy(config.section("admission")),
    )


def exact_share(hit: int, size: int, scenes: int) -> Statistic:
    """Return a share of which no row, or every row, is an event, with an interval that has room.

    Every resample of the scenes is alike then. The interval is the exact binomial one over the
    rows; the note says that this takes rows as independent and what the scenes alone support.

    Args:
        hit: events, 0 or `size`.
        size: rows that could have been events.
        scenes: scenes that those rows belong to.
    """
    low, high = bootstrap.clopper_pearson(hit, size)
    seen = "no event" if hit == 0 else "nothing but events"
    note = f"{seen} in {size} rows: exact binomial interval, {_independence(scenes)}"
    return Statistic(hit / size, low, high, size, note)


def _independence(scenes: int) -> str:
    """Return what an interval over rows assumes, and what the scenes alone support."""
    bound = bootstrap.clopper_pearson(0, scenes)[1]
    return (
        f"as if rows were independent; as {scenes} scenes, the share of scenes that differ is at "
        f"most {bound:.3f}"
    )


def share_of(events: NDArray[Any], n: NDArray[Any], weights: Floats) -> Statistic:
    """Return events over rows, both summed over scenes [S], under scene weights [B, S].

    Where no event, or nothing but events, was observed, the interval is that of `exact_share`.
    """
    hit, size = int(events.sum()), int(n.sum())
    if size == 0:
        return Statistic(None, n=0, note="no row to count over")
    if hit in (0, size) and len(weights):
        return exact_share(hit, size, int(np.count_nonzero(n)))
    return _mean_of(events, n, weights)


def _mean_of(total: NDArray[Any], n: NDArray[Any], weights: Floats) -> Statistic:
    """Return a mean over rows from its sums and row counts per scene [S]."""
    size = int(n.sum())
    if size == 0:
        return Statistic(None, n=0, note="no row to average over")
    drawn_size = weights @ n
    drawn = np.divide(
        weights @ total, drawn_size, out=np.full(drawn_size.shape, np.nan), where=drawn_size > 0
    )
    return _with_interval(float(total.sum() / size), drawn, size)


@dataclass(frozen=True, slots=True)
class Area:
    """The area under one curve: its value, its value in each resample, or why there is none.

    Attributes:
        value: the area; none where the curve does not span the support.
        draws: the area in each resample [B].
        n: rows of the curve.
        note: why there is no value.
        unseen: what to report where no error lies on the support, in any resample.
    """

    value: float | None
    draws: Floats
    n: int
    note: str | None = None
    unseen: Statistic | None = None

    def statistic(self) -> Statistic:
        """Return the value with its percentile interval, or one with room where it is zero."""
        if self.value is None:
            return Statistic(None, n=self.n, note=self.note)
        found = _with_interval(self.value, self.draws, self.n)
        return self.unseen if self.unseen is not None and found.high == 0.0 else found

    def minus(self, other: Area, *, mean: bool = False) -> Statistic:
        """Return the paired contrast with another area, resample by resample.

        Args:
            other: the area to subtract; both must come from the same resamples.
            mean: report the mean over resamples in place of the difference of the values.
        """
        if self.value is None or other.value is None:
            return Statistic(None, n=self.n, note=self.note or other.note)
        return contrast(self.value - other.value, self.draws - other.draws, self.n, mean=mean)


def area_of(
    curve: Curve, weights: Floats, support: tuple[float, float], points: int = GRID_POINTS
) -> Area:
    """Return ncsAURC under scene weights [B, S]; none, with the reason, without support."""
    n = int(curve.n.sum())
    try:
        value = ncsaurc(curve, *support, points)
    except SupportError as error:
        return Area(None, np.empty(0), n, str(error))
    draws = ncsaurc_draws(curve, weights, *support, points)
    return Area(value, draws, n, unseen=_errorless(curve, support) if value == 0.0 else None)


def _errorless(curve: Curve, support: tuple[float, float]) -> Statistic:
    """Return the area of a curve without an error on the support, with an interval with room.

    Its upper end averages the exact binomial upper ends of the rows retained along the support.
    """
    n, scenes = int(curve.n.sum()), int(np.count_nonzero(curve.n))
    grid = np.linspace(*support, GRID_POINTS)
    ends = [bootstrap.clopper_pearson(0, max(int(coverage * n), 1))[1] for coverage in grid]
    high = float(np.trapezoid(ends, grid) / (support[1] - support[0]))
    note = (
        f"no error on [{support[0]:g}, {support[1]:g}]: the upper end averages the exact binomial "
        f"ones along the interval, {_independence(scenes)}"
    )
    return Statistic(0.0, 0.0, high, n, note)


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
        return area_of(curve, self.weights(curve.n.size), self.support, self.points)

    def generalised_area(self, curve: Curve) -> Statistic:
        """Return AUGRC over the support: retained errors over all rows, averaged over coverage."""
        n, choices = int(curve.n.sum()), (*self.support, self.points)
        try:
            value = generalised_risk_area(curve, *choices)
        except SupportError as error:
            return Statistic(None, n=n, note=str(error))
        if value == 0.0 and self.draws:
            return exact_share(0, n, int(np.count_nonzero(curve.n)))
        draws = generalised_risk_area_draws(curve, self.weights(curve.n.size), *choices)
        return _with_interval(value, draws, n)

    def risk_at(self, curve: Curve, coverage: float) -> Statistic:
        """Return the conditional risk at a coverage; none where the curve does not reach it."""
        n = int(curve.n.sum())
        value = risk_at_coverage(curve, coverage)
        if value is None:
            return Statistic(None, n=n, note=f"the curve does not reach coverage {coverage:g}")
        if value == 0.0 and self.draws:
            retained = max(int(coverage * n), 1)
            return exact_share(0, retained, int(np.count_nonzero(curve.n)))
        draws = risk_at_coverage_draws(curve, self.weights(curve.n.size), coverage)
        return _with_interval(value, draws, n)

    def coverage_at(self, curve: Curve, risk: float) -> Statistic:
        """Return the largest coverage whose conditional risk is at most `risk`, 0 for none."""
        value = coverage_at_risk(curve, risk)
        draws = coverage_at_risk_draws(curve, self.weights(curve.n.size), risk)
        note = None if value else f"the risk exceeds {risk:g} at every target coverage"
        return _with_interval(value, draws, int(curve.n.sum())).noted(note)

    def total(self, per_scene: NDArray[Any], rows: NDArray[Any]) -> Statistic:
        """Return a count that is summed over scenes [S].

        Args:
            per_scene: events of each scene [S].
            rows: rows of each scene that could have been events [S]; where none was, the upper
                end of the interval is that of the exact binomial one.
        """
        count, size = int(per_scene.sum()), int(rows.sum())
        if size == 0:
            return Statistic(None, n=0, note="no row to count over")
        if count == 0 and self.draws:
            exact = exact_share(0, size, int(np.count_nonzero(rows)))
            return replace(exact, value=0, high=size * (exact.high or 0.0))
        return _with_interval(count, self.weights(per_scene.size) @ per_scene, size)

    def share(self, events: NDArray[Any], n: NDArray[Any]) -> Statistic:
        """Return events over rows, both summed over scenes [S] (see `share_of`)."""
        return share_of(events, n, self.weights(n.size))

    def mean(self, total: NDArray[Any], n: NDArray[Any]) -> Statistic:
        """Return a mean over rows from its sums and row counts per scene [S]."""
        return _mean_of(total, n, self.weights(n.size))


def contrast(value: float, draws: Floats, n: int | None, *, mean: bool = False) -> Statistic:
    """Return a contrast with its interval; `mean` reports the mean over resamples."""
    defined = draws.size > 0 and not np.isnan(draws).any()
    found = _with_interval(float(draws.mean()) if mean and defined else value, draws, n)
    alike = "both sides are alike in every resample" if defined and not draws.any() else None
    return found.noted(alike)


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
