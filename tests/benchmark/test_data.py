"""From stored rows to a benchmark."""

from __future__ import annotations

import numpy as np
import pytest

from pact_benchmark.data import from_instances, load_benchmark
from pact_benchmark.errors import PactError
from pact_benchmark.store import RunFolder
from pact_core import CommandState, Source, SourceBatch

CONTRACTS, ROLES = "NSHTU", ("language", "geometry", "risk")


def sources_of(row):
    """Return the single sources of one stored row."""

    def text(name):
        value = row[f"command_{name}"]
        return value if isinstance(value, str) else None

    command = CommandState(
        text("current_hash"),
        text("evidence_hash"),
        text("status"),
        text("previous_hash"),
        text("carried_over_from"),
    )
    return [
        Source(
            role=role,
            opinion=[row[f"{role}_p_{name}"] for name in CONTRACTS],
            quality=row[f"{role}_quality"],
            conflict=row[f"{role}_conflict"],
            parents=frozenset(row[f"{role}_parents"]),
            available=not row[f"{role}_unavailable"],
            declared_valid=not row[f"{role}_invalid"],
            command=command if role == "language" else None,
        )
        for role in ROLES
    ]


def test_batch_equals_the_one_made_from_single_sources(instances, benchmark_rows):
    """Reading columns gives the same arrays as building every source by itself."""
    expected = SourceBatch.from_instances([sources_of(row) for _, row in instances.iterrows()])
    found = benchmark_rows.sources
    for name in ("opinion", "quality", "conflict", "unavailable", "declared_invalid"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in ("component", "component_present"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    present = ~found.unavailable[:, 0]
    for name in ("command_missing", "command_mismatch", "command_stale"):
        got, wanted = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(got[present], wanted[present], err_msg=name)


def test_design_of_the_synthetic_rows(benchmark_rows):
    """Rows, scenes, strata and folds are those of the design."""
    rows = benchmark_rows
    assert (rows.n, rows.scenes, rows.folds, len(rows.condition_names)) == (1560, 12, 5, 13)
    assert rows.three_valid.sum() == 8 * 120
    assert rows.base_eligible.sum() == 12 * 120
    assert rows.sources_present.sum() == 9 * 120
    assert rows.in_condition("clean_control").sum() == 120
    assert rows.in_condition("no such condition").sum() == 0


def test_stored_rows_come_back(tmp_path, instances, benchmark_rows):
    """A run folder gives back the rows that were stored in it."""
    run = RunFolder.create(tmp_path / "run")
    run.write_frame("instances.parquet", instances)
    loaded = load_benchmark(run)
    np.testing.assert_array_equal(loaded.label, benchmark_rows.label)
    np.testing.assert_array_equal(loaded.fold, benchmark_rows.fold)
    np.testing.assert_array_equal(loaded.sources.opinion, benchmark_rows.sources.opinion)
    np.testing.assert_array_equal(loaded.sources.component, benchmark_rows.sources.component)


def test_unknown_contract_is_an_error(instances):
    """A label outside the contract set is named."""
    with pytest.raises(PactError, match="'X'"):
        from_instances(instances.assign(label="X"))


def test_missing_column_is_an_error(instances):
    """A table without a needed column says which."""
    with pytest.raises(PactError, match="'label'"):
        from_instances(instances.drop(columns="label"))


def test_other_folds_change_only_the_folds(benchmark_rows):
    """The same rows under another assignment keep everything else."""
    other = benchmark_rows.with_folds(np.arange(12) % 3)
    assert other.folds == 3
    assert other.sources is benchmark_rows.sources
    np.testing.assert_array_equal(other.fold, benchmark_rows.scene % 3)
