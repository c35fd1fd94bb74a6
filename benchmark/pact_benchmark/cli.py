"""The `pact` command: gathers the sub-commands and turns failures into exit codes.

Exit codes: 0 done, 1 the work failed, 2 the request was wrong, 130 interrupted.
"""

from __future__ import annotations

import importlib
import io
import os
import pkgutil
import sys
from typing import Annotated

import typer

from pact_benchmark import commands
from pact_benchmark.errors import PactError

INTERRUPTED = 130

EPILOG = """
Start with [bold]pact run[/bold] (everything, about 40 seconds on two cores), then open
runs/default/report.html. The README has an instance to pipe into [bold]pact decide[/bold], which
decides on sources of your own; [bold]pact doctor[/bold] says what is installed.
"""

app = typer.Typer(
    name="pact",
    help="When several outputs agree, how much of that agreement may be counted?",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"pact {version('pact-handover')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of a failure.")
    ] = False,
) -> None:
    if debug:
        os.environ["PACT_DEBUG"] = "1"


for _module in pkgutil.iter_modules(commands.__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{commands.__name__}.{_module.name}").register(app)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what it cannot encode is written as \\u escapes
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        if error.format_message():  # empty when the help text was the answer
            print(f"pact: {_one_line(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(1)
    except PactError as error:
        if os.environ.get("PACT_DEBUG"):
            raise
        print(f"pact: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    if code == INTERRUPTED:
        print("pact: interrupted; the same command goes on from here", file=sys.stderr)
    sys.exit(code)


def _one_line(error: typer.TyperException) -> str:
    """Return a mistake in the command line as one line that ends with where to look."""
    context = getattr(error, "ctx", None)
    where = "pact" if context is None else context.command_path
    text = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
    return f"{text} (see `{where} --help`)"
