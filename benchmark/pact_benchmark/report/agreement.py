"""How well a run agrees with the published figures, in words and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pact_benchmark.compare import (
    DIFFERS,
    FAMILIES,
    KEPT_BACK,
    MATCH,
    MISSING,
    PARTIAL,
    command_for,
    compare_with_published,
    remark,
    summarise,
    targets,
)
from pact_benchmark.report.tables import Cell, Head, TableView, breakable, subscripts
from pact_benchmark.results import with_minus

NAMED = 12
_ORDER = (DIFFERS, PARTIAL, MISSING, MATCH, KEPT_BACK)
_HEADS = ("figure", "verdict", "published", "ours", "difference")


@dataclass(frozen=True, slots=True)
class Differing:
    """A published figure that is not met."""

    id: str
    definition: str
    published: str
    ours: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the report says about the published figures.

    Attributes:
        cards: Headline numbers.
        remark: What a changed configuration means, or nothing.
        fitted: Whether the generator was fitted to these figures.
        differing: The figures that differ, at most `NAMED` of them.
        unnamed: How many more differ.
        missing: Figures that were not computed, by the command that computes them.
        table: Every figure.
    """

    cards: list[dict[str, str]]
    remark: str
    fitted: bool
    differing: list[Differing]
    unnamed: int
    missing: dict[str, list[str]]
    table: TableView


def agreement(
    statistics: Mapping[str, Mapping[str, Any]], changed: Sequence[str]
) -> Agreement | None:
    """Compare the statistics of a run with the published figures; None where it has none of them.

    Args:
        statistics: content of `statistics.json`.
        changed: what the run's configuration changes in the defaults.
    """
    frame = compare_with_published(statistics)
    if frame.empty:
        return None
    known = {target.id: target for family in FAMILIES for target in targets(family)}
    place = {verdict: number for number, verdict in enumerate(_ORDER)}
    frame = frame.sort_values("verdict", key=lambda column: column.map(place), kind="stable")
    rows = frame.to_dict("records")
    differing = [row for row in rows if row["verdict"] == DIFFERS]
    missing: dict[str, list[str]] = {}
    for row in rows:
        if row["verdict"] == MISSING:
            missing.setdefault(command_for(row["id"], "RUN"), []).append(row["id"])
    return Agreement(
        cards=summarise(frame),
        remark=remark(changed),
        fitted=bool(set(frame["id"]) & {target.id for target in targets("controlled")}),
        differing=[
            Differing(
                row["id"],
                known[row["id"]].definition,
                figure_text(row["published"]),
                f"{figure_text(row['ours'])} {_interval(row)}".strip(),
            )
            for row in differing[:NAMED]
        ],
        unnamed=max(0, len(differing) - NAMED),
        missing=missing,
        table=TableView(
            "published",
            "Published and reconstructed figures",
            [Head(subscripts(name), name not in _HEADS[:2]) for name in _HEADS],
            [_row(row, known[row["id"]].definition) for row in rows],
            files=(),
        ),
    )


def _row(row: Mapping[Any, Any], definition: str) -> list[Cell]:
    shown = "not computed" if row["verdict"] == MISSING else row["verdict"]
    return [
        Cell(breakable(row["id"]), hint=definition),
        Cell(shown, kind=f"verdict {shown.replace(' ', '-')}"),
        Cell(figure_text(row["published"]), _number(row["published"])),
        Cell(figure_text(row["ours"]), _number(row["ours"]), _interval(row)),
        Cell(figure_text(row["difference"]), _number(row["difference"])),
    ]


def _interval(row: Mapping[Any, Any]) -> str:
    low, high = row["low"], row["high"]
    if pd.isna(low) or pd.isna(high) or isinstance(row["ours"], (list, tuple)):
        return ""
    return f"[{figure_text(low)}, {figure_text(high)}]"


def _number(value: Any) -> float | None:
    if isinstance(value, (bool, str, list, tuple)) or value is None or pd.isna(value):
        return None
    return float(value)


def figure_text(value: Any) -> str:
    """Return a figure for people: counts as integers, everything else with four decimals."""
    if isinstance(value, (list, tuple)):
        return f"{figure_text(value[0])} to {figure_text(value[1])}"
    if isinstance(value, (str, bool)):
        return str(value).lower() if isinstance(value, bool) else value
    if value is None or pd.isna(value):
        return "–"
    number = float(value)
    if number.is_integer():
        return with_minus(f"{number:,.0f}")
    if abs(number) < 1e-12:
        return "0"
    return with_minus(f"{number:,.4f}" if abs(number) >= 5e-5 else f"{number:.1e}")
