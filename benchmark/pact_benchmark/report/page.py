"""Builds the report page from what a run folder holds; needs no simulator and no rows."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pact_benchmark.compare import compare_with_published, summarise
from pact_benchmark.report.findings import findings
from pact_benchmark.results import STATISTICS, format_cell, stored_results
from pact_benchmark.store import RunFolder, digest

MAX_ROWS = 60
_LARGE_SVG = 400_000
_DATA_FILES = (
    "run.json",
    "statistics.json",
    "observations.parquet",
    "instances.parquet",
    "events.jsonl",
    "croissant.json",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: its text, and its number where it is one (for sorting)."""

    text: str
    number: float | None


def write_report(run: RunFolder) -> None:
    """Write `report.html` into the run folder, unless nothing in it has changed."""
    parts = {name: part["key"] for name, part in run.manifest["parts"].items() if name != "report"}
    key = digest(
        [parts, {n: f["sha256"] for n, f in run.manifest["files"].items() if n != "report.html"}]
    )
    if run.current("report", key):
        return
    with run.part("report", key) as part:
        part.text("report.html", render_report(run))


def render_report(run: RunFolder) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("pact_benchmark", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    results = stored_results(run)
    statistics = run.read_json(STATISTICS) if run.file(STATISTICS).exists() else {}
    comparison = compare_with_published(statistics) if statistics else None
    return environment.get_template("report.html.j2").render(
        title=f"Run {run.path.resolve().name}",
        css=_asset("report.css"),
        script=_asset("report.js"),
        what=_what(run, len(results)),
        findings=findings(statistics),
        agreement=[] if comparison is None else summarise(comparison),
        studies=[_study_section(run, result) for result in results],
        sheet=_image(run, "figures/scenes.png"),
        comparison=None if comparison is None else _table_body(comparison),
        provenance=list(_provenance(run)),
        files=[name for name in _DATA_FILES if run.file(name).exists()],
    )


def _asset(name: str) -> Markup:
    text = resources.files("pact_benchmark.report").joinpath(name).read_text(encoding="utf-8")
    return Markup(text)


def _what(run: RunFolder, study_count: int) -> str:
    facts = run.manifest
    rows = facts.get("rows")
    text = f"{study_count} studies"
    if rows:
        text += f" on {rows:,} evaluations of {facts.get('scenes', '?')} scenes"
    if facts.get("backend"):
        text += f", simulated with the {facts['backend']} backend"
    if facts.get("seed") is not None:
        text += f", root seed {facts['seed']}"
    return text + "."


def _study_section(run: RunFolder, result: dict[str, Any]) -> dict[str, Any]:
    purpose = result["purpose"].rstrip(".")
    return {
        **result,
        "purpose": f"{purpose[:1].upper()}{purpose[1:]}{'' if purpose.endswith('?') else '.'}",
        "figures": [
            {**figure, "uri": _figure_uri(run, figure["id"])} for figure in result["figures"]
        ],
        "tables": [_table_section(run, table) for table in result["tables"]],
    }


def _table_section(run: RunFolder, table: dict[str, Any]) -> dict[str, Any]:
    frame = pd.read_csv(run.file(f"tables/{table['id']}.csv"))
    return {**table, **_table_body(frame.head(MAX_ROWS)), "more": max(0, len(frame) - MAX_ROWS)}


def _table_body(frame: pd.DataFrame) -> dict[str, Any]:
    return {
        "columns": [str(name) for name in frame.columns],
        "rows": [
            [_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)
        ],
    }


def _cell(value: Any) -> Cell:
    text = format_cell(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and text != "–"
    return Cell(text, float(value) if is_number else None)


def _figure_uri(run: RunFolder, figure_id: str) -> str | None:
    svg = run.file(f"figures/{figure_id}.svg")
    if svg.stat().st_size > _LARGE_SVG:
        return _image(run, f"figures/{figure_id}.png")
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.read_bytes()).decode('ascii')}"


def _image(run: RunFolder, name: str) -> str | None:
    path = run.file(name)
    if not path.exists():
        return None
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def _provenance(run: RunFolder) -> Iterable[tuple[str, str]]:
    facts = run.manifest
    for name in ("command", "pact", "python", "seed", "backend"):
        if facts.get(name) is not None:
            yield name, str(facts[name])
    versions = facts.get("versions", {})
    if versions:
        yield "packages", ", ".join(f"{name} {version}" for name, version in versions.items())
    seconds = {name: part.get("seconds", 0.0) for name, part in facts["parts"].items()}
    longest = sorted(seconds.items(), key=lambda item: -item[1])[:6]
    yield "longest parts", ", ".join(f"{name} {value:.1f} s" for name, value in longest)
