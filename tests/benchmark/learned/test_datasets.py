"""Loading the public data sets: sizes, orientation, splits, scaling and refused files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pact_benchmark.errors import PactError, UsageError
from pact_benchmark.learned import datasets, matfile
from pact_benchmark.learned.datasets import (
    HANDWRITTEN,
    PIE,
    SCENE15,
    Scaling,
    download_handwritten,
    load_handwritten,
    load_handwritten_split,
    load_pie,
    load_scene15,
    scale,
    stratified_split,
)
from pact_benchmark.learned.produce import ledger_half, load_folder, without_validation


def test_transposed_views_are_turned(write_mat: Callable[..., Path]) -> None:
    """Views stored d × n come out with one row per record; labels start at zero."""
    data = load_pie(write_mat().parent)
    assert [view.shape for view in data.views] == [(680, size) for _, size in PIE.views]
    assert set(data.label) == set(range(68))
    assert len(data.sha256) == 64


@pytest.mark.parametrize(
    ("defect", "reason"),
    [
        ({"drop": 1}, "3 views, found 2"),
        ({"short": 1}, "680 labels: all views must have one row per record"),
        ({"facts": SCENE15}, "no data file"),
        ({"gt": np.ones((680, 1))}, "680 records of 1 classes; PIE has 680 of 68"),
        ({"X": np.ones((3, 3))}, "cell array"),
    ],
)
def test_wrong_content(write_mat: Callable[..., Path], defect: dict, reason: str) -> None:
    """A missing view, unequal lengths and a wrong data set are refused in one line."""
    path = write_mat(**defect)
    with pytest.raises(UsageError, match=reason) as caught:
        load_pie(path.parent)
    assert "\n" not in str(caught.value)


def test_another_data_set_under_the_name(write_mat: Callable[..., Path]) -> None:
    """A file of another data set under the expected name is refused."""
    path = write_mat(SCENE15)
    path.rename(path.with_name(PIE.file))
    with pytest.raises(UsageError, match="484 features were expected"):
        load_pie(path.parent)


def test_values_must_be_finite(write_mat: Callable[..., Path], tmp_path: Path) -> None:
    """A view with NaN is refused."""
    cells = np.empty((1, 3), dtype=object)
    for index, (_, size) in enumerate(PIE.views):
        cells[0, index] = np.full((680, size), np.nan if index == 2 else 0.5, dtype=np.float32)
    with pytest.raises(UsageError, match="not finite"):
        load_pie(write_mat(X=cells).parent)


def test_missing_variable(write_mat: Callable[..., Path]) -> None:
    """A file without the labels is refused with the name of the variable."""
    path = write_mat()
    path.rename(path.with_name(HANDWRITTEN.file))
    with pytest.raises(UsageError, match="lacks the variable 'Y'"):
        load_handwritten(path.parent)


def test_truncated_and_damaged_files(write_mat: Callable[..., Path]) -> None:
    """Cut and damaged files are refused before anything is unpacked into arrays."""
    path = write_mat()
    whole = path.read_bytes()
    for end in (0, 50, 127, 200, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(UsageError, match=r"cut short|not a MATLAB"):
            load_pie(path.parent)
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + b"\0" * 64 + whole[middle + 64 :])
    with pytest.raises(UsageError, match="damaged"):
        load_pie(path.parent)


def test_bounded_size(write_mat: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is, or unpacks to, more than the bound is refused."""
    path = write_mat()
    monkeypatch.setattr(matfile, "MAXIMUM_UNPACKED_BYTES", 100_000)
    with pytest.raises(UsageError, match="unpacks to more"):
        load_pie(path.parent)
    monkeypatch.setattr(matfile, "MAXIMUM_FILE_BYTES", 1000)
    with pytest.raises(UsageError, match="accepted"):
        load_pie(path.parent)


def test_folder_without_known_files(tmp_path: Path) -> None:
    """A folder with nothing known names the files that are; a path that is no folder is named."""
    with pytest.raises(UsageError, match=r"handwritten\.mat"):
        load_folder(tmp_path, openml=False)
    with pytest.raises(UsageError, match="not a folder"):
        load_folder(tmp_path / "none", openml=False)


