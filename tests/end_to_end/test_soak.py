"""Fifty kills of the long jobs at random moments; run it with `pytest -m slow`.

The last recorded result is in `docs/reliability.md`.
"""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import PACT
from tests.end_to_end.test_reliability import digests

KILLS = 50


def survive(command: list[str | Path], kills: int, longest: float, seed: int) -> int:
    """Run a command to its end through `kills` SIGKILLs at random moments; return the kills."""
    moments = random.Random(seed)
    done = 0
    while done < kills:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=moments.uniform(0.3, longest))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            done += 1
        else:
            return done
        time.sleep(0.05)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return done


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_fifty_kills_of_run_and_sweep(finished_run: Path, tmp_path: Path) -> None:
    """Run and sweep, killed fifty times in all, end with the bytes of an undisturbed run."""
    kills, round_number = 0, 0
    while kills < KILLS:
        round_number += 1
        target = tmp_path / f"run{round_number}"
        run = [PACT, "run", "--backend", "kinematic", "--quiet", "-o", target]
        kills += survive(run, min(15, KILLS - kills), 8.0, seed=round_number)
        mine, reference = digests(target), digests(finished_run)
        mine.pop("report.html"), reference.pop("report.html")
        assert mine == reference
        sweep = [PACT, "sweep", "--points", "64", "--quiet", "-o", target]
        if round_number == 1:
            whole = tmp_path / "undisturbed"
            subprocess.run([PACT, "run", "--backend", "kinematic", "-q", "-o", whole], check=True)
            subprocess.run([*sweep[:-1], whole], check=True, stdout=subprocess.DEVNULL)
            swept = digests(whole / "sweep")
        kills += survive(sweep, min(15, max(0, KILLS - kills)), 6.0, seed=100 + round_number)
        assert digests(target / "sweep") == swept
    print(f"{kills} kills survived in {round_number} rounds")
