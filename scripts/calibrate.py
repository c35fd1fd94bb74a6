"""Fit the generator's parameters to the published aggregate figures.

    python scripts/calibrate.py --observations runs/default/observations.parquet --output fit.json
    python scripts/calibrate.py --observations … --output fit.json --only NAME --restarts 6
    python scripts/calibrate.py --observations … --output fit.json --iterations 0 --write

The objective (`calibration_objective.py`) compares counts along the published curves and every
figure with a published value, each on its own scale, under a robust loss; random numbers are fixed
by the seeds. The search (`calibration_search.py`) stops after `--iterations` or when nothing
improves, saves its state after each iteration, and continues from the saved state when started
again with the same `--output`. `--only` keeps to the parameters of some conditions or sections,
and `--restarts` tries random starts of them as well. `--write` puts the result into configs/*.toml.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from calibration_objective import Free, Problem, SeveralSeeds
from calibration_search import Search, random_start

Floats = npt.NDArray[np.float64]
CONFIGS = Path(__file__).resolve().parent.parent / "configs"


def write_configuration(free: list[Free], values: Floats) -> None:
    """Put values into configs/*.toml, leaving everything else as it stands."""
    for section in ("conditions", "opinions"):
        file = CONFIGS / f"{section}.toml"
        lines = file.read_text(encoding="utf-8").splitlines()
        for parameter, value in zip(free, values, strict=True):
            if parameter.section == section:
                for path in (parameter.path, *parameter.also):
                    _set(lines, path, f"{value:.4g}")
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


def improve(search: Search, iterations: int, save: Callable[[Search], None]) -> None:
    """Iterate until nothing improves, save each state, and tell about it."""
    started = time.monotonic()
    print(f"start: {search.report()}", flush=True)
    for iteration in range(iterations):
        improved = search.iterate()
        seconds = time.monotonic() - started
        print(f"iteration {iteration + 1}: {search.report()} ({seconds:.0f} s)", flush=True)
        save(search)
        if not improved:
            break


def main() -> None:
    """Run the search from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--observations", type=Path, required=True, help="observations.parquet")
    parser.add_argument("--output", type=Path, required=True, help="state and result, JSON")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[20260718, 1], help="of the draws")
    parser.add_argument("--kappa", default="4,4,8,8,4", help="concentration of each outer fold")
    parser.add_argument("--only", nargs="*", default=[], help="conditions or sections to change")
    parser.add_argument("--restarts", type=int, default=0, help="random starts besides the first")
    parser.add_argument("--write", action="store_true", help="write the result into configs/")
    options = parser.parse_args()
    frame = pd.read_parquet(options.observations)
    columns = {str(name): frame[name].to_numpy() for name in frame}
    kappa = [float(k) for k in options.kappa.split(",")]
    saved: dict[str, float] = {}
    if options.output.exists():
        saved = json.loads(options.output.read_text(encoding="utf-8"))["parameters"]

    def problem(seed: int) -> Problem:
        whole = Problem(columns, seed, kappa)
        values = [saved.get(p.name, v) for p, v in zip(whole.free, whole.start(), strict=True)]
        part = Problem(columns, seed, kappa, options.only)
        part.defaults = whole.sections(np.array(values))
        return part

    several = SeveralSeeds([problem(seed) for seed in options.seeds])
    free, first = several.free, several.problems[0].start()
    generator = np.random.default_rng(options.seeds[0])
    best = Search(several.residuals, free, first)

    def save(search: Search) -> None:
        if search.value > best.value:
            return
        names = [p.name for p in free]
        state = {
            "seeds": options.seeds,
            "kappa": kappa,
            "loss": search.value,
            "summary": search.report(),
            "parameters": saved | dict(zip(names, map(float, search.values), strict=True)),
        }
        options.output.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")

    improve(best, options.iterations, save)
    for _ in range(options.restarts):
        search = Search(several.residuals, free, random_start(free, first, generator))
        improve(search, options.iterations, save)
        best = min(best, search, key=lambda item: item.value)
    for seed, part in zip(options.seeds, several.problems, strict=True):
        selected = part.evaluation(best.values, select=True).kappa
        print(f"concentrations selected at seed {seed}: {', '.join(f'{k:g}' for k in selected)}")
    if options.write:
        write_configuration(free, best.values)


if __name__ == "__main__":
    main()
