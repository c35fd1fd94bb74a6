"""Sizes, colours and small builders that all widgets share."""

from __future__ import annotations

from typing import Any

import omni.ui as ui

ROW = 22
NAME_WIDTH = 150
DIM = "#8A8A8A"
TRACK = "#3A3A3A"
TEXT = "#E6E6E6"
BAR = "#56B4E9"
CHOSEN = "#0072B2"


def abgr(code: str, alpha: int = 255) -> int:
    """Return `#RRGGBB` as the integer that omni.ui styles take."""
    red, green, blue = (int(code[i : i + 2], 16) for i in (1, 3, 5))
    return alpha << 24 | blue << 16 | green << 8 | red


def fill(code: str, alpha: int = 255) -> dict[str, Any]:
    """Return the style of a filled rectangle."""
    return {"background_color": abgr(code, alpha), "border_radius": 2}


def ink(code: str, size: int = 14) -> dict[str, Any]:
    """Return the style of a text."""
    return {"color": abgr(code), "font_size": size}


class BarRow:
    """A named bar with a value; built once, then only updated."""

    def __init__(self, name: str, colour: str = BAR) -> None:
        self._colour = colour
        self._shown: tuple[float, str, str] | None = None
        with ui.HStack(height=ROW, spacing=6):
            self._name = ui.Label(name, width=NAME_WIDTH, style=ink(TEXT))
            with ui.ZStack():
                ui.Rectangle(style=fill(TRACK))
                with ui.HStack():
                    self._bar = ui.Rectangle(width=ui.Percent(0), style=fill(colour))
                    ui.Spacer()
            self._value = ui.Label("", width=70, style=ink(TEXT))

    def update(self, share: float, text: str, colour: str | None = None) -> None:
        """Set length in [0, 1], text and colour; does nothing when nothing changed."""
        wanted = (round(share, 4), text, colour or self._colour)
        if wanted == self._shown:
            return
        self._bar.width = ui.Percent(100 * wanted[0])
        self._value.text = text
        if self._shown is None or wanted[2] != self._shown[2]:
            self._bar.style = fill(wanted[2])
        self._shown = wanted
