"""`pact decide`: decisions on instances of your own."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pact_benchmark.commands import _completion
from pact_benchmark.commands._options import ConfigOption, FormatOption, QuietOption
from pact_benchmark.console import Console, Format, emit_json, to_jsonable
from pact_benchmark.errors import PactError, UsageError


class InputFormat(StrEnum):
    """What the lines are."""

    INSTANCE = "instance"
    RELEASE = "release"


class Corroboration(StrEnum):
    """When support must come from several components."""

    UNANIMITY = "unanimity"
    COMPONENT_COUNT = "component_count"
    CROSS_ROLE = "cross_role"
    OFF = "off"


def decide(
    file: Annotated[
        Path,
        typer.Argument(help="JSON lines, plain or gzip; - or nothing for standard input."),
    ] = Path("-"),
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            "-r",
            help="Fusion rule, may be repeated; or: all. Default: pact.",
            autocompletion=_completion.rules,
        ),
    ] = None,
    kappa: Annotated[float, typer.Option(min=0.0, help="Evidence scale.")] = 8.0,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, help="Score threshold; none selects every eligible instance."),
    ] = None,
    corroboration: Annotated[
        Corroboration | None, typer.Option(help="In place of the configuration's rule.")
    ] = None,
    input_format: Annotated[
        InputFormat, typer.Option(help="Our instances, or the authors' source records.")
    ] = InputFormat.INSTANCE,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add values, changes and stability of each decision.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of input and output and stop.")
    ] = False,
    config: ConfigOption = None,
    quiet: QuietOption = False,
    format: FormatOption = Format.JSON,
) -> None:
    """Decide on instances: JSON lines in, one JSON object per instance and rule out.

    What cannot be decided gives {"line": ..., "error": ...}; the stream goes on and the exit code
    is 1 at the end. Bad numbers are no error: they make their source invalid, nothing is admitted.

    Example: pact decide --explain < instances.jsonl
    """
    from dataclasses import replace

    from pact_benchmark import plugins
    from pact_benchmark.admission import admission_policy
    from pact_benchmark.config import load_config
    from pact_benchmark.formats import deciding, instance
    from pact_benchmark.formats.lines import read_lines
    from pact_core import FusionOptions

    if schema:
        emit_json(instance.schema())
        return
    try:
        FusionOptions(kappa=kappa)
    except ValueError as error:
        raise UsageError(f"--{error}") from error
    plugins.load("pact.rules")
    plugins.load("pact.checks")
    policy = admission_policy(load_config(config).section("admission"))
    if corroboration is not None:
        policy = replace(policy, corroboration=str(corroboration))
    names = rule or ["pact"]
    settings = deciding.Settings(
        deciding.chosen_rules(names), kappa, threshold, policy, explain, deciding.ALL in names
    )
    results = deciding.decide_lines(read_lines(file), deciding.READERS[str(input_format)], settings)
    if _write(results, format, Console(quiet)):
        raise typer.Exit(1)


def _write(results: Iterable[dict[str, Any]], format: Format, console: Console) -> int:
    """Print the results as they come and return the number of errors among them."""
    from pact_benchmark.formats.deciding import decision_text

    if isinstance(sys.stdout, io.TextIOWrapper):  # names may hold what its encoding does not
        sys.stdout.reconfigure(errors="backslashreplace")
    errors = 0
    try:
        for result in results:
            errors += "error" in result
            if format is Format.HUMAN:
                text = decision_text(result)
            else:
                text = json.dumps(to_jsonable(result), allow_nan=False)
            print(text, flush=True)
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        _discard_output()
    except OSError as error:
        _discard_output()
        raise PactError(f"cannot write the decisions: {error.strerror}; make room") from error
    if errors:
        console.say(f"pact decide: {errors} error(s), see the error objects")
    return errors


def _discard_output() -> None:
    """Send what is left in the buffer of standard output nowhere, so that the exit is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("decide")(decide)
