"""The catalogue: 48 scene specifications from a seeded, evenly covering design."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pact_scenes.configuration import ConfigurationError, default_section

Array = NDArray[np.float64]

__all__ = ["Geometry", "SceneSpec", "UnknownSceneError", "load_catalogue", "select_scenes"]


class Geometry(StrEnum):
    """How giver and receiver face each other."""

    FACE_TO_FACE = "face_to_face"
    SIDE_BY_SIDE = "side_by_side"
    TABLE_MEDIATED = "table_mediated"


class UnknownSceneError(LookupError):
    """A scene id is not in the catalogue."""


@dataclass(frozen=True, slots=True)
class SceneSpec:
    """What one scene asks for; lengths in metres, angles in degrees, times in seconds.

    The solved motion, placement and clearances belong to the scene's `ScenePlan`.
    `transfer_height` is above the arm's mounting plane, and the object's gap above the table
    where the handover is table-mediated. A negative `occluder` means that there is no screen.
    """

    scene_id: str
    geometry: Geometry
    transfer_radius: float
    transfer_azimuth: float
    transfer_height: float
    approach_pitch: float
    approach_azimuth: float
    approach_side: float
    approach_length: float
    approach_time: float
    hand_distance: float
    reach_speed: float
    reach_end: float
    reach_stretch: float
    path_clearance: float
    human_bearing: float
    obstacle: str
    occluder: float
    object_shape: str
    object_size: float
    object_mass: float
    posture: str
    receiving_hand: str
    light: float
    early_touch: bool

    @property
    def index(self) -> int:
        """Zero-based position in the catalogue."""
        return int(self.scene_id.rsplit("_", 1)[1]) - 1

    @property
    def mirror(self) -> float:
        """-1 for side-by-side scenes with a left-handed receiver, who is on the other side."""
        left = self.geometry is Geometry.SIDE_BY_SIDE and self.receiving_hand == "left"
        return -1.0 if left else 1.0

    @property
    def mount_height(self) -> float:
        """Height of the table top and of the arm's mounting plane [m]."""
        return 0.72 if self.posture == "seated" else 0.90

    @property
    def object_extent(self) -> tuple[float, float, float]:
        """Half extents of the object in the gripper frame (length, grip, depth) [m]."""
        s = self.object_size
        if self.object_shape == "sphere":
            radius = 0.024 + 0.011 * s
            return radius, radius, radius
        if self.object_shape == "capsule":
            radius = 0.020 + 0.012 * s
            return radius + 0.025 + 0.035 * s, radius, radius
        return 0.025 + 0.035 * s, 0.016 + 0.016 * s, 0.03 + 0.025 * s


_LEVELS: Final = {"obstacle", "object_shape", "posture", "receiving_hand"}
_DERIVED: Final = {"scene_id", "geometry", "early_touch"}
_AXES: Final = tuple(f.name for f in fields(SceneSpec) if f.name not in _DERIVED)
_TOP_LEVEL: Final = {"seed", "scenes_per_geometry", "candidates", "axes", "geometry", "contact"}


def load_catalogue(
    config: Mapping[str, Any] | None = None, seed: int | None = None
) -> tuple[SceneSpec, ...]:
    """Draw the catalogue.

    Args:
        config: The section `scenes` of a configuration; the shipped one by default.
        seed: Replaces the seed of the configuration.

    Returns:
        Specifications sorted by scene id. The geometries take turns, so that with three of
        them the folds "index modulo five" hold all geometries.
    """
    if config is None and seed is None:
        return _shipped()
    data = default_section("scenes") if config is None else config
    return _draw(data, seed, "scenes")


@cache
def _shipped() -> tuple[SceneSpec, ...]:
    return _draw(default_section("scenes"), None, "scenes")


def select_scenes(
    catalogue: tuple[SceneSpec, ...], names: list[str] | tuple[str, ...] | None
) -> tuple[SceneSpec, ...]:
    """Pick scenes by id, number or geometry; None means all.

    Raises:
        UnknownSceneError: A name matches nothing; the message says what exists.
    """
    if not names:
        return catalogue
    chosen: set[str] = set()
    for name in names:
        padded = f"scene_{int(name):03d}" if name.isdecimal() else name
        hits = [s.scene_id for s in catalogue if padded in (s.scene_id, s.geometry.value)]
        if not hits:
            geometries = ", ".join(g.value for g in Geometry)
            raise UnknownSceneError(
                f"no scene {name!r}: use {catalogue[0].scene_id} to {catalogue[-1].scene_id}, "
                f"or one of {geometries}"
            )
        chosen.update(hits)
    return tuple(s for s in catalogue if s.scene_id in chosen)


