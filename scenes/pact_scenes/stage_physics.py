"""Physics of a stage: scene, bodies, the articulation with its drives, grasp and receipt."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from pact_scenes.arm import (
    ARM_JOINTS,
    FINGER_BASE,
    FINGER_JOINTS,
    FINGER_TRAVEL,
    GRIPPER_BODIES,
    HAND_OFFSET,
    JOINT_FRAMES,
    JOINT_LOWER,
    JOINT_UPPER,
    JOINT_VELOCITY,
)
from pact_scenes.catalogue import SceneSpec
from pact_scenes.model import OBJECT_PATH, Body, Group, SceneModel
from pact_scenes.stage_prims import ROOT, quaternion_float
from pact_scenes.transforms import rotation_x, rotation_z

Array = NDArray[np.float64]

__all__ = ["ARM_DAMPING", "ARM_STIFFNESS", "add_joints", "apply_body", "physics_scene"]

ARM_STIFFNESS: Final = 100.0
"""Stiffness of the arm's drives [N m/deg]."""
ARM_DAMPING: Final = 2.5
"""Damping of the arm's drives [N m s/deg]."""
_FINGER_STIFFNESS: Final = 5000.0
_FINGER_DAMPING: Final = 200.0
_LINK_MASS: Final[dict[str, float]] = {
    "link0": 2.8,
    "link1": 2.7,
    "link2": 2.7,
    "link3": 2.4,
    "link4": 2.4,
    "link5": 2.6,
    "link6": 1.5,
    "link7": 0.7,
    "hand": 0.7,
    "finger_left": 0.05,
    "finger_right": 0.05,
}
_HUMAN_MASS: Final[dict[str, float]] = {
    "torso": 28.0,
    "head": 5.0,
    "pelvis": 10.0,
    "thigh": 8.0,
    "shin": 4.0,
    "upper_arm": 2.1,
    "forearm": 1.3,
    "hand": 0.5,
}
_TYPES: Final = {
    bool: Sdf.ValueTypeNames.Bool,
    int: Sdf.ValueTypeNames.UInt,
    float: Sdf.ValueTypeNames.Float,
    str: Sdf.ValueTypeNames.Token,
}


def _apply(prim: Usd.Prim, schema: str, **attributes: Any) -> None:
    """Apply a codeless schema by name and set attributes, `__` standing for a colon."""
    prim.AddAppliedSchema(schema)
    for name, value in attributes.items():
        kind = _TYPES[type(value)]
        prim.CreateAttribute(name.replace("__", ":"), kind, custom=False).Set(value)


def physics_scene(stage: Usd.Stage, rate: int) -> None:
    """Gravity, step rate and reproducible solving."""
    scene = UsdPhysics.Scene.Define(stage, f"{ROOT}/PhysicsScene")
    scene.CreateGravityDirectionAttr(Gf.Vec3f(0.0, 0.0, -1.0))
    scene.CreateGravityMagnitudeAttr(9.81)
    _apply(
        scene.GetPrim(),
        "PhysxSceneAPI",
        physxScene__enableEnhancedDeterminism=True,
        physxScene__enableGPUDynamics=False,
        physxScene__broadphaseType="MBP",
        physxScene__solverType="TGS",
        physxScene__timeStepsPerSecond=rate,
    )


def apply_body(prim: Usd.Prim, body: Body, spec: SceneSpec) -> None:
    """Make a body rigid; the human is kinematic, the arm compensates its own weight."""
    rigid = UsdPhysics.RigidBodyAPI.Apply(prim)
    mass = UsdPhysics.MassAPI.Apply(prim)
    _apply(prim, "PhysxContactReportAPI", physxContactReport__threshold=0.0)
    if body.group is Group.HUMAN:
        rigid.CreateKinematicEnabledAttr(True)
        kind = body.name if body.name in _HUMAN_MASS else body.name.rsplit("_", 1)[0]
        mass.CreateMassAttr(_HUMAN_MASS[kind])
        return
    robot = body.group is Group.ROBOT
    mass.CreateMassAttr(_LINK_MASS[body.name] if robot else spec.object_mass)
    _apply(
        prim,
        "PhysxRigidBodyAPI",
        physxRigidBody__disableGravity=robot,
        physxRigidBody__sleepThreshold=0.0,
        physxRigidBody__solverPositionIterationCount=16,
        physxRigidBody__solverVelocityIterationCount=2,
    )


def add_joints(stage: Usd.Stage, model: SceneModel, robot: Usd.Prim) -> None:
    """The articulated arm, the grasp of the gripper and, disabled, the grip of the hand."""
    UsdPhysics.ArticulationRootAPI.Apply(robot)
    _apply(
        robot,
        "PhysxArticulationAPI",
        physxArticulation__enabledSelfCollisions=False,
        physxArticulation__sleepThreshold=0.0,
        physxArticulation__solverPositionIterationCount=16,
        physxArticulation__solverVelocityIterationCount=2,
    )
    path = str(robot.GetPath())
    UsdGeom.Scope.Define(stage, f"{path}/joints")
    root = UsdPhysics.FixedJoint.Define(stage, f"{path}/joints/root")
    _frames(root, None, f"{path}/link0", model.base, np.eye(3), np.zeros(3), np.eye(3))
    for number, name in enumerate(ARM_JOINTS):
        _arm_joint(stage, path, number, name, float(model.plan.joints_start[number]))
    flange = UsdPhysics.FixedJoint.Define(stage, f"{path}/joints/flange")
    offset, turn = np.array([0.0, 0.0, HAND_OFFSET]), rotation_z(-np.pi / 4)
    _frames(flange, f"{path}/link7", f"{path}/hand", offset, turn, np.zeros(3), np.eye(3))
    for name, finger, angle in zip(
        FINGER_JOINTS, ("finger_left", "finger_right"), (0.0, np.pi), strict=True
    ):
        _finger_joint(stage, path, name, finger, rotation_z(angle), model.plan.finger)
    _grasp(stage, model, path)


