"""The Kit extension: opens the panel, refreshes it, and takes everything away again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import omni.ext

from pact_core import HANDOVER, RULES
from pact_handover.api import HandoverInterface, get_interface
from pact_handover.kit import log
from pact_handover.kit import settings as kit_settings
from pact_handover.kit.events import Subscriptions
from pact_handover.options import OptionError, condition_names

from .controller import RefreshController
from .kit.controls import Controls
from .kit.menu import MenuEntry
from .kit.viewport import Banner
from .kit.window import TITLE, PanelWindow
from .preferences import Preferences

SETTINGS_ROOT = "/exts/pact.handover.ui"


class Extension(omni.ext.IExt):
    """Panel, banner and overlay of PACT Handover; every resource is released on shutdown."""

    def on_startup(self, ext_id: str) -> None:
        """Connect to the headless extension, add the menu entry and open the panel."""
        self._ext_id = ext_id
        self._window: PanelWindow | None = None
        self._banner: Banner | None = None
        self._menu: MenuEntry | None = None
        self._subscriptions = Subscriptions("pact.handover.ui")
        self._interface = get_interface()
        if self._interface is None:
            log.warn("The panel stays closed: pact.handover did not start (see its message above).")
            return
        self._preferences = Preferences.from_settings(
            kit_settings.read(SETTINGS_ROOT, Preferences.names())
        )
        self._controller = RefreshController(self._interface, self._preferences, time.monotonic)
        self._actions = PanelActions(self._interface, self._say)
        self._interface.show_overlay(self._preferences.overlay)
        self._menu = MenuEntry(ext_id, TITLE, self._toggle_window)
        if self._preferences.open_on_startup:
            self._toggle_window()
        self._subscriptions.on_update(self._on_frame)

    def on_shutdown(self) -> None:
        """Release everything in the reverse order."""
        self._subscriptions.release()
        if self._banner is not None:
            self._banner.remove()
        if self._window is not None:
            self._window.destroy()
        if self._menu is not None:
            self._menu.remove()
        if self._interface is not None:
            self._interface.show_overlay(self._interface.options.overlay)
        self._banner = self._window = self._menu = self._interface = None

    def _toggle_window(self) -> None:
        if self._window is None:
            self._window = PanelWindow(self._build_controls, self._on_visibility)
            self._controller.panel = self._window
            self._controller.forget()
        else:
            self._window.visible = not self._window.visible

    def _on_visibility(self, _visible: bool) -> None:
        self._controller.forget()

    def _build_controls(self) -> Controls:
        interface = self._require()
        return Controls(
            self._actions,
            interface.options,
            scenes=interface.scenes(),
            conditions=condition_names(),
            labels=HANDOVER.names,
            rules=tuple(RULES),
        )

    def _on_frame(self) -> None:
        if self._preferences.banner and self._banner is None and self._require().latest:
            self._banner = Banner(self._ext_id, legend=self._preferences.legend)
            self._controller.banner = self._banner
            self._controller.forget()
        drawn = self._controller.on_frame() is not None
        if self._window is None:
            return
        if self._actions.shown != self._require().options:
            self._actions.shown = self._require().options
            self._window.rebuild_controls()
        if drawn and self._window.controls is not None:
            self._window.controls.show_recording(self._require().recording)

    def _say(self, text: str) -> None:
        if self._window is not None and self._window.controls is not None:
            self._window.controls.say(text)
            self._window.controls.show_recording(self._require().recording)

    def _require(self) -> HandoverInterface:
        if self._interface is None:
            raise RuntimeError("pact.handover is not running")
        return self._interface


class PanelActions:
    """Carries the user's wishes to the headless extension and its answers to the panel.

    Args:
        interface: The running extension.
        say: Shows one line in the panel.
    """

    def __init__(self, interface: HandoverInterface, say: Callable[[str], None]) -> None:
        self._interface, self._say = interface, say
        self.shown = interface.options

    def choose(self, **values: Any) -> None:
        """Change settings; a value that cannot be used is refused with the reason."""
        try:
            self.shown = self._interface.configure(**values)
        except OptionError as error:
            self._say(str(error))
        else:
            self._say("")

    def build_scene(self) -> None:
        """Build and open the chosen scene."""
        self._try(lambda: f"Opened {self._interface.build_scene().name}; press play")

    def play(self) -> None:
        """Start the simulation."""
        self._interface.play()

    def pause(self) -> None:
        """Pause the simulation."""
        self._interface.pause()

    def stop(self) -> None:
        """Stop the simulation."""
        self._interface.stop()

    def toggle_recording(self) -> None:
        """Start a recording, or finish the one that runs."""
        if self._interface.recording:
            self._try(lambda: f"Recorded in {self._interface.stop_recording()}")
        else:
            self._try(lambda: f"Recording to {self._interface.start_recording()}")

    def export(self) -> None:
        """Write the decisions in memory as a recording."""
        self._try(lambda: f"Exported to {self._interface.export()}")

    def _try(self, action: Callable[[], str]) -> None:
        """Do something and show what came of it."""
        try:
            self._say(action())
        except (OSError, RuntimeError) as error:
            self._say(str(error))
