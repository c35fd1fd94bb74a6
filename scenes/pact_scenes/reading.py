"""What geometry and risk read from observations, and the parameters of the reading.

The geometry source reads the relation of hand and gripper, the risk source clearance, separation
margin and closing speed. Each places the scene on the ordered scale N, S, H, T.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pact_scenes.configuration import ConfigurationError, default_section

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ObservationTable = Mapping[str, npt.NDArray[Any]]
"""Columns of observations by name, all of one length (one row per scene and decision step)."""

SCENE_CLASSES = 4
"""N, S, H and T are the scene classes; U is about time and no scene suggests it."""

OCCLUSION_BANDS = ("none", "partial", "heavy")

_SOURCE_READS = (0, 0, 1)  # which reading a language, geometry or risk source would take


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
    relation_clarity: tuple[float, ...]
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
        occlusion, sharing = section["occlusion"], section["sharing"]
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
                section, "relation", "hand_gripper_distance", falling=True
            ),
            relation_clarity=_clarity(section),
            path_clearance=_three(section, "risk", "path_clearance", falling=True),
            separation_margin=_three(section, "risk", "separation_margin", falling=True),
            closing_speed=_three(section, "risk", "closing_speed", falling=False),
            occlusion_visible=float(occlusion["visible"]),
            occlusion_heavy=float(occlusion["heavy"]),
            occlusion_quality_loss=float(occlusion["quality_loss"]),
            occlusion_conflict_gain=float(occlusion["conflict_gain"]),
            occlusion_strength=float(occlusion["strength"]),
        )
        if not params.generation_concentration > 0.0:
            raise _wrong("must be positive", "generation_concentration")
        if not 0.0 <= params.share <= 1.0:
            raise _wrong("must be in [0, 1]", "sharing", "share")
        if not params.width > 0.0:
            raise _wrong("must be positive", "sharing", "width")
        return params

    @classmethod
    def default(cls) -> OpinionParams:
        """Return the shipped parameters."""
        return cls.from_section(default_section("opinions"))

    def clarity_of(self, leads: Ints) -> Floats:
        """Return how clearly the class of every lead shows to its source.

        Args:
            leads: Contract that language, geometry and risk lead with, shape [n, 3].
        """
        clarity = np.ones((3, 1 + max(SCENE_CLASSES, int(leads.max(initial=0)))))
        clarity[1, :SCENE_CLASSES] = self.relation_clarity
        return clarity[np.arange(3), np.maximum(leads, 0)]

    def override(self, **changes: float) -> OpinionParams:
        """Return a copy with the named parameters changed (used by the sensitivity sweep)."""
        return replace(self, **changes)  # type: ignore[arg-type]


def _wrong(what: str, *key: str) -> ConfigurationError:
    return ConfigurationError(f"opinions: {'.'.join(key)} {what}", ("opinions", *key))


def _three(
    section: Mapping[str, Any], table: str, key: str, *, falling: bool
) -> tuple[float, float, float]:
    order = "falling" if falling else "rising"
    try:
        first, second, third = (float(v) for v in section[table][key])
        ordered = first > second > third if falling else first < second < third
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        raise _wrong(f"must be three strictly {order} thresholds", table, key)
    return first, second, third


def _clarity(section: Mapping[str, Any]) -> tuple[float, ...]:
    clarity = {name: float(section["relation"]["clarity"][name]) for name in "NSHT"}
    for name, value in clarity.items():
        if not value > 0.0:
            raise _wrong("must be positive", "relation", "clarity", name)
    return tuple(clarity.values())


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
    def source_position(self) -> Floats:
        """Position as language, geometry and risk would read it, shape [n, 3]."""
        return self.position[:, _SOURCE_READS]

    @property
    def scene_class(self) -> Ints:
        """Index of the class that geometry and risk lead with, shape [n, 2]."""
        return np.floor(self.position + 0.5).astype(np.int64)

    def take(self, index: Ints) -> SceneReading:
        """Return the rows at `index`."""
        return SceneReading(self.position[index], self.occlusion[index], self.band[index])


_INDICATORS = ("hand_gripper_distance", "path_clearance", "separation_margin", "closing_speed")
_SIGNS = np.array(
    [-1.0, -1.0, -1.0, 1.0]
)  # distances lead towards T as they fall, speed as it rises


def _positions(values: Floats, thresholds: Floats) -> Floats:
    """Place indicators on the scale: thresholds are at 0.5, 1.5 and 2.5, linear between, beyond.

    A value exactly at a threshold belongs to the more cautious class.

    Args:
        values: Shape [n, indicators], larger is more cautious.
        thresholds: Shape [indicators, 3], rising.
    """
    first, second, third = thresholds.T
    low = 0.5 + (values - first) / (second - first)
    high = 1.5 + (values - second) / (third - second)
    clipped: Floats = np.clip(np.where(values < second, low, high), 0.0, 3.0)
    return clipped


def read_scene(observations: ObservationTable, params: OpinionParams) -> SceneReading:
    """Read the relation and risk positions and the occlusion of every observation.

    Closer hands, smaller clearances and margins and faster closing never lower a position; the
    most cautious indicator decides the risk.
    """
    values = np.array([observations[name] for name in _INDICATORS], dtype=np.float64).T * _SIGNS
    thresholds = np.array([getattr(params, name) for name in _INDICATORS]) * _SIGNS[:, None]
    placed = _positions(values, thresholds)
    seen = np.asarray(observations["occlusion"], dtype=np.float64)
    band = (seen >= params.occlusion_visible).astype(np.int64) + (seen >= params.occlusion_heavy)
    return SceneReading(
        position=np.stack([placed[:, 0], placed[:, 1:].max(axis=1)], axis=-1),
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
