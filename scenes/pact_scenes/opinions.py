"""From observations to opinions: what language, geometry and risk say about one step.

Language is about the command; geometry and risk are about the scene. A condition says what every
source supports, and a Dirichlet draw makes the opinion. A source that reads the scene is drawn once
for scene, condition and step, and says the same under all five commands; any other is drawn for the
row. One function serves a physics step and the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pact_scenes import draws
from pact_scenes.conditions import LABELS, ROLES, Condition, Supports, adjusted
from pact_scenes.instances import InstanceTable
from pact_scenes.reading import (
    SCENE_CLASSES,
    Floats,
    Ints,
    ObservationTable,
    OpinionParams,
    SceneReading,
    previous_scene_rows,
    read_scene,
)

__all__ = ["ObservationTable", "OpinionParams", "Synthesiser", "read_scene", "synthesise"]

_URGENT = LABELS.index("U")
_COUNTERS = {"quality": 0, "conflict": 2}
_SCALE = np.array([0.0, 1.0, 2.0, 3.0, 0.0])
_ON_SCALE = (np.arange(len(LABELS)) < SCENE_CLASSES).astype(np.float64)
_LOWEST_PEAK = 1.02 / len(LABELS)  # the leading contract still leads
_SEES = np.array([0.0, 1.0, 1.0])  # occlusion concerns geometry and risk


def synthesise(
    observations: ObservationTable,
    conditions: Sequence[Condition],
    labels: Sequence[str],
    params: OpinionParams,
    seed: int,
    *,
    previous: ObservationTable | None = None,
) -> InstanceTable:
    """Make the instances of every observation under every condition and commanded label.

    Rows are ordered by observation, condition, label. A row depends on its own scene, step,
    condition, label and observation (and on the previous scene's), and on `seed`; on no other row.

    Args:
        observations: One row per scene and step.
        conditions: The conditions to apply.
        labels: The commanded labels, a subset of `LABELS`.
        params: Shared parameters.
        seed: Root of all draws.
        previous: Observations of the previous scene, row by row; None: looked up in
            `observations` (a scene without a predecessor there stands for itself).
    """
    return Synthesiser(conditions, params, seed).instances(observations, labels, previous)


class Synthesiser:
    """Makes instances; what does not depend on observations is prepared once.

    Args:
        conditions: The conditions to apply.
        params: Shared parameters.
        seed: Root of all draws.
    """

    def __init__(self, conditions: Sequence[Condition], params: OpinionParams, seed: int) -> None:
        self.conditions = tuple(conditions)
        self.params = params
        self._states = _States.of(conditions, params)
        self._seed_key = np.array([draws.key_of(f"seed {seed}")], dtype=np.uint64)
        self._condition_keys = draws.keys_of(np.array([c.name for c in conditions]))
        self._label_keys = draws.keys_of(np.array(LABELS))
        self._role_keys = draws.keys_of(np.array(ROLES))[None, :]

    def instances(
        self,
        observations: ObservationTable,
        labels: Sequence[str],
        previous: ObservationTable | None = None,
    ) -> InstanceTable:
        """Return the instances; see `synthesise`."""
        scene_ids = np.asarray(observations["scene_id"])
        reading = read_scene(observations, self.params)
        earlier, earlier_ids = reading, scene_ids
        if previous is None:
            context = previous_scene_rows(observations)
            earlier, earlier_ids = reading.take(context), scene_ids[context]
        elif previous is not observations:
            earlier = read_scene(previous, self.params)
            earlier_ids = np.asarray(previous["scene_id"])
        n_obs, n_cond, n_lab = len(scene_ids), len(self.conditions), len(labels)
        obs = np.repeat(np.arange(n_obs), n_cond * n_lab)
        cond = np.tile(np.repeat(np.arange(n_cond), n_lab), n_obs)
        codes = np.array([LABELS.index(name) for name in labels], dtype=np.int64)
        label = np.tile(codes, n_obs * n_cond)
        step = np.asarray(observations["step"]).astype(np.int64)
        acquisition = draws.join(
            self._seed_key,
            draws.keys_of(scene_ids)[obs],
            self._condition_keys[cond],
            step.astype(np.uint64)[obs],
        )
        own = reading.take(obs)
        old = earlier.take(obs) if earlier is not reading else own
        opinion, quality, conflict = self._sources(cond, label, own, old, acquisition)
        scene_class = own.scene_class
        return InstanceTable.build(
            conditions=self.conditions,
            scene_id=scene_ids[obs],
            geometry=np.asarray(observations["geometry"])[obs],
            previous_scene_id=earlier_ids[obs],
            condition=cond,
            label=label,
            step=step[obs],
            opinion=opinion,
            quality=quality,
            conflict=conflict,
            relation_class=scene_class[:, 0],
            risk_class=scene_class[:, 1],
            occlusion_band=own.band,
        )

    def _sources(
        self,
        cond: Ints,
        label: Ints,
        own: SceneReading,
        old: SceneReading,
        acquisition: draws.Keys,
    ) -> tuple[Floats, Floats, Floats]:
        """Return opinions [n, 3, K], quality and conflict [n, 3]; NaN where absent.

        What is read in the scene is drawn once per acquisition, whatever is commanded.
        """
        states, params = self._states, self.params
        key = draws.join(acquisition, self._label_keys[label])
        leads = _leading_contracts(states, cond, label, own, old, key)
        mean = _mean_opinions(states, cond, leads, own, old, params)
        drawn_by = np.where(states.reads[cond], acquisition[:, None], key[:, None])
        source_key = draws.join(drawn_by, self._role_keys)
        concentration = params.generation_concentration / states.spread[cond]
        drawn = draws.dirichlet(mean * concentration[..., None], source_key)
        opinion = np.where(states.keeps_lead[cond][..., None], _with_lead(drawn, leads), drawn)
        quality, conflict = _attributes(states, cond, own, old, source_key, params)
        opinion[~states.available[cond]] = np.nan
        return opinion, quality, conflict


@dataclass(frozen=True, slots=True)
class _States:
    """The source states of several conditions as arrays, shape [conditions, sources].

    `kinds` lists, per source, what it may support and under which conditions (None: all).
    """

    peak: Floats
    quality: Floats
    conflict: Floats
    spread: Floats
    attribute_spread: Floats
    keeps_lead: npt.NDArray[np.bool_]
    available: npt.NDArray[np.bool_]
    recorded: npt.NDArray[np.bool_]
    reads: npt.NDArray[np.bool_]
    stale: npt.NDArray[np.bool_]
    kinds: tuple[tuple[tuple[Supports, npt.NDArray[np.bool_] | None], ...], ...]

    @classmethod
    def of(cls, conditions: Sequence[Condition], params: OpinionParams) -> _States:
        used = [
            adjusted(
                c,
                quality=params.quality_multiplier,
                conflict=params.conflict_multiplier,
                language_peak=params.language_peak,
            )
            for c in conditions
        ]

        def gather(name: str, dtype: Any) -> npt.NDArray[Any]:
            return np.array([[getattr(s, name) for s in c.sources] for c in used], dtype)

        supports = gather("supports", object)
        stale = supports == Supports.PREVIOUS_SCENE
        kinds = tuple(
            tuple(
                (kind, None if (column == kind).all() else column == kind)
                for kind in Supports
                if kind is not Supports.NOTHING and (column == kind).any()
            )
            for column in supports.T
        )
        return cls(
            reads=stale | (supports == Supports.SCENE),
            stale=stale,
            kinds=kinds,
            peak=gather("peak", np.float64),
            quality=gather("quality", np.float64),
            conflict=gather("conflict", np.float64),
            spread=gather("spread", np.float64),
            attribute_spread=gather("attribute_spread", np.float64),
            keeps_lead=gather("keeps_lead", np.bool_),
            available=gather("available", np.bool_),
            recorded=gather("conflict_recorded", np.bool_),
        )


def _pick(allowed: npt.NDArray[np.bool_], key: draws.Keys, counter: int) -> Ints:
    """Draw one allowed contract per row, evenly; `allowed` has shape [n, K]."""
    rank = np.floor(draws.uniform(key, counter) * allowed.sum(axis=-1))
    chosen: Ints = np.argmax(np.cumsum(allowed, axis=-1) > rank[:, None], axis=-1)
    return chosen


def _leading_contracts(
    states: _States, cond: Ints, label: Ints, own: SceneReading, old: SceneReading, key: draws.Keys
) -> Ints:
    """Return the contract that each source leads with, shape [n, sources]; -1 for nothing."""
    rows = np.arange(len(label))
    leads = np.full((len(label), len(ROLES)), -1, dtype=np.int64)
    led = np.zeros((len(label), len(LABELS)), dtype=bool)
    for j, kinds in enumerate(states.kinds):
        for kind, where in kinds:
            chosen = rows if where is None else np.flatnonzero(where[cond])
            leads[chosen, j] = _lead(kind, j, chosen, label, led, own, old, key)
        if j < len(ROLES) - 1:
            some = leads[:, j] >= 0
            led[rows[some], leads[some, j]] = True
    return leads


def _lead(
    kind: Supports,
    j: int,
    chosen: Ints,
    label: Ints,
    led: npt.NDArray[np.bool_],
    own: SceneReading,
    old: SceneReading,
    key: draws.Keys,
) -> Ints:
    """Return the leading contract of source `j` in the chosen rows, for one kind of support."""
    if kind is Supports.CUE:
        return label[chosen]
    if kind in (Supports.SCENE, Supports.PREVIOUS_SCENE):
        reading = own if kind is Supports.SCENE else old
        suggested: Ints = reading.scene_class[chosen, max(j - 1, 0)]
        return suggested
    if kind is Supports.PREVIOUS_CUE:
        before: Ints = (label[chosen] - 1) % len(LABELS)
        return before
    if kind is Supports.URGENT:
        return np.full(chosen.size, _URGENT, dtype=np.int64)
    if kind is Supports.THIRD:
        return _pick(~led[chosen], key[chosen], j)
    excluded = np.arange(len(LABELS)) == label[chosen, None]
    if kind is Supports.AGAINST_SCENE:
        excluded |= np.arange(len(LABELS)) == own.scene_class[chosen, :1]
    if kind is Supports.OTHER:
        return _pick(~(excluded | led[chosen]), key[chosen], j)
    return _pick(~excluded, key[chosen], 0)


def _with_lead(opinion: Floats, leads: Ints) -> Floats:
    """Return the opinions with the largest mass exchanged to the leading contract."""
    at = np.maximum(leads, 0)[..., None]
    top = np.argmax(opinion, axis=-1)[..., None]
    kept = opinion.copy()
    np.put_along_axis(kept, top, np.take_along_axis(opinion, at, axis=-1), axis=-1)
    np.put_along_axis(kept, at, np.take_along_axis(opinion, top, axis=-1), axis=-1)
    return kept


def _mean_opinions(
    states: _States,
    cond: Ints,
    leads: Ints,
    own: SceneReading,
    old: SceneReading,
    params: OpinionParams,
) -> Floats:
    """Return mean opinions, shape [n, sources, K]: the peak, the rest shared or even.

    A source that reads the scene leads as clearly as the class shows, and shares the rest with
    the classes near the observed position; any other spreads it evenly.
    """
    contracts = len(LABELS)
    at = np.maximum(leads, 0)[..., None]
    position = np.where(states.stale[cond], old.source_position, own.source_position)
    near = np.exp(np.abs(_SCALE - position[..., None]) / -params.width) * _ON_SCALE
    np.put_along_axis(near, at, 0.0, axis=-1)
    near *= (params.share * states.reads[cond] / near.sum(axis=-1))[..., None]
    rest = near + ((1.0 - params.share * states.reads[cond]) / (contracts - 1))[..., None]
    np.put_along_axis(rest, at, 0.0, axis=-1)
    clarity = np.where(states.reads[cond], params.clarity_of(leads), 1.0)
    peak = _with_odds(states.peak[cond], clarity)[..., None]
    rest *= (1.0 - peak) / rest.sum(axis=-1, keepdims=True)
    np.put_along_axis(rest, at, peak, axis=-1)
    mean: Floats = rest * (leads >= 0)[..., None]
    return mean


def _with_odds(peak: Floats, factor: Floats) -> Floats:
    """Return the peaks with their odds multiplied, but never below an even share.

    A factor of one leaves a peak as it is.
    """
    scaled = peak * factor / (1.0 - peak + peak * factor)
    changed: Floats = np.where(factor == 1.0, peak, np.maximum(scaled, _LOWEST_PEAK))
    return changed


def _attributes(
    states: _States,
    cond: Ints,
    own: SceneReading,
    old: SceneReading,
    source_key: draws.Keys,
    params: OpinionParams,
) -> tuple[Floats, Floats]:
    """Return quality and conflict, shape [n, sources]; NaN where the attribute is absent."""
    spread = states.attribute_spread[cond]
    quality = states.quality[cond] + spread * params.quality_sd * draws.normal(
        source_key, _COUNTERS["quality"]
    )
    conflict = states.conflict[cond] + spread * params.conflict_sd * draws.normal(
        source_key, _COUNTERS["conflict"]
    )
    occlusion = np.where(states.stale[cond], old.occlusion[:, None], own.occlusion[:, None])
    occlusion = params.occlusion_strength * occlusion * _SEES
    quality = quality * (1.0 - params.occlusion_quality_loss * occlusion)
    conflict = conflict + params.occlusion_conflict_gain * occlusion
    available = states.available[cond]
    quality = np.where(available, np.clip(quality, 0.0, 1.0), np.nan)
    recorded = available & states.recorded[cond]
    return quality, np.where(recorded, np.clip(conflict, 0.0, 1.0), np.nan)