def test_all_files_are_checked_before_training(
    write_mat: Callable[..., Path], tmp_path: Path
) -> None:
    """One damaged file among good ones stops the study at once."""
    write_mat()
    (tmp_path / SCENE15.file).write_bytes(b"MATLAB 5.0 but short")
    with pytest.raises(UsageError, match=r"scene15_mtv\.mat"):
        load_folder(tmp_path, openml=False)


def test_splits_are_stratified_and_repeatable() -> None:
    """Splits keep class shares, are disjoint and depend on the seed only."""
    label = np.repeat(np.arange(4), 50)
    train, test = stratified_split(label, 0)
    assert np.bincount(label[test]).tolist() == [10] * 4
    assert not set(train) & set(test)
    np.testing.assert_array_equal(stratified_split(label, 0)[1], test)
    assert (stratified_split(label, 1)[1] != test).any()
    half = ledger_half(label, 0)
    assert np.bincount(label[half]).tolist() == [25] * 4
    kept = without_validation(label, train, 0.25, 0)
    assert np.bincount(label[kept]).tolist() == [30] * 4
    assert set(kept) < set(train)


def test_scaling_conventions() -> None:
    """Each convention fits the scaler on its own records; constant features become zero."""
    views = [np.column_stack([np.arange(10.0), np.full(10, 3.0)])]
    train, test = np.arange(5), np.arange(5, 10)
    separate = scale(views, train, test, Scaling.SEPARATE)
    assert separate[1][0][:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    everything = scale(views, train, test, Scaling.ALL)
    assert everything[1][0][0, 0] == pytest.approx(5 / 9)
    clean = scale(views, train, test, Scaling.TRAIN)
    assert clean[1][0][-1, 0] == pytest.approx(9 / 4)
    assert all((part[0][:, 1] == 0).all() for part in (*separate, *everything, *clean))


def test_shared_files(shared: Path) -> None:
    """The real files have the published sizes, and TMC's split holds the same records."""
    folder = shared / "data"
    split, whole = load_handwritten_split(folder), load_handwritten(folder)
    assert [len(part) for part in split.split] == [1600, 400]
    assert np.bincount(split.label[split.split[1]]).tolist() == [40] * 10
    for left, right in zip(split.views, whole.views, strict=True):
        np.testing.assert_array_equal(np.sort(left.sum(1)), np.sort(right.sum(1)))
    assert load_scene15(folder).views[1].shape == (4485, 59)
    assert load_pie(folder).views[0].shape == (680, 484)


@pytest.fixture
def openml(shared: Path) -> Callable[..., SimpleNamespace]:
    """Stand in for the OpenML client with the real views; ids as on OpenML, labels as text."""
    data = load_handwritten(shared / "data")
    by_id = {
        datasets.OPENML_IDS[name]: view
        for (name, _), view in zip(HANDWRITTEN.views, data.views, strict=True)
    }
    target = (data.label + 1).astype(str)
    return lambda *, data_id, **_: SimpleNamespace(data=by_id[data_id].copy(), target=target)


def test_download_of_the_right_views(openml: Callable[..., SimpleNamespace]) -> None:
    """Views that match their checksum are accepted, in any common order of records."""
    order = np.random.default_rng(0).permutation(2000)

    def shuffled(**request):
        bunch = openml(**request)
        return SimpleNamespace(data=bunch.data[order], target=bunch.target[order])

    data = download_handwritten(shuffled)
    assert [view.shape[1] for view in data.views] == [size for _, size in HANDWRITTEN.views]


def test_download_with_one_wrong_value(openml: Callable[..., SimpleNamespace]) -> None:
    """One changed value, or a view in another order of records, fails the checksum."""

    def changed(*, data_id, **other):
        bunch = openml(data_id=data_id, **other)
        if data_id == datasets.OPENML_IDS["zer"]:
            bunch.data[7, 3] += 50.0
        return bunch

    with pytest.raises(PactError, match="view zer from OpenML does not match its checksum"):
        download_handwritten(changed)

    def rolled(*, data_id, **other):
        bunch = openml(data_id=data_id, **other)
        if data_id == datasets.OPENML_IDS["kar"]:
            bunch.data[:200] = np.roll(bunch.data[:200], 1, axis=0)
        return bunch

    with pytest.raises(PactError, match="view kar"):
        download_handwritten(rolled)


def test_download_that_fails() -> None:
    """No network gives one line with the way out."""

    def offline(**_):
        raise OSError("Name or service not known")

    with pytest.raises(PactError, match="--data"):
        download_handwritten(offline)
