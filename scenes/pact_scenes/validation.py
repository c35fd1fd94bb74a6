"""Check authored stages: the Omniverse asset validator and the rules that it lacks."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Plug, Tf, Usd, UsdGeom, UsdPhysics

from pact_scenes.arm import ARM_JOINTS, ARM_LINKS, arm_frames
from pact_scenes.installation import install_command
from pact_scenes.stage import CAMERA_PATH, GRASP_PATH, ROBOT_PATH

Array = NDArray[np.float64]

__all__ = ["Issue", "asset_validator_missing", "own_issues", "validate_file"]

_TOLERANCE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong with a stage."""

    file: str
    rule: str
    path: str
    message: str

    def as_dict(self) -> dict[str, Any]:
        """Field names and values."""
        return asdict(self)


Finding = tuple[str, str]
Rule = Callable[[Usd.Stage], Iterator[Finding]]


def asset_validator_missing() -> str | None:
    """None, or what is missing for the Omniverse asset validator and how to install it."""
    if importlib.util.find_spec("omni") is not None:
        try:
            metadata.distribution("omniverse-asset-validator")
        except metadata.PackageNotFoundError:
            pass
        else:
            return None
    return f"omniverse-asset-validator not installed; run: {install_command('validate')}"


def validate_file(path: Path | str, *, asset_validator: bool = True) -> list[Issue]:
    """All issues of a stage file; an unreadable file is one issue.

    Args:
        path: The stage.
        asset_validator: Run the Omniverse asset validator too; it must be installed.
    """
    name = str(path)
    try:
        stage = Usd.Stage.Open(name)
    except Tf.ErrorException:
        missing = (
            "there is no such file" if not Path(path).is_file() else "not a USD file, or damaged"
        )
        return [Issue(name, "readable", "", missing)]
    issues = own_issues(stage, name)
    if asset_validator:
        issues += _asset_validator_issues(stage, name)
    return issues


def own_issues(stage: Usd.Stage, name: str = "") -> list[Issue]:
    """Issues by our own rules."""
    found = []
    for rule in _RULES:
        title = rule.__name__.lstrip("_")
        found += [Issue(name, title, path, message) for path, message in rule(stage)]
    return found


@cache
def _engine() -> Any:
    """The asset validator with its default rules; the PhysX schemas are registered first."""
    logging.getLogger("omni.asset_validator").setLevel(logging.WARNING)
    package = metadata.distribution("physx-usd-schemas")
    folders = ("PhysxSchema", "OmniUsdPhysicsDeformableSchema")
    roots = [str(package.locate_file(f"physx_usd_schemas/{s}/resources")) for s in folders]
    Plug.Registry().RegisterPlugins(roots)
    from omni.asset_validator import ValidationEngine

    return ValidationEngine()


def _asset_validator_issues(stage: Usd.Stage, name: str) -> list[Issue]:
    found = []
    for issue in _engine().validate(stage).issues():
        rule = getattr(issue.rule, "__name__", "asset_validator")
        found.append(Issue(name, rule, str(issue.at or ""), str(issue.message)))
    return found


def _units(stage: Usd.Stage) -> Iterator[Finding]:
    if UsdGeom.GetStageUpAxis(stage) != UsdGeom.Tokens.z:
        yield "/", "the up axis is not Z"
    if UsdGeom.GetStageMetersPerUnit(stage) != 1.0:
        yield "/", "lengths are not in metres"
    if UsdPhysics.GetStageKilogramsPerUnit(stage) != 1.0:
        yield "/", "masses are not in kilograms"


def _default_prim(stage: Usd.Stage) -> Iterator[Finding]:
    if not stage.GetDefaultPrim():
        yield "/", "there is no default prim"


def _self_contained(stage: Usd.Stage) -> Iterator[Finding]:
    root = stage.GetRootLayer()
    for path in root.GetCompositionAssetDependencies():
        yield "/", f"the stage needs another file: {path}"


def _nested_rigid_bodies(stage: Usd.Stage) -> Iterator[Finding]:
    for prim in stage.Traverse():
        if not prim.HasAPI(UsdPhysics.RigidBodyAPI):
            continue
        parent = prim.GetParent()
        while parent and not parent.IsPseudoRoot():
            if parent.HasAPI(UsdPhysics.RigidBodyAPI):
                yield str(prim.GetPath()), f"rigid body inside rigid body {parent.GetPath()}"
                break
            parent = parent.GetParent()


def _articulation_root(stage: Usd.Stage) -> Iterator[Finding]:
    roots = [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.ArticulationRootAPI)]
    if len(roots) != 1:
        yield "/", f"{len(roots)} articulation roots, not one"
    for prim in roots:
        body = UsdPhysics.RigidBodyAPI(prim)
        if prim.HasAPI(UsdPhysics.RigidBodyAPI) and body.GetKinematicEnabledAttr().Get():
            yield str(prim.GetPath()), "articulation root on a kinematic body"


def _extents(stage: Usd.Stage) -> Iterator[Finding]:
    for prim in stage.Traverse():
        shape = UsdGeom.Boundable(prim)
        if not prim.IsA(UsdGeom.Gprim):
            continue
        extent = shape.GetExtentAttr()
        if not extent.HasAuthoredValue():
            yield str(prim.GetPath()), "no extent"
            continue
        computed = UsdGeom.Boundable.ComputeExtentFromPlugins(shape, Usd.TimeCode.Default())
        stored = np.array(extent.Get(), dtype=np.float64)
        if not np.allclose(stored, np.array(computed, dtype=np.float64), atol=1e-5):
            yield str(prim.GetPath()), "the extent does not fit the shape"


