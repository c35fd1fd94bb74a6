"""What studies leave in a run folder: statistics, tables in three formats, figures in three."""

from __future__ import annotations

import csv
import hashlib
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pact_benchmark import plotting
from pact_benchmark.store import PartWriter, RunFolder
from pact_benchmark.study import (
    Figure,
    Statistic,
    StudyEntry,
    StudyResult,
    Table,
    named_failures,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

STATISTICS = "statistics.json"
_PART = "study:"
OURS = ("pact_core", "pact_scenes", "pact_benchmark")


def write_result(
    run: RunFolder, study: StudyEntry, result: StudyResult, key: str, started: float | None = None
) -> None:
    """Write what a study found as one part of the run, then bring `statistics.json` up to date."""
    with run.part(part_of(study.id), key, started) as part:
        for table in result.tables:
            _write_table(part, table)
        for figure in result.figures:
            with named_failures(study):
                drawn = _draw(figure)
            for kind in ("svg", "png", "pdf"):
                part.bytes(f"figures/{figure.id}.{kind}", plotting.render(drawn, kind))
        part.json(
            f"studies/{study.id}.json",
            {
                "id": study.id,
                "title": study.title,
                "purpose": study.purpose,
                "order": study.order,
                "reading": result.reading,
                "statistics": {name: s.to_json() for name, s in result.statistics.items()},
                "tables": [{"id": t.id, "title": t.title, "note": t.note} for t in result.tables],
                "figures": [{"id": f.id, "title": f.title, "alt": f.alt} for f in result.figures],
            },
        )
    collect_statistics(run)


def part_of(study_id: str) -> str:
    """Return the name of the part that holds the result of a study."""
    return _PART + study_id


def result_current(run: RunFolder, study_id: str, key: str) -> bool:
    """Tell whether the stored result of a study was made from the same inputs and is intact."""
    return run.current(part_of(study_id), key)


def stored_results(run: RunFolder) -> list[dict[str, Any]]:
    """Return the stored results (the content of `studies/*.json`) in report order.

    Raises:
        PactError: one of them is not as it was written.
    """
    return _in_order([run.read_json(name) for name in _result_files(run)])


def collect_statistics(run: RunFolder) -> dict[str, dict[str, Any]]:
    """Merge the statistics of all intact results into `statistics.json` and return them.

    What a damaged result said is left out until it is made anew, so that several damaged results
    can be mended one after the other.
    """
    merged: dict[str, dict[str, Any]] = {}
    intact = [run.read_json(name) for name in _result_files(run) if run.intact(name)]
    for result in _in_order(intact):
        merged.update(result["statistics"])
    with run.part("statistics", "merged") as part:
        part.json(STATISTICS, merged)
    return merged


def _result_files(run: RunFolder) -> list[str]:
    studies = [part for part in run.manifest["parts"] if part.startswith(_PART)]
    return [f"studies/{part.removeprefix(_PART)}.json" for part in studies]


def _in_order(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(results, key=lambda result: (result["order"], result["id"]))


def _write_table(part: PartWriter, table: Table) -> None:
    part.text(f"tables/{table.id}.csv", to_csv(table.frame))
    part.text(f"tables/{table.id}.md", to_markdown(table.frame))
    part.text(f"tables/{table.id}.tex", to_latex(table))


def _draw(figure: Figure) -> MatplotlibFigure:
    with plotting.style():
        return figure.plot()


MINUS = "\N{MINUS SIGN}"
_NOTHING = "–"
_NOISE = 1e-12


def format_cell(value: Any) -> str:
    """Return a number on its own for people: four significant digits, a dash for nothing."""
    if value is None or (isinstance(value, (float, np.floating)) and not np.isfinite(value)):
        return _NOTHING
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return with_minus(f"{value:,}")
    if isinstance(value, (float, np.floating)):
        size = abs(float(value))
        if size < _NOISE:
            return "0"
        whole = float(value).is_integer()
        shown = f"{value:,.0f}" if whole else f"{value:.4g}" if size < 1000 else f"{value:,.1f}"
        return with_minus(shown)
    return str(value)


def format_column(values: Sequence[Any]) -> list[str]:
    """Return the cells of one column for people: all of its numbers with the same decimals."""
    numbers = [float(value) for value in values if _is_number(value)]
    decimals = _decimals([number for number in numbers if abs(number) >= _NOISE])
    return [
        _fixed(float(value), decimals) if _is_number(value) else format_cell(value)
        for value in values
    ]


def with_minus(text: str) -> str:
    """Return a formatted number with a true minus in place of a hyphen."""
    return f"{MINUS}{text[1:]}" if text.startswith("-") else text


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, (int, float, np.number))
        and not isinstance(value, bool)
        and bool(np.isfinite(value))
    )


