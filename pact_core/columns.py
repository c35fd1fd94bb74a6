"""One block of instances, prepared once for fusion and admission.

Inside the kernels sources come first, contracts next and instances last, so that every reduction
over sources or contracts runs along contiguous memory, and blocks are small enough for the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from pact_core._array import Array, count, first_maximum, masked, namespace, permute, real, total
from pact_core.provenance import blocks

if TYPE_CHECKING:
    from pact_core.batch import SourceBatch

BLOCK_ELEMENTS = 131_072
"""Opinion numbers per block: 1 MB of float64, small for the cache and large for NumPy."""

SUM_LOW, SUM_HIGH = 1.0 - 1e-6, 1.0 / (1.0 - 1e-6)
"""An opinion sums to one within a relative tolerance of 1e-6."""


class Columns:
    """The sources of n instances with their derived quantities; arrays are [J, K, n] or [J, n].

    Attributes:
        p: Normalised opinions; uniform where the supplied vector is not a distribution or the
            source is declared invalid.
        quality, conflict: Clipped to [0, 1]; 0 where absent or not finite.
        conflict_absent: No conflict value was supplied.
        present: The source arrived (z = 0).
        valid: v, all required attributes are there and sound; an absent conflict alone is
            tolerated here (admission is not that lenient).
        observed: present and valid.
    """

    def __init__(self, batch: SourceBatch, start: int, stop: int) -> None:
        """Prepare the flattened instances ``start:stop`` of a one-dimensional batch."""
        self.xp = xp = namespace(batch.opinion)
        self.batch = batch
        self.window = slice(start, stop)
        self.roles, self.contracts = batch.roles, batch.contracts
        self.size = stop - start
        raw = permute(xp, real(xp, batch.opinion[start:stop]), (1, 2, 0))
        raw = np.ascontiguousarray(raw) if xp is np else raw
        quality, conflict = self._rows(batch.quality), self._rows(batch.conflict)
        self.raw_quality, self.raw_conflict = real(xp, quality), real(xp, conflict)
        self.present = ~self._rows(batch.unavailable)
        self.conflict_absent = xp.isnan(self.raw_conflict)
        mass = total(permute(xp, raw, (1, 0, 2)))
        self.sound = (
            (mass >= SUM_LOW)
            & (mass <= SUM_HIGH)
            & (xp.min(raw, axis=1) >= 0.0)
            & ~self._rows(batch.declared_invalid)
        )
        self.p = self._normalised(raw, mass)
        in_range = (self.raw_quality >= 0.0) & (self.raw_quality <= 1.0)
        fits = (self.raw_conflict >= 0.0) & (self.raw_conflict <= 1.0)
        self.valid = self.sound & in_range & (fits | self.conflict_absent)
        self.observed = self.present & self.valid

    def _rows(self, array: Array) -> Array:
        """Return a per-source array as [J, n]."""
        rows = permute(self.xp, array[self.window], (1, 0))
        return np.ascontiguousarray(rows) if self.xp is np else rows

    def _normalised(self, raw: Array, mass: Array) -> Array:
        xp = self.xp
        if bool(xp.all(self.sound)):
            return raw / mass[:, None, :]
        keep = self.sound[:, None, :]
        share = raw / xp.where(self.sound, mass, xp.ones_like(mass))[:, None, :]
        return xp.where(keep, share, 1.0 / raw.shape[1])

    def per_instance(self, value: Array | float) -> Array | float:
        """Return a number unchanged and an array of shape [...] as this block's [n]."""
        if isinstance(value, (int, float)) or not getattr(value, "shape", ()):
            return value
        return value.reshape(-1)[self.window]

    def _unit(self, value: Array) -> Array:
        xp = self.xp
        finite = xp.where(xp.isfinite(value), value, xp.zeros_like(value))
        return xp.clip(finite, 0.0, 1.0)

    @cached_property
    def quality(self) -> Array:
        """Quality in [0, 1], absent = 0, shape [J, n]."""
        return self._unit(self.raw_quality)

    @cached_property
    def conflict(self) -> Array:
        """Conflict in [0, 1], absent = 0, shape [J, n]."""
        return self._unit(self.raw_conflict)

    @cached_property
    def reliability(self) -> Array:
        """The factor rho = [q](1 - [d]), shape [J, n]."""
        return self.quality * (1.0 - self.conflict)

    @cached_property
    def component(self) -> Array:
        """Provenance labels, shape [J, n]."""
        return self._rows(self.batch.component)

    @cached_property
    def component_present(self) -> Array:
        """Labels of the partition built without unavailable sources, shape [J, n]."""
        labels = self.batch.component_present
        return self.component if labels is None else self._rows(labels)

    @cached_property
    def _leading(self) -> tuple[Array, Array]:
        return first_maximum(self.xp, self.p)

    @property
    def peak(self) -> Array:
        """Largest probability of each source, shape [J, n]."""
        return self._leading[0]

    @property
    def top(self) -> Array:
        """Leading contract of each source (ordered ties), shape [J, n]."""
        return self._leading[1]

    @cached_property
    def observed_count(self) -> Array:
        """Number of observed sources, shape [n]."""
        return count(self.xp, self.observed, 0)

    @cached_property
    def present_count(self) -> Array:
        """Number of present sources, shape [n]."""
        return count(self.xp, self.present, 0)

    def role_indices(self, *roles: str) -> list[int]:
        """Return the sources that have one of the given roles."""
        return [i for i, role in enumerate(self.roles) if role in roles]


