"""Pictures of scenes, drawn on the CPU without a display."""

from __future__ import annotations

from pact_benchmark.preview.pictures import animation, contact_sheet, frame

__all__ = ["animation", "contact_sheet", "frame"]
