"""Records into run folders and out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from pact_benchmark.errors import PactError, UsageError
from pact_benchmark.formats import recording, release
from pact_benchmark.formats.instance import FormatError
from pact_benchmark.formats.lines import lines_to_bytes, read_objects
from pact_benchmark.store import RunFolder, digest, file_digest, write_atomically

RECORDS_FILE, LABELS_FILE = "source_records.jsonl.gz", "evaluation_labels.jsonl.gz"


def import_records(source: Path, labels: Path | None, run: RunFolder) -> int:
    """Make the instances of a run from records and return how many there are.

    Args:
        source: The authors' source records, a recording folder, or its instance file.
        labels: The authors' evaluation labels; recordings carry theirs.
        run: The run folder, locked by the caller.
    """
    observations: pd.DataFrame | None = None
    instances, folder = _locate(source)
    if folder is not None:
        frame = recording.read_rows(instances)
        seen = folder / recording.OBSERVATIONS
        if seen.is_file():
            observations = pd.DataFrame([row for _, row in read_objects(seen)])
    else:
        if labels is None:
            raise UsageError("the authors' records need their labels: give --labels FILE")
        frame = release_frame(instances, labels)
    key = digest([file_digest(path) for path in (instances, labels) if path is not None])
    with run.part("instances", key) as part:
        part.frame("instances.parquet", frame)
    if observations is not None:
        with run.part("observations", key) as part:
            part.frame("observations.parquet", observations)
    run.describe(imported=instances.name, rows=len(frame))
    return len(frame)


def _locate(source: Path) -> tuple[Path, Path | None]:
    """Return the instance file, and the recording's folder if it is one of a recording."""
    if source.is_dir():
        recording.check_manifest(source)
        path = source / recording.INSTANCES
        if not path.is_file():
            raise UsageError(f"{source} holds no {recording.INSTANCES}")
        return path, source
    first = next((row for _, row in read_objects(source)), {})
    return source, source.parent if "language_p_N" in first else None


def release_frame(records: Path, labels: Path) -> pd.DataFrame:
    """Return the authors' records and labels as rows of `instances.parquet`.

    Raises:
        PactError: A record or label cannot be read, or they do not match one to one.
    """
    known: dict[object, dict[str, Any]] = {}
    for number, label in read_objects(labels):
        name = label.get("record_id")
        if not isinstance(name, str) or name in known:
            raise PactError(f"{labels}, line {number}: 'record_id' is missing or appears twice")
        known[name] = label
    rows = []
    for number, record in read_objects(records):
        name = record.get("record_id")
        if name not in known:
            raise PactError(f"{records}, line {number}: no label for it, or it appears twice")
        label = known.pop(name)
        try:
            rows.append(release.row_of(record, label))
        except FormatError as error:
            raise PactError(f"{records}, line {number}: {error}") from error
    if known:
        raise PactError(f"{labels}: no record for {next(iter(known))!r}")
    return recording.frame_of(rows, records)


def export_release(run: RunFolder, folder: Path) -> list[Path]:
    """Write the instances of a run as the authors' records and labels; return the files."""
    rows = recording.plain_rows(_with_numbers(run.read_frame("instances.parquet")))
    pairs = list(release.export_rows(rows))
    files = {
        RECORDS_FILE: lines_to_bytes((record for record, _ in pairs), compress=True),
        LABELS_FILE: lines_to_bytes((x for _, x in pairs if x is not None), compress=True),
    }
    return _write(folder, files)


def _with_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame; columns that an older row format lacks are added as absent."""
    extra = [n for n in ("relation_class", "risk_class", "occlusion_band") if n not in frame]
    return frame.assign(**dict.fromkeys(extra)) if extra else frame


def export_recording(run: RunFolder, folder: Path) -> list[Path]:
    """Write instances and observations of a run as a recording; return the files."""
    instances = run.read_frame("instances.parquet")
    observed = run.file("observations.parquet").exists()
    observations = run.read_frame("observations.parquet") if observed else None
    return _write(folder, recording.recording_files(instances, observations))


def _write(folder: Path, files: dict[str, bytes]) -> list[Path]:
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in files]
