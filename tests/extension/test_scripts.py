"""The standalone scripts against the stand-in for Kit, and the panel picture for real."""

from __future__ import annotations

import importlib
import json
import os
import sys

import pytest

from pact_scenes.catalogue import load_catalogue, select_scenes
from pact_scenes.model import build_model
from pact_scenes.rollout import roll_out
from tests.conftest import ROOT
from tests.extension.kit_fake import FakeKit


class Ended(Exception):
    """The process would have ended with this code."""


@pytest.fixture(params=["5.1", "6.0"])
def kit(request, monkeypatch):
    """An application of each version, and scripts that can be imported."""
    kit = FakeKit(request.param)
    kit.install(monkeypatch)
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])

    def end(code):
        raise Ended(code)

    monkeypatch.setattr(os, "_exit", end)
    yield kit
    for name in [n for n in sys.modules if n.startswith(("pact_handover", "isaac_", "_isaac_app"))]:
        del sys.modules[name]


def run(name, *arguments):
    """Run a script to its end and return its exit code."""
    with pytest.raises(Ended) as ended:
        importlib.import_module(name).main(list(arguments))
    return ended.value.args[0]


def test_isaac_run_writes_an_importable_run(kit, tmp_path, capsys):
    """Two scenes through Isaac Sim's calls: rows of the grid, exit code 0, and a resumed run."""
    arguments = (f"--output={tmp_path}", "--scenes=scene_001,2", "--/app/quiet=1")
    assert run("isaac_run", *arguments) == 0
    assert "2 scenes rolled out" in capsys.readouterr().out
    observations = (tmp_path / "observations.jsonl").read_text().splitlines()
    assert len(observations) == 20
    assert json.loads(observations[0])["backend"] == "isaac"
    assert len((tmp_path / "instances.jsonl").read_text().splitlines()) == 2 * 650
    assert kit.closed_with == 0
    assert not kit.playing
    del sys.modules["isaac_run"]
    assert run("isaac_run", *arguments) == 0
    assert "2 there already" in capsys.readouterr().out


def test_isaac_run_survives_a_failing_scene(kit, tmp_path, capsys):
    """A scene whose physics rate is not the authored one fails; the exit code is 1."""
    kit.dt = 1.0 / 60.0
    assert run("isaac_run", f"--output={tmp_path}", "--scenes=scene_001") == 1
    assert "instead of" in (tmp_path / "scenes" / "scene_001.failed.txt").read_text()
    assert "FAILED" in capsys.readouterr().err


def test_isaac_run_refuses_unknown_scenes(kit, tmp_path, capsys):
    """A name that matches nothing is a usage error."""
    assert run("isaac_run", f"--output={tmp_path}", "--scenes=scene_099") == 2
    assert "scene_099" in capsys.readouterr().err


def test_isaac_smoke_reports_every_capability(kit, capsys):
    """One line per capability; with ideal physics all but the time budget must pass."""
    run("isaac_smoke", "--scene=scene_001")
    lines = capsys.readouterr().out.splitlines()
    results = {line[6:].split(":")[0]: line[:4] for line in lines if line[:4] in ("PASS", "FAIL")}
    assert set(results) == {
        "version", "extension", "scene opens", "callback rate", "step cost", "overlay",
        "release on stop", "tensor reads", "determinism", "difference to physx",
    }  # fmt: skip
    failed = {name for name, verdict in results.items() if verdict == "FAIL"}
    assert failed <= {"step cost"}, "\n".join(lines)


def test_isaac_smoke_fails_on_another_engine(kit, capsys):
    """What is wrong is reported, and the exit code is 1."""
    if kit.version == "5.1":
        pytest.skip("5.1 has PhysX only")
    manager = kit.modules["isaacsim.core.simulation_manager"].SimulationManager
    manager.get_active_physics_engine = classmethod(lambda cls: "newton")
    assert run("isaac_smoke") == 1
    assert "FAIL  version: CapabilityError: the engine is newton" in capsys.readouterr().out


@pytest.mark.physx
def test_reference_of_the_smoke_check_is_current():
    """The stored observations are what the `physx` backend observes now."""
    from pact_scenes.simulators import available_backends, open_simulator

    if available_backends()["physx"] is not None:
        pytest.skip(available_backends()["physx"])
    stored = ROOT / "extension" / "pact.handover" / "data" / "reference.jsonl"
    rows = [json.loads(line) for line in stored.read_text().splitlines()]
    scenes = sorted({row["scene_id"] for row in rows})
    assert len(rows) == 10 * len(scenes)
    model = build_model(select_scenes(load_catalogue(), scenes[:1])[0])
    with open_simulator("physx") as simulator:
        now = roll_out(model, simulator, transfer=False).observations
    for row, observation in zip(rows[:10], now, strict=True):
        for name in ("hand_object_distance", "clearance", "closing_speed", "tracking_error"):
            assert row[name] == pytest.approx(getattr(observation, name), abs=1e-4), name


def test_scripts_say_when_isaac_sim_is_missing(tmp_path):
    """Without Isaac Sim the script ends with one helpful sentence."""
    import subprocess

    result = subprocess.run(
        [sys.executable, ROOT / "scripts" / "isaac_run.py", f"--output={tmp_path}"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert "python.sh" in result.stderr
    assert "Traceback" not in result.stderr


def test_panel_picture(tmp_path):
    """The picture of the documents is drawn from a rollout."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        script = importlib.import_module("panel_picture")
        target = tmp_path / "panel.png"
        arguments = ["--backend=kinematic", "--time=0.2", f"--output={target}", "--dpi=60"]
        assert script.main(arguments) == 0
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    assert target.stat().st_size > 10_000
