"""Turning files and folders into recordings, and recordings into files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pact_benchmark.hrc.files import (
    RecordError,
    RecordFile,
    csv_header,
    fail,
    first_object,
    record_paths,
    sha256_of,
    suffix_of,
)
from pact_benchmark.hrc.recordings import (
    FEATURE_COLUMNS,
    OUTPUT_COLUMNS,
    QUERY_COLUMNS,
    SCORE_COLUMNS,
    Recordings,
    combine,
)
from pact_benchmark.hrc.release import import_csv, import_json
from pact_benchmark.hrc.schema import (
    COLUMNS,
    OUTPUT,
    PROXIMITY,
    QUERY,
    SCHEMA_VERSION,
    read_records,
)

_UNIQUE = {
    OUTPUT: ["checkpoint", "event", "window", "camera", "prompt", "repeat"],
    QUERY: ["checkpoint", "query"],
    PROXIMITY: ["event", "window", "setting", "predictor", "split"],
}


def load_recordings(root: Path) -> Recordings:
    """Return what `root` holds: one file, or every recording in a folder and its sub-folders.

    Files of the authors' release are recognised by their columns, files in our own format by
    their ``record`` column. Others are listed in `Recordings.skipped`.
    """
    parts = [load_file(path) for path in record_paths(root)]
    recordings = combine(parts)
    if not recordings.files:
        names = ", ".join(recordings.skipped[:5]) or "none of .csv, .jsonl, .jsonl.gz, .parquet"
        raise RecordError(f"{root}: no recordings found (looked at {names}); see docs/hrc.md")
    return recordings


def load_file(path: Path) -> Recordings:
    """Return the recordings of one file; an unknown file gives none and is listed as skipped."""
    suffix = suffix_of(path)
    found: Recordings | None = None
    if suffix == ".csv":
        found = import_csv(path, csv_header(path))
    elif suffix == ".parquet":
        found = _own(path) if "record" in _parquet_columns(path) else None
    else:
        keys = set(first_object(path))
        found = _own(path) if "record" in keys else import_json(path, keys)
    return found if found is not None else Recordings(skipped=(path.name,))


def _parquet_columns(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        fail(path, f"not a readable Parquet file ({str(error).splitlines()[0]})")


def _own(path: Path) -> Recordings:
    frame = read_records(path)
    frame["repeat"] = frame["repeat"].fillna(0.0)
    for record, key in _UNIQUE.items():
        part = frame[frame["record"] == record]
        twice = part.duplicated(key).to_numpy()
        if twice.any():
            row = part.iloc[int(twice.argmax())]
            where = ", ".join(f"{name} {row[name]}" for name in key if pd.notna(row[name]))
            fail(path, f"second {record} row for {where}", int(row["row"]))
    simulated = frame["simulated"].to_numpy(dtype=bool)
    if simulated.any() and not simulated.all():
        at = int((~simulated).argmax())
        fail(path, "real and simulated rows in one file", int(frame["row"].iloc[at]))
    outputs = frame[frame["record"] == OUTPUT]
    proximity = frame[frame["record"] == PROXIMITY]
    named = outputs.dropna(subset=["family"])
    return Recordings(
        outputs=_part(outputs, OUTPUT_COLUMNS),
        queries=_part(frame[frame["record"] == QUERY], QUERY_COLUMNS),
        scores=_part(proximity[proximity["score"].notna()], SCORE_COLUMNS),
        features=_part(proximity[proximity["features"].notna()], FEATURE_COLUMNS),
        families=dict(zip(named["checkpoint"], named["family"], strict=True)),
        files=(RecordFile(path.name, "records", len(frame), sha256_of(path)),),
        simulated=bool(simulated.any()),
    )


def _part(frame: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    return frame[list(columns)].reset_index(drop=True)


def to_records(recordings: Recordings) -> pd.DataFrame:
    """Return outputs, queries, scores and features as rows of the record format."""
    tables = {
        OUTPUT: recordings.outputs,
        QUERY: recordings.queries,
        PROXIMITY: pd.concat([recordings.scores, recordings.features], ignore_index=True),
    }
    names = [column.name for column in COLUMNS]
    parts = [
        table.assign(record=record, simulated=recordings.simulated).reindex(columns=names)
        for record, table in tables.items()
        if len(table)
    ]
    if not parts:
        raise RecordError("no recordings to write")
    frame = pd.concat([part.astype(object) for part in parts], ignore_index=True)
    return frame.where(frame.notna(), None)


def write_records(recordings: Recordings, path: Path) -> None:
    """Write recordings in our format to a ``.parquet`` or ``.jsonl`` file, atomically."""
    from pact_benchmark.store import write_atomically

    if suffix_of(path) == ".parquet":
        write_atomically(path, parquet_bytes(recordings))
    elif suffix_of(path) == ".jsonl":
        write_atomically(path, _json_bytes(to_records(recordings)))
    else:
        raise RecordError(f"{path.name}: write records to a .parquet or a .jsonl file")


def parquet_bytes(recordings: Recordings) -> bytes:
    """Return recordings in our format as the content of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "text": pa.string(),
        "number": pa.float64(),
        "integer": pa.int64(),
        "flag": pa.bool_(),
        "texts": pa.list_(pa.string()),
        "numbers": pa.list_(pa.float64()),
    }
    frame = to_records(recordings)
    metadata = {
        "pact.hrc.schema_version": str(SCHEMA_VERSION),
        "pact.hrc.simulated": str(recordings.simulated).lower(),
    }
    schema = pa.schema([(c.name, kinds[c.kind]) for c in COLUMNS], metadata=metadata)
    cells = {column.name: frame[column.name].tolist() for column in COLUMNS}
    for name in (column.name for column in COLUMNS if column.kind == "integer"):
        cells[name] = [None if value is None else int(value) for value in cells[name]]
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pydict(cells, schema=schema)
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def _json_bytes(frame: pd.DataFrame) -> bytes:
    import json

    lines = []
    for row in frame.to_dict("records"):
        filled = {str(key): _plain(value) for key, value in row.items() if value is not None}
        lines.append(json.dumps(filled, ensure_ascii=False, allow_nan=False))
    return ("\n".join(lines) + "\n").encode()


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, tuple) else value
