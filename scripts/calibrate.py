"""Fit the generator's parameters to the published aggregate figures.

    python scripts/calibrate.py --observations runs/default/observations.parquet --output fit.json
    python scripts/calibrate.py --observations … --output fit.json --write

The objective compares counts along the published curves and every figure with a published value,
each on its own scale, under a robust loss; random numbers are fixed by the seed, so that the
objective is a smooth function of the parameters. The search is a damped Gauss–Newton method with
differences for derivatives and secant updates between them. It stops after `--iterations` or when
nothing improves, saves its state after each iteration, and continues from the saved state when
started again with the same `--output`. `--write` puts the result into configs/*.toml.
Figures that are kept back take no part.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from calibration_figures import (
    COMPONENT_COUNT,
    HELD_CONDITIONS,
    ConditionRows,
    Curves,
    Figures,
    PiecewiseEvaluation,
    figures,
)

from pact_benchmark.compare import (
    ABSOLUTE_TOLERANCE,
    MATCH,
    RELATIVE_TOLERANCE,
    Target,
    compare_curves,
    published_curves,
    targets,
    verdict,
)
from pact_benchmark.data import assemble
from pact_scenes.conditions import LABELS, parse_conditions
from pact_scenes.configuration import default_section
from pact_scenes.opinions import OpinionParams, synthesise

Floats = npt.NDArray[np.float64]
CONFIGS = Path(__file__).resolve().parent.parent / "configs"
SCENE = ("geometry", "risk")
ALL = ("language", *SCENE)
CURVE_WEIGHT = 0.5
ROBUST = 3.0
REGULAR = 0.15
INSIDE = 0.8


@dataclass(frozen=True, slots=True)
class Free:
    """A free parameter: where it stands in the configuration, its bounds, its step."""

    section: str
    path: tuple[str, ...]
    low: float
    high: float
    step: float


def free_parameters() -> list[Free]:
    """Return what the search may change: peaks, qualities, conflicts, spreads, sharing, noise."""
    free: list[Free] = []

    def source(condition: str, role: str, bounds: Mapping[str, tuple[float, float, float]]) -> None:
        free.extend(
            Free("conditions", ("conditions", condition, role, key), *limits)
            for key, limits in bounds.items()
        )

    unit = {"peak": (0.27, 0.97, 0.01), "quality": (0.15, 0.99, 0.01)}
    context = {**unit, "conflict": (0.18, 0.5, 0.01), "spread": (0.25, 2.0, 0.1)}
    weak = {**unit, "conflict": (0.05, 0.92, 0.01), "spread": (0.1, 20.0, 0.1)}
    clear = {"peak": (0.8, 0.97, 0.01), "quality": (0.7, 0.99, 0.01), "conflict": (0.0, 0.12, 0.01)}
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
            {"peak": (0.7, 0.985, 0.01), "quality": (0.6, 0.99, 0.01)},
        )
    for role in ("language", "risk"):
        source("geometry_missing_language_low_quality", role, weak)
    source("stale_language_previous_cue", "language", {"quality_shift": (-0.3, 0.1, 0.01)})
    source("unsafe_urgency_injection", "language", {"quality_shift": (-0.1, 0.09, 0.01)})
    source("schema_invalid_language_distribution", "language", {"quality": (0.02, 0.95, 0.01)})
    source(
        "risk_missing_language_overconfident_wrong",
        "language",
        {"peak": (0.88, 0.985, 0.004), "quality": (0.88, 0.98, 0.004), "conflict": (0, 0.1, 0.004)},
    )
    free += [
        Free("opinions", ("sharing", "share"), 0.1, 0.95, 0.03),
        Free("opinions", ("sharing", "width"), 0.3, 3.0, 0.1),
        Free("opinions", ("quality_sd",), 0.01, 0.08, 0.003),
        Free("opinions", ("conflict_sd",), 0.01, 0.08, 0.003),
    ]
    return free


class Problem:
    """The generator as a function from free parameters to figures.

    Args:
        observations: Columns of the stored observations.
        seed: Root of the draws, the same for all parameter values.
        kappa: Concentration of each outer fold during the search.
        fixed: Conditions, tables or sections whose parameters stay as configured.
    """

    def __init__(
        self,
        observations: dict[str, npt.NDArray[Any]],
        seed: int,
        kappa: Sequence[float],
        fixed: Sequence[str] = (),
    ) -> None:
        self.observations, self.seed, self.kappa = observations, seed, list(kappa)
        self.free = [p for p in free_parameters() if not {p.section, *p.path} & set(fixed)]
        self.defaults = {name: default_section(name) for name in ("conditions", "opinions")}
        self._kept: dict[str, ConditionRows] = {}
        self._frame: Any = None

    def start(self) -> Floats:
        """Return the configured values."""
        return np.array([self._read(parameter) for parameter in self.free])

    def _read(self, parameter: Free) -> float:
        table: Any = self.defaults[parameter.section]
        for key in parameter.path[:-1]:
            table = table[key]
        return float(table.get(parameter.path[-1], 1.0))

    def sections(self, values: Floats) -> dict[str, Any]:
        """Return the configuration with the free parameters set."""
        sections = copy.deepcopy(self.defaults)
        for parameter, value in zip(self.free, values, strict=True):
            table: Any = sections[parameter.section]
            for key in parameter.path[:-1]:
                table = table[key]
            table[parameter.path[-1]] = float(value)
        return sections

    def evaluation(self, values: Floats, models: Any = None, *, select: bool = False) -> Any:
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
        return PiecewiseEvaluation(current, parts, rows, kappa, models)

    def residuals(self, values: Floats, models: Any = None) -> tuple[Floats, Figures, Curves, Any]:
        """Return scaled differences from the published figures, and what they come from."""
        evaluation = self.evaluation(values, models)
        found, curves = figures(evaluation)
        differences = [scaled_difference(t, found[t.id]) for t in fitted_targets() if t.id in found]
        for key, points in published_curves().items():
            curve = curves[key]
            wrong = curve.totals()[2]
            ours = np.array([wrong[curve.index(float(t))] for t in points["target"]])
            published = points["wrong"].to_numpy()
            differences += list(CURVE_WEIGHT * (ours - published) / (0.02 * published + 20.0))
        differences += design_differences(evaluation)
        return np.array(differences), found, curves, evaluation


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
    "geometry_missing_language_low_quality": (2391, 764, 809, 490),
    "schema_invalid_language_distribution": (481, 480, 493, 485),
    "language_missing_context_noisy": (480, 480, 480, 480),
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
    found.append(max(0, int((clean & counted).sum()) - 12) / 8.0)
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


def _margins(posterior: Floats, label: npt.NDArray[Any]) -> Floats:
    """Return the log ratio of the label's probability and the largest other."""
    logs, i = np.log(posterior), np.arange(label.size)
    own = logs[i, label]
    others = logs.copy()
    others[i, label] = -np.inf
    result: Floats = own - others.max(axis=1)
    return result


