"""Importers for the files of the authors' public release, as they are downloaded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pact_benchmark.hrc.files import RecordFile, fail, json_lines, read_csv, sha256_of, stem_of
from pact_benchmark.hrc.recordings import COMPOSITE, Recordings
from pact_benchmark.hrc.schema import COUNTERFACTUAL, EARLY, EPISODE_TARGET, PROXIMAL

WINDOW_NAMES = {"early": EARLY, "ready": PROXIMAL, "event_proximal": PROXIMAL}
ARM_NAMES = {
    "acquisition_registered": "acquisition",
    "lineage_unaware": "per_output",
    "shuffled_equal_cardinality": "shuffled",
    "exact_dedup": "identical_merge",
    "all_view_merge": "all_view_merge",
    "native_one_per_view": "one_per_camera",
}
FAMILIES = {
    "qwen3vl_8b": "Qwen3-VL",
    "qwen3vl_32b": "Qwen3-VL",
    "internvl3_2b": "InternVL3",
    "internvl3_8b": "InternVL3",
    "llava_onevision_0_5b": "LLaVA-OneVision",
    "llava_onevision_7b": "LLaVA-OneVision",
    "smolvlm2_0_5b": "SmolVLM2",
    "smolvlm2_2_2b": "SmolVLM2",
}
ANALYSIS_FOLDERS = {"analysis_test32": "qwen3vl_32b", "analysis_test8": "qwen3vl_8b"}
EPISODE_WIDTH = 6
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Importer:
    """One file of the release: the columns that identify it and the function that reads it."""

    kind: str
    columns: frozenset[str]
    read: Callable[[Path, pd.DataFrame], Recordings]


def import_csv(path: Path, header: tuple[str, ...]) -> Recordings | None:
    """Return the recordings in a CSV file of the release, or None when it is none of them."""
    for importer in CSV_IMPORTERS:
        if importer.columns <= set(header):
            frame = read_csv(path)
            record = RecordFile(path.name, importer.kind, len(frame), sha256_of(path))
            return replace(importer.read(path, frame), files=(record,))
    return None


def import_json(path: Path, keys: set[str]) -> Recordings | None:
    """Return the recordings in a JSON-lines file of the release, or None when it is none."""
    if {"mapping_logits", "physical_view_id", "surface_id"} <= keys:
        kind, read = "camera outputs", _camera_outputs
    elif {"mapping_logits", "model_key", "p_ready"} <= keys:
        kind, read = "panel outputs", _panel_outputs
    elif {"prompt_text", "parent_id", "surface_id"} <= keys:
        rows = sum(1 for _ in json_lines(path))
        return Recordings(files=(RecordFile(path.name, "prompts", rows, sha256_of(path)),))
    else:
        return None
    outputs = read(path)
    file = RecordFile(path.name, kind, len(outputs), sha256_of(path))
    families = {key: FAMILIES[key] for key in outputs["checkpoint"].unique() if key in FAMILIES}
    return Recordings(outputs=outputs, families=families, files=(file,))


def _windows(path: Path, values: pd.Series) -> pd.Series:
    named = values.map(WINDOW_NAMES)
    _need(path, named.notna(), lambda at: f"unknown window {values.iloc[at]!r}")
    return named


def _numbers(path: Path, frame: pd.DataFrame, name: str, low: float, high: float) -> np.ndarray:
    values = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float)
    with np.errstate(invalid="ignore"):
        good = np.isfinite(values) & (values >= low) & (values <= high)
    wanted = f"a number from {low:g} to {high:g}"
    _need(path, good, lambda at: f"{name} = {str(frame[name].iloc[at])[:40]!r} is not {wanted}")
    return values


def _need(path: Path, good: Any, text: Callable[[int], str]) -> None:
    flags = np.asarray(good, dtype=bool)
    if not flags.all():
        at = int((~flags).argmax())
        fail(path, text(at), at + 1)


def _filled(path: Path, frame: pd.DataFrame, *names: str) -> None:
    for name in names:
        filled = (frame[name] != "").to_numpy()
        if not filled.all():
            fail(path, f"{name} is empty", int((~filled).argmax()) + 1)


def _episode(events: pd.Series) -> pd.Series:
    """Return the episode of each event: the key without its occurrence number."""
    return events.str.rsplit("_", n=1).str[0]


def _queries(path: Path, frame: pd.DataFrame) -> Recordings:
    names = ("model", "id", "event_id", "episode_id", "sid", "target_sid")
    _filled(path, frame, *names)
    matched = ("matched", "mismatched", "uncertain")
    ready = ("ready", "not_ready", "uncertain")
    condition = frame["condition"].map(
        {"factual": EPISODE_TARGET, "counterfactual": COUNTERFACTUAL}
    )
    _need(path, condition.notna(), lambda at: f"unknown condition {frame['condition'].iloc[at]!r}")
    queries = pd.DataFrame(
        {
            "checkpoint": frame["model"],
            "task": frame["sid"],
            "episode": frame["episode_id"].str.zfill(EPISODE_WIDTH),
            "event": frame["event_id"],
            "window": _windows(path, frame["window"]),
            "query": frame["id"],
            "target": frame["target_sid"],
            "target_kind": condition,
            "target_match": frame["target_match"].where(frame["target_match"].isin(matched)),
            "readiness": frame["release_readiness"].where(frame["release_readiness"].isin(ready)),
            "identity": np.where(frame["target_sid"] == frame["sid"], "match", "mismatch"),
        }
    )
    for flag in ("parsed", "schema_valid"):
        if flag in frame:
            bad = frame[flag] != "1"
            queries.loc[bad, ["target_match", "readiness"]] = None
    models = {key: FAMILIES[key] for key in frame["model"].unique() if key in FAMILIES}
    return Recordings(queries=queries, families=models)


def _score_table(
    path: Path, frame: pd.DataFrame, window: pd.Series, column: str, predictor: str, setting: Any
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "task": frame["sid"],
            "episode": _episode(frame["event_id"]),
            "event": frame["event_id"],
            "window": window,
            "time": np.nan,
            "setting": setting,
            "predictor": predictor,
            "score": _numbers(path, frame, column, 0.0, 1.0),
        }
    )


def _predictions(path: Path, frame: pd.DataFrame) -> Recordings:
    _filled(path, frame, "event_id", "sid", "setting")
    heldout = "task_heldout_ready_probability" in frame
    column = "task_heldout_ready_probability" if heldout else "resnet50_tfidf_ready_probability"
    predictor = "task_heldout" if heldout else "in_task"
    window = _windows(path, frame["window"])
    scores = _score_table(path, frame, window, column, predictor, frame["setting"])
    return Recordings(scores=scores)


def _delta_events(path: Path, frame: pd.DataFrame) -> Recordings:
    _filled(path, frame, "event_id", "sid")
    columns = {EARLY: "early_probability", PROXIMAL: "event_proximal_probability"}
    tables = [
        _score_table(path, frame, pd.Series([w] * len(frame)), column, "task_heldout", "all_five")
        for w, column in columns.items()
    ]
    return Recordings(scores=pd.concat(tables, ignore_index=True))


def _pairs(path: Path, frame: pd.DataFrame) -> Recordings:
    _filled(path, frame, "left_model", "right_model")
    cells = {name: _numbers(path, frame, name, 0, 1e9) for name in ("n00", "n01", "n10", "n11")}
    whole = sum(cells.values())
    total = _numbers(path, frame, "n", 1, 4e9)
    _need(path, whole == total, lambda at: "n00 + n01 + n10 + n11 is not n")
    pairs = pd.DataFrame(
        {
            "left": frame["left_model"],
            "right": frame["right_model"],
            "within_family": frame["registered_relation"] == "within_family",
            **cells,
        }
    )
    names = pd.unique(pd.concat([frame["left_model"], frame["right_model"]]))
    families = {str(name): FAMILIES[name] for name in names if name in FAMILIES}
    return Recordings(pairs=pairs, families=families)


def _arms(path: Path, frame: pd.DataFrame) -> Recordings:
    folder = path.parent.name
    checkpoint = ANALYSIS_FOLDERS.get(folder, folder if folder in FAMILIES else stem_of(path))
    if checkpoint not in FAMILIES:
        known = ", ".join([*ANALYSIS_FOLDERS, *FAMILIES])
        fail(path, f"the checkpoint is not known; put the file in a folder named one of {known}")
    arm = frame["arm"].map(ARM_NAMES)
    _need(path, arm.notna(), lambda at: f"unknown arm {frame['arm'].iloc[at]!r}")
    arms = pd.DataFrame(
        {
            "checkpoint": checkpoint,
            "task": frame["task_id"],
            "episode": frame["episode_id"].str.zfill(EPISODE_WIDTH),
            "event": frame["event_id"],
            "window": _windows(path, frame["window"]),
            "prompts": _numbers(path, frame, "m", 1, 64).astype(int),
            "arm": arm,
            "ready": _numbers(path, frame, "y", 0, 1).astype(bool),
            "p_ready": _numbers(path, frame, "p_ready", 0, 1),
            "budget": _numbers(path, frame, "budget", 0, 1e9),
            "budget_ratio": _numbers(path, frame, "budget_ratio", 0, 1e9),
            "posterior_l1": _numbers(path, frame, "posterior_l1", 0, 2),
        }
    )
    return Recordings(arms=arms, families={checkpoint: FAMILIES[checkpoint]})


def _reference(name: str) -> Callable[[Path, pd.DataFrame], Recordings]:
    def read(path: Path, frame: pd.DataFrame) -> Recordings:
        return Recordings(references={name: frame})

    return read


def _finite(value: Any) -> float | None:
    """Return a JSON value as a finite number, or None when it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if np.isfinite(number) else None


