"""The public multi-view data sets: loading, checks, splits and scaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pact_benchmark.errors import PactError, UsageError
from pact_benchmark.learned.matfile import load_mat
from pact_benchmark.store import digest, file_digest

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TEST_SHARE = 0.2


class Scaling(StrEnum):
    """What the MinMax scaler is fitted on."""

    SEPARATE = "separate"
    """Training and test part each on its own (TMC's reference implementation)."""
    ALL = "all"
    """All records before the split (RCML's reference implementation)."""
    TRAIN = "train"
    """The training part only, applied unchanged to the test part."""


@dataclass(frozen=True, slots=True)
class DataFacts:
    """What a data set must look like."""

    file: str
    title: str
    records: int
    classes: int
    views: tuple[tuple[str, int], ...]


_MFEAT = (("pix", 240), ("fou", 76), ("fac", 216), ("zer", 47), ("kar", 64), ("mor", 6))

HANDWRITTEN = DataFacts("handwritten.mat", "HandWritten", 2000, 10, _MFEAT)
HANDWRITTEN_SPLIT = DataFacts("handwritten_6views.mat", "HandWritten", 2000, 10, _MFEAT)
SCENE15 = DataFacts("scene15_mtv.mat", "Scene15", 4485, 15, (("1", 20), ("2", 59), ("3", 40)))
PIE = DataFacts("PIE_face_10.mat", "PIE", 680, 68, (("1", 484), ("2", 256), ("3", 279)))

OPENML_IDS = {"pix": 20, "fou": 14, "fac": 12, "zer": 22, "kar": 16, "mor": 18}
# Per view: sum, root mean square and mean product with the pix view of the records' feature sums.
# They do not depend on the order of records or columns, but change when a value is wrong or the
# records of two views do not belong together.
OPENML_FINGERPRINT: dict[str, tuple[float, float, float]] = {
    "pix": (1452834.0, 732.4453727, 536476.224),
    "fou": (20068.87677, 10.15714232, 7222.967018),
    "fac": (137492808.0, 68818.38541, 49860498.76),
    "zer": (8331824.365, 4182.592072, 3030657.075),
    "kar": (6794.846624, 22.22231345, 2030.598284),
    "mor": (12632396.78, 7361.700294, 4486632.723),
}
FINGERPRINT_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class MultiView:
    """A data set in memory.

    Attributes:
        facts: What it is.
        views: Features, one array [n, d_v] per view.
        label: Classes 0..K-1, shape [n].
        sha256: Checksum of the file or of the downloaded arrays.
        split: (train, test) record indices when the file fixes them.
    """

    facts: DataFacts
    views: tuple[FloatArray, ...]
    label: IntArray
    sha256: str
    split: tuple[IntArray, IntArray] | None = None


def load_handwritten(folder: Path) -> MultiView:
    """Load `handwritten.mat` (UCI Multiple Features in RCML's form)."""
    return _load_cells(folder / HANDWRITTEN.file, HANDWRITTEN, "Y")


def load_scene15(folder: Path) -> MultiView:
    """Load `scene15_mtv.mat`."""
    return _load_cells(folder / SCENE15.file, SCENE15, "gt")


def load_pie(folder: Path) -> MultiView:
    """Load `PIE_face_10.mat`."""
    return _load_cells(folder / PIE.file, PIE, "gt")


def load_handwritten_split(folder: Path) -> MultiView:
    """Load `handwritten_6views.mat`: the same records with TMC's fixed split."""
    facts, path = HANDWRITTEN_SPLIT, folder / HANDWRITTEN_SPLIT.file
    count = len(facts.views)
    names = [f"x{v}_{part}" for part in ("train", "test") for v in range(1, count + 1)]
    content = load_mat(path, [*names, "gt_train", "gt_test"])
    lengths = [content[f"gt_{part}"].size for part in ("train", "test")]
    parts = []
    for offset, part in enumerate(("train", "test")):
        arrays = [content[f"x{v}_{part}"] for v in range(1, count + 1)]
        parts.append(_views(path, facts, arrays, lengths[offset]))
    views = tuple(np.concatenate(pair) for pair in zip(*parts, strict=True))
    label = np.concatenate([content["gt_train"].ravel(), content["gt_test"].ravel()])
    train = np.arange(lengths[0], dtype=np.int64)
    test = np.arange(lengths[0], sum(lengths), dtype=np.int64)
    return MultiView(facts, views, _labels(path, facts, label), file_digest(path), (train, test))


def _load_cells(path: Path, facts: DataFacts, label_name: str) -> MultiView:
    content = load_mat(path, ["X", label_name])
    cells = content["X"].ravel()
    if content["X"].dtype != object or len(cells) != len(facts.views):
        raise UsageError(
            f"{path}: X must be a cell array of {len(facts.views)} views, found {len(cells)}"
        )
    label = content[label_name].ravel()
    views = _views(path, facts, list(cells), label.size)
    return MultiView(facts, tuple(views), _labels(path, facts, label), file_digest(path))


def _views(
    path: Path, facts: DataFacts, arrays: Sequence[NDArray[Any]], records: int
) -> list[FloatArray]:
    """Check each view against the expected sizes; arrays stored d × n are transposed."""
    views = []
    for (name, size), raw in zip(facts.views, arrays, strict=True):
        array = np.asarray(raw)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise UsageError(f"{path}: view {name} is not a numeric table")
        if array.shape == (size, records):
            array = array.T
        if array.shape[1] != size and size not in array.shape:
            raise UsageError(
                f"{path}: view {name} has shape {array.shape}; {size} features were expected"
            )
        if array.shape != (records, size):
            raise UsageError(
                f"{path}: view {name} has shape {array.shape}, but there are {records} labels: "
                "all views must have one row per record"
            )
        values = np.ascontiguousarray(array, dtype=np.float64)
        if not np.isfinite(values).all():
            raise UsageError(f"{path}: view {name} holds values that are not finite")
        views.append(values)
    return views


def _labels(where: Path | str, facts: DataFacts, raw: NDArray[Any]) -> IntArray:
    """Return classes 0..K-1 in sorted order of the stored labels."""
    names, label = np.unique(raw, return_inverse=True)
    if len(label) != facts.records or len(names) != facts.classes:
        raise UsageError(
            f"{where}: {len(label)} records of {len(names)} classes; {facts.title} has "
            f"{facts.records} of {facts.classes}"
        )
    return label.astype(np.int64)


def stratified_split(label: IntArray, seed: int) -> tuple[IntArray, IntArray]:
    """Return (train, test) indices of a class-stratified 80/20 split."""
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(label)), test_size=TEST_SHARE, stratify=label, random_state=seed
    )
    return np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64)


