"""What a study is: a registered function from stored rows to statistics, tables and figures."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pandas as pd

from pact_benchmark import plugins
from pact_benchmark.console import Console
from pact_benchmark.errors import PactError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

    from pact_benchmark.config import Config
    from pact_benchmark.data import Benchmark
    from pact_benchmark.store import RunFolder

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Statistic:
    """One figure: its value, its interval where one is defined, and how many it rests on."""

    value: float | int | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    note: str | None = None

    def to_json(self) -> dict[str, float | int | str | None]:
        """Return the form that `statistics.json` holds."""
        record: dict[str, float | int | str | None] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
        }
        return record if self.note is None else {**record, "note": self.note}

    def noted(self, note: str | None) -> Statistic:
        """Return the same figure with a further note before those that it has."""
        return replace(self, note="; ".join(text for text in (note, self.note) if text) or None)


@dataclass(frozen=True, slots=True)
class Table:
    """A titled data frame that is written as CSV, Markdown and LaTeX."""

    id: str
    title: str
    frame: pd.DataFrame
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture that is drawn when it is needed; `alt` says in words what it shows."""

    id: str
    title: str
    alt: str
    plot: Callable[[], MatplotlibFigure]


@dataclass(frozen=True, slots=True)
class StudyResult:
    """What a study found; `reading` tells in a sentence how to read its tables and figures."""

    statistics: dict[str, Statistic]
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    reading: str = ""


@dataclass(slots=True)
class StudyContext:
    """What a study may use: the rows, the configuration, and results that studies share."""

    benchmark: Benchmark
    config: Config
    jobs: int = 1
    console: Console = field(default_factory=Console)
    run: RunFolder | None = None
    _memo: dict[Hashable, Any] = field(default_factory=dict)

    def shared(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what `compute` gives, computed once per process for each `key`."""
        if key not in self._memo:
            self._memo[key] = compute()
        return cast(T, self._memo[key])


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """How a result is listed in a run folder and in the report; `order` is its place there."""

    id: str
    title: str
    purpose: str
    order: int


@dataclass(frozen=True, slots=True)
class Study(StudyEntry):
    """A study of stored rows, run by `pact run` and `pact evaluate`."""

    function: Callable[[StudyContext], StudyResult]


class StudyError(PactError):
    """A study has failed; other studies can go on."""


_STUDIES: dict[str, Study] = {}

StudyFunction = Callable[[StudyContext], StudyResult]


def study(
    id: str, *, title: str, purpose: str, order: int = 1000
) -> Callable[[StudyFunction], StudyFunction]:
    """Register a function as the study `id`; `order` places it in the report."""

    def register(function: StudyFunction) -> StudyFunction:
        known = _STUDIES.get(id)
        if known is not None and known.function.__qualname__ != function.__qualname__:
            raise ValueError(
                f"study {id!r} is registered by {known.function.__module__} "
                f"and again by {function.__module__}: choose another id"
            )
        _STUDIES[id] = Study(id, title, purpose, order, function)
        return function

    return register


def all_studies() -> dict[str, Study]:
    """Return every study of the package and of plug-ins, in report order."""
    from pact_benchmark import studies

    for module in pkgutil.iter_modules(studies.__path__):
        importlib.import_module(f"{studies.__name__}.{module.name}")
    plugins.load("pact.studies")
    return dict(sorted(_STUDIES.items(), key=lambda item: (item[1].order, item[0])))


def choose_studies(names: list[str]) -> list[Study]:
    """Return the studies with these ids (all of them for an empty list)."""
    known = all_studies()
    unknown = [name for name in names if name not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from: {', '.join(known)}"
        raise UsageError(f"unknown study {unknown[0]!r}; {hint} (see `pact evaluate --list`)")
    return [known[name] for name in names] if names else list(known.values())


def run_study(chosen: Study, context: StudyContext) -> StudyResult:
    """Run one study; see `named_failures`."""
    with named_failures(chosen):
        return chosen.function(context)


@contextmanager
def named_failures(chosen: StudyEntry) -> Iterator[None]:
    """Turn a failure of the user's, or of a plug-in in any way, into a `StudyError`.

    Any other error is a programming error of ours and raises as it is.
    """
    try:
        yield
    except PactError as error:
        raise StudyError(f"study {chosen.id}: {error}") from error
    except (Exception, SystemExit) as error:
        reason = plugins.blame(error)
        if reason is None:
            raise
        raise StudyError(f"study {chosen.id}: {reason}") from error