def partition_of(xp: Any, component: Array) -> tuple[tuple[int, ...], ...] | None:
    """Return the components when all n instances share one partition, else None."""
    if component.shape[-1] == 0 or not bool(xp.all(component == component[:, :1])):
        return None
    return blocks([int(label) for label in component[:, 0]])


def per_component(
    xp: Any,
    component: Array,
    values: Array,
    combine: Callable[[Array, Array], Array],
    *,
    outside: float | bool,
    absent: float | bool,
) -> Iterator[Array]:
    """Yield what the members of one component after the other combine to.

    Args:
        xp: Array namespace.
        component: Labels, shape [J, n].
        values: What to combine, in [0, inf] or boolean, shape [J, n] or [J, K, n].
        combine: Associative function of two members, for example ``xp.minimum``.
        outside: Neutral element of the combination.
        absent: Result for an instance that has no further component.

    Yields:
        Arrays of shape [n] or [K, n]; every component of an instance appears in exactly one.
    """
    groups = partition_of(xp, component)
    if groups is not None:
        for group in groups:
            yield reduce(combine, [values[i] for i in group])
        return
    for j in range(component.shape[0]):
        same = component == component[j]
        follows = xp.any(same[:j], axis=0)  # the first member speaks for its component
        if j > 0 and bool(xp.all(follows)):
            continue
        result = values[j]
        for i in range(j + 1, component.shape[0]):
            if bool(xp.any(same[i])):
                result = combine(result, masked(xp, values[i], same[i], outside))
        if bool(xp.any(follows)):
            result = masked(xp, result, ~follows, absent)
        yield result


def blocks_of(batch: SourceBatch) -> Iterator[Columns]:
    """Yield a one-dimensional batch in cache-sized blocks (one block outside NumPy)."""
    n = batch.shape[0]
    width = max(1, len(batch.roles) * len(batch.contracts))
    step = max(64, BLOCK_ELEMENTS // width) if namespace(batch.opinion) is np else max(n, 1)
    for start in range(0, max(n, 1), step):
        yield Columns(batch, start, min(n, start + step))


def by_block(
    batch: SourceBatch, kernel: Callable[[Columns], tuple[Array | None, ...]]
) -> tuple[Array, ...]:
    """Run a kernel over all blocks and return its results with the leading shape restored.

    Args:
        batch: Any leading shape.
        kernel: From a block to arrays whose last axis is the block's n instances.

    Returns:
        Each result with the instance axis moved to the front and split into the leading shape;
        None where the kernel gave None.
    """
    lead = batch.shape
    flat = batch if len(lead) == 1 else batch.reshape(-1)
    xp = namespace(flat.opinion)
    n = flat.shape[0]
    results: list[Array | None] = []
    with np.errstate(all="ignore"):
        for block in blocks_of(flat):
            parts = kernel(block)
            if block.size == n:
                results = [None if part is None else _front(xp, part) for part in parts]
                break
            if not results:
                results = [None if part is None else _room(part, n) for part in parts]
            for result, part in zip(results, parts, strict=True):
                if result is not None:
                    result[block.window] = _front(xp, part)
    return tuple(None if r is None else r.reshape((*lead, *r.shape[1:])) for r in results)


def _front(xp: Any, part: Array) -> Array:
    return part if part.ndim == 1 else permute(xp, part, (part.ndim - 1, *range(part.ndim - 1)))


def _room(part: Array, n: int) -> Array:
    return np.empty((n, *part.shape[:-1]), dtype=part.dtype)
