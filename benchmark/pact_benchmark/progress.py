"""How far a run is: its finished parts, and the shards of the jobs that are long."""

from __future__ import annotations

from typing import Any

from pact_benchmark.console import Console, shell_path
from pact_benchmark.remedy import remedy
from pact_benchmark.report import report_current
from pact_benchmark.set_transformer import training_status
from pact_benchmark.store import RunFolder
from pact_benchmark.study import all_studies
from pact_benchmark.sweep.job import sweep_status
from pact_benchmark.sweep.shards import JobStatus


def run_status(run: RunFolder) -> dict[str, Any]:
    """Return the state of every part: finished, outdated, damaged, missing, or partly done."""
    parts = run.manifest["parts"]
    main_job = [
        "observations",
        "instances",
        *(f"study:{name}" for name in all_studies()),
        "decisions",
        "report",
    ]
    expected = main_job if not parts or "observations" in parts or "instances" in parts else []
    names = [*expected, *sorted(set(parts) - set(expected) - {"statistics"})]
    rows = [_part_row(run, name) for name in names]
    for name, status in (
        ("sweep", sweep_status(run.path)),
        ("set transformer", training_status(run.path)),
    ):
        if status is not None and status.points:
            rows.append(_shard_row(name, status))
    return {"run": str(run.path), "parts": rows}


def _part_row(run: RunFolder, name: str) -> dict[str, str]:
    record = run.manifest["parts"].get(name)
    if record is None:
        return {"part": name, "state": "missing", "detail": ""}
    detail = f"{len(record['files'])} files, {record['seconds']:.1f} s"
    damaged = [file for file in record["files"] if not run.intact(file)]
    if damaged:
        verify = f"`pact verify {shell_path(run.path)}`"
        detail = f"{damaged[0]} is not as it was written; {verify} says what to run"
        return {"part": name, "state": "damaged", "detail": detail}
    if run.outdated(name):
        return {"part": name, "state": "outdated", "detail": f"{detail}; its rows were replaced"}
    if name == "report" and not report_current(run):
        renew = f"`pact report {shell_path(run.path)}`"
        detail = f"{detail}; the run or the software has changed since, {renew} renews it"
        return {"part": name, "state": "outdated", "detail": detail}
    return {"part": name, "state": "finished", "detail": detail}


def _shard_row(name: str, status: JobStatus) -> dict[str, str]:
    detail = f"{status.done}/{status.points}"
    if status.rate:
        detail += f", {status.rate:.2f} per second"
    if status.seconds_left:
        detail += f", {status.seconds_left:.0f} s left"
    return {
        "part": name,
        "state": "finished" if status.done >= status.points else "partly",
        "detail": detail,
    }


def warn_of_unfinished(run: RunFolder, console: Console) -> None:
    """Say which studies of a run are not up to date, and what brings them there."""
    states = {
        row["part"]: row["state"]
        for row in run_status(run)["parts"]
        if row["part"].startswith("study:") and row["state"] != "finished"
    }
    if states:
        name, state = next(iter(states.items()))
        are = "1 study is" if len(states) == 1 else f"{len(states)} studies are"
        commands = dict.fromkeys(_renewal(run, part) for part in states)
        console.say(
            f"{are} not up to date in {run.path} ({name} is {state});"
            f" run {' and '.join(commands)} first"
        )


def _renewal(run: RunFolder, part: str) -> str:
    """Return the command that renews a study: `evaluate`, or that of the job that wrote it."""
    if part.removeprefix("study:") in all_studies():
        return f"`pact evaluate --output {shell_path(run.path)}`"
    written = run.manifest["parts"][part]["files"]
    return f"`{remedy(run.path, run.manifest, next(iter(written)))}`"
