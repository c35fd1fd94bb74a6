"""What the calibration minimises: the generator's figures against the published ones.

The free parameters, the generator as a function of them, and the differences that `calibrate.py`
makes small. Figures that are kept back have no value here and take no part.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from calibration_figures import (
    COMPONENT_COUNT,
    HELD_CONDITIONS,
    TWO_COMPONENTS,
    ConditionRows,
    Curves,
    Figures,
    PiecewiseEvaluation,
    area,
    figures,
)

from pact_benchmark.compare import (
    ABSOLUTE_TOLERANCE,
    RELATIVE_TOLERANCE,
    Target,
    published_curves,
    targets,
)
from pact_benchmark.data import ADVERSARIAL, assemble
from pact_benchmark.studies.source_scales import chosen_scales, scaled_rankings
from pact_core import PRIMARY
from pact_scenes.conditions import LABELS, parse_conditions
from pact_scenes.configuration import default_section
from pact_scenes.opinions import OpinionParams, synthesise

Floats = npt.NDArray[np.float64]
SCENE = ("geometry", "risk")
ALL = ("language", *SCENE)
CURVE_WEIGHT = 0.5
SHARE_SCALE = 0.1  # about three times the noise of one step of a curve
ROBUST = 3.0
INSIDE = 0.8


@dataclass(frozen=True, slots=True)
class Free:
    """A free parameter: where it stands in the configuration, its bounds, its step.

    `also` lists further places that take the same value.
    """

    section: str
    path: tuple[str, ...]
    low: float
    high: float
    step: float
    also: tuple[tuple[str, ...], ...] = ()

    @property
    def name(self) -> str:
        """The path as text."""
        return ".".join(self.path)


def free_parameters() -> list[Free]:
    """Return what the search may change: peaks, qualities, conflicts, spreads, sharing, noise."""
    free: list[Free] = []

    def source(condition: str, role: str, bounds: Mapping[str, tuple[float, float, float]]) -> None:
        free.extend(
            Free("conditions", ("conditions", condition, role, key), *limits)
            for key, limits in bounds.items()
        )

    quality = {"quality": (0.15, 0.995, 0.01)}
    unit = {"peak": (0.21, 0.985, 0.01), **quality}
    context = {**unit, "conflict": (0.1, 0.5, 0.01), "spread": (0.25, 2.0, 0.1)}
    weak = {
        **unit,
        "conflict": (0.05, 0.92, 0.01),
        "spread": (0.1, 20.0, 0.1),
        "attribute_spread": (0.2, 5.0, 0.05),
    }
    clear = {"peak": (0.8, 0.97, 0.01), "quality": (0.7, 0.995, 0.01), "conflict": (0, 0.3, 0.01)}
    source("clean_control", "language", clear)
    for role in SCENE:
        source("clean_control", role, context)
        source("language_missing_context_noisy", role, weak)
    for role in ALL:
        source("partial_disagreement_low_quality", role, weak)
        source("overconfident_contradictory_sources", role, weak)
        source(
            "conflict_bit_dropout_all_wrong",
            role,
            {"peak": (0.7, 0.985, 0.01), "quality": (0.6, 0.995, 0.01)},
        )
    for role in ("language", "risk"):
        source("geometry_missing_language_low_quality", role, weak)
    source("stale_language_previous_cue", "language", {"quality_shift": (-0.3, 0.3, 0.01)})
    source("unsafe_urgency_injection", "language", {"quality_shift": (-0.3, 0.3, 0.01)})
    source("schema_invalid_language_distribution", "language", {"quality": (0.02, 0.995, 0.01)})
    source(
        "risk_missing_language_overconfident_wrong",
        "language",
        {
            "peak": (0.88, 0.985, 0.004),
            "quality": (0.88, 0.995, 0.004),
            "conflict": (0, 0.3, 0.004),
            "spread": (0.1, 20.0, 0.1),
            "attribute_spread": (0.2, 5.0, 0.05),
        },
    )
    free += [
        _of_all_roles("peak", 0.8, 0.99),
        _of_all_roles("quality", 0.8, 0.995),
        _of_all_roles("conflict", 0.0, 0.12),
        Free("opinions", ("sharing", "share"), 0.0, 0.95, 0.03),
        Free("opinions", ("sharing", "width"), 0.3, 3.0, 0.1),
        Free("opinions", ("quality_sd",), 0.01, 0.08, 0.003),
        Free("opinions", ("conflict_sd",), 0.01, 0.08, 0.003),
        Free("opinions", ("occlusion", "quality_loss"), 0.0, 0.8, 0.02),
        Free("opinions", ("occlusion", "conflict_gain"), 0.0, 0.5, 0.01),
        *(Free("opinions", ("relation", "clarity", name), 0.1, 8.0, 0.05) for name in "SHT"),
    ]
    return free


def _of_all_roles(key: str, low: float, high: float) -> Free:
    """Return a parameter that the three sources of the adversarial consensus share."""
    first, *others = (("conditions", ADVERSARIAL, role, key) for role in ALL)
    return Free("conditions", first, low, high, 0.004, tuple(others))


def _table(section: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the table that holds the last key of a path."""
    table: Any = section
    for key in path[:-1]:
        table = table[key]
    return table