def _draw(data: Mapping[str, Any], seed: int | None, where: str) -> tuple[SceneSpec, ...]:
    unknown = set(data) - _TOP_LEVEL
    if unknown:
        raise ConfigurationError(f"{where}: unknown key {sorted(unknown)[0]!r}")
    root = int(data.get("seed", 0)) if seed is None else seed
    count = int(data.get("scenes_per_geometry", 16))
    contact = data.get("contact", {})
    columns: dict[Geometry, list[dict[str, Any]]] = {}
    for geometry in Geometry:
        axes = _axes_of(data, geometry, where)
        unit_points = _latin_hypercube(
            root, geometry.value, count, len(_AXES), int(data.get("candidates", 256))
        )
        columns[geometry] = [_physical(axes, row) for row in unit_points]
    specs = []
    geometries = tuple(Geometry)
    for index in range(count * len(geometries)):
        geometry = geometries[index % len(geometries)]
        values = columns[geometry][index // len(geometries)]
        closest = sorted(row["hand_distance"] for row in columns[geometry])
        touch = values["hand_distance"] in closest[: int(contact.get("early_touch", 0))]
        if touch:
            values = {**values, "hand_distance": -float(contact.get("touch_depth", 0.0005))}
        specs.append(SceneSpec(f"scene_{index + 1:03d}", geometry, **values, early_touch=touch))
    return tuple(specs)


def _axes_of(data: Mapping[str, Any], geometry: Geometry, where: str) -> dict[str, Any]:
    axes = {**data.get("axes", {}), **data.get("geometry", {}).get(geometry.value, {})}
    missing, unknown = set(_AXES) - set(axes), set(axes) - set(_AXES)
    if missing or unknown:
        raise ConfigurationError(
            f"{where}: axes missing: {sorted(missing)}, unknown: {sorted(unknown)}"
        )
    for name, value in axes.items():
        numeric = len(value) == 2 and all(isinstance(v, (int, float)) for v in value)
        if numeric == (name in _LEVELS):
            wanted = "a list of names" if name in _LEVELS else "a pair of numbers"
            own = name in data.get("geometry", {}).get(geometry.value, {})
            table = ("geometry", geometry.value) if own else ("axes",)
            raise ConfigurationError(
                f"{where}: {name} must be {wanted}, not {value!r}", ("scenes", *table, name)
            )
    return axes


def _physical(axes: Mapping[str, Any], row: Array) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, u in zip(_AXES, row, strict=True):
        domain = axes[name]
        if name in _LEVELS:
            values[name] = str(domain[min(int(u * len(domain)), len(domain) - 1)])
        else:
            values[name] = round(float(domain[0] + u * (domain[1] - domain[0])), 6)
    return values


def _latin_hypercube(root: int, key: str, count: int, axes: int, candidates: int) -> Array:
    """The Latin hypercube of least centred discrepancy among seeded candidates.

    Each of the `count` equal strata of every axis holds exactly one point, at its centre
    shifted by less than half a stratum.
    """
    digest = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    rng = np.random.default_rng(np.random.SeedSequence([root, digest]))
    best, best_value = np.empty((0, 0)), np.inf
    for _ in range(max(candidates, 1)):
        order = rng.permuted(np.tile(np.arange(count), (axes, 1)), axis=1).T
        points = (order + rng.uniform(0.25, 0.75, order.shape)) / count
        value = _centred_discrepancy(points)
        if value < best_value:
            best, best_value = points, value
    return best


def _centred_discrepancy(points: Array) -> float:
    """Logarithm of the variable part of the centred L2 discrepancy (smaller is more even)."""
    z = np.abs(points - 0.5)
    single = np.prod(1.0 + 0.5 * z - 0.5 * z * z, axis=1)
    pair = 1.0 + 0.5 * (z[:, None] + z[None]) - 0.5 * np.abs(points[:, None] - points[None])
    count = len(points)
    return float(-2.0 / count * single.sum() + np.prod(pair, axis=2).sum() / count**2)
