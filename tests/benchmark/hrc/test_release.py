"""Importers for the files of the authors' release, built here in the released form."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pact_benchmark.hrc.analysis import AnalysisOptions, analyse, statistics_of_parts
from pact_benchmark.hrc.arms import counting_arms
from pact_benchmark.hrc.evidence import ready_probability
from pact_benchmark.hrc.files import RecordError
from pact_benchmark.hrc.load import load_recordings
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.release import ARM_NAMES
from pact_benchmark.study import Statistic

QUICK = AnalysisOptions(draws=50, permutations=50)
WINDOWS = {"early": "early", "proximal": "ready"}
NAMES = {"sim_a_small": "qwen3vl_8b", "sim_a_large": "qwen3vl_32b"}
PANEL = dict(
    zip(
        ("sim_a_small", "sim_a_large", "sim_b_small", "sim_b_large", "sim_c_small", "sim_c_large",
         "sim_d_small", "sim_d_large"),
        ("qwen3vl_8b", "qwen3vl_32b", "internvl3_2b", "internvl3_8b", "llava_onevision_0_5b",
         "llava_onevision_7b", "smolvlm2_0_5b", "smolvlm2_2_2b"),
        strict=True,
    )
)  # fmt: skip


def mappings(row: dict[str, Any]) -> dict[str, Any]:
    """Return the logits, log odds and probability of an output as the release stores them."""
    p = float(ready_probability(np.array(row["log_odds_map0"]), np.array(row["log_odds_map1"])))
    return {
        "mapping_logits": [
            {"mapping": "map0", "logit_A": 1.0, "logit_B": 1.0 + row["log_odds_map0"]},
            {"mapping": "map1", "logit_A": -2.0, "logit_B": -2.0 + row["log_odds_map1"]},
        ],
        "p_ready": p,
    }


def common(row: dict[str, Any]) -> dict[str, Any]:
    """Return the identity of an output as the release stores it."""
    window = WINDOWS[row["window"]]
    return {
        "id": "habit_test_00001",
        "event_id": row["event"],
        "episode_id": row["episode"],
        "sid": row["task"],
        "window": window,
        "reference_ready": str(int(window == "ready")),
    }


def camera_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return one line of native_view_fm_provenance_transfer/outputs."""
    shared = common(row)
    text = f"{shared['event_id']}:{shared['window']}:{row['camera']}"
    p = mappings(row)["p_ready"]
    return {
        **shared,
        **mappings(row),
        "status": "ok",
        "physical_view_id": row["camera"],
        "surface_id": row["prompt"],
        "parent_id": hashlib.sha256(text.encode()).hexdigest(),
        "evidence": [2 * (1 - p), 2 * p],
    }


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame."""
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write JSON lines with a byte-order mark, packed when the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = b"\xef\xbb\xbf" + "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content, 1) if path.name.endswith(".gz") else content)


def write_queries(path: Path, queries: pd.DataFrame) -> None:
    """Write scored_rows_three_checkpoint.csv."""
    kept = queries[queries["checkpoint"].isin(NAMES)]
    pd.DataFrame(
        {
            "model": kept["checkpoint"].map(NAMES),
            "id": kept["query"],
            "event_id": kept["event"],
            "episode_id": kept["episode"],
            "sid": kept["task"],
            "window": kept["window"].map(WINDOWS),
            "condition": np.where(kept["target_kind"] == "episode", "factual", "counterfactual"),
            "target_sid": kept["target"],
            "target_match": kept["target_match"],
            "release_readiness": kept["readiness"],
        }
    ).to_csv(path, index=False, encoding="utf-8-sig")


@pytest.fixture(scope="module")
def folder(simulated: Recordings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with camera outputs, panel outputs and queries in the released form."""
    root = tmp_path_factory.mktemp("release")
    for ours, theirs in NAMES.items():
        rows = simulated.camera_outputs[simulated.camera_outputs["checkpoint"] == ours]
        path = root / "native" / "outputs" / f"{theirs}.jsonl.gz"
        write_lines(path, [camera_row(row) for row in records(rows)])
    for ours, theirs in PANEL.items():
        rows = simulated.panel_outputs[simulated.panel_outputs["checkpoint"] == ours]
        lines = [{**common(r), **mappings(r), "model_key": theirs} for r in records(rows)]
        write_lines(root / "panel" / "outputs" / f"{theirs}.jsonl", lines)
    write_queries(root / "scored_rows_three_checkpoint.csv", simulated.queries)
    return root


@pytest.fixture(scope="module")
def raw(folder: Path) -> dict[str, Statistic]:
    """Return the statistics of that folder."""
    return statistics_of_parts(analyse(load_recordings(folder), QUICK))


