"""`pact import` and `pact export`: the authors' records and recordings."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pact_benchmark.commands._options import (
    DEFAULT_RUN,
    FormatOption,
    OutputOption,
    QuietOption,
)
from pact_benchmark.console import Format, emit_json, shell_path


class Target(StrEnum):
    """Formats that are written."""

    RELEASE = "release"
    RECORDING = "recording"


def import_(
    records: Annotated[
        Path,
        typer.Argument(help="Source records (JSON lines, plain or gzip), or a recording folder."),
    ],
    labels: Annotated[
        Path | None, typer.Option(help="Evaluation labels that belong to the source records.")
    ] = None,
    output: OutputOption = DEFAULT_RUN,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace instances and observations that are not imported."),
    ] = False,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Make a run folder from records: the authors' format, or a recording of the extension.

    `pact evaluate` and `pact report` then work on it as on a run of our own. Nothing of a record is
    lost: `pact export` gives it back. The run folder must be new, empty or made by an import.

    Example: pact import source_records.jsonl.gz --labels evaluation_labels.jsonl.gz -o runs/theirs
    """
    from pact_benchmark.formats.transfer import import_records

    rows = import_records(records, labels, output, force=force)
    if format is Format.JSON:
        emit_json({"run": str(output), "rows": rows})
    elif not quiet:
        typer.echo(
            f"{rows} instances in {output}; next: pact evaluate --output {shell_path(output)}"
        )


def export(
    folder: Annotated[Path, typer.Argument(help="Folder for the files.")],
    target: Annotated[
        Target, typer.Option("--to", help="The authors' records, or JSON lines of our rows.")
    ] = Target.RELEASE,
    output: OutputOption = DEFAULT_RUN,
    quiet: QuietOption = False,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Write the instances of a run for others: source records and labels, or a recording.

    Example: pact export shared-records --output runs/default
    """
    from pact_benchmark.formats.transfer import export_recording, export_release
    from pact_benchmark.store import RunFolder

    run = RunFolder.open(output)
    write = export_release if target is Target.RELEASE else export_recording
    files = write(run, folder)
    if format is Format.JSON:
        emit_json({"files": [str(path) for path in files]})
    elif not quiet:
        for path in files:
            typer.echo(str(path))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("import")(import_)
    app.command("export")(export)