def _logits(path: Path, number: int, value: dict[str, Any]) -> tuple[float, float]:
    """Return logit B minus logit A under map0 and under map1."""
    found: dict[str, float] = {}
    entries = value.get("mapping_logits")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            a, b = _finite(entry.get("logit_A")), _finite(entry.get("logit_B"))
            if a is not None and b is not None and np.isfinite(b - a):
                found[str(entry.get("mapping"))] = b - a
    if not {"map0", "map1"} <= found.keys():
        fail(path, "mapping_logits does not hold finite logits of map0 and map1", number)
    return found["map0"], found["map1"]


def _output_row(path: Path, number: int, value: dict[str, Any]) -> dict[str, Any]:
    texts = {}
    for name in ("event_id", "episode_id", "sid", "window"):
        text = value.get(name)
        if not isinstance(text, str) or not text:
            fail(path, f"{name} is missing", number)
        texts[name] = text
    if texts["window"] not in WINDOW_NAMES:
        fail(path, f"unknown window {texts['window'][:40]!r}", number)
    map0, map1 = _logits(path, number, value)
    p = _finite(value.get("p_ready"))
    expected = 1.0 / (1.0 + np.exp(-np.clip(0.5 * (map0 - map1), -700, 700)))
    if p is None or not abs(p - expected) <= _TOLERANCE:
        given = str(value.get("p_ready"))[:40]
        fail(path, f"p_ready = {given} is not the sigmoid of the mapping logits", number)
    return {
        "task": texts["sid"],
        "episode": texts["episode_id"].zfill(EPISODE_WIDTH),
        "event": texts["event_id"],
        "window": WINDOW_NAMES[texts["window"]],
        "time": np.nan,
        "repeat": 0.0,
        "log_odds_map0": map0,
        "log_odds_map1": map1,
        "parents": None,
    }