def test_released_outputs_give_every_camera_and_family_id(
    raw: dict[str, Statistic], simulated: Recordings
) -> None:
    """Raw outputs in the released form give the same numbers as the same rows in our format."""
    theirs = raw
    ours = statistics_of_parts(analyse(simulated, QUICK))
    for checkpoint, name in (("sim_a_small", "q8b"), ("sim_a_large", "q32b")):
        for key in (
            "acquisition.ncsaurc_selection",
            "per_output.acc_pct",
            "identical_merge.l1_drift",
        ):
            expected = ours[f"simulated.camera.{checkpoint}.{key}"].value
            assert theirs[f"camera.{name}.{key}"].value == pytest.approx(expected, abs=1e-12)
        for rule in ("pact", "per_output", "one_per_camera", "all_output_merge"):
            key = f"factorial.identity_temporal.{rule}"
            expected = ours[f"simulated.{key}.{checkpoint}.consistent"].value
            assert theirs[f"{key}.{name}.consistent"].value == expected
    assert theirs["family.rank_pooled"].value == ours["simulated.family.rank_pooled"].value
    assert theirs["family.pact_nll"].value == pytest.approx(ours["simulated.family.pact_nll"].value)
    assert theirs["copy.typed_responses_unchanged"].value == 720
    for name in ("family.rank_equal_task", "family.rank_without_llava", "common_score.q8b.diff",
                 "camera.q8b.contrast_m4", "camera.contrast_m2_positive_both",
                 "camera.q32b.contrast_m4_includes_zero", "camera.q8b.posterior_rank_reverses",
                 "camera.shuffle_less_budget_both", "camera.q8b.acq_vs_merge_ncsaurc"):  # fmt: skip
        assert name in theirs


def test_counting_rule_records_replace_raw_outputs(
    raw: dict[str, Statistic], simulated: Recordings, tmp_path: Path
) -> None:
    """records.csv of the release gives the camera and factorial figures without raw outputs."""
    arms = counting_arms(simulated)
    back = {ours: theirs for theirs, ours in ARM_NAMES.items()}
    for ours, place in (("sim_a_small", "analysis_test8"), ("sim_a_large", "analysis_test32")):
        kept = arms[arms["checkpoint"] == ours]
        frame = pd.DataFrame(
            {
                "event_id": kept["event"],
                "window": kept["window"].map(WINDOWS),
                "episode_id": kept["episode"],
                "task_id": "task_" + kept["task"],
                "m": kept["prompts"],
                "arm": kept["arm"].map(back),
                "y": kept["ready"].astype(int),
                "p_ready": kept["p_ready"],
                "score": 1 - 2 / (2 + kept["budget"]),
                "common_score": np.maximum(kept["p_ready"], 1 - kept["p_ready"]),
                "budget": kept["budget"],
                "budget_ratio": kept["budget_ratio"],
                "posterior_l1": kept["posterior_l1"],
                "retained": "nan",
            }
        )
        (tmp_path / place).mkdir()
        frame.to_csv(tmp_path / place / "records.csv", index=False)
    write_queries(tmp_path / "scored_rows_three_checkpoint.csv", simulated.queries)
    stored = statistics_of_parts(analyse(load_recordings(tmp_path), QUICK))
    shared = [
        name
        for name in raw
        if name.startswith(("camera.", "common_score.", "factorial."))
        and isinstance(raw[name].value, (int, float))
    ]
    assert len(shared) > 100
    for name in shared:
        assert stored[name].value == pytest.approx(raw[name].value, abs=1e-9), name
    assert stored["design.cameras"].value == 5


