"""Authored stages are valid, self-contained and checked for what the asset validator misses."""

from __future__ import annotations

import resource
import signal

import numpy as np
import pytest

pytest.importorskip("pxr")

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from pact_scenes.catalogue import load_catalogue
from pact_scenes.model import build_model
from pact_scenes.rollout import roll_out
from pact_scenes.simulators.kinematic import KinematicSimulator
from pact_scenes.stage import (
    GRASP_PATH,
    ROBOT_PATH,
    StageError,
    author_stage,
    scene_of_stage,
    write_stage,
)
from pact_scenes.stage_recording import write_recording
from pact_scenes.validation import asset_validator_missing, own_issues, validate_file

CATALOGUE = load_catalogue()
needs_validator = pytest.mark.skipif(
    asset_validator_missing() is not None, reason="the asset validator is not installed"
)


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    """All 48 stages as files."""
    folder = tmp_path_factory.mktemp("stages")
    return [write_stage(build_model(s), folder / f"{s.scene_id}.usda") for s in CATALOGUE]


@needs_validator
def test_all_stages_pass_the_asset_validator_and_our_rules(stages):
    """48 stages, no issue."""
    assert [i for path in stages for i in validate_file(path)] == []


def test_stage_is_the_scene(stages):
    """The authored poses are the planned start, and the stage names its scene."""
    for path, spec in list(zip(stages, CATALOGUE, strict=True))[::7]:
        stage = Usd.Stage.Open(str(path))
        assert scene_of_stage(stage) == spec
        model = build_model(spec)
        position, _ = model.planned_poses(0.0)
        cache = UsdGeom.XformCache()
        for index, body in enumerate(model.bodies):
            found = cache.GetLocalToWorldTransform(stage.GetPrimAtPath(body.path))
            assert np.allclose(found.ExtractTranslation(), position[index], atol=1e-9)


def test_stage_has_materials_lights_and_three_cameras(stages):
    """Every shape is bound to a material; there are lights and at least three cameras."""
    stage = Usd.Stage.Open(str(stages[0]))
    kinds = [p.GetTypeName() for p in stage.Traverse()]
    assert kinds.count("Camera") >= 3
    assert "DomeLight" in kinds
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.Gprim):
            assert prim.GetRelationship("material:binding").GetTargets(), prim.GetPath()


def test_authoring_twice_gives_the_same_text():
    """Stages are reproducible byte for byte."""
    model = build_model(CATALOGUE[4])
    one, two = author_stage(model), author_stage(model)
    assert one.GetRootLayer().ExportToString() == two.GetRootLayer().ExportToString()


def _nested(stage: Usd.Stage) -> None:
    prim = UsdGeom.Xform.Define(stage, f"{ROBOT_PATH}/link3/inner").GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(prim)
    UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(1.0)


def _kinematic_root(stage: Usd.Stage) -> None:
    prim = stage.GetPrimAtPath("/World/Human/torso")
    UsdPhysics.ArticulationRootAPI.Apply(prim)


def _no_extent(stage: Usd.Stage) -> None:
    cylinder = UsdGeom.Cylinder.Define(stage, "/World/Surroundings/pipe")
    cylinder.CreateRadiusAttr(0.1)


def _wrong_extent(stage: Usd.Stage) -> None:
    UsdGeom.Capsule(stage.GetPrimAtPath(f"{ROBOT_PATH}/link3/shape_0")).CreateRadiusAttr(0.4)


def _out_of_reach(stage: Usd.Stage) -> None:
    root = stage.GetDefaultPrim()
    data = root.GetCustomDataByKey("pact")
    data["transfer"] = Gf.Vec3d(2.0, 0.0, 1.0)
    root.SetCustomDataByKey("pact", data)


def _narrow_limit(stage: Usd.Stage) -> None:
    joint = UsdPhysics.RevoluteJoint(stage.GetPrimAtPath(f"{ROBOT_PATH}/joints/joint4"))
    joint.CreateUpperLimitAttr(-170.0)