def loss(differences: Floats) -> float:
    """Return the robust sum of squares."""
    return float(2.0 * ROBUST**2 * (np.sqrt(1.0 + (differences / ROBUST) ** 2) - 1.0).sum())


class Search:
    """Damped Gauss–Newton with secant updates; see the module's text."""

    def __init__(self, problem: Problem, values: Floats, *, exact: bool) -> None:
        self.problem, self.exact = problem, exact
        self.low = np.array([p.low for p in problem.free])
        self.high = np.array([p.high for p in problem.free])
        self.step = np.array([p.step for p in problem.free])
        self.unit = 5.0 * self.step
        self.values = np.clip(values, self.low, self.high)
        self.reference = self.values.copy()
        self.damping = 0.5
        self._move(self.values, problem.residuals(self.values))

    def _move(self, values: Floats, state: tuple[Floats, Figures, Curves, Any]) -> None:
        self.values = values
        self.differences, self.found, self.curves, evaluation = state
        self.models = evaluation.correctness_models()
        self.value = loss(self.differences) + self._penalty(values)

    def _penalty(self, values: Floats) -> float:
        return float(np.sum((REGULAR * (values - self.reference) / self.unit) ** 2))

    def _jacobian(self) -> Floats:
        models = None if self.exact else self.models
        base = self.differences if self.exact else self.problem.residuals(self.values, models)[0]
        columns = np.empty((base.size, self.values.size))
        for j, step in enumerate(self.step):
            change = step if self.values[j] + step <= self.high[j] else -step
            moved = self.values.copy()
            moved[j] += change
            columns[:, j] = (self.problem.residuals(moved, models)[0] - base) / change
        return columns

    def iterate(self) -> bool:
        """Do one iteration and tell whether it improved."""
        jacobian, improved = self._jacobian(), False
        for _ in range(8):
            weight = 1.0 / np.sqrt(1.0 + (self.differences / ROBUST) ** 2)
            scaled = jacobian * self.unit
            pull = REGULAR**2 * (self.values - self.reference) / self.unit
            normal = scaled.T @ (scaled * weight[:, None]) + REGULAR**2 * np.eye(self.unit.size)
            ridge = np.diag(normal) + 0.05 * np.trace(normal) / self.unit.size
            gradient = scaled.T @ (weight * self.differences) + pull
            move = -np.linalg.solve(normal + self.damping * np.diag(ridge), gradient)
            moved = self.values + np.clip(move, -4.0, 4.0) * self.unit
            moved = np.clip(moved, self.low, self.high)
            state = self.problem.residuals(moved)
            shift = (moved - self.values) / self.unit
            miss = state[0] - self.differences - jacobian @ (moved - self.values)
            jacobian += np.outer(miss, shift / self.unit) / (shift @ shift + 1e-9)
            before = self.value
            if loss(state[0]) + self._penalty(moved) < before - 1e-6:
                self._move(moved, state)
                self.damping, improved = max(self.damping / 3.0, 1e-4), True
                if before - self.value < 0.01 * self.value:
                    break
            else:
                self.damping *= 3.0
        return improved

    def report(self) -> str:
        """Return a line about the fit."""
        judged = [t for t in fitted_targets() if t.id in self.found]
        hits = sum(verdict(t, {"value": self.found[t.id]}) == MATCH for t in judged)
        curves = compare_curves(self.curves)["relative_deviation"].mean()
        return f"loss {self.value:.1f}, {hits}/{len(judged)} figures, curves {curves:.1%}"


