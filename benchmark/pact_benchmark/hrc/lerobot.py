"""Episode, camera and time skeletons from LeRobot-style dataset folders.

Reads the metadata and the frame tables of format 2 (one file per episode) and format 3 (many
episodes per file); never the videos. What comes out are the rows of the record format with the
log odds left empty, for someone with the data set to fill in model outputs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pact_benchmark.hrc.evidence import PROMPT_ORDER
from pact_benchmark.hrc.files import (
    BYTE_LIMIT,
    FILE_LIMIT,
    ROW_LIMIT,
    RecordError,
    fail,
    json_lines,
    read_parquet,
)
from pact_benchmark.hrc.schema import EARLY, PRE_EARLY, PROXIMAL

IMAGE_PREFIX = "observation.images."
PRE_EARLY_GAP = 1.0


@dataclass(frozen=True, slots=True)
class EpisodeFolder:
    """What a LeRobot-style folder says about its episodes.

    Attributes:
        fps: Frames per second.
        cameras: Camera names.
        episodes: Columns episode (text), task (text), frames.
        frames: Columns episode, frame, time [s], and subtask where it is recorded.
    """

    fps: float
    cameras: tuple[str, ...]
    episodes: pd.DataFrame
    frames: pd.DataFrame


def read_episode_folder(root: Path) -> EpisodeFolder:
    """Read the skeleton of a LeRobot-style folder (``meta/info.json``, ``meta``, ``data``)."""
    info = _info(root)
    fps = info.get("fps")
    if not isinstance(fps, (int, float)) or isinstance(fps, bool) or not 0 < fps <= 10_000:
        fail(root / "meta" / "info.json", "fps is not a positive number")
    features = info.get("features")
    names = features if isinstance(features, dict) else {}
    cameras = tuple(
        sorted(str(n)[len(IMAGE_PREFIX) :] for n in names if str(n).startswith(IMAGE_PREFIX))
    )
    if not cameras:
        fail(root / "meta" / "info.json", f"no feature named {IMAGE_PREFIX}<camera>")
    frames = _frames(root, float(fps))
    return EpisodeFolder(float(fps), cameras, _episodes(root, frames), frames)


def _info(root: Path) -> dict[str, Any]:
    path = root / "meta" / "info.json"
    if not path.is_file():
        raise RecordError(f"{root}: not a LeRobot-style folder (meta/info.json is missing)")
    if path.stat().st_size > BYTE_LIMIT:
        fail(path, "too large")
    try:
        info = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        fail(path, f"not JSON ({error})")
    if not isinstance(info, dict):
        fail(path, "expected a JSON object")
    return info


def _frames(root: Path, fps: float) -> pd.DataFrame:
    paths = sorted((root / "data").rglob("*.parquet"))
    if not paths:
        raise RecordError(f"{root}: no frame tables under data/")
    if len(paths) > FILE_LIMIT * 50:
        raise RecordError(f"{root}: more than {FILE_LIMIT * 50:,} frame tables")
    parts, total = [], 0
    for path in paths:
        frame = read_parquet(path)
        missing = [n for n in ("episode_index", "frame_index") if n not in frame]
        if missing:
            fail(path, f"column {missing[0]!r} is missing")
        total += len(frame)
        if total > 50 * ROW_LIMIT:
            fail(path, f"more than {50 * ROW_LIMIT:,} frames in all; use a part of the data set")
        number = _whole(path, frame, "frame_index")
        time = number / fps
        if "timestamp" in frame:
            time = pd.to_numeric(frame["timestamp"], errors="coerce").to_numpy(dtype=float)
            if not np.isfinite(time).all():
                fail(path, "timestamp is not a number", int((~np.isfinite(time)).argmax()) + 1)
        part = {
            "episode_index": _whole(path, frame, "episode_index"),
            "frame": number,
            "time": time,
        }
        for name, given in (("task_index", "task_index"), ("subtask", "subtask_index")):
            if given in frame:
                part[name] = _whole(path, frame, given)
        parts.append(pd.DataFrame(part))
    frames = pd.concat(parts, ignore_index=True).sort_values(["episode_index", "frame"])
    frames["episode"] = [f"{int(index):06d}" for index in frames["episode_index"]]
    return frames.reset_index(drop=True)


def _whole(path: Path, frame: pd.DataFrame, name: str) -> npt.NDArray[np.int64]:
    """Return a column of whole numbers; raise at the first row that is none."""
    values = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float)
    with np.errstate(invalid="ignore"):
        good = (np.abs(values) < 2**53) & (values == np.floor(values))
    if not good.all():
        fail(path, f"{name} is not a whole number", int((~good).argmax()) + 1)
    return values.astype(np.int64)


def _tasks(root: Path) -> dict[int, str]:
    lines, table = root / "meta" / "tasks.jsonl", root / "meta" / "tasks.parquet"
    if lines.is_file():
        frame = pd.DataFrame([value for _, value in json_lines(lines)])
        return _named(lines, frame)
    if table.is_file():
        return _named(table, read_parquet(table))
    return {}


def _named(path: Path, frame: pd.DataFrame) -> dict[int, str]:
    if "task_index" not in frame:
        fail(path, "column 'task_index' is missing")
    named = frame["task"] if "task" in frame else frame.index.to_series()
    return dict(zip(_whole(path, frame, "task_index").tolist(), map(str, named), strict=True))


def _episodes(root: Path, frames: pd.DataFrame) -> pd.DataFrame:
    tasks = _tasks(root)
    grouped = frames.groupby("episode", sort=True)
    index = (
        grouped["task_index"].first()
        if "task_index" in frames
        else pd.Series(0, index=list(grouped.groups))
    )
    return pd.DataFrame(
        {
            "episode": list(index.index),
            "task": [tasks.get(int(i), f"task_{int(i):02d}") for i in index],
            "frames": grouped.size().to_numpy(),
        }
    )


def events_from_subtasks(folder: EpisodeFolder) -> pd.DataFrame:
    """Return events at changes of the recorded subtask.

    An event ends where the subtask index changes. Its proximal frame is the last one before the
    change, its early frame the middle of the subtask that ends, and its pre-early frame one
    second before that. Returns columns episode, event, window, frame, time.
    """
    if "subtask" not in folder.frames:
        raise RecordError("no subtask_index in the frame tables; give events of your own")
    rows = []
    for episode, part in folder.frames.groupby("episode", sort=True):
        subtask = part["subtask"].to_numpy()
        time, frame = part["time"].to_numpy(float), part["frame"].to_numpy()
        ends = np.flatnonzero(subtask[1:] != subtask[:-1])
        start = 0
        for number, end in enumerate(ends, start=1):
            middle = (start + int(end)) // 2
            before = (
                int(np.searchsorted(time, time[middle] - PRE_EARLY_GAP + 1e-9, side="right")) - 1
            )
            for window, at in ((PRE_EARLY, before), (EARLY, middle), (PROXIMAL, int(end))):
                if at >= 0:
                    rows.append((episode, f"{episode}_{number:02d}", window, frame[at], time[at]))
            start = int(end) + 1
    return pd.DataFrame(rows, columns=["episode", "event", "window", "frame", "time"])


def skeleton(
    folder: EpisodeFolder,
    events: pd.DataFrame,
    checkpoint: str,
    prompts: tuple[str, ...] = PROMPT_ORDER,
) -> pd.DataFrame:
    """Return output rows of the record format without log odds, and the frame to show.

    Args:
        folder: The data set's skeleton.
        events: Columns episode, event, window, frame, time.
        checkpoint: Key of the model whose outputs will be filled in.
        prompts: Prompt keys.
    """
    tasks = dict(zip(folder.episodes["episode"], folder.episodes["task"], strict=True))
    unknown = [episode for episode in events["episode"] if episode not in tasks]
    if unknown:
        raise RecordError(f"events: episode {unknown[0]} is not in the data set")
    base = events.assign(
        record="output", checkpoint=checkpoint, task=events["episode"].map(tasks), repeat=0
    )
    grid = pd.MultiIndex.from_product([folder.cameras, prompts], names=["camera", "prompt"])
    rows = base.merge(grid.to_frame(index=False), how="cross")
    return rows.assign(log_odds_map0=None, log_odds_map1=None)[
        ["record", "checkpoint", "task", "episode", "event", "window", "time", "frame", "camera",
         "prompt", "repeat", "log_odds_map0", "log_odds_map1"]
    ]  # fmt: skip
