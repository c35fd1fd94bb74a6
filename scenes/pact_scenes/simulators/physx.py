"""NVIDIA PhysX on the CPU through `ovphysx`, over the scene's own USD stage.

Every physics step costs little; every exchange with the engine costs milliseconds. So joint and
human targets are sent once per target update, only for bodies that move, and states are read
only where they are asked for.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from pact_scenes.arm import ARM_JOINTS
from pact_scenes.human import HUMAN_BODIES
from pact_scenes.installation import install_command
from pact_scenes.model import Group, SceneModel
from pact_scenes.observation import SceneState
from pact_scenes.simulators.protocol import BackendUnavailableError, SimulationError
from pact_scenes.stage import GRASP_PATH, HUMAN_PATH, RECEIVE_PATH, ROBOT_PATH, write_stage
from pact_scenes.stage_physics import ARM_DAMPING, ARM_STIFFNESS
from pact_scenes.transforms import matrix_from_quaternion, quaternion_from_matrix

Array = NDArray[np.float64]

__all__ = ["PhysxSimulator"]

_SCHEMAS: Final = ("PhysxSchema", "OmniUsdPhysicsDeformableSchema")
_JOINTS: Final = f"{ROBOT_PATH}/joints"
_REACHING: Final = ("upper_arm", "forearm", "hand")
_POSE: Final = ("position", "orientation", "linearVelocity", "angularVelocity")


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Hold back what native code prints, here that there is no CUDA driver."""
    sys.stderr.flush()
    saved, sink = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)


class _Engine:
    """The engine of this process: created once, shared by all scenes that are opened in turn."""

    instance: _Engine | None = None

    def __init__(self) -> None:
        try:
            import ovphysx
            import ovstage
            import warp as warp_module
            from ovphysx.types import GlobalConfigKey, LogLevel, SimObjectType
        except ImportError as error:
            raise BackendUnavailableError(
                f"backend 'physx' is not available: {error.name} not installed; "
                f"run: {install_command('sim')}"
            ) from error
        warnings.filterwarnings("ignore", message="ovphysx is in CPU-only mode")
        warp: Any = warp_module
        warp.config.log_level = logging.ERROR
        with _silent_stderr():
            warp.init()
        ovphysx.set_log_level(LogLevel.ERROR)
        ovphysx.enable_default_log_output(False)
        ovphysx.enable_python_logging("ovphysx", min_severity=LogLevel.ERROR)
        ovphysx.PhysX.set_cpu_mode(True)
        # A scene is too small to share: waking helper threads costs more than the step itself.
        ovphysx.set_global_config(GlobalConfigKey.NUM_THREADS, 0)
        self.ovstage, self.kinds = ovstage, SimObjectType
        self.physx = ovphysx.PhysX()
        package = metadata.distribution("physx-usd-schemas")
        roots = [str(package.locate_file(f"physx_usd_schemas/{s}/resources")) for s in _SCHEMAS]
        ovstage.population.register_usd_schemas([*roots, str(ovphysx.newton_schema_root())])

    @classmethod
    def get(cls) -> _Engine:
        """The engine, started on first use."""
        if cls.instance is None:
            cls.instance = cls()
        return cls.instance


