"""Messages in Kit's log."""

from __future__ import annotations

import carb

PREFIX = "[pact.handover]"


def info(message: str) -> None:
    """Log a message for the developer's console."""
    carb.log_info(f"{PREFIX} {message}")


def warn(message: str) -> None:
    """Log something the user should know and can mend."""
    carb.log_warn(f"{PREFIX} {message}")


def error(message: str) -> None:
    """Log a failure."""
    carb.log_error(f"{PREFIX} {message}")
