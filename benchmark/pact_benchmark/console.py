"""What a person sees: progress and notes on standard error, results on standard output."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from rich.console import Console as RichConsole
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Format(StrEnum):
    """How a command prints its result."""

    HUMAN = "human"
    JSON = "json"


class Bar(Protocol):
    """A running count of work done."""

    def advance(self, count: int = 1) -> None:
        """Count `count` more units as done."""

    def note(self, text: str) -> None:
        """Say what is being worked on."""


@dataclass(slots=True)
class _RichBar:
    progress: Progress
    task: TaskID

    def advance(self, count: int = 1) -> None:
        self.progress.advance(self.task, count)

    def note(self, text: str) -> None:
        self.progress.update(self.task, note=text)


@dataclass(slots=True)
class _PlainBar:
    """Lines instead of a bar: one at the start, at most one every five seconds, one at the end."""

    title: str
    total: int
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    printed: float = field(default_factory=time.monotonic)

    def advance(self, count: int = 1) -> None:
        self.done += count
        now = time.monotonic()
        if self.done >= self.total or now - self.printed >= 5.0:
            self.printed = now
            seconds = now - self.started
            print(f"{self.title}: {self.done}/{self.total} ({seconds:.1f} s)", file=sys.stderr)

    def note(self, text: str) -> None:
        pass


class _SilentBar:
    def advance(self, count: int = 1) -> None:
        pass

    def note(self, text: str) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Console:
    """Where a command reports to; `quiet` silences everything but results and errors."""

    quiet: bool = False

    def say(self, text: str) -> None:
        """Print one line of information on standard error."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, title: str, total: int) -> Iterator[Bar]:
        """Show progress of `total` units: a bar on a terminal, plain lines elsewhere."""
        if self.quiet:
            yield _SilentBar()
        elif sys.stderr.isatty():
            columns = (
                TextColumn("[bold]{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
            )
            with Progress(*columns, console=RichConsole(stderr=True), transient=True) as progress:
                yield _RichBar(progress, progress.add_task(title, total=total, note=""))
        else:
            yield _PlainBar(title, total)


def shell_path(path: Path) -> str:
    """Return a path as commands print it: absolute and quoted, so that it works anywhere."""
    return shlex.quote(str(path.absolute()))


def to_jsonable(value: Any) -> Any:
    """Turn NumPy scalars and arrays, and non-finite numbers, into what strict JSON can hold."""
    if isinstance(value, dict):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_jsonable(item) for item in value]
    if isinstance(value, np.ndarray):
        return to_jsonable(value.tolist())
    if isinstance(value, np.generic):
        return to_jsonable(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def emit_json(value: Any) -> None:
    """Print one JSON document on standard output, as ASCII where that is not Unicode."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    json.dump(to_jsonable(value), sys.stdout, ensure_ascii=plain, indent=2, allow_nan=False)
    sys.stdout.write("\n")
