"""From observations to opinions: what language, geometry and risk say about one step.

Language is about the command; geometry and risk are about the scene. The geometry source reads the
relation of hand and gripper, the risk source clearance, separation margin and closing speed; each
leads with a contract on the ordered scale N, S, H, T. A condition then says what every source
supports, and a Dirichlet draw keyed by the row's identity makes the opinion. One function serves a
physics step and the whole table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pact_scenes import draws
from pact_scenes.conditions import LABELS, ROLES, Condition, Supports, adjusted
from pact_scenes.configuration import ConfigurationError, default_section
from pact_scenes.instances import InstanceTable

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ObservationTable = Mapping[str, npt.NDArray[Any]]
"""Columns of observations by name, all of one length (one row per scene and decision step)."""

SCENE_CLASSES = 4
"""N, S, H and T are the scene classes; U is about time and no scene suggests it."""

OCCLUSION_BANDS = ("none", "partial", "heavy")

_URGENT = LABELS.index("U")
_COUNTERS = {"quality": 0, "conflict": 2}


@dataclass(frozen=True, slots=True)
class OpinionParams:
    """How observations become opinions; see `configs/opinions.toml` for the meaning of each.

    Thresholds are ordered from N to T: three positions where one class passes into the next.
    """

    generation_concentration: float
    quality_sd: float
    conflict_sd: float
    language_peak: float
    quality_multiplier: float
    conflict_multiplier: float
    share: float
    width: float
    hand_gripper_distance: tuple[float, float, float]
    path_clearance: tuple[float, float, float]
    separation_margin: tuple[float, float, float]
    closing_speed: tuple[float, float, float]
    occlusion_visible: float
    occlusion_heavy: float
    occlusion_quality_loss: float
    occlusion_conflict_gain: float
    occlusion_strength: float

    @classmethod
    def from_section(cls, section: Mapping[str, Any]) -> OpinionParams:
        """Read the `opinions` section.

        Raises:
            ConfigurationError: A value is out of range.
        """
        occlusion, sharing, risk = section["occlusion"], section["sharing"], section["risk"]
        params = cls(
            generation_concentration=float(section["generation_concentration"]),
            quality_sd=float(section["quality_sd"]),
            conflict_sd=float(section["conflict_sd"]),
            language_peak=float(section["language_peak"]),
            quality_multiplier=float(section["quality_multiplier"]),
            conflict_multiplier=float(section["conflict_multiplier"]),
            share=float(sharing["share"]),
            width=float(sharing["width"]),
            hand_gripper_distance=_three(
                section["relation"], "hand_gripper_distance", falling=True
            ),
            path_clearance=_three(risk, "path_clearance", falling=True),
            separation_margin=_three(risk, "separation_margin", falling=True),
            closing_speed=_three(risk, "closing_speed", falling=False),
            occlusion_visible=float(occlusion["visible"]),
            occlusion_heavy=float(occlusion["heavy"]),
            occlusion_quality_loss=float(occlusion["quality_loss"]),
            occlusion_conflict_gain=float(occlusion["conflict_gain"]),
            occlusion_strength=float(occlusion["strength"]),
        )
        if not params.generation_concentration > 0.0:
            raise ConfigurationError("opinions: generation_concentration must be positive")
        if not 0.0 <= params.share <= 1.0 or not params.width > 0.0:
            raise ConfigurationError("opinions: share must be in [0, 1] and width positive")
        return params

    @classmethod
    def default(cls) -> OpinionParams:
        """Return the shipped parameters."""
        return cls.from_section(default_section("opinions"))

    def override(self, **changes: float) -> OpinionParams:
        """Return a copy with the named parameters changed (used by the sensitivity sweep)."""
        return replace(self, **changes)  # type: ignore[arg-type]


def _three(table: Mapping[str, Any], key: str, *, falling: bool) -> tuple[float, float, float]:
    first, second, third = (float(v) for v in table[key])
    ordered = first > second > third if falling else first < second < third
    if not ordered:
        order = "falling" if falling else "rising"
        raise ConfigurationError(f"opinions: {key} must be three strictly {order} thresholds")
    return first, second, third


@dataclass(frozen=True, slots=True)
class SceneReading:
    """What geometry and risk read from observations.

    Attributes:
        position: Continuous position on the scale N = 0 … T = 3, shape [n, 2] (geometry, risk).
        occlusion: Occlusion that has an effect, in [0, 1], shape [n].
        band: Index into `OCCLUSION_BANDS`, shape [n].
    """

    position: Floats
    occlusion: Floats
    band: Ints

    @property
    def scene_class(self) -> Ints:
        """Index of the class that geometry and risk lead with, shape [n, 2]."""
        return np.floor(self.position + 0.5).astype(np.int64)

    def take(self, index: Ints) -> SceneReading:
        """Return the rows at `index`."""
        return SceneReading(self.position[index], self.occlusion[index], self.band[index])


def _position(value: Floats, thresholds: tuple[float, float, float], *, falling: bool) -> Floats:
    """Place a value on the scale: thresholds are at 0.5, 1.5 and 2.5, linear between and beyond.

    A value exactly at a threshold belongs to the more cautious class.
    """
    sign = -1.0 if falling else 1.0
    x, (a, b, c) = sign * value, (sign * t for t in thresholds)
    low = 0.5 + (x - a) / (b - a)
    high = 1.5 + (x - b) / (c - b)
    clipped: Floats = np.clip(np.where(x < b, low, high), 0.0, 3.0)
    return clipped


def read_scene(observations: ObservationTable, params: OpinionParams) -> SceneReading:
    """Read the relation and risk positions and the occlusion of every observation.

    Closer hands, smaller clearances and margins and faster closing never lower a position.
    """
    column = {
        name: np.asarray(observations[name], dtype=np.float64).reshape(-1)
        for name in (
            "hand_gripper_distance",
            "path_clearance",
            "separation_margin",
            "closing_speed",
            "occlusion",
        )
    }
    relation = _position(
        column["hand_gripper_distance"], params.hand_gripper_distance, falling=True
    )
    risk = np.maximum.reduce(
        [
            _position(column["path_clearance"], params.path_clearance, falling=True),
            _position(column["separation_margin"], params.separation_margin, falling=True),
            _position(column["closing_speed"], params.closing_speed, falling=False),
        ]
    )
    seen = column["occlusion"]
    band = (seen >= params.occlusion_visible).astype(np.int64) + (seen >= params.occlusion_heavy)
    return SceneReading(
        position=np.stack([relation, risk], axis=-1),
        occlusion=np.where(band > 0, np.clip(seen, 0.0, 1.0), 0.0),
        band=band,
    )


def previous_scene_rows(observations: ObservationTable) -> Ints:
    """Return, per row, the row of the previous scene (in id order, cyclic) at the same step."""
    scene, step = np.asarray(observations["scene_id"]), np.asarray(observations["step"])
    names = np.unique(scene)
    rank = np.searchsorted(names, scene)
    where = {(int(r), int(s)): i for i, (r, s) in enumerate(zip(rank, step, strict=True))}
    return np.array(
        [
            where.get(((int(r) - 1) % len(names), int(s)), i)
            for i, (r, s) in enumerate(zip(rank, step, strict=True))
        ],
        dtype=np.int64,
    )


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
    scene_ids = np.asarray(observations["scene_id"])
    reading = read_scene(observations, params)
    if previous is None:
        context = previous_scene_rows(observations)
        earlier, earlier_ids = reading.take(context), scene_ids[context]
    else:
        earlier, earlier_ids = read_scene(previous, params), np.asarray(previous["scene_id"])
    n_obs, n_cond, n_lab = len(scene_ids), len(conditions), len(labels)
    obs = np.repeat(np.arange(n_obs), n_cond * n_lab)
    cond = np.tile(np.repeat(np.arange(n_cond), n_lab), n_obs)
    label_codes = np.array([LABELS.index(name) for name in labels], dtype=np.int64)
    label = np.tile(label_codes, n_obs * n_cond)
    states = _States.of(conditions, params)
    steps = np.asarray(observations["step"]).astype(np.int64)
    key = draws.join(
        np.array([draws.key_of(f"seed {seed}")], dtype=np.uint64),
        draws.keys_of(scene_ids)[obs],
        draws.keys_of(np.array([c.name for c in conditions]))[cond],
        draws.keys_of(np.array(LABELS))[label],
        steps.astype(np.uint64)[obs],
    )
    own, old = reading.take(obs), earlier.take(obs)
    leads = _leading_contracts(states, cond, label, own, old, key)
    mean = _mean_opinions(states, cond, leads, own, old, params)
    role_keys = np.array([draws.key_of(role) for role in ROLES], dtype=np.uint64)
    source_key = draws.join(key[:, None], role_keys[None, :])
    concentration = params.generation_concentration / states.spread[cond]
    drawn = draws.dirichlet(mean * concentration[..., None], source_key)
    opinion = np.where(states.keeps_lead[cond][..., None], _with_lead(drawn, leads), drawn)
    quality, conflict = _attributes(states, cond, own, old, source_key, params)
    missing = ~states.available[cond]
    opinion[missing] = np.nan
    return InstanceTable.build(
        conditions=conditions,
        scene_id=scene_ids[obs],
        geometry=np.asarray(observations["geometry"])[obs],
        previous_scene_id=earlier_ids[obs],
        condition=cond,
        label=label,
        step=steps[obs],
        opinion=opinion,
        quality=quality,
        conflict=conflict,
        relation_class=own.scene_class[:, 0],
        risk_class=own.scene_class[:, 1],
        occlusion_band=own.band,
    )


@dataclass(frozen=True, slots=True)
class _States:
    """The source states of several conditions as arrays, shape [conditions, sources]."""

    supports: npt.NDArray[np.object_]
    peak: Floats
    quality: Floats
    conflict: Floats
    spread: Floats
    keeps_lead: npt.NDArray[np.bool_]
    available: npt.NDArray[np.bool_]
    recorded: npt.NDArray[np.bool_]

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

        return cls(
            supports=gather("supports", object),
            peak=gather("peak", np.float64),
            quality=gather("quality", np.float64),
            conflict=gather("conflict", np.float64),
            spread=gather("spread", np.float64),
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
    n = len(label)
    rows = np.arange(n)
    leads = np.full((n, len(ROLES)), -1, dtype=np.int64)
    taken = np.zeros((n, len(LABELS)), dtype=bool)
    taken[rows, label] = True
    scene, before = own.scene_class, old.scene_class
    for j in range(len(ROLES)):
        kinds = states.supports[:, j]
        for kind in set(kinds):
            chosen = np.flatnonzero((kinds == kind)[cond])
            if chosen.size == 0 or kind is Supports.NOTHING:
                continue
            if kind is Supports.CUE:
                lead = label[chosen]
            elif kind is Supports.SCENE:
                lead = scene[chosen, max(j - 1, 0)]
            elif kind is Supports.PREVIOUS_SCENE:
                lead = before[chosen, max(j - 1, 0)]
            elif kind is Supports.PREVIOUS_CUE:
                lead = (label[chosen] - 1) % len(LABELS)
            elif kind is Supports.URGENT:
                lead = np.full(chosen.size, _URGENT, dtype=np.int64)
            elif kind is Supports.WRONG:
                wrong = np.arange(len(LABELS)) != label[chosen, None]
                lead = _pick(wrong, key[chosen], 0)
            else:
                lead = _pick(~taken[chosen], key[chosen], j)
            leads[chosen, j] = lead
        led = leads[:, j] >= 0
        taken[rows[led], leads[led, j]] = True
    return leads


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

    A source that reads the scene shares the rest with the classes near the observed position; any
    other spreads it evenly.
    """
    n, k = len(cond), len(LABELS)
    even = np.ones((n, k))
    mean = np.zeros((n, len(ROLES), k))
    classes = np.arange(SCENE_CLASSES)
    rows = np.arange(n)
    for j in range(len(ROLES)):
        rest = even / k
        kinds = states.supports[:, j]
        for kind, reading in ((Supports.SCENE, own), (Supports.PREVIOUS_SCENE, old)):
            chosen = np.flatnonzero((kinds == kind)[cond])
            if chosen.size == 0:
                continue
            position = reading.position[chosen, max(j - 1, 0)]
            near = np.exp(-np.abs(classes - position[:, None]) / params.width)
            near[np.arange(chosen.size), leads[chosen, j]] = 0.0
            near /= near.sum(axis=-1, keepdims=True)
            rest[chosen] = (1.0 - params.share) / (k - 1)
            rest[chosen, :SCENE_CLASSES] += params.share * near
        led = leads[:, j] >= 0
        at = np.maximum(leads[:, j], 0)
        rest[rows, at] = 0.0
        rest = rest / rest.sum(axis=-1, keepdims=True)
        peak = states.peak[cond, j]
        opinion = rest * (1.0 - peak)[:, None]
        opinion[rows, at] = peak
        mean[:, j] = np.where(led[:, None], opinion, 0.0)
    return mean


def _attributes(
    states: _States,
    cond: Ints,
    own: SceneReading,
    old: SceneReading,
    source_key: draws.Keys,
    params: OpinionParams,
) -> tuple[Floats, Floats]:
    """Return quality and conflict, shape [n, sources]; NaN where the attribute is absent."""
    quality = states.quality[cond] + params.quality_sd * draws.normal(
        source_key, _COUNTERS["quality"]
    )
    conflict = states.conflict[cond] + params.conflict_sd * draws.normal(
        source_key, _COUNTERS["conflict"]
    )
    stale = states.supports[cond] == Supports.PREVIOUS_SCENE
    occlusion = np.where(stale, old.occlusion[:, None], own.occlusion[:, None])
    occlusion = params.occlusion_strength * occlusion * (np.arange(len(ROLES)) > 0)
    quality = quality * (1.0 - params.occlusion_quality_loss * occlusion)
    conflict = conflict + params.occlusion_conflict_gain * occlusion
    available = states.available[cond]
    quality = np.where(available, np.clip(quality, 0.0, 1.0), np.nan)
    recorded = available & states.recorded[cond]
    return quality, np.where(recorded, np.clip(conflict, 0.0, 1.0), np.nan)
