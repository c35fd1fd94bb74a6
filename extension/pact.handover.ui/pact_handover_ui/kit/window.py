"""The dockable window: controls above, the current decision below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import omni.ui as ui

from pact_core import HANDOVER
from pact_handover.palette import OUTCOMES

from ..viewmodel import Panel, RuleRow
from .controls import Controls
from .style import CHOSEN, DIM, NAME_WIDTH, ROW, TEXT, TRACK, BarRow, fill, ink

TITLE = "PACT Handover"
GRAPH_HEIGHT = 170


class PanelWindow:
    """The panel as an omni.ui window; widgets are built once and then only updated.

    Args:
        build_controls: Builds the pickers in the current container.
        on_visibility: Called with True or False when the user opens or closes the window.
    """

    def __init__(
        self,
        build_controls: Callable[[], Controls],
        on_visibility: Callable[[bool], None],
    ) -> None:
        self.controls: Controls | None = None
        self._panel: Panel | None = None
        self._build_controls = build_controls
        self._window: Any = ui.Window(
            TITLE, width=460, height=940, dockPreference=ui.DockPreference.RIGHT_TOP
        )
        self._window.set_visibility_changed_fn(on_visibility)
        ui.Workspace.set_show_window_fn(TITLE, self._show)
        with self._window.frame, ui.ScrollingFrame(), ui.VStack(spacing=6, height=0):
            with ui.CollapsableFrame("Scene and sources", height=0):
                self._controls_frame = ui.Frame(height=0, build_fn=self._draw_controls)
            self._build_response()
            self._build_posterior()
            self._frames = {
                "budgets": self._section("Evidence budget per component", self._draw_budgets),
                "graph": self._section("Provenance", self._draw_graph, GRAPH_HEIGHT),
                "rules": self._section("Rules side by side", self._draw_rules),
                "timeline": self._section("Time line of responses", self._draw_timeline, 46),
                "readouts": self._section("Observation", self._draw_readouts),
            }

    @property
    def visible(self) -> bool:
        """Whether the window is open."""
        return bool(self._window and self._window.visible)

    @visible.setter
    def visible(self, value: bool) -> None:
        if self._window:
            self._window.visible = value

    def update(self, panel: Panel) -> None:
        """Show a decision; parts that did not change are left alone."""
        old, self._panel = self._panel, panel
        self._title.text = panel.title
        self._subtitle.text = panel.subtitle
        self._headline.text = panel.headline
        self._reason.text = panel.reason
        self._remedy.text = panel.remedy
        if old is None or old.look != panel.look:
            self._headline_fill.style = fill(panel.look.colour)
            self._headline.style = ink(panel.look.ink, 20)
        for row, bar in zip(self._posterior, panel.posterior, strict=True):
            row.update(bar.share, bar.text, CHOSEN if bar.chosen else DIM)
        self._score.update(panel.score, "", panel.look.colour)
        self._score_text.text = panel.score_text
        self._threshold.width = ui.Percent(100 * panel.threshold)
        for name, key in (
            ("budgets", "budgets"),
            ("graph", "nodes"),
            ("rules", "rules"),
            ("timeline", "timeline"),
            ("readouts", "readouts"),
        ):
            if old is None or getattr(old, key) != getattr(panel, key):
                self._frames[name].rebuild()

    def rebuild_controls(self) -> None:
        """Build the pickers anew, for settings that were changed elsewhere."""
        self._controls_frame.rebuild()

    def destroy(self) -> None:
        """Close the window for good; destroying twice is allowed."""
        window, self._window = self._window, None
        if window is not None:
            ui.Workspace.set_show_window_fn(TITLE, None)
            if self.controls is not None:
                self.controls.destroy()
            self._frames.clear()
            window.set_visibility_changed_fn(None)
            window.destroy()

    def _show(self, visible: bool) -> None:
        """Show or hide the window when a layout asks for it."""
        self.visible = visible

    def _draw_controls(self) -> None:
        if self.controls is not None:
            self.controls.destroy()
        self.controls = self._build_controls()

    def _build_response(self) -> None:
        with ui.VStack(height=0, spacing=3):
            self._title = ui.Label("Build a scene and press play", height=ROW, style=ink(TEXT, 16))
            self._subtitle = ui.Label("", height=18, style=ink(DIM, 13))
            with ui.ZStack(height=40):
                self._headline_fill = ui.Rectangle(style=fill(TRACK))
                self._headline = ui.Label(
                    "–", alignment=ui.Alignment.CENTER, style=ink("#FFFFFF", 20)
                )
            self._reason = ui.Label("", height=0, word_wrap=True, style=ink(TEXT))
            self._remedy = ui.Label("", height=0, word_wrap=True, style=ink(DIM))

    def _build_posterior(self) -> None:
        with ui.CollapsableFrame("Posterior and score", height=0), ui.VStack(height=0, spacing=2):
            self._posterior = [BarRow(name) for name in HANDOVER.names]
            self._score = BarRow("Score")
            with ui.HStack(height=4):
                ui.Spacer(width=NAME_WIDTH + 6)
                with ui.HStack():
                    self._threshold = ui.Rectangle(width=ui.Percent(0), style=fill("#F0E442"))
                    ui.Spacer()
                ui.Spacer(width=76)
            self._score_text = ui.Label("", height=ROW, style=ink(DIM, 13))

    @staticmethod
    def _section(title: str, draw: Callable[[], None], height: int = 0) -> Any:
        with ui.CollapsableFrame(title, height=0):
            return ui.Frame(height=height, build_fn=draw)

    def _draw_budgets(self) -> None:
        with ui.VStack(height=0, spacing=2):
            for budget in self._panel.budgets if self._panel else ():
                members = " + ".join(budget.members)
                ui.Label(f"{members}: {budget.total:.2f}", height=18, style=ink(budget.colour))
                for name, value, share in zip(
                    HANDOVER.names, budget.values, budget.shares, strict=True
                ):
                    BarRow(name, budget.colour).update(share, f"{value:.2f}")

    def _draw_graph(self) -> None:
        if self._panel is None:
            return
        with ui.ZStack(height=GRAPH_HEIGHT):
            dots = []
            for node in self._panel.nodes:
                with (
                    ui.Placer(
                        offset_x=ui.Percent(100 * node.x - 15),
                        offset_y=ui.Percent(100 * node.y - 5),
                    ),
                    ui.HStack(width=0, height=0, spacing=4),
                ):
                    dot = ui.Rectangle(
                        width=12, height=12, style=fill(node.colour, 90 if node.faded else 255)
                    )
                    ui.Label(node.name, style=ink(DIM if node.faded else TEXT, 13))
                dots.append(dot)
            for edge in self._panel.edges:
                ui.FreeBezierCurve(
                    dots[edge.source], dots[edge.parent],
                    style=ink(edge.colour) | {"border_width": 2},
                )  # fmt: skip

    def _draw_rules(self) -> None:
        with ui.VStack(height=0, spacing=1):
            for row in self._panel.rules if self._panel else ():
                self._draw_rule(row)

    @staticmethod
    def _draw_rule(row: RuleRow) -> None:
        with ui.HStack(height=ROW, spacing=6):
            ui.Label(row.rule, width=NAME_WIDTH, style=ink(TEXT))
            ui.Label(row.contract, width=20, style=ink(TEXT))
            ui.Label(row.score, width=50, style=ink(DIM))
            with ui.ZStack(width=90):
                ui.Rectangle(style=fill(row.look.colour))
                ui.Label(row.look.word, alignment=ui.Alignment.CENTER, style=ink(row.look.ink, 13))
            ui.Label(row.check, style=ink(DIM, 13))

    def _draw_timeline(self) -> None:
        if self._panel is None:
            return
        begin, end = self._panel.time_span
        with ui.VStack(height=0, spacing=2):
            with ui.HStack(height=22):
                for segment in self._panel.timeline:
                    width = ui.Fraction(max(segment.end - segment.start, 1e-4))
                    with ui.ZStack(width=width):
                        ui.Rectangle(style=fill(OUTCOMES[segment.outcome].colour))
                        ui.Label(
                            segment.contract if segment.end - segment.start > 0.04 else "",
                            alignment=ui.Alignment.CENTER,
                            style=ink(OUTCOMES[segment.outcome].ink, 13),
                        )
            with ui.HStack(height=18):
                ui.Label(f"{begin:.2f} s", style=ink(DIM, 13))
                ui.Label(f"{end:.2f} s", alignment=ui.Alignment.RIGHT_CENTER, style=ink(DIM, 13))

    def _draw_readouts(self) -> None:
        with ui.VStack(height=0):
            for title, text in self._panel.readouts if self._panel else ():
                with ui.HStack(height=18):
                    ui.Label(title, width=NAME_WIDTH, style=ink(DIM))
                    ui.Label(text, style=ink(TEXT))
