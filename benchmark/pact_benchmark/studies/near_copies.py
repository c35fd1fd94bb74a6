"""Near copies of geometry on the undegraded condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pact_benchmark.bootstrap import SEED_MAIN, interval
from pact_benchmark.data import UNDEGRADED
from pact_benchmark.estimates import Estimator, evaluation_of, settings_of
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.plotting import RULE_STYLE, new_figure
from pact_benchmark.studies._arms import GEOMETRY, row_kappa
from pact_benchmark.studies._intervals import row_count
from pact_benchmark.study import Figure, Statistic, StudyContext, StudyResult, Table, study
from pact_core import FusionOptions, fuse

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

EPSILONS: tuple[float, ...] = (0.001, 0.005, 0.01, 0.02)


def move_mass(opinion: Floats, epsilon: float) -> Floats:
    """Move mass from the leading to the second contract of each opinion [n, K].

    At most half of the leading mass moves, so that no probability becomes negative.
    """
    order = np.argsort(-opinion, axis=-1, kind="stable")
    rows = np.arange(len(opinion))
    moved = np.minimum(epsilon, opinion[rows, order[:, 0]] / 2.0)
    result = opinion.copy()
    result[rows, order[:, 0]] -= moved
    result[rows, order[:, 1]] += moved
    return result


def near_copy_effect(evaluation: Evaluation, rows: Bools) -> tuple[Bools, Floats]:
    """Insert a near copy of geometry into its component for every magnitude.

    Args:
        evaluation: the rules on a benchmark.
        rows: rows to compare [n].

    Returns:
        Whether the contract changed and the ℓ1 drift of the posterior, both [rows, magnitudes].
    """
    sources = evaluation.benchmark.sources.take(rows)
    options = FusionOptions(kappa=row_kappa(evaluation)[rows])
    base = fuse(sources, rule="pact", options=options)
    changed, drift = [], []
    for epsilon in EPSILONS:
        copy = move_mass(np.asarray(sources.opinion[:, GEOMETRY]), epsilon)
        fused = fuse(sources.replicate(GEOMETRY, 2, "same", copy), rule="pact", options=options)
        changed.append(np.asarray(fused.contract != base.contract))
        drift.append(np.abs(np.asarray(fused.posterior - base.posterior)).sum(axis=-1))
    return np.stack(changed, axis=1), np.stack(drift, axis=1)


def zero_intercept_slope(x: Floats, y: Floats) -> float:
    """Return the least-squares slope of a line through the origin."""
    return float(np.sum(x * y) / np.sum(x * x))


@study(
    "near_copies",
    title="Near copies",
    purpose="How far does a slightly different copy within its component move the posterior?",
    order=210,
)
def near_copies(context: StudyContext) -> StudyResult:
    """Insert near copies of geometry on the first step of the undegraded condition."""
    evaluation, settings = evaluation_of(context), settings_of(context)
    benchmark = evaluation.benchmark
    rows = benchmark.in_condition(UNDEGRADED) & (benchmark.step == 0)
    if not rows.any():
        note = f"no rows of the condition {UNDEGRADED} at step 0"
        names = ("comparisons", "max_drift", "slope", "contract_changed")
        return StudyResult({f"near_copies.{name}": Statistic(None, note=note) for name in names})
    changed, drift = near_copy_effect(evaluation, rows)
    epsilon = np.broadcast_to(EPSILONS, drift.shape)
    scene = benchmark.scene[rows]
    estimate = Estimator(settings.draws, SEED_MAIN, settings.support)
    products = np.bincount(scene, (epsilon * drift).sum(axis=1), benchmark.scenes)
    squares = np.bincount(scene, (epsilon**2).sum(axis=1), benchmark.scenes)
    weights = estimate.weights(benchmark.scenes)
    low, high = interval((weights @ products) / (weights @ squares))
    slope = zero_intercept_slope(epsilon, drift)
    statistics = {
        "near_copies.comparisons": Statistic(drift.size, n=drift.size),
        "near_copies.max_drift": Statistic(float(drift.max()), n=drift.size),
        "near_copies.slope": Statistic(slope, low, high, drift.size),
        "near_copies.contract_changed": row_count(estimate, changed, scene, benchmark.scenes),
    }
    frame = pd.DataFrame(
        {
            "moved mass": EPSILONS,
            "contracts changed": changed.sum(axis=0),
            "mean drift": drift.mean(axis=0),
            "largest drift": drift.max(axis=0),
        }
    )
    table = Table("near_copies", "Near copies of geometry, undegraded condition", frame)
    figure = Figure(
        "near_copies",
        "Posterior drift of near copies",
        "Posterior drift against the moved probability mass with a line through the origin.",
        lambda: _draw(drift, slope),
    )
    reading = (
        "A near copy can only lower its component's budget; the drift stays proportional. The line"
        " is the least-squares fit through the origin over all comparisons: its slope is the drift"
        f" per unit of moved mass, on average {slope * 0.01:.4f} for 0.01 moved. Where the other"
        " member of the component sets the minimum nothing moves: the dots at zero, below the line."
    )
    return StudyResult(statistics, [table], [figure], reading)


def _draw(drift: Floats, slope: float) -> MatplotlibFigure:
    figure = new_figure(4.6, 3.2)
    axis = figure.subplots()
    style = RULE_STYLE["pact"]
    for column, epsilon in enumerate(EPSILONS):
        spread = np.linspace(-3e-4, 3e-4, len(drift))
        axis.plot(
            epsilon + spread, drift[:, column], ".", color=style.colour, alpha=0.25, markersize=3
        )
    ends = np.array([0.0, max(EPSILONS) * 1.05])
    axis.plot(ends, slope * ends, color="black", label=f"fit through the origin, slope {slope:.3f}")
    axis.plot([], [], ".", color=style.colour, label="one comparison")
    axis.set_xlabel("moved probability mass ε")
    axis.set_ylabel("posterior drift (ℓ1)")
    axis.legend(loc="upper left")
    return figure