class PhysxSimulator:
    """Steps a scene in PhysX; see `Simulator`."""

    name = "physx"

    def __init__(self) -> None:
        self._engine = _Engine.get()
        self._model: SceneModel | None = None
        self._stage: Any = None
        self._paths: Any = None
        self._queries: dict[str, Any] = {}
        self._dt = 1.0
        self._steps = 0
        self._ordinal = 1
        self._joints = np.zeros(7)
        self._human = np.zeros((len(HUMAN_BODIES), 3))
        self._pending: tuple[Array, Array, Array] | None = None
        self._human_velocity = np.zeros((len(HUMAN_BODIES), 3))

    def open(self, model: SceneModel, physics_rate: int) -> None:
        """Author the scene's stage to a temporary file and load it."""
        with tempfile.TemporaryDirectory(prefix="pact-") as folder:
            path = write_stage(model, Path(folder) / "scene.usda", physics_rate)
            self.open_file(path, model, physics_rate)

    def open_file(self, path: Path, model: SceneModel, physics_rate: int) -> None:
        """Load a stage file that was authored from `model`.

        Raises:
            SimulationError: The file is not a stage, or lacks bodies of the scene.
        """
        self.close()
        engine = self._engine
        stage = engine.ovstage.Stage("pact")
        try:
            engine.ovstage.population.open_usd(
                stage, str(path), ordinal=1, domains=engine.ovstage.PopulationDomain.ALL
            )
            stage.advance_write_floor(ordinal=1).wait()
        except (RuntimeError, ValueError, OSError) as error:
            stage.destroy()
            raise SimulationError(f"{path} is not a USD stage that PhysX can load") from error
        self._stage, self._model, self._dt = stage, model, 1.0 / physics_rate
        engine.physx.wait_task(engine.physx.attach_ovstage(stage, read_ordinal=1))
        engine.physx.wait_all()
        self._paths = engine.ovstage.PathDictionary(stage)
        self._steps, self._ordinal, self._pending = 0, 1, None
        self._joints = np.array(model.plan.joints_start)
        self._human = model.planned_poses(0.0)[0][-len(HUMAN_BODIES) :]
        self._human_velocity = np.zeros_like(self._human)
        try:
            self._open_queries(model)
        except SimulationError as error:
            self.close()
            raise SimulationError(f"{path}: {error}") from error

    def _open_queries(self, model: SceneModel) -> None:
        kinds = self._engine.kinds
        groups = {g: [b.path for b in model.bodies if b.group is g] for g in Group}
        side = model.spec.receiving_hand
        for name, kind, paths in (
            ("joints", kinds.ARTICULATION_JOINT, [f"{_JOINTS}/{name}" for name in ARM_JOINTS]),
            ("links", kinds.ARTICULATION_LINK, groups[Group.ROBOT]),
            ("rigid", kinds.RIGID_BODY, groups[Group.OBJECT] + groups[Group.HUMAN]),
            ("moving", kinds.RIGID_BODY, [f"{HUMAN_PATH}/{p}_{side}" for p in _REACHING]),
            ("contact", kinds.CONTACT_SENSOR, groups[Group.HUMAN]),
        ):
            self._queries[name] = self._query(kind, paths)
        found = {*self._read("links", _POSE[:1])[0], *self._read("rigid", _POSE[:1])[0]}
        missing = {b.path for b in model.bodies} - found
        if missing:
            raise SimulationError(f"the stage has no body {min(missing)}")

    def _query(self, kind: Any, paths: Sequence[str]) -> Any:
        handles = [self._paths.intern_path(path) for path in paths]
        return self._engine.physx.query(kind, prim_paths=handles).wait()

    def command(self, joints: Array, human_position: Array, human_quaternion: Array) -> None:
        """Keep targets until the next step."""
        self._opened()
        self._pending = (
            np.asarray(joints, dtype=np.float64),
            np.asarray(human_position, dtype=np.float64),
            np.asarray(human_quaternion, dtype=np.float64),
        )

    def step(self, count: int = 1) -> None:
        """Send the last command and advance."""
        model = self._opened()
        if self._pending is not None:
            self._send(model, count * self._dt)
        for _ in range(count):
            self._engine.physx.step_sync(self._dt)
        self._steps += count

    def _send(self, model: SceneModel, span: float) -> None:
        """Write joint and human targets that are to be reached after `span` seconds.

        A drive follows a moving target with a lag of damping over stiffness; its target is led
        by that much, which is what a velocity target does.
        """
        if self._pending is None:
            return
        joints, position, quaternion = self._pending
        led = joints + ARM_DAMPING / ARM_STIFFNESS * (joints - self._joints) / span
        degrees = dict(zip(ARM_JOINTS, np.rad2deg(led), strict=True))
        self._write("joints", {"jointPositionTarget": degrees})
        moved = position - self._human
        if np.any(moved):
            side = model.spec.receiving_hand
            rows = {f"{p}_{side}": HUMAN_BODIES.index(f"{p}_{side}") for p in _REACHING}
            self._write(
                "moving",
                {
                    "kinematicTargetPosition": {n: position[i] for n, i in rows.items()},
                    "kinematicTargetOrientation": {n: quaternion[i] for n, i in rows.items()},
                },
            )
        self._human_velocity = moved / span
        self._joints, self._human, self._pending = joints, position, None

    def release(self) -> None:
        """Open the grasp and hand the object over to the receiving hand, where it is now."""
        model, state = self._opened(), self.state()
        place, turn = model.pose_in_hand(state.position, matrix_from_quaternion(state.quaternion))
        self._ordinal += 1
        self._author(RECEIVE_PATH, "physics:localPos0", place.astype(np.float32)[None])
        rotation = quaternion_from_matrix(turn).astype(np.float32)[None]
        self._author(RECEIVE_PATH, "physics:localRot0", rotation)
        self._author(RECEIVE_PATH, "physics:jointEnabled", np.array([True]))
        self._author(GRASP_PATH, "physics:jointEnabled", np.array([False]))
        self._stage.advance_write_floor(ordinal=self._ordinal).wait()
        engine = self._engine.physx
        engine.wait_task(engine.update_from_ovstage(self._ordinal, self._ordinal))

    def _author(self, path: str, attribute: str, value: NDArray[Any]) -> None:
        """Change an attribute of the loaded stage."""
        with (
            self._paths.create_path_list_from_strings([path]) as paths,
            self._stage.query_from_path_list(paths) as query,
        ):
            self._stage.write_attribute(
                query, attribute, self._ordinal, value, is_array=False
            ).wait()

    def state(self) -> SceneState:
        """Read all bodies; velocities of the human are those it was told to have."""
        model = self._opened()
        rows: dict[str, tuple[Array, ...]] = {}
        for name in ("links", "rigid"):
            paths, columns = self._read(name, _POSE)
            for index, path in enumerate(paths):
                rows[path] = tuple(columns[a][index] for a in _POSE)
        position, quaternion, linear, angular = (
            np.stack([rows[b.path][i] for b in model.bodies]) for i in range(4)
        )
        first = model.index("object") + 1
        linear[first:] = self._human_velocity
        quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
        return SceneState(
            self._steps * self._dt, position, quaternion, linear, angular, self._contact()
        )

    def _contact(self) -> float:
        """Largest normal contact force on a human body [N]."""
        _, columns = self._read("contact", ("netNormalContactForce",))
        forces = columns.get("netNormalContactForce")
        if forces is None or not len(forces):
            return 0.0
        return float(np.linalg.norm(forces, axis=-1).max())

    def _read(self, name: str, attributes: Sequence[str]) -> tuple[list[str], dict[str, Array]]:
        """Paths and float64 columns of a query; all attributes share the order of paths."""
        paths: list[str] = []
        columns: dict[str, list[Array]] = {a: [] for a in attributes}
        with self._engine.physx.read(self._queries[name], list(attributes)).wait() as session:
            while (group := session.fetch_next().wait()) is not None:
                attribute = self._paths.token_to_string(group.attribute)
                if attribute == attributes[0]:
                    paths += self._paths.get_path_strings(group.prim_list)
                tensors: Sequence[Any] = group.tensors
                columns[attribute] += [t.numpy().astype(np.float64) for t in tensors]
            group = None
        return paths, {a: np.concatenate(parts) for a, parts in columns.items() if parts}

    def _write(self, name: str, values: dict[str, dict[str, Any]]) -> None:
        """Fill and commit every group of a query; values are keyed by attribute and prim name."""
        with self._engine.physx.write(self._queries[name], list(values)).wait() as session:
            attributes = list(values)
            while (group := session.fetch_next().wait()) is not None:
                column = values[attributes[group.attribute_index]]
                names = [p.rsplit("/", 1)[1] for p in self._paths.get_path_strings(group.prim_list)]
                rows = [np.asarray(column[n], dtype=np.float32) for n in names]
                tensors: Sequence[Any] = group.tensors
                if len(tensors) == len(rows):
                    for tensor, row in zip(tensors, rows, strict=True):
                        tensor.numpy()[...] = row
                else:
                    tensors[0].numpy()[...] = np.stack(rows)
                session.commit(group).wait()
            group = None

    def close(self) -> None:
        """Unload the scene; the engine stays for the next one."""
        if self._stage is None:
            return
        physx = self._engine.physx
        for query in self._queries.values():
            query.close()
        self._queries = {}
        physx.wait_all()
        self._paths.destroy()
        physx.wait_task(physx.detach_ovstage())
        self._stage.destroy()
        self._stage, self._paths, self._model = None, None, None

    def _opened(self) -> SceneModel:
        if self._model is None:
            raise SimulationError("no scene is open")
        return self._model

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
