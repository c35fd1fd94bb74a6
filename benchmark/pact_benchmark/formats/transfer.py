"""Records into run folders and out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pact_benchmark.errors import PactError, UsageError
from pact_benchmark.formats import recording, release
from pact_benchmark.formats.instance import FormatError, record_id_of
from pact_benchmark.formats.lines import lines_to_bytes, read_objects
from pact_benchmark.store import MANIFEST, RunFolder, digest, file_digest, write_atomically

_IMPORTED = "import:"
"""Beginning of the key of parts that an import made."""
RECORDS_FILE, LABELS_FILE = "source_records.jsonl.gz", "evaluation_labels.jsonl.gz"


class Imported(NamedTuple):
    """Records as tables, ready to be stored.

    Attributes:
        name: Name of the file they come from.
        key: Identity of the files' content.
        instances: Rows of `instances.parquet`.
        observations: Rows of `observations.parquet`, None where the records carry none.
    """

    name: str
    key: str
    instances: pd.DataFrame
    observations: pd.DataFrame | None


def import_records(source: Path, labels: Path | None, output: Path, *, force: bool = False) -> int:
    """Make the instances of a run from records and return how many there are.

    Nothing is created or changed before all records are read.

    Args:
        source: The authors' source records, a recording folder, or its instance file.
        labels: The authors' evaluation labels; recordings carry theirs.
        output: The run folder: new, empty or made by an import.
        force: Also replace the instances and observations of any other run.

    Raises:
        UsageError: The request is incomplete, or the run folder holds other work.
        PactError: The records cannot be read.
    """
    records = read_records(source, labels)
    if not force:
        _check_replaceable(output)
    run = RunFolder.create(output)
    with run.lock():
        _store(records, run)
    return len(records.instances)


def read_records(source: Path, labels: Path | None) -> Imported:
    """Read the authors' records with their labels, or a recording; see ``import_records``."""
    instances, folder = _locate(source)
    observations: pd.DataFrame | None = None
    if folder is not None:
        frame = recording.read_rows(instances)
        seen = folder / recording.OBSERVATIONS
        if seen.is_file():
            observations = recording.read_observations(seen)
    elif labels is None:
        raise UsageError("the authors' records need their labels: give --labels FILE")
    else:
        frame = release_frame(instances, labels)
    contents = [file_digest(path) for path in (instances, labels) if path is not None]
    return Imported(instances.name, f"{_IMPORTED}{digest(contents)}", frame, observations)


def _locate(source: Path) -> tuple[Path, Path | None]:
    """Return the instance file, and the recording's folder if it is one of a recording."""
    if source.is_dir():
        recording.check_manifest(source)
        path = source / recording.INSTANCES
        if not path.is_file():
            raise UsageError(f"{source} holds no {recording.INSTANCES}")
        return path, source
    if source.exists() and not source.is_file():
        raise UsageError(f"{source} is not a file; save the records as one, they are read twice")
    first = next((row for _, row in read_objects(source)), {})
    return source, source.parent if "language_p_N" in first else None


def _check_replaceable(output: Path) -> None:
    """Raise UsageError where an import would replace what no import has made."""
    if (output / MANIFEST).exists():
        run = RunFolder.open(output)
        free = not run.manifest["parts"] or (run.part_key("instances") or "").startswith(_IMPORTED)
    else:
        free = not output.is_dir() or next(output.iterdir(), None) is None
    if not free:
        raise UsageError(
            f"{output} holds work that is not from an import; give a new folder to --output,"
            " or --force to replace its instances and observations"
        )


def _store(records: Imported, run: RunFolder) -> None:
    if records.observations is not None:
        with run.part("observations", records.key) as part:
            part.frame("observations.parquet", records.observations)
    else:  # those of other instances do not belong to these
        run.manifest["parts"].pop("observations", None)
        run.discard_files(["observations.parquet"])
    with run.part("instances", records.key) as part:
        part.frame("instances.parquet", records.instances)
    run.describe(imported=records.name, rows=len(records.instances))


def release_frame(records: Path, labels: Path) -> pd.DataFrame:
    """Return the authors' records and labels as rows of `instances.parquet`.

    Raises:
        PactError: A record or label cannot be read, or they do not match one to one.
    """
    known: dict[str, dict[str, Any]] = {}
    for place, label in read_objects(labels):
        name = label.get("record_id")
        if not isinstance(name, str) or name in known:
            raise PactError(f"{labels}, {place}: 'record_id' is missing or appears twice")
        known[name] = label
    rows = []
    for place, record in read_objects(records):
        try:
            name = record_id_of(record)
            if name is None or name not in known:
                raise FormatError("no label for it, or it appears twice")
            rows.append(release.row_of(record, known.pop(name)))
        except FormatError as error:
            raise PactError(f"{records}, {place}: {error}") from error
    if known:
        raise PactError(f"{labels}: no record for {next(iter(known))!r}")
    return recording.frame_of(rows, records)


def export_release(run: RunFolder, folder: Path) -> list[Path]:
    """Write the instances of a run as the authors' records and labels; return the files."""
    rows = recording.plain_rows(_with_text_columns(run.read_frame("instances.parquet")))
    pairs = list(release.export_rows(rows))
    files = {
        RECORDS_FILE: lines_to_bytes((record for record, _ in pairs), compress=True),
        LABELS_FILE: lines_to_bytes((x for _, x in pairs if x is not None), compress=True),
    }
    return _write(folder, files)


def _with_text_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame; text columns that recorded rows may lack are added as absent."""
    extra = [
        n for n in ("geometry", "relation_class", "risk_class", "occlusion_band") if n not in frame
    ]
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
