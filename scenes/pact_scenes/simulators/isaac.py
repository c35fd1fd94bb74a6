"""Isaac Sim 5.1 and 6.x behind the simulator protocol; every Isaac Sim name of it is in here.

`IsaacScene` works on the stage that is open, whoever steps the physics: the extension uses it from
step callbacks. `IsaacSimulator` opens a stage of its own and steps it without rendering.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import isaacsim.core.experimental.utils.stage as stage_utils
import numpy as np
import omni.kit.app
import omni.timeline
from isaacsim.core.experimental.prims import Articulation, RigidPrim
from isaacsim.core.simulation_manager import SimulationManager
from numpy.typing import NDArray
from pxr import Usd, UsdPhysics

from pact_scenes.arm import ARM_JOINTS
from pact_scenes.model import Group, SceneModel
from pact_scenes.observation import SceneState
from pact_scenes.simulators.protocol import SimulationError
from pact_scenes.stage import GRASP_PATH, RECEIVE_PATH, ROBOT_PATH, write_stage

Array = NDArray[np.float64]

__all__ = ["IsaacScene", "IsaacSimulator", "to_wxyz", "to_xyzw"]

SETTLING_UPDATES = 3
"""Frames after opening a stage, in which the simulation manager notices it."""


def to_wxyz(quaternion: Array) -> Array:
    """Reorder quaternions from the protocol's xyzw to the wxyz of Isaac Sim's prims."""
    return np.roll(quaternion, 1, axis=-1)


def to_xyzw(quaternion: Array) -> Array:
    """Reorder quaternions from the wxyz of Isaac Sim's prims to the protocol's xyzw."""
    return np.roll(quaternion, -1, axis=-1)


class IsaacScene:
    """The bodies of one scene on the open stage: command them before a step, read them after.

    The human's bodies are kinematic and moved by setting their poses, so the physics does not know
    their velocities: these are differences of the last two commands. All else is read.

    Args:
        stage: The open stage, authored for `model`.
        model: The scene.

    Raises:
        SimulationError: The stage is not that of the scene.
    """

    def __init__(self, stage: Usd.Stage, model: SceneModel) -> None:
        missing = [body.path for body in model.bodies if not stage.GetPrimAtPath(body.path)]
        if missing:
            raise SimulationError(f"the stage has no {missing[0]}; build {model.spec.scene_id}")
        self._stage, self._model = stage, model
        self._human = np.array([body.group is Group.HUMAN for body in model.bodies])
        self._bodies = RigidPrim([body.path for body in model.bodies])
        self._people = RigidPrim([b.path for b in model.bodies if b.group is Group.HUMAN])
        self._robot = Articulation(_articulation_root(stage))
        self._joints: list[int] | None = None
        self._contacts: Any = None
        self._start = model.planned_poses(0.0)[0][self._human]
        self._before = self._now = self._start

    def ready(self) -> bool:
        """Whether the physics holds the bodies; before that, reads give authored poses only."""
        return bool(self._bodies.is_physics_tensor_entity_valid())

    def command(self, joints: Array, human_position: Array, human_quaternion: Array) -> None:
        """Set joint targets and the human's poses; see `Simulator.command`."""
        if self._joints is None:
            names = list(self._robot.dof_names)
            self._joints = [names.index(name) for name in ARM_JOINTS]
        self._robot.set_dof_position_targets(
            np.asarray(joints, dtype=np.float32)[None], dof_indices=self._joints
        )
        self._people.set_world_poses(
            positions=np.asarray(human_position, dtype=np.float32),
            orientations=np.asarray(to_wxyz(human_quaternion), dtype=np.float32),
        )
        self._before, self._now = self._now, np.asarray(human_position, dtype=np.float64)

    def rest(self) -> None:
        """Say that the coming step has no command: the human stays where it is."""
        self._before = self._now

    def state(self, time: float, dt: float, span: float | None = None) -> SceneState:
        """Return poses, velocities and the contact force.

        Args:
            time: Now [s].
            dt: Duration of a physics step [s].
            span: Time since the last command was given [s]; one step by default.
        """
        places, turns = self._bodies.get_world_poses()
        rates, spins = self._bodies.get_velocities()
        position = places.numpy().astype(np.float64)
        velocity = rates.numpy().astype(np.float64)
        velocity[self._human] = (self._now - self._before) / (span or dt)
        return SceneState(
            time=time,
            position=position,
            quaternion=to_xyzw(turns.numpy().astype(np.float64)),
            linear_velocity=velocity,
            angular_velocity=spins.numpy().astype(np.float64),
            contact_force=self.contact_force(dt),
        )

    def contact_force(self, dt: float) -> float:
        """Return the largest net normal force on a human body [N]; 0 where it is not reported."""
        if self._contacts is None:
            view = SimulationManager.get_physics_sim_view()
            if not hasattr(view, "create_rigid_contact_view"):
                return 0.0
            paths = [b.path for b in self._model.bodies if b.group is Group.HUMAN]
            self._contacts = view.create_rigid_contact_view(paths)
        forces = self._contacts.get_net_contact_forces(dt)
        values = forces.numpy() if hasattr(forces, "numpy") else np.asarray(forces)
        return float(np.linalg.norm(values.reshape(-1, 3), axis=-1).max(initial=0.0))

    def release(self) -> None:
        """Open the grasp and let the hand hold, in the session layer: the stage is not edited."""
        with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
            for path, enabled in ((GRASP_PATH, False), (RECEIVE_PATH, True)):
                joint = UsdPhysics.Joint(self._stage.GetPrimAtPath(path))
                joint.CreateJointEnabledAttr().Set(enabled)

    def rewind(self) -> None:
        """Undo a release and forget what the physics had, for another run from the start."""
        self._contacts, self._joints = None, None
        self._before = self._now = self._start
        session = self._stage.GetSessionLayer()
        for path in (GRASP_PATH, RECEIVE_PATH):
            spec = session.GetPropertyAtPath(f"{path}.physics:jointEnabled")
            if spec is not None:
                session.GetPrimAtPath(path).RemoveProperty(spec)
        session.RemoveInertSceneDescription()