def _panel_outputs(path: Path) -> pd.DataFrame:
    rows = []
    for number, value in json_lines(path):
        key = value.get("model_key")
        if not isinstance(key, str) or not key:
            fail(path, "model_key is missing", number)
        family = value.get("family")
        row = _output_row(path, number, value)
        row |= {"checkpoint": key, "camera": COMPOSITE, "prompt": "canonical"}
        row["family"] = family if isinstance(family, str) else FAMILIES.get(key)
        rows.append(row)
    return pd.DataFrame(rows)


def _camera_outputs(path: Path) -> pd.DataFrame:
    checkpoint = stem_of(path)
    rows = []
    for number, value in json_lines(path):
        if value.get("status") != "ok":
            fail(path, f"status is {str(value.get('status'))[:40]!r}, not 'ok'", number)
        view, prompt = value.get("physical_view_id"), value.get("surface_id")
        if not isinstance(view, str) or not isinstance(prompt, str):
            fail(path, "physical_view_id or surface_id is missing", number)
        row = _output_row(path, number, value)
        identity = f"{value['event_id']}:{value['window']}:{view}"
        if value.get("parent_id") != hashlib.sha256(identity.encode()).hexdigest():
            fail(path, "parent_id is not the SHA-256 of event_id:window:physical_view_id", number)
        row |= {"checkpoint": checkpoint, "camera": view, "prompt": prompt}
        row["family"] = FAMILIES.get(checkpoint)
        row["parents"] = (str(value["parent_id"]),)
        rows.append(row)
    frame = pd.DataFrame(rows)
    counts = frame.groupby(["event", "window"]).size()
    uneven = counts[counts != 20]
    if len(uneven):
        event, window = uneven.index[0]
        fail(path, f"{int(uneven.iloc[0])} outputs for event {event}, window {window}; expected 20")
    return frame


