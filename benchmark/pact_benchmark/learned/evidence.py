"""Held-out per-view evidences: what they are, and how they are stored, read and checked."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.bounded import larger_than
from pact_benchmark.errors import UsageError
from pact_benchmark.formats.lines import read_objects

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SCHEMA_VERSION = 1
MAXIMUM_FILE_BYTES = 512 * 1024 * 1024
MAXIMUM_VALUES = 50_000_000
MAXIMUM_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class EvidenceSet:
    """Evidences of one model on the held-out records of one data set.

    Attributes:
        evidence: Non-negative and finite, shape [runs, records, views, classes].
        label: True classes 0..K-1, shape [runs, records].
        record_id: Identity of each record, shape [runs, records]; no repeats within a run.
        seed: Seed or other name of each run, length runs.
        dataset: Short name of the data set, the first part of the statistics' ids.
        model: Short name of the model, the second part.
        view_names: One per view.
        details: How the evidences were made; plain JSON values.
    """

    evidence: FloatArray
    label: IntArray
    record_id: IntArray
    seed: tuple[int, ...]
    dataset: str
    model: str
    view_names: tuple[str, ...]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(self.evidence.shape[0])

    @property
    def records(self) -> int:
        """Number of held-out records per run."""
        return int(self.evidence.shape[1])

    @property
    def views(self) -> int:
        """Number of views."""
        return int(self.evidence.shape[2])

    @property
    def classes(self) -> int:
        """Number of classes K."""
        return int(self.evidence.shape[3])

    @property
    def pair(self) -> str:
        """Prefix of the statistics of this data set and model."""
        return f"{self.dataset}.{self.model}"

    @property
    def same_records(self) -> bool:
        """Whether all runs hold the same records in the same order."""
        return bool((self.record_id == self.record_id[:1]).all())

    def take_runs(self, count: int) -> EvidenceSet:
        """Return the first `count` runs."""
        return EvidenceSet(
            self.evidence[:count],
            self.label[:count],
            self.record_id[:count],
            self.seed[:count],
            self.dataset,
            self.model,
            self.view_names,
            self.details,
        )

    def take_records(self, index: IntArray) -> EvidenceSet:
        """Return the records at positions `index` of every run."""
        return EvidenceSet(
            self.evidence[:, index],
            self.label[:, index],
            self.record_id[:, index],
            self.seed,
            self.dataset,
            self.model,
            self.view_names,
            self.details,
        )


def check_evidence(data: EvidenceSet, where: str) -> EvidenceSet:
    """Return `data` if it is usable; otherwise raise a UsageError that names what is wrong."""
    shape = data.evidence.shape
    if len(shape) != 4 or min(shape[:3]) < 1 or shape[3] < 2:
        raise UsageError(
            f"{where}: evidence has shape {shape}; give at least one run, record and view, "
            "and two classes"
        )
    if not np.isfinite(data.evidence).all() or (data.evidence < 0).any():
        raise UsageError(f"{where}: evidence holds negative or non-finite values; it must be >= 0")
    for name, array in (("label", data.label), ("record_id", data.record_id)):
        if array.shape != shape[:2]:
            raise UsageError(
                f"{where}: {name} has shape {array.shape}, not {shape[:2]} (runs, records)"
            )
    if data.label.min() < 0 or data.label.max() >= shape[3]:
        raise UsageError(
            f"{where}: labels must lie in 0..{shape[3] - 1}, found {data.label.min()}.."
            f"{data.label.max()}"
        )
    if any(len(np.unique(row)) != len(row) for row in data.record_id):
        raise UsageError(f"{where}: a record_id occurs twice within a run; each must be unique")
    if len(data.view_names) != shape[2] or len(data.seed) != shape[0]:
        raise UsageError(f"{where}: one view name per view and one seed per run are needed")
    same = (data.record_id == data.record_id[:1]).all()
    if same and (data.label != data.label[:1]).any():
        raise UsageError(f"{where}: the same record has different labels in different runs")
    return data


def evidence_to_npz(data: EvidenceSet) -> bytes:
    """Return the bytes of an `.npz` that holds `data`; it contains plain arrays only, no pickle."""
    shared = data.same_records
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        schema_version=np.int64(SCHEMA_VERSION),
        evidence=np.ascontiguousarray(data.evidence.transpose(2, 0, 1, 3)),
        label=data.label[0] if shared else data.label,
        record_id=data.record_id[0] if shared else data.record_id,
        seed=np.asarray(data.seed, dtype=np.int64),
        view_names=np.asarray(data.view_names, dtype=np.str_),
        dataset=np.str_(data.dataset),
        model=np.str_(data.model),
        details=np.str_(json.dumps(data.details, sort_keys=True)),
    )
    return buffer.getvalue()


def read_evidence(path: Path) -> list[EvidenceSet]:
    """Read evidences from an `.npz`, or from `.jsonl` or `.jsonl.gz` lines as the authors export.

    Raises:
        UsageError: The file is absent, too large or does not follow the schema.
        PactError: A line is not a JSON object, or the file is damaged.
    """
    if not path.is_file():
        raise UsageError(f"no evidence file at {path}: give an .npz or .jsonl file")
    if larger_than(path, MAXIMUM_FILE_BYTES):
        limit = MAXIMUM_FILE_BYTES // 2**20
        raise UsageError(f"{path} is, or unpacks to, more than {limit} MiB: split it")
    if path.suffix == ".npz":
        return [_read_npz(path)]
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return _read_jsonl(path)
    raise UsageError(f"{path}: unknown ending; evidences are .npz, .jsonl or .jsonl.gz")


def _npz_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Load the known arrays of an `.npz` after a check of their unpacked size."""
    known = (
        "schema_version",
        "evidence",
        "label",
        "record_id",
        "seed",
        "view_names",
        "dataset",
        "model",
        "details",
    )
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(item.file_size for item in archive.infolist())
        if size > 8 * MAXIMUM_VALUES:
            raise UsageError(f"{path} unpacks to {size} bytes, more than is accepted: split it")
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in known if name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"{path} is not a readable .npz without pickled objects ({reason})"
        ) from None


