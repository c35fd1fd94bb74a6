"""Pickers and transport: the part of the panel that changes settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import omni.ui as ui

from pact_handover.options import Options
from pact_handover.partition import PARTITIONS

from ..viewmodel import rule_title
from .style import DIM, NAME_WIDTH, ROW, TEXT, ink


class Actions(Protocol):
    """What the pickers and buttons ask for."""

    def choose(self, **values: Any) -> None:
        """Change settings."""

    def build_scene(self) -> None:
        """Build and open the chosen scene."""

    def play(self) -> None:
        """Start the simulation."""

    def pause(self) -> None:
        """Pause the simulation."""

    def stop(self) -> None:
        """Stop the simulation."""

    def toggle_recording(self) -> None:
        """Start a recording, or finish the one that runs."""

    def export(self) -> None:
        """Write the decisions in memory as a recording."""


class Controls:
    """Builds the pickers inside the current omni.ui container and keeps their subscriptions."""

    def __init__(
        self,
        actions: Actions,
        options: Options,
        *,
        scenes: Sequence[str],
        conditions: Sequence[str],
        labels: Sequence[str],
        rules: Sequence[str],
    ) -> None:
        self._actions = actions
        self._models: list[Any] = []
        self._rules = {name: name in options.rules for name in rules}
        self._order = tuple(options.rules)
        with ui.VStack(spacing=3, height=0):
            self._pick("Scene", "scene", scenes, options.scene)
            self._pick("Condition", "condition", conditions, options.condition)
            self._pick("Command", "label", labels, options.label)
            self._pick("Partition", "partition", PARTITIONS, options.partition)
            self._parents(options.custom_parents)
            self._threshold(options.threshold)
            self._rule_boxes()
            self._transport()
            self._message = ui.Label("", height=ROW, word_wrap=True, style=ink(DIM, 13))

    def say(self, text: str) -> None:
        """Show one line below the buttons."""
        self._message.text = text

    def show_recording(self, running: bool) -> None:
        """Label the record button."""
        self._record.text = "Stop recording" if running else "Record"

    def destroy(self) -> None:
        """Drop all models and with them their subscriptions."""
        self._models.clear()

    def _named(self, title: str) -> None:
        ui.Label(title, width=NAME_WIDTH, style=ink(TEXT))

    def _pick(self, title: str, name: str, items: Sequence[str], current: str) -> None:
        with ui.HStack(height=ROW, spacing=6):
            self._named(title)
            index = items.index(current) if current in items else 0
            model = ui.ComboBox(index, *items).model

        def changed(changed_model: Any, _item: Any) -> None:
            chosen = items[changed_model.get_item_value_model().as_int]
            self._actions.choose(**{name: chosen})

        self._models.append((model, model.subscribe_item_changed_fn(changed)))

    def _parents(self, text: str) -> None:
        with ui.HStack(height=ROW, spacing=6):
            self._named("Custom parents")
            model = ui.StringField(
                tooltip="language: command; geometry: scene, camera; risk: scene"
            ).model
        model.set_value(text)

        def changed(changed_model: Any) -> None:
            self._actions.choose(custom_parents=changed_model.as_string)

        self._models.append((model, model.subscribe_end_edit_fn(changed)))

    def _threshold(self, value: float) -> None:
        with ui.HStack(height=ROW, spacing=6):
            self._named("Threshold (0: none)")
            model = ui.FloatSlider(min=0.0, max=1.0, step=0.01).model
        model.set_value(value)

        def changed(changed_model: Any) -> None:
            self._actions.choose(threshold=min(max(changed_model.as_float, 0.0), 1.0))

        self._models.append((model, model.subscribe_value_changed_fn(changed)))

    def _rule_boxes(self) -> None:
        with ui.CollapsableFrame("Rules", collapsed=True, height=0), ui.VStack(height=0):
            for name in self._rules:
                with ui.HStack(height=ROW, spacing=6):
                    model = ui.CheckBox(width=20).model
                    ui.Label(rule_title(name), style=ink(TEXT))
                model.set_value(self._rules[name])

                def changed(changed_model: Any, rule: str = name) -> None:
                    self._toggle(rule, changed_model.as_bool)

                self._models.append((model, model.subscribe_value_changed_fn(changed)))

    def _toggle(self, rule: str, chosen: bool) -> None:
        self._rules[rule] = chosen
        kept = [name for name in self._order if self._rules.get(name)]
        added = [name for name, on in self._rules.items() if on and name not in kept]
        if kept or added:
            self._order = (*kept, *added)
            self._actions.choose(rules=self._order)
        else:
            self.say("Choose at least one rule; the last choice stays in force.")

    def _transport(self) -> None:
        actions = self._actions
        with ui.HStack(height=28, spacing=4):
            ui.Button("Build scene", clicked_fn=actions.build_scene)
            ui.Button("Play", clicked_fn=actions.play)
            ui.Button("Pause", clicked_fn=actions.pause)
            ui.Button("Stop", clicked_fn=actions.stop)
        with ui.HStack(height=28, spacing=4):
            self._record = ui.Button("Record", clicked_fn=actions.toggle_recording)
            ui.Button("Export", clicked_fn=actions.export)