def _frames(
    joint: UsdPhysics.Joint,
    parent: str | None,
    child: str,
    position: Array,
    rotation: Array,
    child_position: Array,
    child_rotation: Array,
) -> None:
    """Bodies of a joint and its frame in each."""
    if parent is not None:
        joint.CreateBody0Rel().SetTargets([Sdf.Path(parent)])
    joint.CreateBody1Rel().SetTargets([Sdf.Path(child)])
    joint.CreateLocalPos0Attr(Gf.Vec3f(*map(float, position)))
    joint.CreateLocalRot0Attr(quaternion_float(rotation))
    joint.CreateLocalPos1Attr(Gf.Vec3f(*map(float, child_position)))
    joint.CreateLocalRot1Attr(quaternion_float(child_rotation))


def _arm_joint(stage: Usd.Stage, path: str, number: int, name: str, start: float) -> None:
    a, d, alpha = (float(v) for v in JOINT_FRAMES[number])
    joint = UsdPhysics.RevoluteJoint.Define(stage, f"{path}/joints/{name}")
    place = np.array([a, -d * np.sin(alpha), d * np.cos(alpha)])
    parent, child = f"{path}/link{number}", f"{path}/link{number + 1}"
    _frames(joint, parent, child, place, rotation_x(alpha), np.zeros(3), np.eye(3))
    joint.CreateAxisAttr("Z")
    joint.CreateLowerLimitAttr(float(np.rad2deg(JOINT_LOWER[number])))
    joint.CreateUpperLimitAttr(float(np.rad2deg(JOINT_UPPER[number])))
    drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular")
    drive.CreateTypeAttr("force")
    drive.CreateStiffnessAttr(ARM_STIFFNESS)
    drive.CreateDampingAttr(ARM_DAMPING)
    drive.CreateTargetPositionAttr(float(np.rad2deg(start)))
    _joint_state(joint.GetPrim(), "angular", float(np.rad2deg(start)))
    speed = float(np.rad2deg(JOINT_VELOCITY[number]))
    _apply(joint.GetPrim(), "PhysxJointAPI", physxJoint__maxJointVelocity=speed)


def _finger_joint(
    stage: Usd.Stage, path: str, name: str, finger: str, turn: Array, opening: float
) -> None:
    joint = UsdPhysics.PrismaticJoint.Define(stage, f"{path}/joints/{name}")
    place = np.array([0.0, 0.0, FINGER_BASE])
    _frames(joint, f"{path}/hand", f"{path}/{finger}", place, turn, np.zeros(3), turn)
    joint.CreateAxisAttr("Y")
    joint.CreateLowerLimitAttr(0.0)
    joint.CreateUpperLimitAttr(FINGER_TRAVEL)
    drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "linear")
    drive.CreateTypeAttr("force")
    drive.CreateStiffnessAttr(_FINGER_STIFFNESS)
    drive.CreateDampingAttr(_FINGER_DAMPING)
    drive.CreateTargetPositionAttr(opening)
    _joint_state(joint.GetPrim(), "linear", opening)


def _joint_state(prim: Usd.Prim, kind: str, value: float) -> None:
    prim.AddAppliedSchema(f"PhysicsJointStateAPI:{kind}")
    for name, number in (("position", value), ("velocity", 0.0)):
        attribute = prim.CreateAttribute(
            f"state:{kind}:physics:{name}", Sdf.ValueTypeNames.Float, custom=False
        )
        attribute.Set(number)


def _grasp(stage: Usd.Stage, model: SceneModel, path: str) -> None:
    """Fixed joints of the object: to the gripper and, disabled, to the receiving hand.

    The frame of the second is that of the start; whoever enables it sets the frame of that time.
    """
    UsdGeom.Scope.Define(stage, f"{ROOT}/Joints")
    grasp = UsdPhysics.FixedJoint.Define(stage, f"{ROOT}/Joints/grasp")
    depth = np.array([0.0, 0.0, model.grasp_depth])
    _frames(grasp, f"{path}/hand", OBJECT_PATH, depth, np.eye(3), np.zeros(3), np.eye(3))
    grasp.CreateExcludeFromArticulationAttr(True)
    receive = UsdPhysics.FixedJoint.Define(stage, f"{ROOT}/Joints/receive")
    position, rotation = model.pose_in_hand(*model.planned_poses(0.0))
    hand = f"{ROOT}/Human/{model.hand_name}"
    _frames(receive, hand, OBJECT_PATH, position, rotation, np.zeros(3), np.eye(3))
    receive.CreateExcludeFromArticulationAttr(True)
    receive.CreateJointEnabledAttr(False)
    pairs = UsdPhysics.FilteredPairsAPI.Apply(stage.GetPrimAtPath(OBJECT_PATH))
    targets = [Sdf.Path(f"{path}/{name}") for name in GRIPPER_BODIES]
    pairs.CreateFilteredPairsRel().SetTargets(targets)