class IsaacSimulator:
    """One simulation context per process: opens stages and steps the physics, without rendering."""

    name = "isaac"

    def __init__(self) -> None:
        self._scene: IsaacScene | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._dt = self._span = 0.0
        self._steps = 0
        self._commanded = False

    def open(self, model: SceneModel, physics_rate: int) -> None:
        """Author the stage, open it and start the physics."""
        self.close()
        self._folder = tempfile.TemporaryDirectory(prefix="pact-")
        path = write_stage(
            model, Path(self._folder.name) / f"{model.spec.scene_id}.usda", physics_rate
        )
        opened, stage = stage_utils.open_stage(str(path))
        if not opened or stage is None:
            raise SimulationError(f"Isaac Sim cannot open {path.name}")
        for _ in range(SETTLING_UPDATES):
            omni.kit.app.get_app().update()
        self._scene = IsaacScene(stage, model)
        timeline = omni.timeline.get_timeline_interface()
        timeline.play()
        timeline.commit()
        SimulationManager.initialize_physics()
        self._dt, self._steps = 1.0 / physics_rate, 0
        self._span, self._commanded = self._dt, False
        found = float(SimulationManager.get_physics_dt())
        if abs(found - self._dt) > 1e-9:
            raise SimulationError(f"physics steps take {found} s instead of {self._dt} s")
        if not self._scene.ready():
            raise SimulationError("the physics did not take up the bodies of the scene")

    def command(self, joints: Array, human_position: Array, human_quaternion: Array) -> None:
        """Set what the next steps aim for."""
        self._opened().command(joints, human_position, human_quaternion)
        self._commanded = True

    def step(self, count: int = 1) -> None:
        """Advance by physics steps; nothing is rendered."""
        scene = self._opened()
        if not self._commanded:
            scene.rest()
        for _ in range(count):
            SimulationManager.step()
        self._steps += count
        self._span, self._commanded = count * self._dt, False

    def release(self) -> None:
        """Open the grasp."""
        self._opened().release()

    def state(self) -> SceneState:
        """Return the current state."""
        return self._opened().state(self._steps * self._dt, self._dt, self._span)

    def close(self) -> None:
        """Stop the physics and forget the scene; the empty application stays."""
        if self._scene is not None:
            timeline = omni.timeline.get_timeline_interface()
            timeline.stop()
            timeline.commit()
            omni.kit.app.get_app().update()
        self._scene = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _opened(self) -> IsaacScene:
        if self._scene is None:
            raise SimulationError("no scene is open")
        return self._scene

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _articulation_root(stage: Usd.Stage) -> str:
    """Return the path of the arm's articulation root, which may lie below the robot's prim."""
    for prim in Usd.PrimRange(stage.GetPrimAtPath(ROBOT_PATH)):
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            return str(prim.GetPath())
    raise SimulationError(f"nothing below {ROBOT_PATH} is an articulation root")