class Problem:
    """The generator as a function from free parameters to figures.

    Args:
        observations: Columns of the stored observations.
        seed: Root of the draws, the same for all parameter values.
        kappa: Concentration of each outer fold during the search.
        only: Conditions, tables or sections whose parameters the search may change; none: all.
    """

    def __init__(
        self,
        observations: dict[str, npt.NDArray[Any]],
        seed: int,
        kappa: Sequence[float],
        only: Sequence[str] = (),
    ) -> None:
        self.observations, self.seed, self.kappa = observations, seed, list(kappa)
        wanted = set(only)
        self.free = [p for p in free_parameters() if not wanted or {p.section, *p.path} & wanted]
        self.defaults = {name: default_section(name) for name in ("conditions", "opinions")}
        self._kept: dict[str, ConditionRows] = {}
        self._frame: Any = None

    def start(self) -> Floats:
        """Return the configured values."""
        return np.array([self._read(parameter) for parameter in self.free])

    def _read(self, parameter: Free) -> float:
        table = _table(self.defaults[parameter.section], parameter.path)
        return float(table.get(parameter.path[-1], 1.0))

    def sections(self, values: Floats) -> dict[str, Any]:
        """Return the configuration with the free parameters set."""
        sections = copy.deepcopy(self.defaults)
        for parameter, value in zip(self.free, values, strict=True):
            for path in (parameter.path, *parameter.also):
                _table(sections[parameter.section], path)[path[-1]] = float(value)
        return sections

    def evaluation(self, values: Floats, *, select: bool = False) -> Any:
        """Return the evaluation of the instances that the parameters give."""
        sections = self.sections(values)
        conditions = parse_conditions(sections["conditions"])
        params = OpinionParams.from_section(sections["opinions"])
        parts = []
        for condition in conditions:
            key = f"{condition!r} {params!r}"
            if key not in self._kept:
                table = synthesise(self.observations, [condition], LABELS, params, self.seed)
                self._kept[key] = ConditionRows(table.to_batch())
            parts.append(self._kept[key])
        if len(self._kept) > 600:
            self._kept = dict(list(self._kept.items())[-60:])
        if self._frame is None:
            table = synthesise(self.observations, conditions, LABELS, params, self.seed)
            rows = [np.flatnonzero(table.condition == i) for i in range(len(conditions))]
            benchmark = assemble(
                table.to_batch(),
                label=table.label,
                scene_id=table.scene_id,
                condition=table.condition_name,
                record_id=table.record_id,
                step=table.step,
            )
            self._frame = (benchmark, rows)
        benchmark, rows = self._frame
        arrays = {
            name: getattr(benchmark.sources, name).copy()
            for name in ("opinion", "quality", "conflict")
        }
        for part, where in zip(parts, rows, strict=True):
            for name, array in arrays.items():
                array[where] = getattr(part.sources, name)
        current = replace(benchmark, sources=replace(benchmark.sources, **arrays))
        kappa = None if select else self.kappa
        return PiecewiseEvaluation(current, parts, rows, kappa)

    def residuals(self, values: Floats) -> tuple[Floats, Figures, Curves]:
        """Return scaled differences from the published figures, and what they come from."""
        evaluation = self.evaluation(values)
        found, curves = figures(evaluation)
        differences = [scaled_difference(t, found[t.id]) for t in fitted_targets() if t.id in found]
        for key, points in published_curves().items():
            curve = curves[key]
            _, admitted, wrong = curve.totals()
            at = [curve.index(float(t)) for t in points["target"]]
            published = points["wrong"].to_numpy()
            differences += list(CURVE_WEIGHT * (wrong[at] - published) / (0.02 * published + 20.0))
            share = np.diff(wrong[at]) / np.maximum(np.diff(admitted[at]), 1)
            expected = np.diff(published) / np.diff(points["admitted"].to_numpy())
            differences += list((share - expected) / SHARE_SCALE)
        differences += design_differences(evaluation)
        differences += width_differences(evaluation)
        differences += stated_differences(evaluation)
        return np.array(differences), found, curves


