"""The stand-in for Isaac Sim's physics: step callbacks, bodies and an ideal arm."""

# The public names are those of Isaac Sim, documented there.
# ruff: noqa: D102

from __future__ import annotations

import enum
import itertools
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from pact_scenes.catalogue import SceneSpec
from pact_scenes.model import Group, SceneModel, build_model
from pact_scenes.simulators.kinematic import KinematicSimulator
from pact_scenes.stage import GRASP_PATH, ROBOT_PATH, scene_of_stage
from pact_scenes.transforms import matrix_from_quaternion
from tests.extension.kit_fake_base import UnknownKitCall

if TYPE_CHECKING:
    from tests.extension.kit_fake import FakeKit


class FakeArray:
    """Stands for a warp array: only `numpy()` is known."""

    def __init__(self, value: Any) -> None:
        self._value = np.asarray(value, dtype=np.float32)

    def numpy(self) -> np.ndarray:
        return self._value


class FakePhysics:
    """Ideal physics of a PACT scene: drives reach their targets at once, nothing collides.

    Poses start from the open stage at play. Float32, like the tensors of Isaac Sim.
    """

    def __init__(self, kit: FakeKit) -> None:
        self.kit = kit
        self.callbacks: dict[int, tuple[str, Any]] = {}
        self.poses: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.velocities: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.targets: np.ndarray | None = None
        self.steps = 0
        self.invalidated = False
        self._numbers = itertools.count(1)

    def reset(self) -> None:
        self.poses.clear()
        self.velocities.clear()
        self.targets = None
        self.steps = 0

    def step(self) -> None:
        """Call the callbacks around one ideal step, with the arguments of the version."""
        self._call("pre")
        self._move()
        self.steps += 1
        self._call("post")

    def _call(self, phase: str) -> None:
        extra = ("context",) if self.kit.version.startswith("6") else ()
        for kind, method in list(self.callbacks.values()):
            if kind == phase:
                callback = method()
                if callback is None:
                    raise ReferenceError("the owner of a step callback is gone")
                callback(self.kit.dt, *extra)

    def _move(self) -> None:
        if self.targets is None:
            return
        model = _model_of(scene_of_stage(self.kit.stage))
        grasp = UsdPhysics.Joint(self.kit.stage.GetPrimAtPath(GRASP_PATH))
        ideal = KinematicSimulator()
        ideal.open(model, round(1.0 / self.kit.dt))
        places = [self.pose(body.path) for body in model.bodies]
        ideal._position = np.array([place for place, _ in places], dtype=np.float64)
        ideal._rotation = matrix_from_quaternion(np.roll([turn for _, turn in places], -1, axis=-1))
        if grasp.GetJointEnabledAttr().Get() is False:
            ideal.release()
        human = [
            place
            for place, body in zip(places, model.bodies, strict=True)
            if body.group is Group.HUMAN
        ]
        ideal.command(
            self.targets,
            np.array([place for place, _ in human]),
            np.roll([turn for _, turn in human], -1, axis=-1),
        )
        ideal.step()
        state = ideal.state()
        for i, body in enumerate(model.bodies):
            self.poses[body.path] = (state.position[i], np.roll(state.quaternion[i], 1))
            self.velocities[body.path] = (state.linear_velocity[i], state.angular_velocity[i])

    def pose(self, path: str) -> tuple[np.ndarray, np.ndarray]:
        """Return position and wxyz quaternion, as last set or as authored."""
        if path not in self.poses:
            matrix = UsdGeom.XformCache().GetLocalToWorldTransform(
                self.kit.stage.GetPrimAtPath(path)
            )
            turn = Gf.Transform(matrix).GetRotation().GetQuat()
            self.poses[path] = (
                np.array(matrix.ExtractTranslation()),
                np.array([turn.GetReal(), *turn.GetImaginary()]),
            )
        return self.poses[path]

    def names(self) -> dict[str, Any]:
        physics, six = self, self.kit.version.startswith("6")

        class IsaacEvents(enum.Enum):
            PRE_PHYSICS_STEP = "pre"
            POST_PHYSICS_STEP = "post"

        class SimulationEvent(enum.Enum):
            PHYSICS_PRE_STEP = "pre"
            PHYSICS_POST_STEP = "post"

        class Strict(type):
            def __getattr__(cls, name: str) -> Any:
                raise UnknownKitCall(f"SimulationManager.{name}")

        class SimulationManager(metaclass=Strict):
            @classmethod
            def register_callback(cls, callback: Any, event: Any) -> int:
                assert isinstance(event, SimulationEvent if six else IsaacEvents), event
                number = next(physics._numbers)
                physics.callbacks[number] = (event.value, weakref.WeakMethod(callback))
                return number

            @classmethod
            def deregister_callback(cls, number: int) -> bool | None:
                if number not in physics.callbacks and not six:
                    raise Exception(f"callback {number} is not registered")
                found = physics.callbacks.pop(number, None) is not None
                return found if six else None

            @classmethod
            def get_physics_dt(cls) -> float:
                return physics.kit.dt

            @classmethod
            def get_physics_sim_view(cls) -> Any:
                return None

            @classmethod
            def initialize_physics(cls) -> None:
                return None

            @classmethod
            def step(cls) -> None:
                physics.step()

        if six:
            SimulationManager.get_active_physics_engine = classmethod(lambda cls: "physx")
            return {"SimulationManager": SimulationManager, "SimulationEvent": SimulationEvent,
                    "IsaacEvents": IsaacEvents}  # fmt: skip
        return {"SimulationManager": SimulationManager, "IsaacEvents": IsaacEvents}

    def prims(self) -> dict[str, Any]:
        physics = self

        class Wrapper:
            def __init__(self, paths: str | list[str]) -> None:
                # The simulation manager drops registrations when it sees the stage open.
                assert not physics.kit.opening, "a wrapper made while the stage opens goes dead"
                self.paths = [paths] if isinstance(paths, str) else list(paths)
                for path in self.paths:
                    if not physics.kit.stage.GetPrimAtPath(path):
                        raise ValueError(f"no prim at {path}")

            def __getattr__(self, name: str) -> Any:
                raise UnknownKitCall(f"{type(self).__name__}.{name}")

            def is_physics_tensor_entity_valid(self) -> bool:
                return physics.kit.playing

        class RigidPrim(Wrapper):
            def get_world_poses(self) -> tuple[FakeArray, FakeArray]:
                if physics.invalidated:
                    raise RuntimeError("the simulation view was invalidated")
                poses = [physics.pose(path) for path in self.paths]
                return FakeArray([p for p, _ in poses]), FakeArray([q for _, q in poses])

            def get_velocities(self) -> tuple[FakeArray, FakeArray]:
                still = (np.zeros(3), np.zeros(3))
                pairs = [physics.velocities.get(path, still) for path in self.paths]
                return FakeArray([v for v, _ in pairs]), FakeArray([w for _, w in pairs])

            def set_world_poses(self, positions: Any, orientations: Any) -> None:
                assert np.shape(positions) == (len(self.paths), 3)
                assert np.shape(orientations) == (len(self.paths), 4)
                for path, p, q in zip(self.paths, positions, orientations, strict=True):
                    physics.poses[path] = (np.asarray(p), np.asarray(q))

        class Articulation(Wrapper):
            @property
            def dof_names(self) -> list[str]:
                return _joints(physics.kit.stage)

            def set_dof_position_targets(self, positions: Any, *, dof_indices: Any) -> None:
                assert np.shape(positions) == (1, len(dof_indices))
                names = [self.dof_names[i] for i in dof_indices]
                assert names == [f"joint{i}" for i in range(1, 8)]
                physics.targets = np.asarray(positions, dtype=np.float64)[0]

        return {"RigidPrim": RigidPrim, "Articulation": Articulation}


@cache
def _model_of(spec: SceneSpec) -> SceneModel:
    return build_model(spec)


def _joints(stage: Usd.Stage) -> list[str]:
    moving = ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint")
    robot = Usd.PrimRange(stage.GetPrimAtPath(ROBOT_PATH))
    return [prim.GetName() for prim in robot if prim.GetTypeName() in moving]
