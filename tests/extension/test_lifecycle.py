"""Life cycle of both extensions against a strict stand-in for Kit, with real stages."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tests.extension.kit_fake import FakeKit, UnknownKitCall

HEADLESS, PANEL = "pact.handover", "pact.handover.ui"
VERSIONS = ("5.1", "6.0")


@pytest.fixture(params=VERSIONS)
def kit(request, monkeypatch, tmp_path):
    """An application of each version, with an empty stage and a folder of its own."""
    kit = FakeKit(request.param)
    kit.install(monkeypatch)
    kit.settings["/exts/pact.handover/folder"] = str(tmp_path)
    kit.settings["/exts/pact.handover.ui/refresh_period"] = 0.0
    kit.new_stage()
    yield kit
    for name in list(kit.enabled)[::-1]:
        kit.disable(name)
    for name in [n for n in sys.modules if n.split(".")[0].startswith("pact_handover")]:
        del sys.modules[name]


def errors_of(kit):
    """Return the error messages in the log."""
    return [text for level, text in kit.log if level == "error"]


def interface():
    """Return the interface of the running extension."""
    return importlib.import_module("pact_handover.api").get_interface()


def playing(kit, *, steps=5, **settings):
    """Enable the headless extension, build a scene, play some steps; return the interface."""
    kit.enable(HEADLESS)
    pact = interface()
    pact.configure(**settings)
    pact.build_scene()
    pact.play()
    kit.frame(steps)
    return pact


def test_start_and_shutdown_leave_nothing(kit):
    """Everything that both extensions take at start is given back at shutdown."""
    assert kit.held() == {}
    kit.enable(HEADLESS)
    kit.enable(PANEL)
    held = kit.held()
    assert held["windows"] == 1
    assert held["commands"] == 4
    assert held["menu items"] == 1
    kit.disable(PANEL)
    kit.disable(HEADLESS)
    assert kit.held() == {}
    assert not errors_of(kit)


def test_shutdown_while_playing_releases_everything(kit):
    """Also in the middle of a run with overlay, banner and a recording."""
    pact = playing(kit, record_on_play=True)
    kit.enable(PANEL)
    kit.frame(3)
    stage = kit.stage
    assert kit.held()["step callbacks"] == 2
    assert kit.held()["viewport frames"] == 1
    assert stage.GetPrimAtPath("/PactOverlay")
    assert pact.recording
    kit.disable(PANEL)
    assert not stage.GetPrimAtPath("/PactOverlay")
    kit.disable(HEADLESS)
    assert kit.held() == {}
    assert list(stage.GetSessionLayer().subLayerPaths) == []
    assert not pact.recording


def test_hot_reload_twice(kit):
    """Shutdown, import again, start: twice, with decisions each time."""
    for _ in range(3):
        pact = playing(kit)
        kit.enable(PANEL)
        kit.frame(2)
        assert len(pact.history) == 7
        kit.disable(PANEL)
        kit.disable(HEADLESS)
        assert kit.held() == {}
        kit.stop_now()


def test_attach_on_play_release_on_stop(kit):
    """Callbacks exist only between play and stop; a pause keeps them and the time."""
    kit.enable(HEADLESS)
    pact = interface()
    pact.build_scene()
    assert "step callbacks" not in kit.held()
    pact.play()
    kit.frame(4)
    pact.pause()
    kit.frame(4)
    assert len(pact.history) == 4
    pact.play()
    kit.frame(2)
    assert len(pact.history) == 6
    assert pact.latest.time == pytest.approx(6 * kit.dt)
    pact.stop()
    assert "step callbacks" not in kit.held()
    kit.frame(4)
    assert len(pact.history) == 6
    pact.play()
    kit.frame(1)
    assert [record.step for record in pact.history] == [0]


def test_stage_change_while_playing(kit):
    """Opening another stage releases the callbacks; an empty stage gives no decisions."""
    pact = playing(kit)
    kit.new_stage()
    assert "step callbacks" not in kit.held()
    assert pact.latest is None
    pact.play()
    kit.frame(3)
    assert pact.latest is None
    pact.stop()
    pact.build_scene("scene_002")
    pact.play()
    kit.frame(3)
    assert pact.latest.scene == "scene_002"


def test_extension_enabled_while_playing_takes_up_the_stage(kit):
    """A PACT stage that plays already is taken up at start."""
    playing(kit)
    kit.enabled.pop(HEADLESS).on_shutdown()
    kit.enable(HEADLESS)
    kit.frame(2)
    assert len(interface().history) == 2


def test_the_user_stage_is_never_edited(kit):
    """Root layers stay as they are, and unsaved work is not replaced without being told."""
    kit.enable(HEADLESS)
    kit.pending_edit = True
    stage = kit.stage
    with pytest.raises(RuntimeError, match="not saved"):
        interface().build_scene()
    assert kit.stage is stage
    path = interface().build_scene(force=True)
    before = path.read_bytes(), kit.stage.GetRootLayer().ExportToString()
    interface().show_overlay(True)
    interface().play()
    for _ in range(10):
        kit.frame(2)
    kit.stop_now()
    assert (path.read_bytes(), kit.stage.GetRootLayer().ExportToString()) == before
    assert stage.GetRootLayer().ExportToString().count("def ") == 0


def test_decisions_match_the_kinematic_backend(kit):
    """Through Isaac Sim's wrappers and float32 the observations are those of the oracle."""
    from pact_scenes.catalogue import load_catalogue
    from pact_scenes.model import build_model
    from pact_scenes.rollout import roll_out
    from pact_scenes.simulators import open_simulator

    kit.settings["/exts/pact.handover/decide_every"] = 1000
    pact = playing(kit, steps=0, scene="scene_009")
    kit.frame(round(4.0 / kit.dt))
    model = build_model(load_catalogue()[8])
    expected = roll_out(model, open_simulator("kinematic"), transfer=False).observations
    own = [record.observation for record in pact.history if record.benchmark]
    assert [row.step for row in own] == list(range(10))
    for row, oracle in zip(own, expected, strict=True):
        for name in ("hand_object_distance", "clearance", "path_clearance", "separation_margin"):
            assert getattr(row, name) == pytest.approx(getattr(oracle, name), abs=5e-3), name
        assert row.closing_speed == pytest.approx(oracle.closing_speed, abs=2e-3)
        assert row.occlusion == pytest.approx(oracle.occlusion, abs=0.1)
        assert row.backend == "isaac"


