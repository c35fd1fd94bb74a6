"""The open stage and how to open another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import isaacsim.core.experimental.utils.stage as stage_utils
import omni.kit.async_engine
import omni.usd


def current() -> Any:
    """Return the open `Usd.Stage`, or None."""
    return omni.usd.get_context().get_stage()


def has_unsaved_edits() -> bool:
    """Return whether closing the open stage would lose work."""
    return bool(omni.usd.get_context().has_pending_edit())


def open_now(path: Path) -> Any:
    """Open a file as the stage and return it.

    Raises:
        RuntimeError: If the file cannot be opened.
    """
    opened, stage = stage_utils.open_stage(str(path))
    if not opened or stage is None:
        raise RuntimeError(f"Cannot open {path}")
    return stage


def open_soon(path: Path) -> Any:
    """Open a file as the stage without blocking the frame; return the task."""
    return omni.kit.async_engine.run_coroutine(stage_utils.open_stage_async(str(path)))
