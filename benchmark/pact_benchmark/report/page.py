"""Builds the report page from what a run folder holds; needs no simulator and no rows."""

from __future__ import annotations

import base64
import io
from importlib import resources
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pact_benchmark.config import changes
from pact_benchmark.names import condition_titles
from pact_benchmark.report.agreement import agreement
from pact_benchmark.report.findings import findings
from pact_benchmark.report.provenance import data_files, made, provenance
from pact_benchmark.report.tables import SHOWN_ROWS, TableView, table_view
from pact_benchmark.results import STATISTICS, sources_key, stored_results
from pact_benchmark.store import RunFolder, digest

_LARGE_SVG = 400_000
_TEMPLATE, _ASSETS = "report.html.j2", ("report.css", "report.js")


def write_report(run: RunFolder) -> bool:
    """Write `report.html` unless nothing that it shows has changed; tell whether it was written."""
    if report_current(run):
        return False
    with run.part("report", _key(run)) as part:
        part.text("report.html", render_report(run))
    return True


def report_current(run: RunFolder) -> bool:
    """Tell whether the written report shows what the run holds now."""
    return run.current("report", _key(run))


def _key(run: RunFolder) -> str:
    """Return a digest of everything that the report shows."""
    facts = {name: fact for name, fact in run.manifest.items() if name not in ("parts", "files")}
    parts = {name: part["key"] for name, part in run.manifest["parts"].items() if name != "report"}
    files = {n: f["sha256"] for n, f in run.manifest["files"].items() if n != "report.html"}
    look = [sources_key("pact_benchmark"), *map(_asset, (_TEMPLATE, *_ASSETS))]
    return digest([facts, parts, files, look])


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
    stale = {r["id"] for r in results if run.outdated(f"study:{r['id']}")}
    statistics = run.read_json(STATISTICS) if run.checksum(STATISTICS) else {}
    config = run.manifest.get("config", {})
    changed = changes(config) if config else []
    css, script = map(_asset, _ASSETS)
    return environment.get_template(_TEMPLATE).render(
        title=_title(run, len(results) - len(stale)),
        stale=stale,
        facts=_facts(run),
        css=Markup(css),
        script=Markup(script),
        shown_rows=SHOWN_ROWS,
        changed=changed,
        findings=findings(statistics),
        agreement=agreement(statistics, changed),
        studies=[_study_section(run, result) for result in results],
        sheet=_image(run, "figures/scenes.png"),
        provenance=list(provenance(run.manifest, changed)),
        files=data_files(run),
    )


def _asset(name: str) -> str:
    return resources.files("pact_benchmark.report").joinpath(name).read_text(encoding="utf-8")


def _title(run: RunFolder, study_count: int) -> str:
    text = f"{study_count} {'study' if study_count == 1 else 'studies'}"
    if run.manifest.get("rows"):
        text += f" of {run.manifest['rows']:,} handover decisions"
    return f"{text}: run “{run.path.resolve().name}”"


def _facts(run: RunFolder) -> list[str]:
    """Return the short facts below the title."""
    facts, found = run.manifest, []
    if facts.get("scenes"):
        backend = facts.get("backend")
        found.append(f"{facts['scenes']} scenes{f' simulated with {backend}' if backend else ''}")
    if facts.get("seed") is not None:
        found.append(f"root seed {facts['seed']}")
    if facts.get("pact"):
        found.append(f"PACT {facts['pact']}")
    return [*found, f"made {made(facts)}"] if made(facts) else found


def _study_section(run: RunFolder, result: dict[str, Any]) -> dict[str, Any]:
    return {
        **result,
        "purpose": _sentence(result["purpose"]),
        "figures": [
            {**figure, "uri": _figure_uri(run, figure["id"])} for figure in result["figures"]
        ],
        "tables": [_table(run, table) for table in result["tables"]],
    }


def _sentence(text: str) -> str:
    """Return a phrase as a sentence; names such as ncsAURC keep their first letter."""
    text = text.rstrip(".")
    first = text.partition(" ")[0].rstrip(",")
    start = text[:1].upper() if first.islower() else text[:1]
    return f"{start}{text[1:]}{'' if text.endswith('?') else '.'}"


def _table(run: RunFolder, table: dict[str, Any]) -> TableView:
    frame = pd.read_csv(io.BytesIO(run.read_bytes(f"tables/{table['id']}.csv")))
    section = run.manifest.get("config", {}).get("conditions")
    titles = condition_titles(section) if section else {}
    return table_view(frame, table["id"], table["title"], table["note"], titles)


def _figure_uri(run: RunFolder, figure_id: str) -> str | None:
    svg = run.read_bytes(f"figures/{figure_id}.svg")
    if len(svg) > _LARGE_SVG:
        return _image(run, f"figures/{figure_id}.png")
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"


def _image(run: RunFolder, name: str) -> str | None:
    if run.checksum(name) is None:
        return None
    return f"data:image/png;base64,{base64.b64encode(run.read_bytes(name)).decode('ascii')}"