def scale(
    views: Sequence[FloatArray], train: IntArray, test: IntArray, scaling: Scaling
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return MinMax-scaled (train, test) features per view; constant features become zero."""
    scaled_train, scaled_test = [], []
    for view in views:
        left, right = view[train], view[test]
        if scaling is Scaling.ALL:
            fit_left = fit_right = view
        elif scaling is Scaling.TRAIN:
            fit_left = fit_right = left
        else:
            fit_left, fit_right = left, right
        scaled_train.append(_minmax(left, fit_left))
        scaled_test.append(_minmax(right, fit_right))
    return scaled_train, scaled_test


def _minmax(values: FloatArray, fitted: FloatArray) -> FloatArray:
    low = fitted.min(axis=0)
    width = fitted.max(axis=0) - low
    return np.asarray((values - low) / np.where(width > 0, width, 1.0))


def download_handwritten(fetch: Callable[..., Any] | None = None) -> MultiView:
    """Download the six mfeat views through scikit-learn's OpenML client and check them.

    Args:
        fetch: Stands in for `sklearn.datasets.fetch_openml`.

    Raises:
        PactError: The download failed, or what came does not have the known fingerprint.
    """
    if fetch is None:
        from sklearn.datasets import fetch_openml

        fetch = fetch_openml
    views, labels = [], []
    for name, size in HANDWRITTEN.views:
        try:
            bunch = fetch(data_id=OPENML_IDS[name], as_frame=False, parser="liac-arff")
            features = np.asarray(bunch.data, dtype=np.float64)
        except (OSError, ValueError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise PactError(
                f"download of mfeat view {name} from OpenML failed ({reason}): try again, or give "
                f"a folder with {HANDWRITTEN.file} to --data"
            ) from None
        if features.shape != (HANDWRITTEN.records, size):
            raise PactError(f"OpenML sent mfeat view {name} with shape {features.shape}")
        views.append(features)
        labels.append(_labels("OpenML", HANDWRITTEN, np.asarray(bunch.target).astype(np.int64)))
    if any((label != labels[0]).any() for label in labels):
        raise PactError("the mfeat views from OpenML are not in the same order of records")
    _check_fingerprint(tuple(views))
    checksum = digest({name: fingerprint(tuple(views))[name] for name in OPENML_IDS})
    return MultiView(HANDWRITTEN, tuple(views), labels[0], checksum)


def fingerprint(views: tuple[FloatArray, ...]) -> dict[str, tuple[float, float, float]]:
    """Return per mfeat view three sums that identify values and pairing of records."""
    sums = [view.sum(axis=1) for view in views]
    return {
        name: (
            float(total.sum()),
            float(np.sqrt(np.mean(total**2))),
            float(np.mean(total * sums[0])),
        )
        for (name, _), total in zip(HANDWRITTEN.views, sums, strict=True)
    }


def _check_fingerprint(views: tuple[FloatArray, ...]) -> None:
    for name, found in fingerprint(views).items():
        known = OPENML_FINGERPRINT[name]
        if not np.allclose(found, known, rtol=FINGERPRINT_TOLERANCE, atol=0.0):
            raise PactError(
                f"mfeat view {name} from OpenML does not match its checksum: {found}, not {known}; "
                f"give a folder with {HANDWRITTEN.file} to --data"
            )
