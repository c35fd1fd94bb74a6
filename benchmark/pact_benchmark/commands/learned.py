"""`pact learned`: the study on learned multi-view predictions."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pact_benchmark.commands._options import (
    ConfigOption,
    FormatOption,
    JobsOption,
    OutputOption,
    QuietOption,
    SeedOption,
)
from pact_benchmark.console import Console, Format, emit_json
from pact_benchmark.errors import UsageError

if TYPE_CHECKING:
    from pact_benchmark.learned.plan import Plan
    from pact_benchmark.store import RunFolder
    from pact_benchmark.study import StudyResult

DEFAULT_OUTPUT = Path("runs/learned")
DataOption = Annotated[
    Path | None,
    typer.Option(help="Folder with handwritten_6views.mat, handwritten.mat, …", metavar="DIR"),
]
EvidenceOption = Annotated[
    Path | None,
    typer.Option(help="Your own per-view evidences (.npz, .jsonl); no training, no torch."),
]


class Device(StrEnum):
    """Where training runs."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def learned(
    data: DataOption = None,
    evidence: EvidenceOption = None,
    openml: Annotated[
        bool, typer.Option("--openml", help="Download HandWritten from OpenML if it is not there.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="One data set, one seed, 100 epochs: under a minute.")
    ] = False,
    draws: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="Resamples for the intervals.")
    ] = None,
    lattice: Annotated[
        bool, typer.Option(help="Evaluate every partition of the views (up to eight views).")
    ] = True,
    device: Annotated[Device, typer.Option(help="Where to train.")] = Device.AUTO,
    output: OutputOption = DEFAULT_OUTPUT,
    config: ConfigOption = None,
    jobs: JobsOption = 1,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Count learned per-view outputs as one origin, as many, or as all the same.

    Trains TMC and RCML on public multi-view data (with --data), keeps their held-out evidences
    under OUTPUT/evidence, and reassigns what counts as one origin: exact copies, false refinement,
    merging, and every partition of six views. Trained evidences are used again by the next run.
    --seed draws other splits and resamples than the published ones; --jobs sets torch's threads.

    Examples: pact learned --data DIR; pact learned --data DIR --quick;
    pact learned --evidence mine.npz --format json
    """
    from pact_benchmark.config import load_config
    from pact_benchmark.learned.plan import Plan
    from pact_benchmark.results import statistics_of
    from pact_benchmark.store import RunFolder

    if evidence is not None and (data is not None or openml or quick):
        raise UsageError("--evidence takes stored evidences; leave out --data, --openml, --quick")
    if evidence is None and data is None and not openml:
        raise UsageError(
            "give --data DIR (a folder with the .mat files), --openml (download HandWritten), "
            "or --evidence FILE (your own evidences)"
        )
    section = load_config(config).section("learned")
    if draws is not None:
        section["draws"] = section["quick"]["draws"] = draws
    plan = Plan.from_section(section, quick=quick, seed=seed)
    console = Console(quiet)
    if evidence is not None:
        result = _own(evidence, plan, lattice, seed or 0, output, console)
    else:
        result = _published(data, openml, plan, (device, jobs), seed or 0, output, console)
    if format is Format.JSON:
        emit_json(statistics_of(result.statistics))
    else:
        _print(RunFolder.open(output), result)


def _own(
    path: Path, plan: Plan, lattice: bool, seed: int, output: Path, console: Console
) -> StudyResult:
    from pact_benchmark.learned.evidence import read_evidence
    from pact_benchmark.learned.study import OWN, run_own, stored_result
    from pact_benchmark.results import code_key, write_result
    from pact_benchmark.store import RunFolder, digest, file_digest

    sets = read_evidence(path)
    run = RunFolder.create(output)
    with run.lock():
        key = digest([file_digest(path), plan.draws, seed, lattice, code_key()])
        result = stored_result(run, OWN, key)
        if result is None:
            result = run_own(sets, console, draws=plan.draws, seed_offset=seed, lattice=lattice)
            write_result(run, OWN, result, key)
    return result


def _published(
    data: Path | None,
    openml: bool,
    plan: Plan,
    training: tuple[Device, int],
    seed: int,
    output: Path,
    console: Console,
) -> StudyResult:
    from pact_benchmark.learned.produce import Workshop, load_folder, produce
    from pact_benchmark.learned.study import PUBLISHED, plan_key, run_published, stored_result
    from pact_benchmark.results import code_key, write_result
    from pact_benchmark.store import RunFolder, digest

    sets, absent = load_folder(data, openml=openml)
    if absent and not plan.first_only:
        console.say(f"not found, so left out: {', '.join(absent)}")
    run = RunFolder.create(output)
    with run.lock():
        shop = Workshop(run, console, training[0].value, training[1])
        produced = produce(sets, absent, plan, shop)
        key = digest([plan_key(plan, produced, seed), code_key()])
        result = stored_result(run, PUBLISHED, key)
        if result is None:
            result = run_published(produced, plan, console, seed_offset=seed)
            write_result(run, PUBLISHED, result, key)
    return result


def _print(run: RunFolder, result: StudyResult) -> None:
    from pact_benchmark.results import format_cell

    for name, statistic in result.statistics.items():
        line = f"{name:42} {format_cell(statistic.value):>10}"
        if statistic.low is not None and statistic.high is not None:
            line += f"  [{format_cell(statistic.low)}, {format_cell(statistic.high)}]"
        if statistic.value is None and statistic.note:
            line += f"  {statistic.note}"
        typer.echo(line)
    typer.echo(f"tables, figures and evidences are in {run.path}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("learned")(learned)
