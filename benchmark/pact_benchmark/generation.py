"""Instances of a run: synthesise, store, and describe them in a dataset card."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pandas as pd

from pact_benchmark import plugins
from pact_benchmark.dictionary import INSTANCE_COLUMNS
from pact_benchmark.errors import UsageError
from pact_benchmark.results import code_key
from pact_benchmark.store import RunFolder, digest
from pact_scenes.conditions import LABELS, parse_conditions
from pact_scenes.configuration import ConfigurationError
from pact_scenes.opinions import OpinionParams, synthesise

if TYPE_CHECKING:
    from pact_benchmark.config import Config
    from pact_benchmark.console import Console

INSTANCES = "instances.parquet"
OBSERVATIONS = "observations.parquet"
CARD = "croissant.json"
PART = "instances"

_CROISSANT_TYPES = {
    "text": "sc:Text",
    "texts": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
}


def generate(observations: pd.DataFrame, config: Config) -> pd.DataFrame:
    """Return the instances of every observation under every condition and label.

    Args:
        observations: One row per scene and decision step (`observations.parquet`).
        config: Sections `conditions` and `opinions`, and the seed.
    """
    plugins.load("pact.conditions")
    try:
        conditions = parse_conditions(config.section("conditions"))
        params = OpinionParams.from_section(config.section("opinions"))
    except ConfigurationError as error:
        raise UsageError(str(error)) from error
    columns = {str(name): observations[name].to_numpy() for name in observations}
    table = synthesise(columns, conditions, LABELS, params, config.seed)
    return pd.DataFrame(table.to_columns())


def generate_into(run: RunFolder, config: Config, console: Console) -> None:
    """Bring the instances of a run and their dataset card up to date."""
    observations = run.read_frame(OBSERVATIONS)
    code = code_key(*plugins.packages("pact.conditions"))
    key = digest(
        [run.checksum(OBSERVATIONS), config.key("conditions", "opinions"), config.seed, code]
    )
    if run.current(PART, key):
        return
    console.say("synthesising instances")
    frame = generate(observations, config)
    with run.part(PART, key) as part:
        part.frame(INSTANCES, frame)
        part.json(CARD, dataset_card(run))


def dataset_card(run: RunFolder) -> dict[str, Any]:
    """Return the Croissant description (JSON-LD) of the stored instances of a run."""
    file = run.manifest["files"][INSTANCES]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "pact-controlled-benchmark",
        "description": (
            "Decisions of a simulated handover: language, geometry and path-risk opinions over five"
            " action contracts under thirteen source conditions. Reconstructed from a published"
            " description and calibrated to published aggregate figures; not the authors' records."
        ),
        "license": "https://www.apache.org/licenses/LICENSE-2.0",
        "version": version("pact-handover"),
        "datePublished": "2026-01-01",
        "citeAs": "PACT: provenance-aware evidence conservation and typed action admission",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": INSTANCES,
                "name": INSTANCES,
                "contentUrl": INSTANCES,
                "contentSize": f"{file['bytes']} B",
                "encodingFormat": "application/x-parquet",
                "sha256": file["sha256"],
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "instances",
                "name": "instances",
                "description": "One row is one decision: scene, condition, label and step.",
                "key": {"@id": "instances/record_id"},
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"instances/{column.name}",
                        "name": column.name,
                        "description": column.description,
                        "dataType": _CROISSANT_TYPES[column.type],
                        "source": {
                            "fileObject": {"@id": INSTANCES},
                            "extract": {"column": column.name},
                        },
                        **({"repeated": True} if column.type == "texts" else {}),
                    }
                    for column in INSTANCE_COLUMNS
                ],
            }
        ],
    }


_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "samplingRate": "cr:samplingRate",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
