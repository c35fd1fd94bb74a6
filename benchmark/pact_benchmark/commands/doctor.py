"""`pact doctor`: what is installed, what that enables, how to get the rest."""

from __future__ import annotations

import typer

from pact_benchmark.commands._options import FormatOption, UnusedQuietOption
from pact_benchmark.console import Format, emit_json


def doctor(quiet: UnusedQuietOption = False, format: FormatOption = Format.HUMAN) -> None:
    """Tell what is installed, which backends work, and the command that installs the rest.

    Example: pact doctor
    """
    from pact_benchmark.diagnosis import diagnose

    findings = diagnose()
    if format is Format.JSON:
        emit_json([finding._asdict() for finding in findings])
        return
    for finding in findings:
        typer.echo(f"{finding.state:7} {finding.name:20} {finding.detail}")
        if finding.remedy:
            typer.echo(f"        {'':20} -> {finding.remedy}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)
