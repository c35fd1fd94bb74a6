"""Where simulated recordings take their rollouts from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from pact_benchmark.config import Config
from pact_benchmark.console import Console
from pact_benchmark.hrc.files import RecordError, read_parquet
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.simulate import SimulationOptions, simulate_recordings
from pact_benchmark.manifest import MANIFEST
from pact_benchmark.store import RunFolder


def simulated_recordings(
    observations: Path | None, config: Config, seed: int | None, console: Console
) -> Recordings:
    """Return simulated recordings of stored observations, or of the catalogue rolled out now."""
    if observations is None:
        rows = roll_out_catalogue(config, console)
    else:
        rows = read_observations(observations)
    options = SimulationOptions() if seed is None else SimulationOptions(seed=seed)
    return simulate_recordings(rows, options)


def read_observations(path: Path) -> pd.DataFrame:
    """Return the observations of a run folder or of a Parquet file."""
    if (path / MANIFEST).is_file():
        return RunFolder.open(path).read_frame("observations.parquet")
    file = path / "observations.parquet" if path.is_dir() else path
    if not file.is_file():
        raise RecordError(f"{path}: no observations.parquet; make one with `pact simulate`")
    return read_parquet(file)


def roll_out_catalogue(config: Config, console: Console) -> pd.DataFrame:
    """Return the observations of every scene, rolled out with the kinematic backend."""
    from pact_scenes.catalogue import load_catalogue
    from pact_scenes.model import build_model
    from pact_scenes.rollout import roll_out
    from pact_scenes.simulators import open_simulator

    scenes = load_catalogue(config.section("scenes"))
    rows: list[dict[str, Any]] = []
    with console.progress("rolling scenes out (kinematic)", len(scenes)) as bar:
        for scene in scenes:
            rollout = roll_out(build_model(scene), open_simulator("kinematic"), transfer=False)
            rows.extend(asdict(observation) for observation in rollout.observations)
            bar.advance()
    return pd.DataFrame(rows)