def test_phase_predictions_give_the_published_area(tmp_path: Path) -> None:
    """Scores of three camera settings are pooled within a task under the published id."""
    rng = np.random.default_rng(0)
    rows = []
    for task in ("S1", "S2"):
        for event in range(6):
            for window in ("early", "event_proximal"):
                for setting in ("all_five", "workspace_context", "robot_local"):
                    score = rng.uniform(0, 0.6) + 0.3 * (window != "early")
                    rows.append(("x", f"{task}{event}_01", task, window, setting, 0, score))
    columns = ["id", "event_id", "sid", "window", "setting", "reference_ready"]
    frame = pd.DataFrame(rows, columns=[*columns, "task_heldout_ready_probability"])
    frame.to_csv(tmp_path / "task_heldout_phase_predictions.csv", index=False)
    found = statistics_of_parts(analyse(load_recordings(tmp_path), QUICK))
    assert found["loto.auroc"].n == 72
    assert 0.5 < float(found["loto.auroc"].value or 0) <= 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p_ready": 0.123}, "p_ready = 0.123 is not the sigmoid"),
        ({"p_ready": 10**400}, "p_ready = 1000"),
        ({"mapping_logits": []}, "mapping_logits"),
        ({"mapping_logits": [{"mapping": "map0", "logit_A": 10**400, "logit_B": 1}]}, "mapping"),
        ({"mapping_logits": [{"mapping": "map0", "logit_A": "x", "logit_B": 1}]}, "mapping_logits"),
        ({"status": "failed"}, "status is 'failed'"),
        ({"parent_id": "0"}, "parent_id"),
        ({"window": "late"}, "unknown window 'late'"),
        ({"sid": None}, "sid is missing"),
    ],
)
def test_bad_outputs_name_the_line(
    folder: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    """The checks of the release are applied to every line."""
    source = folder / "native" / "outputs" / "qwen3vl_8b.jsonl.gz"
    with gzip.open(source, "rt", encoding="utf-8-sig") as stream:
        rows = [json.loads(next(stream)) for _ in range(3)]
    rows[2] |= change
    write_lines(tmp_path / "qwen3vl_8b.jsonl", rows)
    with pytest.raises(RecordError, match=r"qwen3vl_8b\.jsonl, row 3: ") as caught:
        load_recordings(tmp_path)
    assert message in str(caught.value)


def test_incomplete_event_windows_are_refused(folder: Path, tmp_path: Path) -> None:
    """An event window of the release has exactly twenty outputs."""
    source = folder / "native" / "outputs" / "qwen3vl_8b.jsonl.gz"
    with gzip.open(source, "rt", encoding="utf-8-sig") as stream:
        rows = [json.loads(next(stream)) for _ in range(3)]
    write_lines(tmp_path / "qwen3vl_8b.jsonl", rows)
    with pytest.raises(RecordError, match="expected 20"):
        load_recordings(tmp_path)


@pytest.mark.parametrize(
    ("name", "column", "value", "message"),
    [
        ("scored_rows_three_checkpoint.csv", "window", "noon", "unknown window 'noon'"),
        ("scored_rows_three_checkpoint.csv", "condition", "maybe", "unknown condition 'maybe'"),
        ("scored_rows_three_checkpoint.csv", "event_id", "", "event_id is empty"),
        ("task_heldout_delta_events.csv", "early_probability", "1.7", "early_probability = '1.7'"),
        ("task_heldout_delta_events.csv", "early_probability", "NaN", "early_probability = 'NaN'"),
        ("checkpoint_pair_errors.csv", "n00", "1", "n00 + n01 + n10 + n11 is not n"),
    ],
)
def test_bad_cells_name_the_row(
    real_folder: Path, tmp_path: Path, name: str, column: str, value: str, message: str
) -> None:
    """A bad cell in a CSV file of the release is named by its row."""
    frame = pd.read_csv(real_folder / name, dtype=str, keep_default_na=False)
    frame.loc[4, column] = value
    frame.to_csv(tmp_path / name, index=False)
    with pytest.raises(RecordError) as caught:
        load_recordings(tmp_path)
    assert str(caught.value).startswith(f"{name}, row 5: ")
    assert message in str(caught.value)


def test_ragged_csv_is_a_user_error(tmp_path: Path) -> None:
    """Too many cells end in one clear line."""
    (tmp_path / "a.csv").write_text(
        "left_model,right_model,registered_relation,n,n00,n01,n10,n11\na,b,c,1,2,3,4,5,6,7\n"
    )
    with pytest.raises(RecordError, match=r"^a\.csv[^\n]*$"):
        load_recordings(tmp_path)


def test_unparsed_verdicts_are_missing(real_folder: Path, tmp_path: Path) -> None:
    """Rows whose output could not be parsed have no verdict."""
    frame = pd.read_csv(real_folder / "scored_rows_three_checkpoint.csv", dtype=str).head(24)
    frame["parsed"] = ["0"] + ["1"] * 23
    frame.to_csv(tmp_path / "rows.csv", index=False)
    queries = load_recordings(tmp_path).queries
    assert queries["target_match"].isna().sum() == 1


def test_other_files_are_listed(real_folder: Path, tmp_path: Path) -> None:
    """Files that are no recordings are named, not read."""
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    pairs = (real_folder / "checkpoint_pair_errors.csv").read_bytes()
    (tmp_path / "pairs.csv").write_bytes(b"\xef\xbb\xbf" + pairs)
    found = load_recordings(tmp_path)
    assert found.skipped == ("other.csv",)
    assert len(found.pairs) == 28
