"""LeRobot-style folders and PROV documents as sources of structure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pandas as pd
import pytest

from pact_benchmark.hrc.evidence import Counting, fuse, output_table
from pact_benchmark.hrc.files import RecordError
from pact_benchmark.hrc.lerobot import events_from_subtasks, read_episode_folder, skeleton
from pact_benchmark.hrc.load import load_recordings
from pact_benchmark.hrc.provenance import apply_prov, output_name
from pact_benchmark.hrc.recordings import Recordings

Command = Callable[..., CompletedProcess[str]]


def write_lerobot(root: Path, version: int) -> Path:
    """Write two episodes of 60 frames at 10 Hz with three subtasks and two cameras."""
    (root / "meta").mkdir(parents=True)
    features = {"observation.images.front": {"dtype": "video"}, "action": {"dtype": "float32"}}
    features["observation.images.wrist"] = {"dtype": "video"}
    info = {"codebase_version": f"v{version}.0", "fps": 10, "features": features}
    (root / "meta" / "info.json").write_text(json.dumps(info))
    frames = pd.DataFrame(
        {
            "episode_index": np.repeat([0, 1], 60),
            "frame_index": np.tile(np.arange(60), 2),
            "timestamp": np.tile(np.arange(60) / 10, 2),
            "task_index": np.repeat([0, 1], 60),
            "subtask_index": np.tile(np.repeat([0, 1, 2], 20), 2),
        }
    )
    tasks = pd.DataFrame({"task_index": [0, 1], "task": ["hand over the cup", "pass the lid"]})
    folder = root / "data" / "chunk-000"
    folder.mkdir(parents=True)
    if version == 2:
        lines = tasks.to_json(orient="records", lines=True)
        (root / "meta" / "tasks.jsonl").write_text(str(lines))
        for episode, part in frames.groupby("episode_index"):
            part.to_parquet(folder / f"episode_{episode:06d}.parquet")
    else:
        tasks.set_index("task").to_parquet(root / "meta" / "tasks.parquet")
        frames.to_parquet(folder / "file-000.parquet")
    return root


@pytest.mark.parametrize("version", [2, 3])
def test_episode_folder_gives_a_skeleton(tmp_path: Path, version: int) -> None:
    """Both layouts give the same episodes, cameras, times and rows to fill in."""
    folder = read_episode_folder(write_lerobot(tmp_path / "set", version))
    assert folder.cameras == ("front", "wrist")
    assert folder.episodes["task"].tolist() == ["hand over the cup", "pass the lid"]
    events = events_from_subtasks(folder)
    assert events["event"].nunique() == 4
    first = events[events["event"] == "000000_02"].set_index("window")
    assert first["frame"].to_dict() == {"pre_early": 19, "early": 29, "proximal": 39}
    assert first.loc["early", "time"] - first.loc["pre_early", "time"] == pytest.approx(1.0)
    rows = skeleton(folder, events, "mine")
    assert len(rows) == len(events) * 2 * 4
    filled = rows.drop(columns="frame").assign(log_odds_map0=0.0, log_odds_map1=1.0)
    path = tmp_path / "filled.jsonl"
    path.write_text(str(filled.to_json(orient="records", lines=True)))
    assert len(load_recordings(path).outputs) == len(rows)


def test_bad_episode_folders(tmp_path: Path) -> None:
    """A folder without metadata, cameras, frames or subtasks is a user error."""
    with pytest.raises(RecordError, match=r"meta/info\.json is missing"):
        read_episode_folder(tmp_path)
    root = write_lerobot(tmp_path / "set", 2)
    folder = read_episode_folder(root)
    with pytest.raises(RecordError, match="episode 000009"):
        skeleton(folder, pd.DataFrame({"episode": ["000009"]}), "mine")
    (root / "meta" / "tasks.jsonl").write_text('{"task_index": "x", "task": "y"}\n')
    with pytest.raises(RecordError, match=r"tasks\.jsonl, row 1: task_index"):
        read_episode_folder(root)
    (root / "meta" / "info.json").write_text('{"fps": 0}')
    with pytest.raises(RecordError, match="fps"):
        read_episode_folder(root)
    (root / "meta" / "info.json").write_text('{"fps": 10, "features": {}}')
    with pytest.raises(RecordError, match=r"observation\.images"):
        read_episode_folder(root)


def prov_document(path: Path, derived: dict[str, str]) -> Path:
    """Write a PROV-JSON document of derivations."""
    names = {*derived, *derived.values()}
    document = {
        "prefix": {"ex": "http://example.org/"},
        "entity": {f"ex:{name}": {} for name in sorted(names)},
        "wasDerivedFrom": {
            f"_:d{i}": {"prov:generatedEntity": f"ex:{a}", "prov:usedEntity": f"ex:{b}"}
            for i, (a, b) in enumerate(derived.items())
        },
    }
    path.write_text(json.dumps(document))
    return path


def test_families_from_prov(simulated: Recordings, tmp_path: Path) -> None:
    """Checkpoints derived from one base model form a family."""
    pytest.importorskip("prov")
    derived = {"sim_a_small": "base1", "sim_b_small": "base1", "sim_a_large": "base2",
               "sim_b_large": "base2"}  # fmt: skip
    found = apply_prov(simulated, prov_document(tmp_path / "p.json", derived)).families
    assert found["sim_a_small"] == found["sim_b_small"]
    assert found["sim_a_large"] == found["sim_b_large"] != found["sim_a_small"]
    assert found["sim_c_small"] == found["sim_c_large"]


def test_image_parents_from_prov(simulated: Recordings, tmp_path: Path) -> None:
    """Outputs whose images come from one frame count once, whatever their cameras."""
    pytest.importorskip("prov")
    outputs = simulated.camera_outputs
    event = outputs["event"].iloc[0]
    rows = outputs[(outputs["event"] == event) & (outputs["window"] == "early")]
    rows = rows[rows["checkpoint"] == "sim_a_small"].reset_index(drop=True)
    few = Recordings(outputs=rows)
    names = [output_name(row) for row in rows.to_dict("records")]  # type: ignore[arg-type]
    document = prov_document(tmp_path / "p.json", dict.fromkeys(names, "frame"))
    grouped = apply_prov(few, document)
    assert fuse(output_table(rows), Counting.ACQUISITION).counted.tolist() == [5]
    merged = fuse(output_table(grouped.outputs), Counting.ACQUISITION)
    assert merged.counted.tolist() == [1]


def test_bad_prov_documents(simulated: Recordings, tmp_path: Path) -> None:
    """A document that is not PROV, or about something else, is a user error."""
    path = tmp_path / "p.json"
    for text, message in (
        ("{", "not JSON"),
        ("[]", "not a PROV-JSON"),
        ('{"entity": {"ex:x": {}}}', "not a PROV-JSON"),
        ('{"prefix": {"ex": "http://e.org/"}, "entity": {"ex:x": {}}}', "no entity"),
    ):
        path.write_text(text)
        with pytest.raises(RecordError, match=message):
            apply_prov(simulated, path)


def test_skeleton_command(pact: Command, tmp_path: Path) -> None:
    """`pact hrc --skeleton` writes rows that lack only the log odds."""
    root = write_lerobot(tmp_path / "set", 3)
    done = pact("hrc", "--skeleton", str(root), "--output", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out" / "skeleton.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    assert len(lines) == 10 * 2 * 4
    assert first["log_odds_map0"] is None
    assert (first["camera"], first["episode"]) == ("front", "000000")
