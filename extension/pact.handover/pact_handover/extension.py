"""The Kit extension: starts the runtime, and releases everything it took."""

from __future__ import annotations

import omni.ext

from . import commands
from .api import publish
from .kit import log, version
from .runtime import HandoverRuntime


class Extension(omni.ext.IExt):
    """Headless PACT Handover; `on_shutdown` undoes `on_startup` in the reverse order."""

    def on_startup(self, ext_id: str) -> None:
        """Check the version of Isaac Sim and start."""
        self._runtime: HandoverRuntime | None = None
        reason = version.unsupported_reason()
        if reason is not None:
            log.error(reason)
            return
        self._runtime = HandoverRuntime()
        self._runtime.start()
        publish(self._runtime)
        commands.register()
        log.info(f"{ext_id} is ready: build a scene and press play")

    def on_shutdown(self) -> None:
        """Release commands, interface, callbacks, recordings and overlay."""
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            commands.unregister()
            publish(None)
            runtime.close()
