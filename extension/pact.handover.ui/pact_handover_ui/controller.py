"""When and what to redraw: the refresh is tied to the wall clock, not to the physics rate."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pact_handover.palette import Look
from pact_handover.results import StepRecord

from .preferences import Preferences
from .viewmodel import Explanation, Panel, panel_of


class Decisions(Protocol):
    """Where decisions come from: the interface of the headless extension."""

    @property
    def latest(self) -> StepRecord | None:
        """The last decision, or None."""

    @property
    def history(self) -> Sequence[StepRecord]:
        """Decisions since play, oldest first."""

    def explain(self, record: StepRecord) -> tuple[str, str]:
        """Return why the outcome is what it is, and what would change it."""


class PanelView(Protocol):
    """What shows the panel."""

    def update(self, panel: Panel) -> None:
        """Show a decision."""


class BannerView(Protocol):
    """What shows the response in the viewport."""

    def update(self, look: Look, text: str) -> None:
        """Show a response."""


class RefreshController:
    """Redraws at most once per refresh period, and only when there is a new decision.

    Args:
        decisions: Where decisions come from.
        preferences: Refresh period and length of the time line.
        clock: Wall clock [s].
    """

    def __init__(
        self, decisions: Decisions, preferences: Preferences, clock: Callable[[], float]
    ) -> None:
        self._decisions, self._preferences, self._clock = decisions, preferences, clock
        self._drawn: StepRecord | None = None
        self._last = -float("inf")
        self.panel: PanelView | None = None
        self.banner: BannerView | None = None

    def forget(self) -> None:
        """Redraw at the next frame even if the decision is the same."""
        self._drawn, self._last = None, -float("inf")

    def on_frame(self) -> Panel | None:
        """Redraw if it is time; return what was drawn."""
        now = self._clock()
        record = self._decisions.latest
        early = now - self._last < self._preferences.refresh_period
        if record is None or record is self._drawn or early:
            return None
        self._last, self._drawn = now, record
        panel = self._panel(record)
        if self.panel is not None:
            self.panel.update(panel)
        if self.banner is not None:
            self.banner.update(panel.look, panel.headline)
        return panel

    def _panel(self, record: StepRecord) -> Panel:
        return panel_of(
            record,
            tail(self._decisions.history, self._preferences.timeline_length),
            Explanation(*self._decisions.explain(record)),
        )


def tail(history: Sequence[Any], length: int) -> list[Any]:
    """Return the last `length` items; works on a deque without copying all of it."""
    start = max(len(history) - length, 0)
    return list(itertools.islice(history, start, None))
