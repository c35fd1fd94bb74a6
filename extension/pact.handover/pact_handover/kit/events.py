"""Subscriptions to timeline, stage and frame events, and events of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import carb.eventdispatcher
import omni.kit.app
import omni.timeline
import omni.usd

Callback = Callable[[], None]


class Subscriptions:
    """Holds subscriptions by name; dropping the object that Kit returned ends a subscription."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._held: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._held)

    def on_timeline(self, *, play: Callback, pause: Callback, stop: Callback) -> None:
        """Call back when the timeline starts, pauses and stops."""
        stream = omni.timeline.get_timeline_interface().get_timeline_event_stream()
        kinds = omni.timeline.TimelineEventType
        for name, kind, callback in (
            ("play", kinds.PLAY, play),
            ("pause", kinds.PAUSE, pause),
            ("stop", kinds.STOP, stop),
        ):
            self._held[name] = stream.create_subscription_to_pop_by_type(
                int(kind), _ignoring_the_event(callback)
            )

    def on_stage(self, *, opened: Callback, closing: Callback) -> None:
        """Call back after a stage was opened and before one is closed."""
        context = omni.usd.get_context()
        kinds = omni.usd.StageEventType
        for name, kind, callback in (
            ("opened", kinds.OPENED, opened),
            ("closing", kinds.CLOSING, closing),
        ):
            self._held[name] = _observe(
                context.stage_event_name(kind), f"{self._owner}.{name}", callback
            )

    def on_update(self, callback: Callback) -> None:
        """Call back once per frame of the application."""
        self._held["update"] = _observe(
            omni.kit.app.GLOBAL_EVENT_UPDATE, f"{self._owner}.update", callback
        )

    def on_event(self, name: str, callback: Callback) -> None:
        """Call back when an event of the given name is dispatched."""
        self._held[name] = _observe(name, f"{self._owner}.{name}", callback)

    def release(self) -> None:
        """End all subscriptions, the last one first."""
        while self._held:
            self._held.popitem()


def _ignoring_the_event(callback: Callback) -> Callable[[object], None]:
    return lambda _event: callback()


def _observe(event: str, observer: str, callback: Callback) -> Any:
    return carb.eventdispatcher.get_eventdispatcher().observe_event(
        event_name=event, on_event=_ignoring_the_event(callback), observer_name=observer
    )


def dispatch(name: str, payload: Mapping[str, Any]) -> None:
    """Send an event to everybody who observes `name`."""
    carb.eventdispatcher.get_eventdispatcher().dispatch_event(
        event_name=name, payload=dict(payload)
    )


def playing() -> bool:
    """Return whether the timeline runs."""
    return bool(omni.timeline.get_timeline_interface().is_playing())


def play() -> None:
    """Start the timeline at once."""
    timeline = omni.timeline.get_timeline_interface()
    timeline.play()
    timeline.commit()


def pause() -> None:
    """Pause the timeline at once."""
    timeline = omni.timeline.get_timeline_interface()
    timeline.pause()
    timeline.commit()


def stop() -> None:
    """Stop the timeline at once; physics goes back to the start."""
    timeline = omni.timeline.get_timeline_interface()
    timeline.stop()
    timeline.commit()


def update() -> None:
    """Run one frame of the application; while playing it may take physics steps."""
    omni.kit.app.get_app().update()