def fitted_targets() -> list[Target]:
    """Return the figures that take part: those with one published number."""
    return [
        t
        for t in targets("controlled")
        if isinstance(t.value, (int, float)) and not t.id.endswith("retained_at_013")
    ]


def scaled_difference(target: Target, ours: float) -> float:
    """Return the difference on the figure's scale; beyond its tolerance it counts threefold."""
    published = float(target.value)  # type: ignore[arg-type]
    difference, scale = ours - published, scale_of(target)
    tolerance = max(ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE * abs(published))
    beyond = max(0.0, abs(difference) - INSIDE * tolerance)
    return (difference + 2.0 * float(np.sign(difference)) * beyond) / scale


def scale_of(target: Target) -> float:
    """Return the difference that counts as one."""
    value = float(target.value)  # type: ignore[arg-type]
    special = {
        "near_copies.max_drift": 0.0006,
        "near_copies.slope": 0.01,
        "near_copies.contract_changed": 3.0,
    }
    if target.id in special:
        return special[target.id]
    if target.interval is not None:
        return max(0.5 * (target.interval[1] - target.interval[0]), 0.002)
    if target.id.endswith("_at_013"):
        return 0.002
    if target.id.startswith("strata.three_valid.after"):
        return 0.004
    if target.id.endswith(".present"):
        return 0.006
    return max(60.0 if "wrong_added" in target.id else 0.01, 0.02 * abs(value))


CORRECT = {
    "geometry_missing_language_low_quality": (2391, 763, 821, 496),
    "unsafe_urgency_injection": (480, 480, 480, 480),
    "clean_control": (2400, 2400, 2400, 2400),
    "stale_context_previous_scene": (2400, 2400, 2400, 2400),
    "stale_language_previous_cue": (0, 0, 0, 0),
}
"""Correct decisions of PACT, nested Dirichlet, product and global cautious, by condition: they
follow by arithmetic from published totals."""
CORRECT_RULES = ("pact", "nested_dirichlet", "product", "global_cautious")
TOGETHER = ("partial_disagreement_low_quality", "overconfident_contradictory_sources")
CORRECT_TOGETHER = (2400, 1911, 1881, 1479)
PASSING_WITHOUT_RISK = 331


def design_differences(evaluation: Any) -> list[float]:
    """Return scaled differences from counts that follow from published totals.

    Besides correct decisions per condition: undegraded rows pass every check, about 331 rows
    without risk pass, and nested Dirichlet loses undegraded rows at concentration 12 but not at 8
    (which makes the selected concentrations 4 and 8).
    """
    rows = evaluation.benchmark
    correct = [evaluation.held_out(rule).correct for rule in CORRECT_RULES]
    found = []
    for name, expected in CORRECT.items():
        inside = rows.in_condition(name)
        found += [
            (int(c[inside].sum()) - e) / (6.0 if 0 < e < 2400 else 5.0)
            for c, e in zip(correct, expected, strict=True)
        ]
    first, second = (rows.in_condition(name) for name in TOGETHER)
    found += [
        (int(c[first | second].sum()) - e) / 20.0
        for c, e in zip(correct, CORRECT_TOGETHER, strict=True)
    ]
    found.append(int(correct[0][second].sum()) / 3.0)
    found.append(int((~correct[0][first]).sum()) / 1.0)
    clean = rows.in_condition("clean_control") | rows.in_condition("stale_context_previous_scene")
    passing = evaluation.responses("pact", 8.0) == 0
    found.append(int((clean & ~passing).sum()) / 2.0)
    counted = evaluation.responses("pact", 8.0, COMPONENT_COUNT) != 0
    found.append(max(0, int((clean & counted).sum()) - 5) / 3.0)
    without_risk = rows.in_condition("risk_missing_language_overconfident_wrong")
    found.append((int((without_risk & passing).sum()) - PASSING_WITHOUT_RISK) / 10.0)
    found += _reach(evaluation)
    for kappa, rank, sign, weight in ((8.0, 0, -1.0, 40.0), (12.0, 7, 1.0, 80.0)):
        margin = _margins(evaluation.outputs("nested_dirichlet", kappa).posterior, rows.label)
        found.append(weight * max(0.0, sign * float(np.sort(margin[clean])[rank])))
    return found


def _reach(evaluation: Any) -> list[float]:
    """Return how far the held conditions are from spanning the support in every scene.

    A condition's curve reaches coverage 0.35 in a scene when that share of its rows ranks above
    the lowest passing row of the other conditions.
    """
    rows, found = evaluation.benchmark, []
    for rule in ("pact", "nested_dirichlet"):
        score = evaluation.outputs(rule, 8.0).score
        passing = (evaluation.responses(rule, 8.0) == 0) & rows.base_eligible
        for name in HELD_CONDITIONS:
            inside = rows.in_condition(name)
            above = inside & passing & (score >= score[passing & ~inside].min())
            share = np.bincount(rows.scene[above], minlength=rows.scenes) / np.bincount(
                rows.scene[inside], minlength=rows.scenes
            )
            found.append(30.0 * max(0.0, 0.5 - float(share.min())))
    return found


