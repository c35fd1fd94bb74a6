"""Which Isaac Sim this is, and whether the extension supports it."""

from __future__ import annotations

from isaacsim.core.version import get_version

SUPPORTED = ((5, 1), (6, 99))


def isaac_version() -> tuple[int, int]:
    """Return major and minor version; (0, 0) when the text cannot be read."""
    fields = get_version()
    try:
        return int(fields[2]), int(fields[3])
    except (IndexError, ValueError):
        return (0, 0)


def unsupported_reason() -> str | None:
    """Return what is wrong with this version and what to do, or None when it is supported."""
    found = isaac_version()
    if SUPPORTED[0] <= found <= SUPPORTED[1]:
        return None
    shown = "of unknown version" if found == (0, 0) else f"{found[0]}.{found[1]}"
    return (
        f"This is Isaac Sim {shown}; pact.handover supports 5.1 and 6.x. "
        "Start it in one of these, or run the benchmark without Isaac Sim: pact run."
    )
