"""The banner with the response and the legend, drawn over the active viewport."""

from __future__ import annotations

from typing import Any

import omni.ui as ui

from pact_handover.palette import CLEARANCE, OUTCOMES, SIGHT_BLOCKED, SIGHT_FREE, Look

from .style import fill, ink

try:
    from omni.kit.viewport.utility import get_active_viewport_window

    HAS_VIEWPORT = True
except ImportError:
    HAS_VIEWPORT = False

LINES = (
    (SIGHT_FREE, "sight line, free"),
    (SIGHT_BLOCKED, "sight line, blocked (thick)"),
    (CLEARANCE, "closest robot–human distance"),
)


class Banner:
    """Text and colour of the response at the top of the viewport, with an optional legend."""

    def __init__(self, owner: str, *, legend: bool) -> None:
        self._frame: Any = None
        window = get_active_viewport_window() if HAS_VIEWPORT else None
        if window is None:
            return
        self._frame = window.get_frame(owner)
        with self._frame, ui.VStack():
            ui.Spacer(height=36)
            with ui.HStack(height=44):
                ui.Spacer(width=ui.Percent(25))
                with ui.ZStack():
                    self._fill = ui.Rectangle(style=fill("#3A3A3A", 220))
                    self._label = ui.Label(
                        "PACT", alignment=ui.Alignment.CENTER, style=ink("#FFFFFF", 22)
                    )
                ui.Spacer(width=ui.Percent(25))
            ui.Spacer()
            if legend:
                self._build_legend()

    @property
    def shown(self) -> bool:
        """Whether there is a viewport to draw on."""
        return self._frame is not None

    def update(self, look: Look, text: str) -> None:
        """Show a response."""
        if self._frame is not None:
            self._fill.style = fill(look.colour, 230)
            self._label.style = ink(look.ink, 22)
            self._label.text = text

    def remove(self) -> None:
        """Take banner and legend off the viewport; removing twice is allowed."""
        frame, self._frame = self._frame, None
        if frame is not None:
            frame.clear()

    def _build_legend(self) -> None:
        entries = [(look.colour, f"{look.word}: {look.meaning}") for look in OUTCOMES.values()]
        with ui.HStack(height=20 * (len(entries) + len(LINES)) + 8):
            ui.Spacer(width=16)
            with ui.ZStack(width=360):
                ui.Rectangle(style=fill("#202020", 180))
                with ui.VStack():
                    ui.Spacer(height=4)
                    for colour, text in (*entries, *LINES):
                        with ui.HStack(height=20, spacing=6):
                            ui.Spacer(width=6)
                            ui.Rectangle(width=14, height=14, style=fill(colour))
                            ui.Label(text, style=ink("#FFFFFF", 13))
            ui.Spacer()
        ui.Spacer(height=24)
