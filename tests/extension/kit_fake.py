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
from collections import Counter
from typing import Any

from pxr import Usd

from tests.extension.kit_fake_base import Bus, StrictModule, Subscription, UnknownKitCall
from tests.extension.kit_fake_physics import FakePhysics
from tests.extension.kit_fake_ui import FakeUi

LAUNCH_KEYS = {"headless", "disable_viewport_updates", "limit_cpu_threads", "extra_args"}
OURS = ("pact_handover", "pact_scenes.simulators.isaac", "_isaac_app", "isaac_")


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
