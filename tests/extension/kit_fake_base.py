"""Parts of the stand-in for Kit: strict modules, and events with weakly held observers."""

from __future__ import annotations

import types
import weakref
from typing import Any


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
        """Call back on an event for as long as the subscription is held."""
        subscription = Subscription(callback)
        self._observers.setdefault(name, weakref.WeakSet()).add(subscription)
        return subscription

    def send(self, name: Any, event: Any = None) -> None:
        """Call everybody who observes an event."""
        for subscription in list(self._observers.get(name, ())):
            subscription.callback(event)

    def count(self) -> int:
        """Return the number of subscriptions that are held."""
        return sum(len(held) for held in self._observers.values())
