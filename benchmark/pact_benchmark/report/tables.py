"""Tables of the report: names for people, one number format per column, intervals in one cell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from pact_benchmark.names import column_name, stratum_name, value_name
from pact_benchmark.results import format_column

MAX_ROWS = 60
SHOWN_ROWS = 16


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column; numbers stand right, and so does their head."""

    text: Markup
    numeric: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell.

    Attributes:
        text: What is shown.
        number: Its value where it is a number, for sorting.
        interval: The interval around it, or nothing.
        kind: CSS class, or nothing.
        hint: What it means in words, shown on hovering.
    """

    text: str | Markup
    number: float | None = None
    interval: str = ""
    kind: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TableView:
    """A table as the page shows it; `more` rows are only in the file."""

    id: str
    title: str
    heads: list[Head]
    rows: list[list[Cell]]
    note: str = ""
    more: int = 0
    files: tuple[str, ...] = field(default=("csv", "md", "tex"))

    @property
    def folded(self) -> int:
        """Return how many rows a screen shows only when asked."""
        return len(self.rows) - SHOWN_ROWS if len(self.rows) > SHOWN_ROWS + 4 else 0

    @property
    def crowded(self) -> bool:
        """Tell whether intervals stand below their values, because many columns have one."""
        return bool(self.rows) and sum(bool(cell.interval) for cell in self.rows[0]) > 3


def table_view(
    frame: pd.DataFrame, id: str, title: str, note: str, conditions: Mapping[str, str]
) -> TableView:
    """Return a stored table for people.

    Two columns with the ends of an interval join the column that they belong to.

    Args:
        frame: the table as its CSV file has it.
        id: its id, also the name of its files.
        title: its title.
        note: what stands below it.
        conditions: titles of the run's source conditions.
    """
    shown = frame.head(MAX_ROWS)
    ends = _interval_ends([str(name) for name in frame.columns])
    hidden = {name for pair in ends.values() for name in pair}
    heads, columns = [], []
    for name in shown.columns:
        if name in hidden:
            continue
        values = shown[name].tolist()
        interval = [shown[end].tolist() for end in ends.get(str(name), ())]
        if name == "stratum":
            values = [stratum_name(value) for value in values]
        columns.append(_column(values, interval, conditions))
        heads.append(Head(subscripts(column_name(str(name))), _numeric(values)))
    rows = [list(row) for row in zip(*columns, strict=True)]
    return TableView(id, title, heads, rows, note, max(0, len(frame) - MAX_ROWS))


def _interval_ends(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return for each column with an interval the names of the columns that hold its ends."""
    found = {}
    for place, name in enumerate(names[:-1]):
        if not re.search(r"\blow$", name) or names[place + 1] != f"{name[:-3]}high" or place == 0:
            continue
        own = name[:-3].strip()
        found[own if own in names else names[place - 1]] = (name, names[place + 1])
    return found


def _column(
    values: list[Any], interval: list[list[Any]], conditions: Mapping[str, str]
) -> list[Cell]:
    size = len(values)
    texts = format_column([value for part in (values, *interval) for value in part])
    cells = []
    for place, value in enumerate(values):
        if isinstance(value, str):
            cells.append(Cell(value_name(value, conditions)))
            continue
        ends = [texts[size * (1 + side) + place] for side in range(len(interval))]
        shown = f"[{ends[0]}, {ends[1]}]" if ends and "–" not in ends else ""
        cells.append(Cell(texts[place], _number(value), shown))
    return cells


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
    return float(value) if is_number else None


def _numeric(values: Sequence[Any]) -> bool:
    return any(_number(value) is not None for value in values)


def subscripts(text: str) -> Markup:
    """Return R_all, C_all and R_cond with their index set low."""
    return Markup(re.sub(r"\b([RC])_(all|cond)\b", r"\1<sub>\2</sub>", str(escape(text))))


def breakable(text: str) -> Markup:
    """Return an id that may break after its dots and underscores."""
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(text))))
