"""The Python interface of the running extension.

Example:
    >>> from pact_handover import get_interface
    >>> pact = get_interface()
    >>> pact.configure(scene="scene_007", condition="adversarial_consensus_wrong", label="N")
    >>> pact.build_scene()
    >>> pact.play()
    >>> pact.latest.lead.outcome
    'confirm'
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from .options import Options
from .results import StepRecord

EVENT_RESPONSE = "pact.handover.response_changed"
"""Dispatched when the lead rule's outcome or contract changes; see `ResponseChange.payload`."""


class HandoverInterface(Protocol):
    """What scripts and the panel can ask of the running extension."""

    @property
    def options(self) -> Options:
        """The settings in force."""

    @property
    def latest(self) -> StepRecord | None:
        """The last decision, or None before the first one."""

    @property
    def history(self) -> Sequence[StepRecord]:
        """Decisions since play, oldest first."""

    @property
    def step_costs(self) -> Sequence[float]:
        """Seconds that the last decisions took, observation included."""

    @property
    def recording(self) -> bool:
        """Whether a recording runs."""

    def scenes(self) -> tuple[str, ...]:
        """Return the ids of all scenes."""

    def configure(self, **values: Any) -> Options:
        """Change settings and return those in force.

        Raises:
            OptionError: If a value cannot be used; nothing is changed then.
        """

    def build_scene(self, scene: str | None = None, *, force: bool = False) -> Path:
        """Author a scene's stage and open it; return its file.

        Args:
            scene: Scene id; the one of the settings by default.
            force: Also when the open stage has edits that are not saved.

        Raises:
            RuntimeError: If the open stage has unsaved edits and `force` is not given.
        """

    def explain(self, record: StepRecord) -> tuple[str, str]:
        """Return why the outcome is what it is, and what would change it."""

    def play(self) -> None:
        """Start the simulation."""

    def pause(self) -> None:
        """Pause the simulation."""

    def stop(self) -> None:
        """Stop the simulation and go back to the start."""

    def start_recording(self, folder: Path | None = None) -> Path:
        """Record every decision from now on; return the folder."""

    def stop_recording(self) -> Path | None:
        """Finish the recording; return its folder, or None when none was running."""

    def export(self, folder: Path | None = None) -> Path:
        """Write the decisions in memory as a recording; return its folder.

        Raises:
            RuntimeError: If there are no decisions yet.
        """

    def show_overlay(self, shown: bool) -> None:
        """Colour the stage by response, or take the colours off."""


_current: HandoverInterface | None = None


def get_interface() -> HandoverInterface | None:
    """Return the interface of the running extension, or None when it does not run."""
    return _current


def publish(interface: HandoverInterface | None) -> None:
    """Make an interface the current one; the extension calls it at start and shutdown."""
    global _current
    _current = interface
