"""Options that every command takes, with one meaning everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pact_benchmark.console import Format

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="TOML file laid over the default configuration."),
]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="The run folder.")]
JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Worker processes; results do not depend on it.")
]
UnusedJobsOption = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", min=1, help="Accepted for uniformity; this step is a single process."
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", min=0, help="Root seed in place of the configuration's.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only results.")]
UnusedQuietOption = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Accepted for uniformity; this command shows no progress."),
]
FormatOption = Annotated[
    Format, typer.Option("--format", help="Result for people (human) or programs (json).")
]

DEFAULT_RUN = Path("runs/default")
