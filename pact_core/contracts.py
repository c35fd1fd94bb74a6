"""Action contracts, typed responses and the names used in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class ContractSet:
    """A finite set of K >= 2 action contracts in tie-breaking order (the earlier wins)."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) < 2:
            raise ValueError("a contract set needs at least two contracts")
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"contract names must be distinct, got {self.names}")

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, index: int) -> str:
        return self.names[index]

    def index(self, name: str) -> int:
        """Return the position of a contract; ValueError for an unknown name."""
        return self.names.index(name)


HANDOVER = ContractSet(("N", "S", "H", "T", "U"))
"""Normal, slow-clearance, hold-confirm, retreat-fallback, bounded-urgent."""

RELEASE_NAMES: dict[str, str] = {
    "N": "normal",
    "S": "slow_clearance",
    "H": "hold_confirm",
    "T": "retreat_fallback",
    "U": "bounded_urgent",
}
"""The handover contracts as they are spelled in the authors' record format."""


class Response(StrEnum):
    """What a decision asks the robot to do instead of executing the contract."""

    NONE = "none"
    HOLD = "hold"
    CONFIRM = "confirm"
    FALLBACK = "fallback"


class Status(StrEnum):
    """Whether the contract may be executed."""

    ADMITTED = "admitted"
    WITHHELD = "withheld"
