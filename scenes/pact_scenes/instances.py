"""Instances: rows of sources with their labels, identities, command states and parents."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pact_core import HANDOVER, SourceBatch, components_batch
from pact_scenes.conditions import (
    INJECTED_UTTERANCE,
    LABELS,
    ROLES,
    UTTERANCES,
    Command,
    Condition,
    Supports,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Texts = npt.NDArray[Any]

SCENE_CLASS_NAMES = LABELS[:4]
OCCLUSION_BAND_NAMES = ("none", "partial", "heavy")
STATUS_CURRENT = "current"
STATUS_STALE = "stale_previous_command"

# Kinds of record that a source derives from; two sources are linked where kind and context agree.
_PARENT_KINDS = {"language": (0,), "geometry": (1, 2, 3), "risk": (1, 4, 3)}
_KIND_COUNT = 5


@lru_cache(maxsize=4096)
def command_hash(scene_id: str, text: str) -> str:
    """Return the SHA-256 of a command given in a scene, as hexadecimal digits."""
    return hashlib.sha256(f"{scene_id}: {text}".encode()).hexdigest()


def record_id(scene_id: str, label: str, condition: str, step: int) -> str:
    """Return the identity of a row, in the form of the public release."""
    return f"{scene_id}-{label}__{condition}__seed{step:02d}"


@dataclass(frozen=True, slots=True, eq=False)
class InstanceTable:
    """Rows of the benchmark, n of them; one row is one decision.

    Attributes:
        conditions: The conditions that `condition` indexes.
        scene_id, geometry: Scene of the row and its handover geometry, shape [n].
        previous_scene_id: Scene that stale context describes, shape [n].
        condition: Index into `conditions`, shape [n].
        label: Commanded label and reference contract as an index into `LABELS`, shape [n].
        step: Decision step, shape [n].
        opinion: Shape [n, 3, 5]; NaN where the source is missing.
        quality, conflict: Shape [n, 3]; NaN where absent.
        relation_class, risk_class: Class that geometry and risk read in this scene and step, [n].
        occlusion_band: Index into `OCCLUSION_BAND_NAMES`, shape [n].
        context_stale: Geometry and risk describe the previous scene, shape [n, 3].
    """

    conditions: tuple[Condition, ...]
    scene_id: Texts
    geometry: Texts
    previous_scene_id: Texts
    condition: Ints
    label: Ints
    step: Ints
    opinion: Floats
    quality: Floats
    conflict: Floats
    relation_class: Ints
    risk_class: Ints
    occlusion_band: Ints
    context_stale: Bools

    @classmethod
    def build(
        cls, *, conditions: Sequence[Condition], condition: Ints, **columns: Any
    ) -> InstanceTable:
        """Make a table; what follows from the conditions alone is filled in."""
        stale = np.array(
            [[s.supports is Supports.PREVIOUS_SCENE for s in c.sources] for c in conditions]
        )
        return cls(
            conditions=tuple(conditions),
            condition=condition,
            context_stale=stale[condition],
            **columns,
        )

    def __len__(self) -> int:
        return len(self.label)

    def take(self, index: npt.NDArray[Any]) -> InstanceTable:
        """Return the rows that a mask or an array of positions selects."""
        columns = {
            name: getattr(self, name)[index] for name in self.__slots__ if name != "conditions"
        }
        return replace(self, **columns)

    def _per_source(self, attribute: str) -> Bools:
        flags = np.array([[getattr(s, attribute) for s in c.sources] for c in self.conditions])
        return np.asarray(flags[self.condition], dtype=bool)

    @property
    def unavailable(self) -> Bools:
        """Which sources are missing, shape [n, 3]."""
        return ~self._per_source("available")

    @property
    def declared_invalid(self) -> Bools:
        """Which sources are present and declared invalid, shape [n, 3]."""
        return self._per_source("available") & ~self._per_source("valid")

    @property
    def condition_name(self) -> Texts:
        """Name of each row's condition, shape [n]."""
        return np.array([c.name for c in self.conditions])[self.condition]

    @property
    def label_name(self) -> Texts:
        """Commanded label of each row, shape [n]."""
        return np.array(LABELS)[self.label]

    @property
    def record_id(self) -> Texts:
        """Identity of each row, shape [n]."""
        rows = zip(self.scene_id, self.label_name, self.condition_name, self.step, strict=True)
        return np.array([record_id(str(a), str(b), str(c), int(d)) for a, b, c, d in rows])

    def _command_states(self) -> Texts:
        return np.array([c.source("language").command for c in self.conditions])[self.condition]

    def parent_ids(self) -> Ints:
        """Return parents as integers that are equal within a row where records are the same.

        Shape [n, 3, 3], -1 for none. Geometry and risk derive from the scene context and the
        occlusion estimate of one step, each has a processing record of its own, and language
        derives from the command.
        """
        kinds = np.full((len(ROLES), 3), -1, dtype=np.int64)
        for j, role in enumerate(ROLES):
            kinds[j, : len(_PARENT_KINDS[role])] = _PARENT_KINDS[role]
        context = self.context_stale.astype(np.int64)[..., None]
        return np.where(kinds >= 0, kinds + _KIND_COUNT * context, -1)

    def parents(self) -> list[tuple[list[str], ...]]:
        """Return the names of each row's parents, one list per source."""
        columns = self.commands()
        evidence = columns["command_evidence_hash"]
        rows: list[tuple[list[str], ...]] = []
        for i in range(len(self)):
            step = f"step{int(self.step[i]):02d}"
            place = [
                f"{self.previous_scene_id[i] if stale else self.scene_id[i]}/{step}"
                for stale in self.context_stale[i]
            ]
            rows.append(
                (
                    [f"command:{evidence[i] or columns['command_current_hash'][i]}"],
                    [f"scene:{place[1]}", f"relation:{place[1]}", f"occlusion:{place[1]}"],
                    [f"scene:{place[2]}", f"risk_band:{place[2]}", f"occlusion:{place[2]}"],
                )
            )
        return rows

    def commands(self) -> dict[str, list[str | None]]:
        """Return the command columns: hashes, status and what was carried over."""
        states = self._command_states()
        missing = self.unavailable[:, ROLES.index("language")]
        columns: dict[str, list[str | None]] = {
            f"command_{name}": []
            for name in (
                "current_hash",
                "evidence_hash",
                "status",
                "previous_hash",
                "carried_over_from",
            )
        }
        names = self.condition_name
        for i, (scene, label, state) in enumerate(
            zip(self.scene_id, self.label, states, strict=True)
        ):
            scene = str(scene)
            current = command_hash(scene, UTTERANCES[LABELS[label]])
            before = LABELS[(int(label) - 1) % len(LABELS)]
            row: tuple[str | None, ...]
            if missing[i]:
                row = (current, None, None, None, None)
            elif state == Command.STALE:
                previous = command_hash(scene, UTTERANCES[before])
                carried = record_id(scene, before, str(names[i]), int(self.step[i]))
                row = (current, previous, STATUS_STALE, previous, carried)
            elif state == Command.INJECTED:
                injected = command_hash(scene, INJECTED_UTTERANCE)
                row = (current, injected, STATUS_CURRENT, None, None)
            else:
                row = (current, current, STATUS_CURRENT, None, None)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        return columns

    def to_batch(self) -> SourceBatch:
        """Return the sources of all rows as one batch, shape [n, 3]."""
        states = self._command_states()
        present = ~self.unavailable[:, ROLES.index("language")]
        return SourceBatch(
            opinion=self.opinion,
            quality=self.quality,
            conflict=self.conflict,
            unavailable=self.unavailable,
            declared_invalid=self.declared_invalid,
            component=components_batch(self.parent_ids()),
            command_missing=np.zeros(len(self), dtype=bool),
            command_mismatch=present & (states != Command.CURRENT),
            command_stale=present & (states == Command.STALE),
            roles=ROLES,
            contracts=HANDOVER,
        )

    def to_columns(self) -> dict[str, Any]:
        """Return the columns of `instances.parquet`, in their stored order."""
        columns: dict[str, Any] = {
            "record_id": self.record_id,
            "scene_id": self.scene_id,
            "geometry": self.geometry,
            "condition": self.condition_name,
            "label": self.label_name,
            "step": self.step,
        }
        parents = self.parents()
        unavailable, invalid = self.unavailable, self.declared_invalid
        for j, role in enumerate(ROLES):
            for k, name in enumerate(LABELS):
                columns[f"{role}_p_{name}"] = self.opinion[:, j, k]
            columns[f"{role}_quality"] = self.quality[:, j]
            columns[f"{role}_conflict"] = self.conflict[:, j]
            columns[f"{role}_unavailable"] = unavailable[:, j]
            columns[f"{role}_invalid"] = invalid[:, j]
            columns[f"{role}_parents"] = [row[j] for row in parents]
        columns.update(self.commands())
        columns["relation_class"] = np.array(SCENE_CLASS_NAMES)[self.relation_class]
        columns["risk_class"] = np.array(SCENE_CLASS_NAMES)[self.risk_class]
        columns["occlusion_band"] = np.array(OCCLUSION_BAND_NAMES)[self.occlusion_band]
        return columns

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as plain objects, with None where a value is absent."""
        columns = self.to_columns()
        return [
            {name: _plain(values[i]) for name, values in columns.items()} for i in range(len(self))
        ]


def _plain(value: Any) -> Any:
    """Return a JSON value; NaN becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and value != value else value


def columns_of(observation: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """Return one observation as a table of one row."""
    return {name: np.asarray([value]) for name, value in observation.items()}
