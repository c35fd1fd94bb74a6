"""From parent sets to provenance components, and operations on partitions.

Two sources are linked when their parent sets overlap; the connected components of this relation
are the units that may be counted separately. A component is labelled by its smallest member.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from pact_core._array import Array, namespace

Partition = tuple[int, ...]
"""One label per source; equal labels mean the same component."""


def components(parents: Sequence[Collection[Hashable]]) -> Partition:
    """Return the component label of every source, by union-find over the hashed parents.

    Time is near-linear in the total number of parents. Unavailable and invalid sources take part
    like any other: pass their parent sets too.

    Args:
        parents: One nonempty parent set per source.

    Returns:
        For every source the smallest index of its component.

    Raises:
        ValueError: A parent set is empty, or a parent is of a kind that cannot be compared by hash.
    """
    owner: dict[Hashable, int] = {}
    claim = owner.setdefault
    root: list[int] = []
    for i, names in enumerate(parents):
        if len(names) == 0:
            raise ValueError(f"source {i} has no parents; every source needs at least one")
        root.append(i)  # grows with the walk, so that neighbours are still in the cache
        here = i
        for name in names:
            try:
                there = claim(name, i)
            except TypeError as error:
                raise ValueError(
                    f"parent {name!r} of source {i} cannot be a name ({error}); use text or numbers"
                ) from error
            if there == i:
                continue
            while root[there] != there:
                root[there] = there = root[root[there]]
            if there < here:
                root[here] = here = there
            elif there > here:
                root[there] = here
    for i, above in enumerate(root):
        root[i] = root[above]  # links point downwards, so the one above is final
    return tuple(root)


def components_present(
    parents: Sequence[Collection[Hashable]], available: Sequence[object]
) -> Partition:
    """Return labels of the components among the available sources; the others stand alone.

    Args:
        parents: One nonempty parent set per source.
        available: Whether each source arrived, by its truth.
    """
    kept = [i for i, arrived in enumerate(available) if arrived]
    label = list(range(len(parents)))
    for i, root in zip(kept, components([parents[i] for i in kept]), strict=True):
        label[i] = kept[root]
    return tuple(label)


def components_batch(parent_ids: Array, keep: Array | None = None) -> Array:
    """Return component labels for many instances at once.

    Args:
        parent_ids: Integer parent identifiers, shape [..., J, P], -1 where a source has fewer
            than P parents.
        keep: Sources that take part, boolean, shape [..., J]; the others stand alone and link
            nothing. None = all.

    Returns:
        The smallest member index of the component of every source, shape [..., J].

    Raises:
        ValueError: A source has no parent at all.
    """
    xp = namespace(parent_ids)
    ids = np.asarray(parent_ids) if xp is np else parent_ids
    known = ids >= 0
    if not bool(xp.all(xp.any(known, axis=-1))):
        raise ValueError("a source has no parents; every source needs at least one")
    if keep is not None:
        known = known & keep[..., None]
    sources, width = ids.shape[-2], ids.shape[-1]
    overlap = xp.zeros((*ids.shape[:-2], sources, sources), dtype=known.dtype)
    for a in range(width):
        for b in range(width):
            same = ids[..., :, None, a] == ids[..., None, :, b]
            overlap = overlap | (same & known[..., :, None, a] & known[..., None, :, b])
    return _closure(xp, overlap)


def _closure(xp: Any, overlap: Array) -> Array:
    """Propagate the smallest index along links until nothing changes."""
    sources = overlap.shape[-1]
    own = xp.arange(sources)
    label = xp.broadcast_to(own, overlap.shape[:-1])
    while True:
        reached = xp.where(overlap, label[..., None, :], sources)
        smaller = xp.minimum(label, xp.min(reached, axis=-1))
        if bool(xp.all(smaller == label)):
            return smaller
        label = smaller


def blocks(partition: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the components of a labelling as tuples of members, ordered by smallest member."""
    members: dict[int, list[int]] = {}
    for i, label in enumerate(partition):
        members.setdefault(label, []).append(i)
    return tuple(tuple(group) for group in members.values())


def from_blocks(groups: Iterable[Iterable[int]], sources: int) -> Partition:
    """Return the labelling of explicit components; sources not mentioned stay alone."""
    label = list(range(sources))
    seen: set[int] = set()
    for group in groups:
        members = sorted(group)
        _check_members(members, sources)
        if seen.intersection(members) or len(set(members)) < len(members):
            raise ValueError(f"components must be disjoint, {members} are not")
        seen.update(members)
        for member in members:
            label[member] = members[0]
    return tuple(label)


def is_coarsening(coarse: Sequence[int], fine: Sequence[int]) -> bool:
    """Whether every component of ``fine`` lies inside one component of ``coarse``."""
    return all(len({coarse[i] for i in group}) == 1 for group in blocks(fine))


def merge(partition: Sequence[int], *members: int) -> Partition:
    """Join the components that hold the given sources (over-coarsening)."""
    _check_members(members, len(partition))
    joined = {partition[i] for i in members}
    return _canonical(-1 if label in joined else label for label in partition)


def refine(partition: Sequence[int], *members: int) -> Partition:
    """Give each of the given sources a component of its own (false refinement)."""
    _check_members(members, len(partition))
    fresh = max(partition, default=0) + 1
    return _canonical(fresh + i if i in members else label for i, label in enumerate(partition))


def regroup(partition: Sequence[int], order: Sequence[int]) -> Partition:
    """Hand the component structure to other members: source i takes the place of ``order[i]``."""
    if sorted(order) != list(range(len(partition))):
        raise ValueError("order must be a permutation of the sources")
    return _canonical(partition[i] for i in order)


def bridge(
    parents: Sequence[Collection[Hashable]], first: int, second: int
) -> tuple[frozenset[Hashable], ...]:
    """Add one erroneous common parent to two sources and return the new parent sets."""
    _check_members((first, second), len(parents))
    link = ("bridge", first, second)
    return tuple(
        frozenset(names) | ({link} if i in (first, second) else frozenset())
        for i, names in enumerate(parents)
    )


def replicate(
    partition: Sequence[int], source: int, copies: int, *, parents: str = "same"
) -> Partition:
    """Append copies of a source: with the ``same`` parents, or each with a ``new`` one."""
    if parents not in ("same", "new"):
        raise ValueError(f"parents must be 'same' or 'new', got {parents!r}")
    if copies < 0:
        raise ValueError(f"copies must not be negative, got {copies}")
    _check_members((source,), len(partition))
    own = partition[source] if parents == "same" else None
    fresh = max(partition, default=0) + 1
    added = [fresh + c if own is None else own for c in range(copies)]
    return _canonical([*partition, *added])


def _check_members(members: Iterable[int], sources: int) -> None:
    """Raise ValueError for a source that there is not, negative indices included."""
    unknown = [i for i in members if not 0 <= i < sources]
    if unknown:
        raise ValueError(f"sources {unknown} are not among 0 to {sources - 1}")


def _canonical(labels: Iterable[int]) -> Partition:
    smallest: dict[int, int] = {}
    return tuple(smallest.setdefault(label, i) for i, label in enumerate(labels))