def width_differences(evaluation: Any) -> list[float]:
    """Return how far the spread between scenes is from the published intervals of two costs.

    At the 0.13 cutoff the published intervals are wide: scenes differ in how much they retain.
    """
    rows = evaluation.benchmark
    found = []
    for policy, name in ((PRIMARY, "cost.unanimity"), (TWO_COMPONENTS, "cost.two_components")):
        curve = evaluation.curve("pact", stage="after", policy=policy)
        at = curve.index(0.13)
        cost = (10.0 * curve.wrong[:, at] + curve.n - curve.admitted[:, at]) / curve.n
        low, high = next(t.interval for t in targets("controlled") if t.id == name)  # type: ignore[misc]
        width = 2.0 * 1.96 * float(cost.std()) / np.sqrt(rows.scenes)
        found.append(float(np.log(width / (high - low))) / 0.2)
    return found


def stated_differences(evaluation: Any) -> list[float]:
    """Return by how much orderings that the paper states in words are missed.

    On three valid sources: by pooled correctness PACT has the highest area before and after
    admission, global cautious the lowest before and nested Dirichlet the lowest after; by posterior
    peak, after admission, product has the lowest, and without adversarial consensus PACT and nested
    Dirichlet are equal. Equal source scales give PACT the lower area before admission.
    """
    valid = evaluation.benchmark.three_valid
    ordinary = valid & ~evaluation.benchmark.in_condition(ADVERSARIAL)
    models = evaluation.correctness_models(valid)
    before, after = (
        {
            rule: area(
                evaluation.curve(
                    rule, score="pooled_correctness", stage=stage, models=models, rows=valid
                )
            )
            for rule in CORRECT_RULES
        }
        for stage in ("before", "after")
    )
    peak, peak_ordinary = (
        {
            rule: area(evaluation.curve(rule, score="peak", stage="after", rows=rows))
            for rule in CORRECT_RULES[:3]
        }
        for rows in (valid, ordinary)
    )
    scaled = area(
        evaluation.curve_of(scaled_rankings(evaluation, chosen_scales(evaluation))["before"])
    )
    return [
        _not_below(before, "global_cautious", 0.005) / 0.01,
        _not_above(before, "pact", 0.005) / 0.01,
        _not_above(after, "pact", 0.005) / 0.01,
        _not_below(after, "nested_dirichlet", 0.005) / 0.01,
        _not_below(peak, "product", 0.001) / 0.004,
        (peak_ordinary["pact"] - peak_ordinary["nested_dirichlet"]) / 0.002,
        max(0.0, area(evaluation.curve("pact")) - scaled + 0.002) / 0.004,
    ]


def _not_below(areas: Mapping[str, float], rule: str, margin: float) -> float:
    """Return by how much a rule misses being the lowest by a margin."""
    lowest = min(value for name, value in areas.items() if name != rule)
    return max(0.0, areas[rule] - lowest + margin)


def _not_above(areas: Mapping[str, float], rule: str, margin: float) -> float:
    """Return by how much a rule misses being the highest by a margin."""
    highest = max(value for name, value in areas.items() if name != rule)
    return max(0.0, highest - areas[rule] + margin)


def _margins(posterior: Floats, label: npt.NDArray[Any]) -> Floats:
    """Return the log ratio of the label's probability and the largest other."""
    logs, i = np.log(posterior), np.arange(label.size)
    own = logs[i, label]
    others = logs.copy()
    others[i, label] = -np.inf
    result: Floats = own - others.max(axis=1)
    return result


class SeveralSeeds:
    """Problems that differ in the seed of the draws, their differences averaged.

    Args:
        problems: At least one; all with the same free parameters.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems, self.free = tuple(problems), problems[0].free

    def residuals(self, values: Floats) -> tuple[Floats, Figures, Curves]:
        """Return mean differences, mean figures, and the first seed's curves."""
        results = [problem.residuals(values) for problem in self.problems]
        found = {name: float(np.mean([r[1][name] for r in results])) for name in results[0][1]}
        return np.mean([r[0] for r in results], axis=0), found, results[0][2]


def loss(differences: Floats) -> float:
    """Return the robust sum of squares."""
    return float(2.0 * ROBUST**2 * (np.sqrt(1.0 + (differences / ROBUST) ** 2) - 1.0).sum())
