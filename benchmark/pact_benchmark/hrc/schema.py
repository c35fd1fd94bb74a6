"""The record format: one flat row per model output, target query or event-proximity score."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pact_benchmark.hrc.files import fail, json_lines, read_parquet, suffix_of

SCHEMA_VERSION = 1
TEXT_LIMIT = 4_096
FEATURE_LIMIT = 8_192
PARENT_LIMIT = 256
LOG_ODDS_LIMIT = 1e6

OUTPUT, QUERY, PROXIMITY = "output", "query", "proximity"
RECORDS = (OUTPUT, QUERY, PROXIMITY)
PRE_EARLY, EARLY, PROXIMAL = "pre_early", "early", "proximal"
WINDOWS = (PRE_EARLY, EARLY, PROXIMAL)
EPISODE_TARGET, COUNTERFACTUAL = "episode", "counterfactual"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the format.

    Attributes:
        kind: ``text``, ``number``, ``integer``, ``flag``, ``texts`` or ``numbers``.
        required: The record kinds in which the column must be filled.
        optional: The record kinds in which it may be filled.
        choices: The allowed texts, where the set is closed.
        low, high: The allowed range of a number or an integer.
    """

    name: str
    kind: str
    description: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


_MODEL = (OUTPUT, QUERY)
COLUMNS: tuple[Column, ...] = (
    Column("record", "text", "What the row holds.", RECORDS, choices=RECORDS),
    Column(
        "schema_version",
        "integer",
        "Version of this format; absent means the current one.",
        optional=RECORDS,
        low=SCHEMA_VERSION,
        high=SCHEMA_VERSION,
    ),
    Column("simulated", "flag", "True when no model and no camera produced it.", optional=RECORDS),
    Column("checkpoint", "text", "Key of the model checkpoint.", _MODEL),
    Column("family", "text", "Model family of the checkpoint.", optional=(OUTPUT,)),
    Column("task", "text", "Key of the task the episode belongs to.", RECORDS),
    Column("episode", "text", "Key of the episode, the unit of resampling.", RECORDS),
    Column("event", "text", "Key of the event within the data set.", RECORDS),
    Column("window", "text", "Temporal window of the event.", RECORDS, choices=WINDOWS),
    Column("time", "number", "Time of the frame in the episode [s].", optional=RECORDS),
    Column(
        "camera", "text", "Camera whose image was shown; `composite` for all in one.", (OUTPUT,)
    ),
    Column("prompt", "text", "Key of the prompt variant.", (OUTPUT,)),
    Column(
        "repeat",
        "integer",
        "Which repetition of the same prompt on the same image (0 is the first).",
        optional=(OUTPUT,),
        low=0,
        high=1_000,
    ),
    Column(
        "log_odds_map0",
        "number",
        "Logit of B minus logit of A where A = NOT READY and B = READY.",
        (OUTPUT,),
        low=-LOG_ODDS_LIMIT,
        high=LOG_ODDS_LIMIT,
    ),
    Column(
        "log_odds_map1",
        "number",
        "Logit of B minus logit of A where A = READY and B = NOT READY.",
        (OUTPUT,),
        low=-LOG_ODDS_LIMIT,
        high=LOG_ODDS_LIMIT,
    ),
    Column(
        "parents",
        "texts",
        "Records the output was computed from; absent: the image of its camera.",
        optional=(OUTPUT,),
    ),
    Column("query", "text", "Key of the query.", (QUERY,)),
    Column("target", "text", "Key of the target asked about.", (QUERY,)),
    Column(
        "target_kind",
        "text",
        "Whether the target is the episode's own.",
        (QUERY,),
        choices=(EPISODE_TARGET, COUNTERFACTUAL),
    ),
    Column(
        "target_match",
        "text",
        "The model's verdict on the target; absent: no verdict could be parsed.",
        optional=(QUERY,),
        choices=("matched", "mismatched", "uncertain"),
    ),
    Column(
        "readiness",
        "text",
        "The model's verdict on readiness; absent: no verdict could be parsed.",
        optional=(QUERY,),
        choices=("ready", "not_ready", "uncertain"),
    ),
    Column(
        "identity",
        "text",
        "Target-identity evidence from outside the model; absent: none was given.",
        optional=(QUERY,),
        choices=("match", "mismatch"),
    ),
    Column("setting", "text", "Which cameras the event-proximity features cover.", (PROXIMITY,)),
    Column(
        "predictor",
        "text",
        "How a stored score was fitted: on all tasks, or with the evaluated task held out.",
        optional=(PROXIMITY,),
        choices=("in_task", "task_heldout"),
    ),
    Column("score", "number", "Event-proximity score.", optional=(PROXIMITY,), low=0.0, high=1.0),
    Column("features", "numbers", "Frozen image features to fit on.", optional=(PROXIMITY,)),
    Column("text", "text", "Instruction that goes with the features.", optional=(PROXIMITY,)),
    Column(
        "split",
        "text",
        "Whether the row is for fitting or for evaluation.",
        optional=(PROXIMITY,),
        choices=("development", "evaluation"),
    ),
)
BY_NAME = {column.name: column for column in COLUMNS}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one row."""
    properties = {column.name: _property(column) for column in COLUMNS}
    cases: list[dict[str, Any]] = []
    for record in RECORDS:
        required = [column.name for column in COLUMNS if record in column.required]
        foreign = [c.name for c in COLUMNS if record not in c.required + c.optional]
        limits: dict[str, Any] = {name: {"not": {"type": "null"}} for name in required}
        limits |= {name: {"type": "null"} for name in foreign}
        limits["record"] = {"const": record}
        cases.append({"properties": limits, "required": required})
    cases[-1]["anyOf"] = [
        {"required": ["score", "predictor"]} | _filled("score", "predictor"),
        {"required": ["features", "text", "split"]} | _filled("features", "text", "split"),
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PACT offline HRC record",
        "type": "object",
        "properties": properties,
        "required": ["record"],
        "additionalProperties": False,
        "oneOf": cases,
    }


def _filled(*names: str) -> dict[str, Any]:
    return {"properties": {name: {"not": {"type": "null"}} for name in names}}


def _property(column: Column) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1, "maxLength": TEXT_LIMIT}
    kinds: dict[str, dict[str, Any]] = {
        "text": text,
        "number": {"type": "number"},
        "integer": {"type": "integer"},
        "flag": {"type": "boolean"},
        "texts": {"type": "array", "items": text, "minItems": 1, "maxItems": PARENT_LIMIT},
        "numbers": {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 1,
            "maxItems": FEATURE_LIMIT,
        },
    }
    body = {"description": column.description, **kinds[column.kind]}
    if column.choices:
        body["enum"] = list(column.choices)
    if column.low is not None:
        body["minimum"] = column.low
    if column.high is not None:
        body["maximum"] = column.high
    if set(column.required) != set(RECORDS):
        body["type"] = [body["type"], "null"]
        if column.choices:
            body["enum"] = [*column.choices, None]
    return body


def read_records(path: Path) -> pd.DataFrame:
    """Return the validated rows of a Parquet or JSON-lines file, with every column of the format.

    A column ``row`` holds the 1-based row (the line, for JSON lines). The first row that breaks
    the format raises `RecordError` with its number.
    """
    if suffix_of(path) == ".parquet":
        frame = read_parquet(path)
        rows = np.arange(1, len(frame) + 1)
    else:
        pairs = list(json_lines(path))
        frame = pd.DataFrame.from_records([value for _, value in pairs])
        rows = np.array([number for number, _ in pairs], dtype=np.int64)
    return validate(frame, rows, path)


def validate(frame: pd.DataFrame, rows: np.ndarray, path: Path) -> pd.DataFrame:
    """Return `frame` in the types of the format; raise at the first row that breaks it."""
    unknown = [str(name) for name in frame.columns if name not in BY_NAME]
    if unknown:
        filled = frame[unknown[0]].notna().to_numpy()
        row = int(rows[int(filled.argmax())]) if len(rows) else None
        fail(path, f"unknown column {unknown[0]!r}; see `pact hrc --schema`", row)
    typed = {"row": rows}
    for column in COLUMNS:
        values = frame[column.name] if column.name in frame else pd.Series([None] * len(rows))
        typed[column.name] = _typed(column, values.to_numpy(dtype=object), rows, path)
    result = pd.DataFrame(typed)
    for record in RECORDS:
        _check_filled(result, record, path)
    _check_proximity(result, path)
    return result


def _is_null(values: np.ndarray) -> np.ndarray:
    return np.fromiter(
        (v is None or v is pd.NA or (isinstance(v, float) and v != v) for v in values),
        bool,
        len(values),
    )


def _typed(column: Column, values: np.ndarray, rows: np.ndarray, path: Path) -> Any:
    null = _is_null(values)
    check = _CHECKS[column.kind]
    bad = np.fromiter(
        (not (n or check(v, column)) for v, n in zip(values, null, strict=True)), bool, len(values)
    )
    if bad.any():
        at = int(bad.argmax())
        fail(path, f"{column.name} = {_shown(values[at])} {_wanted(column)}", int(rows[at]))
    if column.kind in ("number", "integer"):
        return np.array([np.nan if n else float(v) for v, n in zip(values, null, strict=True)])
    if column.kind == "flag":
        return np.array([bool(v) and not n for v, n in zip(values, null, strict=True)], dtype=bool)
    converted = np.empty(len(values), dtype=object)
    converted[:] = [
        None if n else (tuple(v) if column.kind in ("texts", "numbers") else str(v))
        for v, n in zip(values, null, strict=True)
    ]
    return converted


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _wanted(column: Column) -> str:
    if column.choices:
        return f"is not one of {', '.join(column.choices)}"
    bounds = "" if column.low is None else f" from {column.low:g} to {column.high:g}"
    names = {
        "text": f"is not a text of 1 to {TEXT_LIMIT} characters",
        "number": f"is not a finite number{bounds}",
        "integer": f"is not a whole number{bounds}",
        "flag": "is not true or false",
        "texts": f"is not a list of 1 to {PARENT_LIMIT} texts",
        "numbers": f"is not a list of 1 to {FEATURE_LIMIT} finite numbers",
    }
    return names[column.kind]


def _is_text(value: Any, column: Column) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= TEXT_LIMIT
        and (not column.choices or value in column.choices)
    )


def _is_number(value: Any, column: Column) -> bool:
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.floating, np.integer)
    ):
        return False
    try:
        number = float(value)
    except OverflowError:
        return False
    return (
        bool(np.isfinite(number))
        and (column.low is None or number >= column.low)
        and (column.high is None or number <= column.high)
    )


def _is_integer(value: Any, column: Column) -> bool:
    return _is_number(value, column) and float(value) == int(value)


def _is_flag(value: Any, column: Column) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_texts(value: Any, column: Column) -> bool:
    plain = Column(column.name, "text", "")
    return (
        isinstance(value, (list, tuple, np.ndarray))
        and 0 < len(value) <= PARENT_LIMIT
        and all(_is_text(item, plain) for item in value)
    )


def _is_numbers(value: Any, column: Column) -> bool:
    if not isinstance(value, (list, tuple, np.ndarray)) or not 0 < len(value) <= FEATURE_LIMIT:
        return False
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return bool(np.isfinite(value).all())
    return all(_is_number(item, column) for item in value)


_CHECKS = {
    "text": _is_text,
    "number": _is_number,
    "integer": _is_integer,
    "flag": _is_flag,
    "texts": _is_texts,
    "numbers": _is_numbers,
}


def _missing(frame: pd.DataFrame, name: str) -> np.ndarray:
    values = frame[name]
    if BY_NAME[name].kind == "flag":
        return ~values.to_numpy(dtype=bool)
    return values.isna().to_numpy()


def _check_filled(frame: pd.DataFrame, record: str, path: Path) -> None:
    rows = frame["row"].to_numpy()
    mine = (frame["record"] == record).to_numpy()
    if _missing(frame, "record").any():
        at = int(_missing(frame, "record").argmax())
        fail(path, f"record is missing; use one of {', '.join(RECORDS)}", int(rows[at]))
    for column in COLUMNS:
        gap = _missing(frame, column.name)
        if record in column.required and (mine & gap).any():
            at = int((mine & gap).argmax())
            fail(path, f"{column.name} is missing ({record} rows need it)", int(rows[at]))
        if record not in column.required + column.optional and (mine & ~gap).any():
            at = int((mine & ~gap).argmax())
            fail(path, f"{column.name} does not belong to {record} rows", int(rows[at]))


def _check_proximity(frame: pd.DataFrame, path: Path) -> None:
    mine = (frame["record"] == PROXIMITY).to_numpy()
    scored = ~_missing(frame, "score") & ~_missing(frame, "predictor")
    fitted = ~_missing(frame, "features") & ~_missing(frame, "text") & ~_missing(frame, "split")
    bad = mine & ~scored & ~fitted
    if bad.any():
        at = int(bad.argmax())
        text = "proximity rows need score and predictor, or features, text and split"
        fail(path, text, int(frame["row"].iloc[at]))
