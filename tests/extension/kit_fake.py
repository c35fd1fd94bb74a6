"""A small, strict fake of the Kit and Isaac Sim calls that the extensions make.

It knows exactly these calls; any other name, keyword or order of use raises `UnknownKitCall`. It
counts what is held, so that a test can tell whether a shutdown released everything. Stages are
real `pxr` stages.
"""

# The public names are those of Kit and Isaac Sim, documented there.
# ruff: noqa: D102

from __future__ import annotations

import enum
import gc
import importlib
import itertools
import sys
import types
import weakref
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from pact_scenes.catalogue import SceneSpec
from pact_scenes.model import SceneModel, build_model
from pact_scenes.simulators.kinematic import KinematicSimulator
from pact_scenes.stage import GRASP_PATH, ROBOT_PATH, scene_of_stage
from pact_scenes.transforms import matrix_from_quaternion
from tests.extension.kit_fake_ui import FakeUi

LAUNCH_KEYS = {"headless", "disable_viewport_updates", "limit_cpu_threads", "extra_args"}
OURS = ("pact_handover", "pact_scenes.simulators.isaac", "_isaac_app", "isaac_")


class UnknownKitCall(AttributeError):
    """A call that the fake does not know."""


class StrictModule(types.ModuleType):
    """A module whose unknown names raise, also when asked for with `from … import …`."""

    def __getattr__(self, name: str) -> Any:
        raise UnknownKitCall(f"{self.__name__}.{name}")


class Subscription:
    """Ends when the last reference to it goes away, as in Kit."""

    def __init__(self, callback: Any) -> None:
        self.callback = callback


class Bus:
    """Named events with observers that are held weakly."""

    def __init__(self) -> None:
        self._observers: dict[Any, weakref.WeakSet[Subscription]] = {}
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def observe(self, name: Any, callback: Any) -> Subscription:
        subscription = Subscription(callback)
        self._observers.setdefault(name, weakref.WeakSet()).add(subscription)
        return subscription

    def send(self, name: Any, event: Any = None) -> None:
        for subscription in list(self._observers.get(name, ())):
            subscription.callback(event)

    def count(self) -> int:
        return sum(len(held) for held in self._observers.values())


class FakeArray:
    """Stands for a warp array: only `numpy()` is known."""

    def __init__(self, value: Any) -> None:
        self._value = np.asarray(value, dtype=np.float32)

    def numpy(self) -> np.ndarray:
        return self._value


