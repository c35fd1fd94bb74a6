"""Imported release records go through the same evaluation."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from pact_benchmark.data import load_benchmark
from pact_benchmark.estimates import Settings
from pact_benchmark.evaluation import Evaluation
from pact_benchmark.store import RunFolder
from tests.benchmark.test_selective_studies import compute_all

RULES = {
    "quality_weighted": (None, "quality_weighted"),
    "product": (None, "product"),
    "global_cautious": (None, "global_cautious"),
    "hierarchy_cautious": (None, "hierarchy_cautious"),
    "pooling": (None, "pooling"),
    "provenance_pooling": (None, "provenance_pooling"),
    "nested_dirichlet": (8.0, "nested_dirichlet@8"),
    "pact": (8.0, "pact@8"),
}


@pytest.fixture(scope="module")
def imported(shared, pact, tmp_path_factory):
    """Return a run folder made from the conformance records by `pact import`."""
    folder = tmp_path_factory.mktemp("imported") / "run"
    source = shared / "conformance"
    result = pact(
        "import",
        source / "source_records.jsonl.gz",
        "--labels",
        source / "evaluation_labels.jsonl.gz",
        "--output",
        folder,
    )
    assert result.returncode == 0, result.stderr
    return folder


def lines(path):
    """Return the objects of a gzipped JSON-lines file by record id."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return {row["record_id"]: row for row in map(json.loads, stream)}


def test_labels_and_scenes_are_those_of_the_label_file(shared, imported):
    """Each imported row has the label and the scene that the label file gives it."""
    rows = load_benchmark(RunFolder.open(imported))
    labels = lines(shared / "conformance" / "evaluation_labels.jsonl.gz")
    order = ("normal", "slow_clearance", "hold_confirm", "retreat_fallback", "bounded_urgent")
    assert rows.n == len(labels) == 234
    for index, record in enumerate(rows.record_id):
        assert order[rows.label[index]] == labels[record]["preferred_contract"]
        assert rows.scene_ids[rows.scene[index]] == labels[record]["scene_id"]
        assert rows.condition_names[rows.condition[index]] == record.split("__")[1]


def test_outputs_and_routes_are_the_expected_ones(shared, imported):
    """Contracts, posteriors, eligibility and admission agree with the conformance answers."""
    rows = load_benchmark(RunFolder.open(imported))
    evaluation = Evaluation(rows, kappa=[8.0] * rows.folds)
    expected = lines(shared / "conformance" / "expected.jsonl.gz")
    answers = [expected[record] for record in rows.record_id]
    eligible = [answer["base_eligible"] for answer in answers]
    np.testing.assert_array_equal(rows.base_eligible, eligible)
    for rule, (kappa, name) in RULES.items():
        outputs = evaluation.outputs(rule, kappa)
        wanted = [answer["rules"][name] for answer in answers]
        posterior = np.array([answer["posterior"] for answer in wanted])
        np.testing.assert_allclose(outputs.posterior, posterior, atol=1e-9)
        np.testing.assert_allclose(outputs.score, [a["score"] for a in wanted], atol=1e-9)
        admitted = [answer["response"]["unanimity"] == "admit" for answer in wanted]
        np.testing.assert_array_equal(evaluation.responses(rule, kappa) == 0, admitted)


def test_every_study_answers_on_imported_rows(imported):
    """All studies run; a figure that the rows cannot support says why."""
    rows = load_benchmark(RunFolder.open(imported))
    for result in compute_all(Evaluation(rows), Settings(draws=50)).values():
        for key, found in result.statistics.items():
            assert found.value is not None or found.note, key