def _colliders_have_mass(stage: Usd.Stage) -> Iterator[Finding]:
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            mass = UsdPhysics.MassAPI(prim).GetMassAttr().Get()
            if not mass or mass <= 0.0:
                yield str(prim.GetPath()), "rigid body without a mass"


def _determinism(stage: Usd.Stage) -> Iterator[Finding]:
    scenes = [p for p in stage.Traverse() if p.IsA(UsdPhysics.Scene)]
    if len(scenes) != 1:
        yield "/", f"{len(scenes)} physics scenes, not one"
    for prim in scenes:
        flag = prim.GetAttribute("physxScene:enableEnhancedDeterminism")
        if not flag or not flag.Get():
            yield str(prim.GetPath()), "enhanced determinism is off"


def _cameras(stage: Usd.Stage) -> Iterator[Finding]:
    count = sum(1 for p in stage.Traverse() if p.IsA(UsdGeom.Camera))
    if count < 3:
        yield CAMERA_PATH, f"{count} cameras, at least three are needed"


def _drives(stage: Usd.Stage) -> Iterator[Finding]:
    for name in ARM_JOINTS:
        prim = stage.GetPrimAtPath(f"{ROBOT_PATH}/joints/{name}")
        if not prim:
            yield f"{ROBOT_PATH}/joints/{name}", "the joint is missing"
        elif not prim.HasAPI(UsdPhysics.DriveAPI, "angular"):
            yield str(prim.GetPath()), "the joint has no drive"
    if not stage.GetPrimAtPath(GRASP_PATH):
        yield GRASP_PATH, "the grasp joint is missing"


def _plan(stage: Usd.Stage) -> dict[str, Any] | None:
    root = stage.GetDefaultPrim()
    data = root.GetCustomDataByKey("pact") if root else None
    return data if isinstance(data, dict) else None


def _start_pose(stage: Usd.Stage) -> Iterator[Finding]:
    """Links stand where the joint angles of the start put them."""
    data = _plan(stage)
    if data is None:
        yield "/", "the stage holds no plan; it was not written by `pact scenes author`"
        return
    frames = arm_frames(np.array(data["joints_start"]))
    cache_ = UsdGeom.XformCache()
    base = stage.GetPrimAtPath(f"{ROBOT_PATH}/link0")
    if not base:
        yield f"{ROBOT_PATH}/link0", "the arm has no base"
        return
    origin = np.array(cache_.GetLocalToWorldTransform(base).ExtractTranslation())
    for index, name in enumerate(ARM_LINKS[:9]):
        prim = stage.GetPrimAtPath(f"{ROBOT_PATH}/{name}")
        if not prim:
            yield f"{ROBOT_PATH}/{name}", "the link is missing"
            continue
        place = np.array(cache_.GetLocalToWorldTransform(prim).ExtractTranslation())
        error = float(np.linalg.norm(place - origin - frames[index, :3, 3]))
        if error > _TOLERANCE:
            yield str(prim.GetPath()), f"{error:.4f} m from where its joints put it"


def _reachability(stage: Usd.Stage) -> Iterator[Finding]:
    """The stored approach keeps the joint limits and brings the object to the transfer."""
    data = _plan(stage)
    if data is None:
        return
    start, goal, bend = (np.array(data[f"joints_{k}"]) for k in ("start", "goal", "bend"))
    path = _approach(start, goal, bend)
    for number, name in enumerate(ARM_JOINTS):
        joint = UsdPhysics.RevoluteJoint(stage.GetPrimAtPath(f"{ROBOT_PATH}/joints/{name}"))
        if not joint:
            continue
        low, high = joint.GetLowerLimitAttr().Get(), joint.GetUpperLimitAttr().Get()
        angle = np.rad2deg(path[:, number])
        if angle.min() < low - 1e-6 or angle.max() > high + 1e-6:
            yield str(joint.GetPath()), "the approach leaves the joint's limits"
    grasp = UsdPhysics.FixedJoint(stage.GetPrimAtPath(GRASP_PATH))
    base = stage.GetPrimAtPath(f"{ROBOT_PATH}/link0")
    if not grasp or not base:
        return
    origin = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(base).ExtractTranslation())
    hand = arm_frames(goal)[ARM_LINKS.index("hand")]
    offset = np.array(grasp.GetLocalPos0Attr().Get() or Gf.Vec3f(0.0))
    reached = origin + hand[:3, 3] + hand[:3, :3] @ offset
    error = float(np.linalg.norm(reached - np.array(data["transfer"])))
    if error > _TOLERANCE:
        yield ROBOT_PATH, f"the transfer pose is missed by {error:.4f} m"


def _approach(start: Array, goal: Array, bend: Array) -> Array:
    """Joint angles along the stored approach, shape [n, 7]."""
    phase = np.linspace(0.0, 1.0, 101)[:, None]
    progress = phase**3 * (10.0 - 15.0 * phase + 6.0 * phase**2)
    return np.asarray(
        start + progress * (goal - start) + 64.0 * (phase * (1.0 - phase)) ** 3 * bend
    )


_RULES: Final[tuple[Rule, ...]] = (
    _units,
    _default_prim,
    _self_contained,
    _nested_rigid_bodies,
    _articulation_root,
    _extents,
    _colliders_have_mass,
    _determinism,
    _cameras,
    _drives,
    _start_pose,
    _reachability,
)