def _decimals(numbers: Sequence[float]) -> int:
    """Return as few decimals as show all numbers, or enough for their sizes (at most six)."""
    for enough in range(4):
        if all(abs(round(number, enough) - number) < _NOISE for number in numbers):
            return enough
    sizes = [abs(number) for number in numbers]
    largest, smallest = max(sizes), min(sizes)
    wanted = 4 - max(0, int(np.log10(largest)))
    tiny = 1 - int(np.floor(np.log10(smallest)))  # two digits of the smallest
    return max(1, min(6, max(wanted, tiny if largest < 10 else 0)))


def _fixed(number: float, decimals: int) -> str:
    shown = f"{0.0 if abs(number) < _NOISE else number:,.{decimals}f}"
    if abs(number) >= _NOISE and not shown.strip("-0.,"):
        return "≈ 0"
    return with_minus(shown)


def to_csv(frame: pd.DataFrame) -> str:
    """Return a frame as CSV with full precision."""
    return frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)


def format_rows(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the rows of a frame as texts for people."""
    columns = [format_column(frame.iloc[:, place].tolist()) for place in range(frame.shape[1])]
    return list(zip(*columns, strict=True))


def to_markdown(frame: pd.DataFrame) -> str:
    """Return a frame as a Markdown table."""
    rows = [[str(name) for name in frame.columns], ["---"] * len(frame.columns)]
    rows += [[cell.replace("|", "\\|") for cell in row] for row in format_rows(frame)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


_LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "_": r"\_",
        "#": r"\#",
        "$": r"\$",
        "–": "--",
        "−": "$-$",
        "κ": r"$\kappa$",
        "≈": r"$\approx$",
    }
)


def to_latex(table: Table) -> str:
    """Return a table as a LaTeX `table` environment with booktabs rules."""
    out = io.StringIO()
    columns = "l" + "r" * (len(table.frame.columns) - 1)
    out.write("\\begin{table}\n\\centering\n")
    out.write(f"\\caption{{{table.title.translate(_LATEX)}}}\n")
    out.write(f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n")
    out.write(
        " & ".join(str(c).translate(_LATEX) for c in table.frame.columns) + " \\\\\n\\midrule\n"
    )
    for row in format_rows(table.frame):
        out.write(" & ".join(cell.translate(_LATEX) for cell in row) + " \\\\\n")
    out.write("\\bottomrule\n\\end{tabular}\n\\end{table}\n")
    return out.getvalue()


def code_key(*packages: str) -> str:
    """Return a digest of installed sources, so that a change of code makes results anew.

    Args:
        packages: packages to look at besides ours.
    """
    return sources_key(*OURS, *packages)


@cache
def sources_key(*packages: str) -> str:
    """Return a digest of the sources of some installed packages."""
    total = hashlib.sha256()
    for package in sorted(set(packages)):
        for name, content in sorted(_sources(package)):
            total.update(name.encode() + b"\0" + content)
    return total.hexdigest()


def _sources(package: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every source file of a package, or of a single module."""
    try:
        spec = find_spec(package)
    except ValueError:  # a script that runs as `__main__` has no spec
        script = getattr(sys.modules[package], "__file__", None)
        if script is not None:
            yield f"{package}.py", Path(script).read_bytes()
        return
    if spec is None:
        return
    for folder in map(Path, spec.submodule_search_locations or ()):
        for file in folder.rglob("*.py"):
            yield f"{package}/{file.relative_to(folder).as_posix()}", file.read_bytes()
    if not spec.submodule_search_locations and spec.origin and spec.has_location:
        yield f"{package}.py", Path(spec.origin).read_bytes()


def statistics_of(values: Mapping[str, Statistic]) -> dict[str, dict[str, Any]]:
    """Return statistics in the form that commands print with `--format json`."""
    return {name: statistic.to_json() for name, statistic in values.items()}
