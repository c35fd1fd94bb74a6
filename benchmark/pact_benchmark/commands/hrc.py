"""`pact hrc`: offline admission from recorded model outputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pact_benchmark.commands._options import (
    ConfigOption,
    FormatOption,
    OutputOption,
    QuietOption,
    SeedOption,
    UnusedJobsOption,
)
from pact_benchmark.console import Console, Format, emit_json
from pact_benchmark.errors import UsageError

if TYPE_CHECKING:
    from pact_benchmark.hrc.analysis import AnalysisOptions, Part
    from pact_benchmark.hrc.recordings import Recordings

DEFAULT_OUTPUT = Path("runs/hrc")
RecordsOption = Annotated[
    Path | None,
    typer.Option(help="A recording, or a folder of them (the authors' release, or our format)."),
]
DEFAULT_DRAWS, DEFAULT_PERMUTATIONS = 2_000, 10_000


def hrc(
    records: RecordsOption = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Make simulated recordings, then analyse them.")
    ] = False,
    observations: Annotated[
        Path | None,
        typer.Option(help="Run folder or observations.parquet for --simulate; else rolled out."),
    ] = None,
    prov: Annotated[
        Path | None, typer.Option(help="PROV-JSON document with model families or image parents.")
    ] = None,
    skeleton: Annotated[
        Path | None,
        typer.Option(help="LeRobot-style folder: write rows to fill in model outputs, and stop."),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of the record format and stop.")
    ] = False,
    draws: Annotated[
        int, typer.Option(min=1, max=100_000, help="Resamples for the intervals.")
    ] = DEFAULT_DRAWS,
    permutations: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Permutations for the temporal tests.")
    ] = DEFAULT_PERMUTATIONS,
    output: OutputOption = DEFAULT_OUTPUT,
    config: ConfigOption = None,
    jobs: UnusedJobsOption = 1,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Ask which admissions change when repeated prompts on one image stop counting as witnesses.

    Reads recorded model outputs, applies every counting rule and admission requirement that they
    allow, and writes statistics, tables, figures and a report to the run folder. Simulated
    recordings are marked as simulated everywhere. The seed moves simulated recordings and
    permutations; published resamples keep their published seeds.

    Examples: pact hrc --records DIR; pact hrc --records mine.parquet --format json;
    pact hrc --simulate --observations runs/default
    """
    if schema:
        from pact_benchmark.hrc.schema import json_schema

        emit_json(json_schema())
        return
    _check_request(records, simulate, skeleton, observations)
    console = Console(quiet)
    if skeleton is not None:
        _write_skeleton(skeleton, output, console)
        return
    found = _recordings(records, observations, config, seed, console)
    options = _options(draws, permutations, seed)
    parts = _analyse(_with_prov(found, prov), options, console)
    _write(found, parts, output, options)
    _show(parts, output, format, console)


def _check_request(
    records: Path | None, simulate: bool, skeleton: Path | None, observations: Path | None
) -> None:
    if sum((records is not None, simulate, skeleton is not None)) != 1:
        raise UsageError("give one of --records PATH, --simulate or --skeleton FOLDER")
    if observations is not None and not simulate:
        raise UsageError("--observations belongs to --simulate")


def _options(draws: int, permutations: int, seed: int | None) -> AnalysisOptions:
    from pact_benchmark.hrc.analysis import AnalysisOptions
    from pact_benchmark.hrc.temporal_study import SEED

    return AnalysisOptions(draws, permutations, SEED if seed is None else seed)


def _recordings(
    records: Path | None,
    observations: Path | None,
    config: Path | None,
    seed: int | None,
    console: Console,
) -> Recordings:
    from pact_benchmark.config import load_config
    from pact_benchmark.hrc.load import load_recordings
    from pact_benchmark.hrc.source import simulated_recordings

    settings = load_config(config, seed=seed)
    if records is not None:
        return load_recordings(records)
    return simulated_recordings(observations, settings, seed, console)


def _with_prov(found: Recordings, prov: Path | None) -> Recordings:
    if prov is None:
        return found
    from pact_benchmark.hrc.provenance import apply_prov

    return apply_prov(found, prov)


def _write_skeleton(folder: Path, output: Path, console: Console) -> None:
    import json

    from pact_benchmark.hrc.lerobot import events_from_subtasks, read_episode_folder, skeleton
    from pact_benchmark.store import write_atomically

    read = read_episode_folder(folder)
    rows = skeleton(read, events_from_subtasks(read), "your_model")
    lines = [json.dumps(dict(row)) for row in rows.to_dict("records")]
    write_atomically(output / "skeleton.jsonl", ("\n".join(lines) + "\n").encode())
    console.say(
        f"wrote {output / 'skeleton.jsonl'}: {len(rows):,} rows; fill in the log odds, remove frame"
    )


def _analyse(found: Recordings, options: AnalysisOptions, console: Console) -> list[Part]:
    from pact_benchmark.hrc.analysis import analyse

    with console.progress("hrc", 8) as bar:

        def advance(text: str) -> None:
            bar.note(text)
            bar.advance()

        return analyse(found, options, advance)


def _write(found: Recordings, parts: list[Part], output: Path, options: AnalysisOptions) -> None:
    from pact_benchmark.hrc.output import write_run
    from pact_benchmark.store import RunFolder

    run = RunFolder.create(output)
    with run.lock():
        write_run(run, found, parts, options)


def _show(parts: list[Part], output: Path, format: Format, console: Console) -> None:
    from pact_benchmark.hrc.analysis import statistics_of_parts
    from pact_benchmark.results import statistics_of, to_markdown

    if format is Format.JSON:
        emit_json(statistics_of(statistics_of_parts(parts)))
        return
    wide = ("by_task", "hrc_files", "hrc_multiplicity")
    for part in parts:
        for table in part.result.tables:
            if any(word in table.id for word in wide):
                continue
            typer.echo(f"\n{table.title}\n\n{to_markdown(table.frame)}")
            if table.note:
                typer.echo(f"Note: {table.note}")
    console.say(f"wrote {output / 'report.html'}, statistics.json, tables/, figures/")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("hrc")(hrc)
