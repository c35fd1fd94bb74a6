"""Author a scene as a self-contained USD stage: metres, kilograms, Z up, PhysX schemas.

Needs `pxr` and NumPy. PhysX schemas are applied by name, so they need not be registered.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Kind, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade, Vt

from pact_scenes.catalogue import SceneSpec, load_catalogue
from pact_scenes.model import Body, Group, Primitive, SceneModel
from pact_scenes.stage_physics import add_joints, apply_body, physics_scene
from pact_scenes.stage_prims import ROOT, StageError, look_of, place, quaternion, save_layer
from pact_scenes.transforms import matrix_from_z, rotation_z, unit

Array = NDArray[np.float64]

__all__ = [
    "CAMERA_PATH",
    "GRASP_PATH",
    "HUMAN_PATH",
    "RECEIVE_PATH",
    "ROBOT_PATH",
    "StageError",
    "author_stage",
    "scene_of_stage",
    "write_stage",
]

ROBOT_PATH: Final = "/World/Robot"
HUMAN_PATH: Final = "/World/Human"
CAMERA_PATH: Final = "/World/Cameras"
GRASP_PATH: Final = "/World/Joints/grasp"
RECEIVE_PATH: Final = "/World/Joints/receive"

_LOOKS: Final[dict[str, tuple[float, float, float]]] = {
    "robot": (0.92, 0.92, 0.94),
    "gripper": (0.28, 0.31, 0.36),
    "object": (0.90, 0.45, 0.10),
    "skin": (0.87, 0.68, 0.55),
    "clothes": (0.20, 0.42, 0.62),
    "trousers": (0.25, 0.27, 0.33),
    "table": (0.72, 0.58, 0.42),
    "pedestal": (0.55, 0.57, 0.60),
    "stool": (0.50, 0.42, 0.36),
    "obstacle": (0.75, 0.25, 0.30),
    "screen": (0.45, 0.60, 0.55),
    "ground": (0.75, 0.76, 0.78),
}


def write_stage(model: SceneModel, path: Path | str, physics_rate: int = 120) -> Path:
    """Write a scene to a USD file, by way of a temporary file in the same folder.

    Args:
        model: The scene.
        path: Where to; the suffix .usda or .usd decides the form.
        physics_rate: Physics steps per second, stored in the stage.

    Raises:
        StageError: The file cannot be written; nothing is left behind.
    """
    stage = author_stage(model, physics_rate)
    return save_layer(stage.GetRootLayer(), Path(path))


def author_stage(model: SceneModel, physics_rate: int = 120) -> Usd.Stage:
    """Build a scene in memory; bodies stand at their start poses."""
    stage = Usd.Stage.CreateInMemory(f"{model.spec.scene_id}.usda")
    _header(stage, model)
    physics_scene(stage, physics_rate)
    _looks(stage)
    _ground(stage)
    position, rotation = model.planned_poses(0.0)
    robot = UsdGeom.Xform.Define(stage, ROBOT_PATH).GetPrim()
    human = UsdGeom.Xform.Define(stage, HUMAN_PATH).GetPrim()
    for prim in (robot, human):
        Usd.ModelAPI(prim).SetKind(Kind.Tokens.component)
    for index, body in enumerate(model.bodies):
        prim = _body(stage, body, position[index], rotation[index])
        apply_body(prim, body, model.spec)
        if body.group is Group.OBJECT:
            Usd.ModelAPI(prim).SetKind(Kind.Tokens.component)
    _surroundings(stage, model)
    add_joints(stage, model, robot)
    _cameras(stage, model)
    _lights(stage, model)
    return stage


def scene_of_stage(stage: Usd.Stage, catalogue: tuple[SceneSpec, ...] | None = None) -> SceneSpec:
    """The specification that a stage was authored from.

    Raises:
        StageError: The stage was not authored from this catalogue.
    """
    root = stage.GetDefaultPrim()
    data: dict[str, Any] = root.GetCustomDataByKey("pact") if root else None  # type: ignore[assignment]
    name = (data or {}).get("scene_id")
    for spec in catalogue if catalogue is not None else load_catalogue():
        if spec.scene_id == name:
            return spec
    where = stage.GetRootLayer().identifier
    raise StageError(
        f"{where} is not a scene of the catalogue; write one with `pact scenes author`"
    )


def _header(stage: Usd.Stage, model: SceneModel) -> None:
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(60)
    stage.SetFramesPerSecond(60)
    world = UsdGeom.Xform.Define(stage, ROOT).GetPrim()
    Usd.ModelAPI(world).SetKind(Kind.Tokens.assembly)
    stage.SetDefaultPrim(world)
    spec, plan = model.spec, model.plan
    world.SetCustomDataByKey(
        "pact",
        {
            "scene_id": spec.scene_id,
            "geometry": spec.geometry.value,
            "receiving_hand": spec.receiving_hand,
            "joints_start": Vt.DoubleArray(list(plan.joints_start)),
            "joints_goal": Vt.DoubleArray(list(plan.joints_goal)),
            "joints_bend": Vt.DoubleArray(list(plan.joints_bend)),
            "approach_time": plan.approach_time,
            "transfer": Gf.Vec3d(*plan.transfer),
        },
    )
    kind = f"{spec.geometry.value}, {spec.posture}"
    text = f"PACT handover {spec.scene_id}: {kind}. Human motion is authored."
    stage.GetRootLayer().documentation = text


def _looks(stage: Usd.Stage) -> None:
    UsdGeom.Scope.Define(stage, f"{ROOT}/Looks")
    for name, colour in _LOOKS.items():
        material = UsdShade.Material.Define(stage, f"{ROOT}/Looks/{name}")
        shader = UsdShade.Shader.Define(stage, f"{ROOT}/Looks/{name}/surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(*colour))
        shader.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(0.55)
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        physics = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
        physics.CreateStaticFrictionAttr(0.8)
        physics.CreateDynamicFrictionAttr(0.7)
        physics.CreateRestitutionAttr(0.0)


def _bind(stage: Usd.Stage, prim: Usd.Prim, look: str) -> None:
    material = UsdShade.Material.Get(stage, f"{ROOT}/Looks/{look}")
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(material)
    UsdGeom.Gprim(prim).CreateDisplayColorAttr(Vt.Vec3fArray([Gf.Vec3f(*_LOOKS[look])]))


def _ground(stage: Usd.Stage) -> None:
    shape = Primitive((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, (3.0, 3.0, 0.05))
    prim = _shape(stage, f"{ROOT}/Ground", shape)
    place(prim, np.array([0.0, 0.0, -0.05]), np.eye(3), scale=np.array([3.0, 3.0, 0.05]))
    UsdPhysics.CollisionAPI.Apply(prim)
    _bind(stage, prim, "ground")


def _body(stage: Usd.Stage, body: Body, position: Array, rotation: Array) -> Usd.Prim:
    prim = UsdGeom.Xform.Define(stage, body.path).GetPrim()
    place(prim, position, rotation)
    for number, shape in enumerate(body.primitives):
        child = _shape(stage, f"{body.path}/shape_{number}", shape)
        centre, turn, scale = _shape_pose(shape)
        place(child, centre, turn, scale=scale)
        UsdPhysics.CollisionAPI.Apply(child)
        _bind(stage, child, look_of(body))
    for number, shape in enumerate(body.visuals):
        child = _shape(stage, f"{body.path}/visual_{number}", shape)
        centre, turn, scale = _shape_pose(shape)
        place(child, centre, turn, scale=scale)
        _bind(stage, child, look_of(body))
    return prim


def _shape(stage: Usd.Stage, path: str, shape: Primitive) -> Usd.Prim:
    """Define the gprim of a primitive with its extent; boxes are unit cubes to be scaled."""
    if shape.half is not None:
        cube = UsdGeom.Cube.Define(stage, path)
        cube.CreateSizeAttr(2.0)
        cube.CreateExtentAttr(Vt.Vec3fArray([Gf.Vec3f(-1.0), Gf.Vec3f(1.0)]))
        return cube.GetPrim()
    length = float(np.linalg.norm(np.array(shape.end) - np.array(shape.start)))
    if length < 1e-9:
        sphere = UsdGeom.Sphere.Define(stage, path)
        sphere.CreateRadiusAttr(shape.radius)
        reach = Gf.Vec3f(shape.radius)
        sphere.CreateExtentAttr(Vt.Vec3fArray([-reach, reach]))
        return sphere.GetPrim()
    capsule = UsdGeom.Capsule.Define(stage, path)
    capsule.CreateAxisAttr(UsdGeom.Tokens.z)
    capsule.CreateHeightAttr(length)
    capsule.CreateRadiusAttr(shape.radius)
    reach = Gf.Vec3f(shape.radius, shape.radius, length / 2.0 + shape.radius)
    capsule.CreateExtentAttr(Vt.Vec3fArray([-reach, reach]))
    return capsule.GetPrim()


def _shape_pose(shape: Primitive) -> tuple[Array, Array, Array | None]:
    """Centre, rotation and scale of a primitive in its body."""
    start, end = np.array(shape.start), np.array(shape.end)
    if shape.half is not None:
        return start, np.eye(3), np.array(shape.half)
    if np.allclose(start, end):
        return start, np.eye(3), None
    return (start + end) / 2.0, matrix_from_z(end - start, np.array([1.0, 0.0, 0.0])), None


def _surroundings(stage: Usd.Stage, model: SceneModel) -> None:
    top = UsdGeom.Xform.Define(stage, f"{ROOT}/Surroundings").GetPrim()
    Usd.ModelAPI(top).SetKind(Kind.Tokens.component)
    for body, box in zip(model.statics, model.plan.boxes, strict=True):
        prim = _shape(stage, body.path, body.primitives[0])
        place(prim, np.array(box.centre), rotation_z(box.yaw), scale=np.array(box.half))
        UsdPhysics.CollisionAPI.Apply(prim)
        _bind(stage, prim, next(name for name in _LOOKS if box.name.startswith(name)))


def _cameras(stage: Usd.Stage, model: SceneModel) -> None:
    UsdGeom.Scope.Define(stage, CAMERA_PATH)
    for camera in model.plan.cameras:
        prim = UsdGeom.Camera.Define(stage, f"{CAMERA_PATH}/{camera.name}")
        prim.CreateFocalLengthAttr(18.0)
        prim.CreateHorizontalApertureAttr(20.955)
        prim.CreateVerticalApertureAttr(15.716)
        prim.CreateClippingRangeAttr(Gf.Vec2f(0.05, 20.0))
        eye, target = np.array(camera.eye), np.array(camera.target)
        backward = unit(eye - target)
        right = np.cross(np.array([0.0, 0.0, 1.0]), backward)
        place(prim.GetPrim(), eye, matrix_from_z(backward, right))


def _lights(stage: Usd.Stage, model: SceneModel) -> None:
    UsdGeom.Scope.Define(stage, f"{ROOT}/Lights")
    dome = UsdLux.DomeLight.Define(stage, f"{ROOT}/Lights/dome")
    dome.CreateIntensityAttr(400.0)
    key = UsdLux.DistantLight.Define(stage, f"{ROOT}/Lights/key")
    key.CreateIntensityAttr(2000.0 * model.spec.light)
    key.CreateAngleAttr(1.0)
    xform = UsdGeom.Xformable(key)
    turn = matrix_from_z(unit(np.array([0.35, -0.45, 0.82])), np.array([1.0, 0.0, 0.0]))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(quaternion(turn))
