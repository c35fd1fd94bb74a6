"""The search of `calibrate.py`: damped Gauss–Newton steps under a robust loss and bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from calibration_figures import Curves, Figures
from calibration_objective import ROBUST, Free, fitted_targets, loss

from pact_benchmark.compare import MATCH, compare_curves, verdict

Floats = npt.NDArray[np.float64]
Residuals = Callable[[Floats], tuple[Floats, Figures, Curves]]

REGULAR = 0.1
DAMPINGS = np.array([0.03, 0.3, 3.0, 30.0])
STEPS_PER_DERIVATIVE = 3
LONGEST = 4.0
GREATEST_DAMPING = 30.0


class Search:
    """A point, its differences, and how to improve it.

    Derivatives are differences over twice the parameter's step, wide enough to average over single
    rows; between derivatives the Jacobian takes secant updates. Several dampings are tried at each
    step and the best is kept. Parameters that press against a bound stay there.

    Args:
        residuals: From values to scaled differences and what they come from.
        free: The parameters.
        values: Where to start.
    """

    def __init__(self, residuals: Residuals, free: list[Free], values: Floats) -> None:
        self.residuals = residuals
        self.low = np.array([p.low for p in free])
        self.high = np.array([p.high for p in free])
        self.step = 2.0 * np.array([p.step for p in free])
        self.unit = 3.0 * self.step
        self.values = np.clip(values, self.low, self.high)
        self.damping = 0.1
        self.differences, self.found, self.curves = residuals(self.values)
        self.value = loss(self.differences)

    def iterate(self) -> bool:
        """Do one iteration and tell whether it improved."""
        jacobian, before = self._jacobian(), self.value
        for _ in range(STEPS_PER_DERIVATIVE):
            tried = []
            for damping in self.damping * DAMPINGS:
                values = self._moved(jacobian, damping)
                state = self.residuals(values)
                tried.append((loss(state[0]), damping, values, state))
            value, damping, values, state = min(tried, key=lambda item: item[0])
            shift = (values - self.values) / self.unit
            miss = state[0] - self.differences - jacobian @ (values - self.values)
            jacobian += np.outer(miss, shift / self.unit) / (shift @ shift + 1e-9)
            if value > self.value - 1e-3:
                self.damping = min(10.0 * self.damping, GREATEST_DAMPING)
                continue
            gain = self.value - value
            self.value, self.values, self.damping = value, values, max(damping, 1e-3)
            self.differences, self.found, self.curves = state
            if gain < 0.01 * value:
                break
        return self.value < before - 0.5 or (
            self.value < before and self.damping < GREATEST_DAMPING
        )

    def _jacobian(self) -> Floats:
        columns = np.empty((self.differences.size, self.values.size))
        for j, step in enumerate(self.step):
            change = step if self.values[j] + step <= self.high[j] else -step
            moved = self.values.copy()
            moved[j] += change
            columns[:, j] = (self.residuals(moved)[0] - self.differences) / change
        return columns

    def _moved(self, jacobian: Floats, damping: float) -> Floats:
        """Return where a damped step leads."""
        weight = 1.0 / np.sqrt(1.0 + (self.differences / ROBUST) ** 2)
        scaled = jacobian * self.unit
        gradient = scaled.T @ (weight * self.differences)
        pressed = ((self.values <= self.low) & (gradient > 0.0)) | (
            (self.values >= self.high) & (gradient < 0.0)
        )
        inside = np.flatnonzero(~pressed)
        part = scaled[:, inside]
        normal = part.T @ (part * weight[:, None]) + REGULAR**2 * np.eye(inside.size)
        ridge = np.diag(normal) + 0.05 * np.trace(normal) / max(inside.size, 1)
        move = np.zeros(self.values.size)
        move[inside] = -np.linalg.solve(normal + damping * np.diag(ridge), gradient[inside])
        moved = self.values + np.clip(move, -LONGEST, LONGEST) * self.unit
        clipped: Floats = np.clip(moved, self.low, self.high)
        return clipped

    def report(self) -> str:
        """Return a line about the fit."""
        judged = [t for t in fitted_targets() if t.id in self.found]
        hits = sum(verdict(t, {"value": self.found[t.id]}) == MATCH for t in judged)
        curves = compare_curves(self.curves)["relative_deviation"].mean()
        return f"loss {self.value:.1f}, {hits}/{len(judged)} figures, curves {curves:.1%}"


def random_start(free: list[Free], values: Floats, generator: np.random.Generator) -> Floats:
    """Return a start of its own: peaks and spreads drawn anew, qualities and conflicts shifted."""
    drawn = values.copy()
    for j, parameter in enumerate(free):
        key = parameter.path[-1]
        if key.endswith("spread"):
            drawn[j] = np.exp(generator.uniform(np.log(0.3), np.log(5.0)))
        elif key == "peak":
            drawn[j] = generator.uniform(parameter.low, parameter.high)
        else:
            drawn[j] += 3.0 * parameter.step * generator.standard_normal()
    return drawn
