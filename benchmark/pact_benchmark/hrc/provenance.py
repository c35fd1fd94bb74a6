"""Families and acquisitions from a W3C PROV document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from pact_benchmark.hrc.files import BYTE_LIMIT, fail
from pact_benchmark.hrc.recordings import Recordings
from pact_core import components
from pact_scenes.installation import install_command

OUTPUT_NAME = ("checkpoint", "event", "window", "camera", "prompt")


def output_name(row: dict[str, Any]) -> str:
    """Return the local name of an output in PROV: its identity joined by slashes."""
    return "/".join(str(row[part]) for part in OUTPUT_NAME)


def apply_prov(recordings: Recordings, path: Path) -> Recordings:
    """Return the recordings with families and parents taken from a PROV-JSON document.

    An entity whose local name is a checkpoint gives that checkpoint's origins; checkpoints that
    share one, directly or through others, form a family. An entity named
    ``checkpoint/event/window/camera/prompt`` gives the parents of that output. Names that the
    recordings do not have are ignored; a document that names none of them is an error.
    """
    from pact_core.prov import entities_in_prov, parents_from_prov

    document = _read(path)
    names = entities_in_prov(document)
    checkpoints = {
        *recordings.outputs["checkpoint"],
        *recordings.queries["checkpoint"],
        *recordings.pairs["left"],
        *recordings.pairs["right"],
    }
    local = {name: name.split(":", 1)[-1] for name in names}
    outputs = {output_name(row) for row in _rows(recordings.outputs)}
    wanted = [name for name, text in local.items() if text in checkpoints or text in outputs]
    if not wanted:
        fail(path, "no entity is named like a checkpoint or an output of the recordings")
    found = parents_from_prov(document, wanted)
    parents = {local[name]: values for name, values in found.items()}
    models = sorted(name for name in parents if name in checkpoints)
    labels = components([parents[name] or {name} for name in models])
    families = {
        name: f"family of {models[first]}" for name, first in zip(models, labels, strict=True)
    }
    frame = recordings.outputs
    given = [
        tuple(sorted(parents[output_name(row)]))
        if parents.get(output_name(row))
        else row["parents"]
        for row in _rows(frame)
    ]
    column = pd.Series(given, index=frame.index, dtype=object)
    return replace(
        recordings,
        families={**recordings.families, **families},
        outputs=frame.assign(parents=column),
    )


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]


def _read(path: Path) -> Any:
    from pact_core.prov import read_prov

    if not path.is_file() or path.stat().st_size > BYTE_LIMIT:
        fail(path, "no such PROV-JSON file, or it is too large")
    try:
        return read_prov(path)
    except ImportError:
        fail(path, f"reading PROV needs the extra; run: {install_command('prov')}")
    except ValueError as error:
        fail(path, str(error))