def _moved_link(stage: Usd.Stage) -> None:
    link = stage.GetPrimAtPath(f"{ROBOT_PATH}/link5")
    link.GetAttribute("xformOp:translate").Set(Gf.Vec3d(0.0, 0.0, 3.0))


def _nondeterministic(stage: Usd.Stage) -> None:
    scene = stage.GetPrimAtPath("/World/PhysicsScene")
    scene.GetAttribute("physxScene:enableEnhancedDeterminism").Set(False)


def _massless(stage: Usd.Stage) -> None:
    UsdPhysics.MassAPI(stage.GetPrimAtPath("/World/Object")).GetMassAttr().Set(0.0)


def _centimetres(stage: Usd.Stage) -> None:
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)


def _referenced(stage: Usd.Stage) -> None:
    spec = Sdf.CreatePrimInLayer(stage.GetRootLayer(), "/World/Elsewhere")
    spec.referenceList.Prepend(Sdf.Reference("elsewhere.usda"))


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        (_nested, "nested_rigid_bodies"),
        (_kinematic_root, "articulation_root"),
        (_no_extent, "extents"),
        (_wrong_extent, "extents"),
        (_out_of_reach, "reachability"),
        (_narrow_limit, "reachability"),
        (_moved_link, "start_pose"),
        (_nondeterministic, "determinism"),
        (_massless, "colliders_have_mass"),
        (_centimetres, "units"),
        (_referenced, "self_contained"),
        (lambda s: s.RemovePrim("/World/Cameras/human"), "cameras"),
        (lambda s: s.RemovePrim(f"{ROBOT_PATH}/joints/joint2"), "drives"),
        (lambda s: s.RemovePrim(GRASP_PATH), "drives"),
        (lambda s: s.GetRootLayer().ClearDefaultPrim(), "default_prim"),
    ],
)
def test_broken_stage_is_caught(damage, rule):
    """Every damage is found by the rule that is there for it."""
    stage = author_stage(build_model(CATALOGUE[2]))
    assert own_issues(stage) == []
    damage(stage)
    assert rule in {issue.rule for issue in own_issues(stage)}


@pytest.mark.parametrize("content", [b"", b"#usda 1.0\ndef Xform {{{", b"\x00PXR-USDC garbage"])
def test_damaged_file_is_one_clear_issue(tmp_path, content):
    """A file that is not USD is reported as such, with its name."""
    path = tmp_path / "broken.usda"
    path.write_bytes(content)
    (issue,) = validate_file(path, asset_validator=False)
    assert issue.rule == "readable"
    assert issue.file == str(path)


def test_foreign_stage_is_refused():
    """A stage of somebody else is not taken for a scene."""
    stage = Usd.Stage.CreateInMemory()
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/Thing").GetPrim())
    with pytest.raises(StageError, match="pact scenes author"):
        scene_of_stage(stage)


def test_full_disk_leaves_no_half_stage(tmp_path):
    """A stage that cannot be written whole is not written at all, and the error says so."""
    model = build_model(CATALOGUE[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(StageError, match=r"cannot write .*scene\.usda"):
            write_stage(model, tmp_path / "scene.usda")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert list(tmp_path.iterdir()) == []


def test_recording_plays_over_its_scene(tmp_path):
    """Time samples of a recording move the bodies of the scene that lies below."""
    model = build_model(CATALOGUE[8])
    rollout = roll_out(model, KinematicSimulator(), transfer=False)
    write_stage(model, tmp_path / "scene.usda")
    path = write_recording(model, rollout.states, tmp_path / "play.usda", "./scene.usda")
    stage = Usd.Stage.Open(str(path))
    assert stage.GetPrimAtPath(f"{ROBOT_PATH}/link4/shape_0").IsA(UsdGeom.Capsule)
    body = model.index("object")
    for state in (rollout.states[0], rollout.states[-1]):
        cache = UsdGeom.XformCache(Usd.TimeCode(state.time * stage.GetTimeCodesPerSecond()))
        found = cache.GetLocalToWorldTransform(stage.GetPrimAtPath("/World/Object"))
        assert np.allclose(found.ExtractTranslation(), state.position[body], atol=1e-9)