class FakeKit:
    """One application: modules, timeline, stage, physics, settings and user interface.

    Args:
        version: "5.1" or "6.0": names and call forms differ between them.
        menus, viewport: Whether the application has menus and a viewport window.
    """

    def __init__(self, version: str, *, menus: bool = True, viewport: bool = True) -> None:
        self.version = version
        self.log: list[tuple[str, str]] = []
        self.settings: dict[str, Any] = {}
        self.setting_watchers: dict[int, tuple[str, Any]] = {}
        self.events = Bus()
        self.timeline_events = Bus()
        self.commands: dict[str, type] = {}
        self.tasks: list[Any] = []
        self.stage: Usd.Stage | None = None
        self.pending_edit = self.opening = False
        self.dt = 1.0 / 120.0
        self.playing = False
        self._wanted: list[str] = []
        self.physics = FakePhysics(self)
        self.ui = FakeUi(UnknownKitCall)
        self.menus, self.viewport = menus, viewport
        self.menu_items: list[Any] = []
        self.actions: Counter[str] = Counter()
        self.enabled: dict[str, Any] = {}
        self.closed_with: int | None = None
        self.modules = self._modules()

    # --- what a test does ---------------------------------------------------------------------

    def install(self, monkeypatch: Any) -> None:
        """Put the modules in place and forget modules that looked for Kit before."""
        for name in [name for name in sys.modules if name.startswith(OURS)]:
            monkeypatch.delitem(sys.modules, name)
        for name, module in self.modules.items():
            monkeypatch.setitem(sys.modules, name, module)

    def enable(self, ext_id: str) -> Any:
        """Import an extension, start its class and return it."""
        module = importlib.import_module(ext_id.replace(".", "_"))
        extension = module.Extension()
        extension.on_startup(ext_id)
        self.enabled[ext_id] = extension
        return extension

    def disable(self, ext_id: str) -> None:
        """Shut an extension down and forget its modules, as a hot reload does."""
        self.enabled.pop(ext_id).on_shutdown()
        package = ext_id.replace(".", "_")
        for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
            del sys.modules[name]
        gc.collect()

    def open_stage(self, path: str) -> Usd.Stage:
        """Close the open stage and open a file, with the events and side effects of Kit."""
        self.events.send("stage:CLOSING")
        self.stop_now()
        self.stage = Usd.Stage.Open(path)
        self.physics.callbacks.clear()
        self.pending_edit = False
        self._announce_opened()
        return self.stage

    def new_stage(self) -> Usd.Stage:
        """Open an empty stage in memory."""
        self.events.send("stage:CLOSING")
        self.stop_now()
        self.stage = Usd.Stage.CreateInMemory()
        self.physics.callbacks.clear()
        self._announce_opened()
        return self.stage

    def _announce_opened(self) -> None:
        self.opening = True
        self.events.send("stage:OPENED")
        self.opening = False

    def play_now(self) -> None:
        if not self.playing:
            self.playing = True
            self.physics.reset()
            self.timeline_events.send("PLAY")

    def stop_now(self) -> None:
        if self.playing:
            self.playing = False
            self.timeline_events.send("STOP")

    def frame(self, steps: int = 1) -> None:
        """Run one frame of the application with some physics steps, while playing."""
        if self.playing:
            for _ in range(steps):
                self.physics.step()
        self.events.send("frame")

    def held(self) -> dict[str, int]:
        """Return how many resources of each kind are held, without the zeros."""
        counts = {
            "events": self.events.count(),
            "timeline": self.timeline_events.count(),
            "setting watchers": len(self.setting_watchers),
            "step callbacks": len(self.physics.callbacks),
            "commands": len(self.commands),
            "menu items": len(self.menu_items),
            "actions": sum(self.actions.values()),
            **self.ui.held(),
        }
        return {name: count for name, count in counts.items() if count}

    # --- modules ------------------------------------------------------------------------------

    def _modules(self) -> dict[str, types.ModuleType]:
        carb = self._carb()
        omni = self._omni()
        isaac = self._isaac()
        everything = {**carb, **omni, **isaac}
        for name, module in everything.items():
            parent, _, leaf = name.rpartition(".")
            if parent in everything:
                everything[parent].__dict__[leaf] = module
        return everything

    @staticmethod
    def _module(name: str, **members: Any) -> types.ModuleType:
        module = StrictModule(name)
        module.__dict__["__path__"] = []
        module.__dict__["__spec__"] = types.SimpleNamespace(name=name, parent=name)
        module.__dict__.update(members)
        return module

    def _carb(self) -> dict[str, types.ModuleType]:
        kit = self
        numbers = itertools.count(1)

        class Settings:
            def get(self, path: str) -> Any:
                return kit.settings.get(path)

            def set(self, path: str, value: Any) -> None:
                kit.settings[path] = value
                for root, callback in list(kit.setting_watchers.values()):
                    if path.startswith(root + "/"):
                        callback(None, None, None)

            def subscribe_to_tree_change_events(self, root: str, callback: Any) -> int:
                number = next(numbers)
                kit.setting_watchers[number] = (root, callback)
                return number

            def unsubscribe_to_change_events(self, number: int) -> None:
                del kit.setting_watchers[number]

        class Dispatcher:
            def observe_event(
                self, *, event_name: str, on_event: Any, observer_name: str
            ) -> Subscription:
                return kit.events.observe(event_name, on_event)

            def dispatch_event(self, *, event_name: str, payload: dict[str, Any]) -> None:
                kit.events.sent.append((event_name, payload))
                kit.events.send(event_name, payload)

        settings, dispatcher = Settings(), Dispatcher()

        def logger(level: str) -> Any:
            return lambda message: kit.log.append((level, message))

        return {
            "carb": self._module(
                "carb", log_info=logger("info"), log_warn=logger("warn"), log_error=logger("error")
            ),
            "carb.settings": self._module("carb.settings", get_settings=lambda: settings),
            "carb.eventdispatcher": self._module(
                "carb.eventdispatcher", get_eventdispatcher=lambda: dispatcher
            ),
        }

    def _omni(self) -> dict[str, types.ModuleType]:
        kit = self

        class IExt:
            pass

        class TimelineEventType(enum.IntEnum):
            PLAY = 0
            PAUSE = 1
            STOP = 2

        class StageEventType(enum.Enum):
            OPENED = 1
            CLOSING = 2

        class Stream:
            def create_subscription_to_pop_by_type(self, kind: int, callback: Any) -> Subscription:
                return kit.timeline_events.observe(TimelineEventType(kind).name, callback)

        class Timeline:
            def get_timeline_event_stream(self) -> Stream:
                return Stream()

            def is_playing(self) -> bool:
                return kit.playing

            def play(self) -> None:
                kit._wanted.append("play")

            def pause(self) -> None:
                kit._wanted.append("pause")

            def stop(self) -> None:
                kit._wanted.append("stop")

            def commit(self) -> None:
                for wish in kit._wanted:
                    if wish == "play":
                        kit.play_now()
                    elif wish == "stop":
                        kit.stop_now()
                    elif kit.playing:
                        kit.playing = False
                        kit.timeline_events.send("PAUSE")
                kit._wanted.clear()

        class Context:
            def get_stage(self) -> Usd.Stage | None:
                return kit.stage

            def has_pending_edit(self) -> bool:
                return kit.pending_edit

            def stage_event_name(self, kind: StageEventType) -> str:
                return f"stage:{kind.name}"

        class Command:
            pass

        def register(command: type) -> None:
            assert issubclass(command, Command), command
            kit.commands[command.__name__.removesuffix("Command")] = command

        def unregister(command: type) -> None:
            del kit.commands[command.__name__.removesuffix("Command")]

        class Manager:
            def set_extension_enabled_immediate(self, name: str, enabled: bool) -> None:
                assert enabled
                if name.startswith("pact."):
                    kit.enable(name)

        class App:
            def update(self) -> None:
                kit.frame(steps=1)

            def get_extension_manager(self) -> Manager:
                return Manager()

        context, timeline, app = Context(), Timeline(), App()
        found = {
            "omni": self._module("omni"),
            "omni.ext": self._module("omni.ext", IExt=IExt),
            "omni.kit": self._module("omni.kit"),
            "omni.kit.app": self._module(
                "omni.kit.app", GLOBAL_EVENT_UPDATE="frame", get_app=lambda: app
            ),
            "omni.kit.async_engine": self._module(
                "omni.kit.async_engine", run_coroutine=kit.run_coroutine
            ),
            "omni.kit.commands": self._module(
                "omni.kit.commands", Command=Command, register=register, unregister=unregister
            ),
            "omni.timeline": self._module(
                "omni.timeline",
                TimelineEventType=TimelineEventType,
                get_timeline_interface=lambda: timeline,
            ),
            "omni.usd": self._module(
                "omni.usd", StageEventType=StageEventType, get_context=lambda: context
            ),
            "omni.ui": self._module("omni.ui", **self.ui.names()),
        }
        if self.menus:
            found |= self._menus()
        if self.viewport:
            found["omni.kit.viewport"] = self._module("omni.kit.viewport")
            found["omni.kit.viewport.utility"] = self._module(
                "omni.kit.viewport.utility",
                get_active_viewport_window=lambda: self.ui.viewport,
            )
        return found

    def _menus(self) -> dict[str, types.ModuleType]:
        kit = self

        class Registry:
            def deregister_all_actions_for_extension(self, ext_id: str) -> None:
                kit.actions.pop(ext_id, None)

        def make_menu_item_description(ext_id: str, name: str, onclick_fun: Any) -> Any:
            kit.actions[ext_id] += 1
            return types.SimpleNamespace(name=name, click=onclick_fun)

        def add(items: list[Any], menu: str) -> None:
            assert menu == "Window"
            kit.menu_items.extend(items)

        def remove(items: list[Any], menu: str) -> None:
            for item in items:
                kit.menu_items.remove(item)

        return {
            "isaacsim.gui": self._module("isaacsim.gui"),
            "isaacsim.gui.components": self._module("isaacsim.gui.components"),
            "isaacsim.gui.components.menu": self._module(
                "isaacsim.gui.components.menu",
                make_menu_item_description=make_menu_item_description,
            ),
            "omni.kit.menu": self._module("omni.kit.menu"),
            "omni.kit.menu.utils": self._module(
                "omni.kit.menu.utils", add_menu_items=add, remove_menu_items=remove
            ),
            "omni.kit.actions": self._module("omni.kit.actions"),
            "omni.kit.actions.core": self._module(
                "omni.kit.actions.core", get_action_registry=Registry
            ),
        }

    def run_coroutine(self, coroutine: Any) -> Any:
        """Run a coroutine to its end at once and return a task that may be cancelled."""
        try:
            while True:
                coroutine.send(None)
        except StopIteration as end:
            task = types.SimpleNamespace(result=end.value, cancel=lambda: None)
            self.tasks.append(task)
            return task

    def _isaac(self) -> dict[str, types.ModuleType]:
        kit = self
        major, minor = self.version.split(".")

        def open_stage(usd_path: str) -> tuple[bool, Usd.Stage | None]:
            return True, kit.open_stage(usd_path)

        async def open_stage_async(usd_path: str) -> tuple[bool, Usd.Stage | None]:
            return open_stage(usd_path)

        class SimulationApp:
            def __init__(self, launch_config: dict[str, Any]) -> None:
                unknown = set(launch_config) - LAUNCH_KEYS
                if unknown:
                    raise UnknownKitCall(f"SimulationApp({unknown})")
                kit.new_stage()

            def close(self, exit_code: int = 0) -> None:
                kit.closed_with = exit_code

        class SimulationApp51(SimulationApp):
            def close(self) -> None:
                kit.closed_with = 0

        application = SimulationApp if major == "6" else SimulationApp51
        names = (
            "isaacsim.core",
            "isaacsim.core.experimental",
            "isaacsim.core.experimental.utils",
        )
        return {
            "isaacsim": self._module("isaacsim", SimulationApp=application),
            **{name: self._module(name) for name in names},
            "isaacsim.core.version": self._module(
                "isaacsim.core.version",
                get_version=lambda: (f"{self.version}.0", "", major, minor, "0", "", "", ""),
            ),
            "isaacsim.core.simulation_manager": self._module(
                "isaacsim.core.simulation_manager", **self.physics.names()
            ),
            "isaacsim.core.experimental.prims": self._module(
                "isaacsim.core.experimental.prims", **self.physics.prims()
            ),
            "isaacsim.core.experimental.utils.stage": self._module(
                "isaacsim.core.experimental.utils.stage",
                open_stage=open_stage,
                open_stage_async=open_stage_async,
            ),
        }


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
            place for place, body in zip(places, model.bodies, strict=True) if body.group == "human"
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