def write_configuration(problem: Problem, values: Floats) -> None:
    """Put values into configs/*.toml, leaving everything else as it stands."""
    for section in ("conditions", "opinions"):
        file = CONFIGS / f"{section}.toml"
        lines = file.read_text(encoding="utf-8").splitlines()
        for parameter, value in zip(problem.free, values, strict=True):
            if parameter.section == section:
                _set(lines, parameter.path, f"{value:.4g}")
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _set(lines: list[str], path: tuple[str, ...], text: str) -> None:
    """Set one key in the lines of a TOML file, adding it to its table if it is not there."""
    header = f"[{'.'.join(path[:-1])}]" if len(path) > 1 else None
    start = 0 if header is None else next(i for i, s in enumerate(lines) if s.strip() == header) + 1
    number = text if re.search(r"[.e]", text) else f"{text}.0"
    last = start
    for i in range(start, len(lines)):
        if lines[i].lstrip().startswith("["):
            break
        last = i + 1 if lines[i].strip() else last
        if match := re.match(rf"({re.escape(path[-1])}\s*=\s*)\S+(.*)", lines[i]):
            lines[i] = f"{match.group(1)}{number}{match.group(2)}"
            return
    lines.insert(last, f"{path[-1]} = {number}")


def main() -> None:
    """Run the search from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--observations", type=Path, required=True, help="observations.parquet")
    parser.add_argument("--output", type=Path, required=True, help="state and result, JSON")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--seed", type=int, default=20260718, help="root of the draws")
    parser.add_argument("--kappa", default="4,4,8,8,4", help="concentration of each outer fold")
    parser.add_argument("--fixed", nargs="*", default=[], help="conditions or sections to keep")
    parser.add_argument("--exact", action="store_true", help="refit correctness in derivatives")
    parser.add_argument("--write", action="store_true", help="write the result into configs/")
    options = parser.parse_args()
    frame = pd.read_parquet(options.observations)
    columns = {str(name): frame[name].to_numpy() for name in frame}
    kappa = [float(k) for k in options.kappa.split(",")]
    problem = Problem(columns, options.seed, kappa, options.fixed)
    names = [".".join(p.path) for p in problem.free]
    values = problem.start()
    if options.output.exists():
        saved = json.loads(options.output.read_text(encoding="utf-8"))["parameters"]
        values = np.array([saved.get(n, v) for n, v in zip(names, values, strict=True)])
    search, started = Search(problem, values, exact=options.exact), time.monotonic()
    print(f"start: {search.report()}", flush=True)
    for iteration in range(options.iterations):
        improved = search.iterate()
        seconds = time.monotonic() - started
        print(f"iteration {iteration + 1}: {search.report()} ({seconds:.0f} s)", flush=True)
        state = {
            "seed": options.seed,
            "kappa": problem.kappa,
            "loss": search.value,
            "summary": search.report(),
            "parameters": dict(zip(names, map(float, search.values), strict=True)),
        }
        options.output.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
        if not improved:
            break
    selected = problem.evaluation(search.values, select=True).kappa
    print(f"concentrations selected at the result: {', '.join(f'{k:g}' for k in selected)}")
    if options.write:
        write_configuration(problem, search.values)


if __name__ == "__main__":
    main()