def test_the_grasp_opens_at_the_end_and_closes_on_replay(kit):
    """The gripper lets go in the session layer, and a replay starts with the object held."""
    from pact_scenes.stage import GRASP_PATH

    pact = playing(kit, steps=0, decide_every=1000)
    for _ in range(40):
        kit.frame(20)
    enabled = kit.stage.GetAttributeAtPath(f"{GRASP_PATH}.physics:jointEnabled")
    assert enabled.Get() is False
    pact.stop()
    pact.play()
    kit.frame(1)
    assert enabled.Get() is not False


def test_events_and_settings(kit):
    """Changes of response are dispatched; settings changed from outside take effect or warn."""
    pact = playing(kit, steps=1)
    names = [name for name, _ in kit.events.sent]
    assert names == ["pact.handover.response_changed"]
    settings = kit.modules["carb.settings"].get_settings()
    settings.set("/exts/pact.handover/condition", "adversarial_consensus_wrong")
    kit.frame(0)
    kit.frame(1)
    assert pact.latest.lead.outcome == "confirm"
    assert kit.events.sent[-1][1]["outcome"] == "confirm"
    settings.set("/exts/pact.handover/condition", "adversarial")
    kit.frame(1)
    assert any("did you mean" in text for level, text in kit.log if level == "warn")
    assert pact.options.condition == "adversarial_consensus_wrong"
    pact.configure(label="U")
    assert kit.settings["/exts/pact.handover/label"] == "U"


def test_commands(kit, tmp_path):
    """The commands do what the interface does, and configuring can be undone."""
    kit.enable(HEADLESS)
    configure = kit.commands["PactConfigure"](values={"label": "H", "threshold": 0.2})
    assert configure.do()["label"] == "H"
    configure.undo()
    assert interface().options.label == "N"
    assert Path(kit.commands["PactBuildScene"](scene="scene_003").do()).stem == "scene_003"
    folder = kit.commands["PactStartRecording"](folder=str(tmp_path / "rec")).do()
    interface().play()
    kit.frame(3)
    assert kit.commands["PactStopRecording"]().do() == folder
    assert len(Path(folder, "decisions.jsonl").read_text().splitlines()) == 24
    assert kit.commands["PactStopRecording"]().do() == ""


