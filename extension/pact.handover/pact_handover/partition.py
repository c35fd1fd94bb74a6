"""Provenance partitions that a user can choose, and the notation for custom parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

PARTITIONS = ("reference", "singleton", "merged", "custom")
Partition = str | Mapping[str, tuple[str, ...]]


class PartitionError(ValueError):
    """Custom parents that cannot be read; the text says where and what would do."""


def parse_parents(text: str, roles: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read `role: parent, parent; role: parent` into the parents of every role.

    A role that is not named, or named without parents, shares its origin with nobody.

    Raises:
        PartitionError: If a role is unknown or named twice, or the notation is broken.
    """
    parents: dict[str, tuple[str, ...]] = {}
    for clause in filter(None, (part.strip() for part in text.replace("\n", ";").split(";"))):
        role, colon, listed = (part.strip() for part in clause.partition(":"))
        if not colon:
            raise PartitionError(f"{clause!r} has no colon; write `role: parent, parent; …`")
        if role not in roles:
            raise PartitionError(f"{role!r} is no source; known: {', '.join(roles)}")
        if role in parents:
            raise PartitionError(f"{role!r} is named twice")
        names = [name.strip() for name in listed.split(",")]
        parents[role] = tuple(dict.fromkeys(name for name in names if name))
    return {role: parents.get(role) or (f"{role}:own",) for role in roles}


def format_parents(parents: Mapping[str, Sequence[str]]) -> str:
    """Write parents in the notation that `parse_parents` reads."""
    return "; ".join(f"{role}: {', '.join(names)}" for role, names in parents.items())
