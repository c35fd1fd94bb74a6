"""The `pact` command: gathers the sub-commands and turns failures into exit codes.

Exit codes: 0 done, 1 the work failed, 2 the request was wrong, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import importlib
import io
import os
import pkgutil
import signal
import sys
import warnings
from types import FrameType
from typing import Annotated, NoReturn

import typer

from pact_benchmark import commands, plugins
from pact_benchmark.errors import PactError

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
RESUMABLE = frozenset({"run", "simulate", "evaluate", "sweep", "learned", "set-transformer"})
"""Commands that keep each finished piece of work, so that the same command goes on."""

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
    warnings.formatwarning = _warning_text
    received = _interrupted_by_sigterm()
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        if error.format_message():  # empty when the help text was the answer
            print(f"pact: {_one_line(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(1)
    except Exception as error:
        text = _failure_text(error)
        if text is None or os.environ.get("PACT_DEBUG"):
            raise
        print(f"pact: {text}", file=sys.stderr)
        sys.exit(error.exit_code if isinstance(error, PactError) else 1)
    if code == INTERRUPTED:
        _stop(TERMINATED if received else INTERRUPTED)
    sys.exit(code)


def _interrupted_by_sigterm() -> list[int]:
    """Let SIGTERM stop a command as Ctrl-C does; return the list that then holds the signal."""
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        received.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    return received


def _stop(code: int) -> NoReturn:
    """Say that the command was interrupted, and how to go on where that is possible."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a second one ends at once
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    how = "; the same command goes on from here" if command in RESUMABLE else ""
    word = "terminated" if code == TERMINATED else "interrupted"
    print(f"pact: {word}{how}", file=sys.stderr)
    sys.exit(code)


def _failure_text(error: Exception) -> str | None:
    """Return the line for a failure: the user's, a plug-in's or the file system's; else None."""
    if isinstance(error, PactError):
        return str(error)
    blamed = plugins.blame(error)
    if blamed is None and isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return blamed


_default_warning_text = warnings.formatwarning


def _warning_text(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    """Return a warning as it is shown: one line where it is for the user of the command."""
    if issubclass(category, plugins.PluginWarning):
        return f"pact: {message}\n"
    return _default_warning_text(message, category, filename, lineno, line)


def _one_line(error: typer.TyperException) -> str:
    """Return a mistake in the command line as one line that ends with where to look."""
    context = getattr(error, "ctx", None)
    where = "pact" if context is None else context.command_path
    text = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
    return f"{text} (see `{where} --help`)"