def test_panel_drives_the_extension(kit):
    """Pickers, buttons and refresh work together; a refused value is explained in the panel."""
    kit.enable(HEADLESS)
    kit.enable(PANEL)
    pact, ui = interface(), kit.ui
    scene, _condition, label, partition = (box.model for box in ui.of_kind("ComboBox"))
    scene.edit(4)
    label.edit(2)
    assert (pact.options.scene, pact.options.label) == ("scene_005", "H")
    ui.find("Button", "Build scene").click()
    ui.find("Button", "Play").click()
    kit.frame(3)
    kit.frame(1)
    assert any(text.startswith("scene_005") for text in ui.texts())
    partition.edit(3)
    ui.of_kind("StringField")[0].model.edit("vision: camera")
    assert any("no source" in text for text in ui.texts())
    assert pact.options.custom_parents == ""
    ui.of_kind("StringField")[0].model.edit("language: x; geometry: x; risk: y")
    ui.of_kind("FloatSlider")[0].model.edit(0.25)
    for box in ui.of_kind("CheckBox")[1:]:
        box.model.edit(False)
    kit.frame(1)
    assert [rule.rule for rule in pact.latest.rules] == list(pact.options.rules)
    assert pact.latest.threshold == 0.25
    assert [source.component for source in pact.latest.sources] == [0, 0, 1]
    ui.find("Button", "Record").click()
    assert pact.recording
    kit.frame(1)
    ui.find("Button", "Record").click()
    assert not pact.recording
    ui.find("Button", "Export").click()
    assert any(text.startswith("Exported to") for text in ui.texts())
    ui.find("Button", "Pause").click()
    ui.find("Button", "Stop").click()
    assert not kit.playing


def test_menu_hides_and_shows_the_panel(kit):
    """The entry in the Window menu toggles the panel."""
    kit.enable(HEADLESS)
    kit.enable(PANEL)
    (item,), (window,) = kit.menu_items, kit.ui.windows
    item.click()
    assert not window.visible
    item.click()
    assert window.visible
    kit.ui.shown_by_layouts["PACT Handover"](False)
    assert not window.visible


def test_pickers_follow_settings_changed_elsewhere(kit):
    """A setting changed by a command or a script shows in the panel's pickers."""
    kit.enable(HEADLESS)
    kit.enable(PANEL)
    before = len(kit.ui.of_kind("ComboBox"))
    interface().configure(label="T")
    kit.frame(0)
    label = kit.ui.of_kind("ComboBox")[before:][2]
    assert label.args[1:][label.model.as_int] == "T"
    label.model.edit(0)
    kit.frame(0)
    assert interface().options.label == "N"
    assert len(kit.ui.of_kind("ComboBox")) == 2 * before


def test_banner_without_panel(kit):
    """With the panel closed from the start the banner in the viewport is kept up to date."""
    kit.settings["/exts/pact.handover.ui/open_on_startup"] = False
    playing(kit, condition="adversarial_consensus_wrong")
    kit.enable(PANEL)
    kit.frame(1)
    assert not kit.ui.windows
    assert any(text.startswith("CONFIRM") for text in kit.ui.texts())


def test_panel_widgets_are_not_rebuilt_at_the_physics_rate(kit):
    """Within one refresh period nothing is rebuilt, however many steps are taken."""
    kit.settings["/exts/pact.handover.ui/refresh_period"] = 1e9
    playing(kit)
    kit.enable(PANEL)
    kit.frame(1)
    kit.frame(1)
    before = kit.ui.rebuilds, len(kit.ui.widgets)
    for _ in range(20):
        kit.frame(5)
    assert (kit.ui.rebuilds, len(kit.ui.widgets)) == before


def test_failure_in_a_step_is_reported_once(kit):
    """An exception in the step callback is logged and stops deciding, not the simulation."""
    pact = playing(kit)
    kit.physics.invalidated = True
    for _ in range(3):
        kit.frame(2)
    assert len(errors_of(kit)) == 1
    assert "Stopped deciding: RuntimeError: the simulation view" in errors_of(kit)[0]
    assert len(pact.history) == 5


@pytest.mark.parametrize("version", ["4.5", "7.0"])
def test_unsupported_versions_are_refused(monkeypatch, version):
    """Another version starts nothing and says what to do; the panel stays closed."""
    kit = FakeKit(version)
    kit.install(monkeypatch)
    kit.enable(HEADLESS)
    kit.enable(PANEL)
    assert kit.held() == {}
    level, text = kit.log[0]
    assert level == "error"
    assert version in text
    assert "pact run" in text
    kit.disable(PANEL)
    kit.disable(HEADLESS)


def test_application_without_menus_and_viewport(monkeypatch, tmp_path):
    """A minimal application loads both extensions all the same."""
    kit = FakeKit("6.0", menus=False, viewport=False)
    kit.install(monkeypatch)
    kit.settings["/exts/pact.handover/folder"] = str(tmp_path)
    kit.new_stage()
    playing(kit)
    kit.enable(PANEL)
    kit.frame(2)
    assert "menu items" not in kit.held()
    kit.disable(PANEL)
    kit.disable(HEADLESS)
    assert kit.held() == {}


def test_the_stand_in_is_strict(kit):
    """Unknown names, keywords and attributes raise."""
    import omni.timeline
    import omni.ui as ui

    with pytest.raises(UnknownKitCall):
        omni.timeline.GLOBAL_EVENT_PLAY  # noqa: B018
    with pytest.raises(UnknownKitCall):
        ui.Label("x", colour=1)
    with pytest.raises(UnknownKitCall):
        ui.Rectangle().height = 3