def _read_npz(path: Path) -> EvidenceSet:
    arrays = _npz_arrays(path)
    missing = [name for name in ("evidence", "label") if name not in arrays]
    if missing:
        raise UsageError(f"{path} lacks the array {missing[0]!r}; needed are evidence and label")
    version = int(arrays.get("schema_version", np.int64(SCHEMA_VERSION)))
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"{path} has schema version {version}; this release reads {SCHEMA_VERSION}"
        )
    evidence = arrays["evidence"]
    if evidence.dtype.kind not in "fiu" or arrays["label"].dtype.kind not in "iu":
        raise UsageError(f"{path}: evidence must be real numbers and label integers")
    if evidence.ndim == 3:
        evidence = evidence[:, None]
    if evidence.ndim != 4:
        raise UsageError(
            f"{path}: evidence has {evidence.ndim} axes; they are view, run (may be left out), "
            "record, class"
        )
    views, runs, records, _ = evidence.shape
    try:
        label = np.broadcast_to(arrays["label"], (runs, records))
        default = np.arange(records)
        record_id = np.broadcast_to(arrays.get("record_id", default), (runs, records))
    except ValueError:
        raise UsageError(
            f"{path}: label and record_id must hold one entry per record ({records}), or per run "
            f"and record ({runs} x {records})"
        ) from None
    names = arrays.get("view_names", np.array([f"view{v + 1}" for v in range(views)]))
    seeds = np.atleast_1d(arrays.get("seed", np.arange(runs)))
    data = EvidenceSet(
        np.asarray(evidence.transpose(1, 2, 0, 3), dtype=np.float64),
        np.asarray(label, dtype=np.int64),
        np.asarray(record_id, dtype=np.int64),
        tuple(int(value) for value in seeds),
        str(arrays.get("dataset", np.str_("own"))),
        str(arrays.get("model", np.str_("model"))),
        tuple(str(name) for name in np.atleast_1d(names)),
        _details(arrays),
    )
    return check_evidence(data, str(path))


def _details(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    try:
        value = json.loads(str(arrays.get("details", np.str_("{}"))))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_jsonl(path: Path) -> list[EvidenceSet]:
    """Read lines with backbone, split, seed, record_id, y and evidences; keep the test rows."""
    groups: dict[tuple[str, str], dict[int, dict[int, tuple[int, FloatArray]]]] = {}
    shapes: dict[tuple[str, str], tuple[int, ...]] = {}
    size = 0
    for count, (place, row) in enumerate(read_objects(path), start=1):
        where = f"{path}, {place}"
        if str(row.get("split", "test")) != "test":
            continue
        pair = (str(row.get("dataset", "own")), str(row.get("backbone", "model")).lower())
        try:
            seed, record, y = int(row.get("seed", 0)), int(row["record_id"]), int(row["y"])
            values = np.asarray(row["evidences"], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"{where}: record_id, y and evidences (views x classes) are needed ({error!r})"
            ) from None
        if values.ndim != 2 or values.shape != shapes.setdefault(pair, values.shape):
            raise UsageError(
                f"{where}: evidences have shape {values.shape}; the other rows have {shapes[pair]}"
            )
        size += values.size
        if count > MAXIMUM_ROWS or size > MAXIMUM_VALUES:
            raise UsageError(f"{path} holds more rows or values than are accepted: split it")
        rows = groups.setdefault(pair, {}).setdefault(seed, {})
        if record in rows:
            raise UsageError(f"{where}: record {record} of seed {seed} occurs twice")
        rows[record] = (y, values)
    if not groups:
        raise UsageError(f"{path} holds no row with split 'test'")
    return [_from_rows(path, pair, seeds) for pair, seeds in sorted(groups.items())]


def _from_rows(
    path: Path, pair: tuple[str, str], seeds: dict[int, dict[int, tuple[int, FloatArray]]]
) -> EvidenceSet:
    sizes = {seed: len(rows) for seed, rows in seeds.items()}
    if len(set(sizes.values())) != 1:
        raise UsageError(f"{path}: the seeds hold different numbers of records ({sizes})")
    order = sorted(seeds)
    records = [sorted(seeds[seed]) for seed in order]
    label = [[seeds[s][r][0] for r in ids] for s, ids in zip(order, records, strict=True)]
    evidence = [[seeds[s][r][1] for r in ids] for s, ids in zip(order, records, strict=True)]
    array = np.asarray(evidence, dtype=np.float64)
    data = EvidenceSet(
        array,
        np.asarray(label, dtype=np.int64),
        np.asarray(records, dtype=np.int64),
        tuple(order),
        pair[0],
        pair[1],
        tuple(f"view{v + 1}" for v in range(array.shape[2])),
    )
    return check_evidence(data, str(path))
