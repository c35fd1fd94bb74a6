"""Many instances as arrays: the batched twin of ``Source``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pact_core._array import Array, asarray, cast, namespace
from pact_core.columns import by_block
from pact_core.contracts import HANDOVER, ContractSet
from pact_core.provenance import components, components_present
from pact_core.sources import LANGUAGE, MINIMUM_OBSERVED, Source, number, opinion_vector

_PER_INSTANCE = ("command_missing", "command_mismatch", "command_stale")


@dataclass(frozen=True, slots=True, eq=False)
class SourceBatch:
    """J expected sources with K contracts for every instance of a leading shape [...].

    Attributes:
        opinion: As supplied, bad numbers included, shape [..., J, K].
        quality: NaN = absent, shape [..., J].
        conflict: NaN = absent, shape [..., J].
        unavailable: z, boolean, shape [..., J].
        declared_invalid: Marked malformed by the supplier, boolean, shape [..., J].
        component: Provenance labels, integers, shape [..., J]; equal = same component.
        command_missing: Timing of the language source is absent, boolean, shape [...].
        command_mismatch: Its evidence is about another command, boolean, shape [...].
        command_stale: It carries the previous command over, boolean, shape [...].
        roles: Role of every source, length J.
        contracts: The contract set, length K.
        component_present: Labels of the partition built without the unavailable sources, shape
            [..., J]; None = the same as ``component``, which is right when no unavailable source
            bridges others. Read only by the missing-source conventions ``remove`` and
            ``isolate``, which without it do what ``exclude`` does.
    """

    opinion: Array
    quality: Array
    conflict: Array
    unavailable: Array
    declared_invalid: Array
    component: Array
    command_missing: Array
    command_mismatch: Array
    command_stale: Array
    roles: tuple[str, ...]
    contracts: ContractSet = HANDOVER
    component_present: Array | None = None

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, asarray(value))
        self._check()

    def _check(self) -> None:
        lead, sources, contracts = self.shape, len(self.roles), len(self.contracts)
        if tuple(self.opinion.shape) != (*lead, sources, contracts):
            raise ValueError(
                f"opinion has shape {tuple(self.opinion.shape)}, expected "
                f"[..., {sources} sources, {contracts} contracts]"
            )
        for name in ("opinion", "quality", "conflict"):
            dtype = getattr(self, name).dtype
            if getattr(dtype, "kind", "f") in "cSU":
                raise TypeError(f"{name} holds {dtype}, expected real numbers")
        for name in _ARRAYS[1:]:
            value = getattr(self, name)
            expected = lead if name in _PER_INSTANCE else (*lead, sources)
            if value is not None and tuple(value.shape) != expected:
                raise ValueError(f"{name} has shape {tuple(value.shape)}, expected {expected}")

    @classmethod
    def build(
        cls,
        opinion: Array,
        quality: Array,
        conflict: Array,
        *,
        component: Array,
        roles: Sequence[str],
        contracts: ContractSet = HANDOVER,
        unavailable: Array | None = None,
        declared_invalid: Array | None = None,
        command_missing: Array | None = None,
        command_mismatch: Array | None = None,
        command_stale: Array | None = None,
        component_present: Array | None = None,
    ) -> SourceBatch:
        """Make a batch from the essential arrays; what is left out is false, shapes broadcast."""
        opinion = asarray(opinion)
        xp = namespace(opinion)
        lead, per_source = tuple(opinion.shape[:-2]), tuple(opinion.shape[:-1])

        def spread(value: Array, shape: tuple[int, ...]) -> Array:
            value = False if value is None else value
            if xp is np or not hasattr(value, "shape"):
                value = xp.asarray(value)
            return xp.broadcast_to(value, shape)

        return cls(
            opinion=opinion,
            quality=spread(quality, per_source),
            conflict=spread(conflict, per_source),
            unavailable=spread(unavailable, per_source),
            declared_invalid=spread(declared_invalid, per_source),
            component=spread(component, per_source),
            command_missing=spread(command_missing, lead),
            command_mismatch=spread(command_mismatch, lead),
            command_stale=spread(command_stale, lead),
            roles=tuple(roles),
            contracts=contracts,
            component_present=(
                None if component_present is None else spread(component_present, per_source)
            ),
        )

    @classmethod
    def from_instances(
        cls, instances: Sequence[Sequence[Source]], contracts: ContractSet = HANDOVER
    ) -> SourceBatch:
        """Make a batch of shape [len(instances)] from single sources.

        Raises:
            ValueError: No instance, or instances whose roles differ.
        """
        if not instances:
            raise ValueError("a batch needs at least one instance")
        roles = tuple(source.role for source in instances[0])
        if any(tuple(source.role for source in row) != roles for row in instances):
            raise ValueError(f"every instance must have the roles {roles} in this order")

        def column(read: Any, dtype: Any = np.float64) -> Array:
            return np.array([[read(s) for s in row] for row in instances], dtype=dtype)

        commands = [_command_flags(row) for row in instances]
        return cls(
            opinion=column(lambda s: opinion_vector(s.opinion, contracts.names)),
            quality=column(lambda s: number(s.quality)),
            conflict=column(lambda s: number(s.conflict)),
            unavailable=column(lambda s: not s.available, np.bool_),
            declared_invalid=column(lambda s: not s.declared_valid, np.bool_),
            component=np.array([components([s.parents for s in row]) for row in instances]),
            component_present=np.array(
                [
                    components_present([s.parents for s in row], [s.available for s in row])
                    for row in instances
                ]
            ),
            command_missing=np.array([flags[0] for flags in commands]),
            command_mismatch=np.array([flags[1] for flags in commands]),
            command_stale=np.array([flags[2] for flags in commands]),
            roles=roles,
            contracts=contracts,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading shape [...]."""
        return tuple(self.command_missing.shape)

    def observed(self) -> Array:
        """Return which sources are available and numerically valid, shape [..., J]."""
        return by_block(self, lambda x: (x.observed,))[0]

    def supporters(self, contract: Array | int) -> Array:
        """Return the observed sources whose leading contract is the given one, shape [..., J]."""
        top, observed = by_block(self, lambda x: (x.top, x.observed))
        if not isinstance(contract, int):
            contract = asarray(contract)[..., None]
        return observed & (top == contract)

    def base_eligible(self, minimum: int = MINIMUM_OBSERVED) -> Array:
        """Return whether at least ``minimum`` sources are observed and valid, shape [...]."""
        observed = self.observed()
        xp = namespace(observed)
        return xp.sum(cast(xp, observed, xp.int8), axis=-1) >= minimum

    def take(self, index: Any) -> SourceBatch:
        """Return the instances that an index of the leading axes selects."""
        return self._map(lambda value: value[index])

    def reshape(self, *lead: int) -> SourceBatch:
        """Return the same instances under another leading shape."""
        size = len(self.shape)
        return self._map(lambda value: value.reshape((*lead, *value.shape[size:])))

    def with_component(self, labels: Array, present: Array | None = None) -> SourceBatch:
        """Return the batch under another partition; labels of shape [J] apply to all instances.

        Args:
            labels: The new ``component``.
            present: The new ``component_present``; the old one belongs to the old partition and
                is dropped.
        """
        xp = namespace(self.opinion)
        shape = (*self.shape, len(self.roles))
        return replace(
            self,
            component=xp.broadcast_to(asarray(labels), shape),
            component_present=(
                None if present is None else xp.broadcast_to(asarray(present), shape)
            ),
        )

    def replicate(
        self, source: int, m: int, parents: str = "same", opinion: Array | None = None
    ) -> SourceBatch:
        """Return the batch with ``source`` present m times: the original and m - 1 copies.

        Args:
            source: Index of the source.
            m: Total multiplicity, at least 1.
            parents: ``same`` keeps the copies in the component of the original, ``new`` gives
                each copy a component of its own.
            opinion: Opinion of the copies, shape [..., K], for near copies; None = exact.
        """
        if m < 1 or parents not in ("same", "new"):
            raise ValueError("replicate needs m >= 1 and parents 'same' or 'new'")
        sources, axis = len(self.roles), len(self.shape)
        if not 0 <= source < sources:
            raise ValueError(f"source {source} is not one of 0 to {sources - 1}")
        order = [*range(sources), *[source] * (m - 1)]
        pick = (*(slice(None),) * axis, order)
        values = {
            name: getattr(self, name)[pick]
            for name in _ARRAYS
            if name not in _PER_INSTANCE and getattr(self, name) is not None
        }
        if opinion is not None:
            values["opinion"][..., sources:, :] = asarray(opinion)[..., None, :]
        if parents == "new":
            for labels in (values[n] for n in ("component", "component_present") if n in values):
                for c in range(0 if 0 in labels.shape else m - 1):
                    labels[..., sources + c] = labels.max() + 1
        return replace(self, roles=tuple(self.roles[i] for i in order), **values)

    def _map(self, change: Any) -> SourceBatch:
        values: dict[str, Any] = {
            name: None if getattr(self, name) is None else change(getattr(self, name))
            for name in _ARRAYS
        }
        return replace(self, **values)


_ARRAYS = tuple(f.name for f in fields(SourceBatch) if f.name not in ("roles", "contracts"))


def _command_flags(row: Sequence[Source]) -> tuple[bool, bool, bool]:
    """Return (timing missing, mismatch, stale carry-over) of the present language sources."""
    missing = mismatch = stale = False
    for source in row:
        command = source.command
        if source.role != LANGUAGE or not source.available:
            continue
        if command is None:
            missing = True
            continue
        missing |= command.missing
        mismatch |= command.mismatch
        stale |= command.stale
    return missing, mismatch, stale
