"""Commands for scripts: `omni.kit.commands.execute("PactBuildScene", scene="scene_007")`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import omni.kit.commands

from .api import HandoverInterface, get_interface


def _require() -> HandoverInterface:
    interface = get_interface()
    if interface is None:
        raise RuntimeError("pact.handover is not running")
    return interface


class PactConfigureCommand(omni.kit.commands.Command):
    """Change settings of PACT Handover; undo restores the former ones.

    Args:
        values: Settings by name, for example `{"condition": "clean_control"}`.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = dict(values)
        self._former: dict[str, Any] = {}

    def do(self) -> dict[str, Any]:
        """Apply the settings and return those in force."""
        interface = _require()
        former = interface.options.to_settings()
        in_force = interface.configure(**self._values)
        self._former = {name: former[name] for name in self._values}
        return in_force.to_settings()

    def undo(self) -> None:
        """Restore the former settings."""
        _require().configure(**self._former)


class PactBuildSceneCommand(omni.kit.commands.Command):
    """Author a scene's stage and open it.

    Args:
        scene: Scene id; empty: the one of the settings.
        force: Also when the open stage has edits that are not saved.
    """

    def __init__(self, scene: str = "", force: bool = False) -> None:
        self._scene, self._force = scene, force

    def do(self) -> str:
        """Build the scene and return its file."""
        return str(_require().build_scene(self._scene or None, force=self._force))


class PactStartRecordingCommand(omni.kit.commands.Command):
    """Record every decision from now on.

    Args:
        folder: Folder of the recording; empty: a new one in the folder of the settings.
    """

    def __init__(self, folder: str = "") -> None:
        self._folder = folder

    def do(self) -> str:
        """Start the recording and return its folder."""
        return str(_require().start_recording(Path(self._folder) if self._folder else None))


class PactStopRecordingCommand(omni.kit.commands.Command):
    """Finish the recording that runs."""

    def do(self) -> str:
        """Finish it and return its folder, or empty text when none was running."""
        return str(_require().stop_recording() or "")


COMMANDS = (
    PactConfigureCommand,
    PactBuildSceneCommand,
    PactStartRecordingCommand,
    PactStopRecordingCommand,
)


def register() -> None:
    """Make the commands known to Kit."""
    for command in COMMANDS:
        omni.kit.commands.register(command)


def unregister() -> None:
    """Take the commands away again."""
    for command in reversed(COMMANDS):
        omni.kit.commands.unregister(command)