CSV_IMPORTERS = (
    Importer(
        "queries",
        frozenset(
            {"model", "id", "event_id", "episode_id", "sid", "window", "condition", "target_sid",
             "target_match", "release_readiness"}
        ),
        _queries,
    ),
    Importer(
        "proximity scores",
        frozenset({"event_id", "sid", "window", "setting", "resnet50_tfidf_ready_probability"}),
        _predictions,
    ),
    Importer(
        "task-held-out scores",
        frozenset({"event_id", "sid", "window", "setting", "task_heldout_ready_probability"}),
        _predictions,
    ),
    Importer(
        "task-held-out events",
        frozenset({"event_id", "sid", "early_probability", "event_proximal_probability"}),
        _delta_events,
    ),
    Importer(
        "pair tables",
        frozenset(
            {"left_model", "right_model", "registered_relation", "n", "n00", "n01", "n10", "n11"}
        ),
        _pairs,
    ),
    Importer(
        "counting-rule records",
        frozenset(
            {"event_id", "window", "episode_id", "task_id", "m", "arm", "y", "p_ready", "budget",
             "budget_ratio", "posterior_l1"}
        ),
        _arms,
    ),
    Importer(
        "admission by task",
        frozenset({"model", "method", "sid", "correct_admitted", "wrong_admitted"}),
        _reference("by_task"),
    ),
    Importer(
        "admission summary",
        frozenset({"model", "method", "records", "correct_admitted", "wrong_admitted"}),
        _reference("summary"),
    ),
    Importer(
        "admission intervals",
        frozenset({"model", "contrast", "metric", "point", "ci95_low", "ci95_high"}),
        _reference("bootstrap"),
    ),
    Importer(
        "task-held-out summary",
        frozenset({"sid", "task", "n", "admitted", "ready_factual_recall"}),
        _reference("heldout_by_task"),
    ),
    Importer(
        "fold configuration",
        frozenset({"held_out_sid", "development_episodes", "test_episodes", "selected_c"}),
        _reference("folds"),
    ),
    Importer(
        "frame manifest",
        frozenset({"event_id", "window", "physical_view_id", "source_frame"}),
        _reference("frames"),
    ),
    Importer(
        "panel cases",
        frozenset({"id", "event_id", "reference_ready", "image", "prompt_text_sha256"}),
        _reference("cases"),
    ),
)  # fmt: skip
