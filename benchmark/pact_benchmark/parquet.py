"""Parquet as bytes and frames: the same bytes for equal frames, and bounded reading."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

LARGEST = 1 << 30
"""Bytes that a file may unpack to; a run of the published size needs a fortieth of that."""

_BATCH_ROWS = 1024


class UnreadableTableError(ValueError):
    """A file is not Parquet, is damaged, or unpacks to more than is accepted."""


def to_parquet(frame: pd.DataFrame) -> bytes:
    """Return the Parquet bytes of a frame, with a checksum of every page."""
    buffer = io.BytesIO()
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(table, buffer, compression="zstd", version="2.6", write_page_checksum=True)
    return buffer.getvalue()


def from_parquet(
    source: Path | bytes, *, largest: int = LARGEST, rows: int | None = None
) -> pd.DataFrame:
    """Return the frame of a Parquet file.

    Args:
        source: the file, or its content.
        largest: bytes that it may unpack to.
        rows: rows that it may have; none for any number.

    Raises:
        UnreadableTableError: it cannot be read within these bounds; the text says why.
    """
    try:
        # A path that Arrow opened itself would have to be valid UTF-8.
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as stream:
            frame: pd.DataFrame = _bounded_table(stream, largest, rows).to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise UnreadableTableError(f"not readable as Parquet ({first_line(error)})") from error
    return frame


def _bounded_table(stream: BinaryIO, largest: int, rows: int | None) -> pa.Table:
    with pq.ParquetFile(stream, page_checksum_verification=True) as file:
        if rows is not None and file.metadata.num_rows > rows:
            raise UnreadableTableError(f"more than {rows:,} rows; split it")
        batches, size = [], 0
        # A small file can unpack to a large one: measure while it is read.
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            size += batch.nbytes
            if size > largest:
                raise UnreadableTableError(f"unpacks to more than {largest >> 20} MiB; split it")
            batches.append(batch)
        return pa.Table.from_batches(batches, file.schema_arrow)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or its kind where it has none."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
