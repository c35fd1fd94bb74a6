"""`pact hrc`: offline admission from recorded model outputs."""

from __future__ import annotations

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
    from pact_benchmark.hrc.analysis import AnalysisOptions, Part
    from pact_benchmark.hrc.recordings import Recordings

DEFAULT_OUTPUT = Path("runs/hrc")
DEFAULT_DRAWS, DEFAULT_PERMUTATIONS = 2_000, 10_000


def hrc(
    records: Annotated[
        Path | None,
        typer.Option(
            help="A recording, or a folder of them (the authors' release, or our format)."
        ),
    ] = None,
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
    jobs: JobsOption = 1,
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
    from pact_benchmark.config import load_config

    if schema:
        from pact_benchmark.hrc.schema import json_schema

        emit_json(json_schema())
        return
    chosen = [name for name, given in (("--records", records), ("--skeleton", skeleton)) if given]
    chosen += ["--simulate"] if simulate else []
    if len(chosen) != 1:
        raise UsageError("give one of --records PATH, --simulate or --skeleton FOLDER")
    if observations is not None and not simulate:
        raise UsageError("--observations belongs to --simulate")
    settings = load_config(config, seed=seed)
    console = Console(quiet)
    if skeleton is not None:
        _write_skeleton(skeleton, output, console)
        return
    from pact_benchmark.hrc.analysis import AnalysisOptions
    from pact_benchmark.hrc.temporal_study import SEED

    options = AnalysisOptions(draws, permutations, SEED if seed is None else seed)
    if records is not None:
        from pact_benchmark.hrc.load import load_recordings

        found = load_recordings(records)
    else:
        from pact_benchmark.hrc.source import simulated_recordings

        found = simulated_recordings(observations, settings, seed, console)
    if prov is not None:
        from pact_benchmark.hrc.provenance import apply_prov

        found = apply_prov(found, prov)
    parts = _analyse(found, options, console)
    _write(found, parts, output, options)
    _show(parts, output, format, console)


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
    from dataclasses import asdict

    from pact_benchmark.hrc.load import write_records
    from pact_benchmark.report import write_report
    from pact_benchmark.results import code_key, write_result
    from pact_benchmark.store import RunFolder, digest

    run = RunFolder.create(output)
    with run.lock():
        key = digest(
            {
                "files": [asdict(file) for file in found.files],
                "options": asdict(options),
                "code": code_key(),
            }
        )
        run.describe(
            hrc={
                "simulated": found.simulated,
                "files": [asdict(file) for file in found.files],
                "skipped": list(found.skipped),
                **asdict(options),
            }
        )
        if found.simulated and not (output / "records.parquet").exists():
            write_records(found, output / "records.parquet")
        for part in parts:
            write_result(run, part.study, part.result, key)
        write_report(run)


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
