"""Draw capsules and boxes by casting one ray per pixel, with NumPy, off-screen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

__all__ = ["Drawable", "View", "render"]

_LIGHT = np.array([0.35, -0.45, 0.82])
_SKY = np.array([0.93, 0.95, 0.97])
_FLOOR = np.array([0.80, 0.81, 0.83])


@dataclass(frozen=True, slots=True)
class Drawable:
    """A capsule (end points, radius) or a box (centre, rotation, half extents) with a colour.

    Attributes:
        start: End point of a capsule, or centre of a box [m].
        end: Other end point of a capsule; unused for a box.
        radius: Radius of a capsule [m].
        rotation: Rotation of a box, shape [3, 3]; None for a capsule.
        half: Half extents of a box [m].
        colour: Red, green, blue in [0, 1].
    """

    start: Array
    end: Array
    radius: float
    rotation: Array | None
    half: Array
    colour: tuple[float, float, float]

    @property
    def bound(self) -> tuple[Array, float]:
        """Centre and radius of a sphere around it."""
        if self.rotation is not None:
            return self.start, float(np.linalg.norm(self.half))
        centre = (self.start + self.end) / 2.0
        return centre, float(np.linalg.norm(self.end - centre) + self.radius)


@dataclass(frozen=True, slots=True)
class View:
    """A perspective camera: position and target [m], vertical field of view [deg], pixels."""

    eye: Array
    target: Array
    field: float
    width: int
    height: int

    @property
    def axes(self) -> Array:
        """Right, down and forward directions as rows, shape [3, 3]."""
        forward = self.target - self.eye
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, np.array([0.0, 0.0, 1.0]))
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(forward, right), forward])

    @property
    def focal(self) -> float:
        """Focal length in pixels."""
        return float(self.height / (2.0 * np.tan(np.deg2rad(self.field) / 2.0)))

    def project(self, points: Array) -> Array:
        """Pixel coordinates [..., 2] of world points in front of the camera."""
        local = (points - self.eye) @ self.axes.T
        depth = np.maximum(local[..., 2:], 1e-6)
        centre = np.array([self.width / 2.0, self.height / 2.0])
        return np.asarray(local[..., :2] / depth * self.focal + centre)

    def rays(self) -> Array:
        """Unit directions of all pixels, shape [height, width, 3]."""
        x = (np.arange(self.width) + 0.5 - self.width / 2.0) / self.focal
        y = (np.arange(self.height) + 0.5 - self.height / 2.0) / self.focal
        grid = np.stack([*np.meshgrid(x, y), np.ones((self.height, self.width))], axis=-1)
        world = grid @ self.axes
        return np.asarray(world / np.linalg.norm(world, axis=-1, keepdims=True))


def render(view: View, drawables: list[Drawable], *, shadows: bool = True) -> NDArray[np.uint8]:
    """Draw over a floor at z = 0.

    Returns:
        An image of shape [height, width, 3].
    """
    rays = view.rays()
    depth = np.full(rays.shape[:2], np.inf)
    normal = np.zeros_like(rays)
    colour = np.broadcast_to(_SKY, rays.shape).copy()
    _floor(view, rays, depth, normal, colour)
    for item in drawables:
        rows, columns = _window(view, item)
        part = rays[rows, columns]
        if part.size == 0:
            continue
        hit, facing = _intersect(view.eye, part, item)
        nearer = hit < depth[rows, columns]
        depth[rows, columns][nearer] = hit[nearer]
        normal[rows, columns][nearer] = facing[nearer]
        colour[rows, columns][nearer] = item.colour
    solid = np.isfinite(depth)
    light = _LIGHT / np.linalg.norm(_LIGHT)
    shade = np.clip(normal @ light, 0.0, 1.0)
    if shadows:
        points = view.eye + rays[solid] * depth[solid][:, None] + 1e-4 * normal[solid]
        shade[solid] *= 1.0 - 0.75 * _shadowed(points, light, drawables)
    bright = np.where(solid, 0.48 + 0.52 * shade, 1.0)
    haze = np.where(solid, np.clip((depth - 4.0) / 4.0, 0.0, 1.0), 0.0)[..., None]
    image = colour * bright[..., None] * (1.0 - haze) + _SKY * haze
    return np.asarray(np.clip(image, 0.0, 1.0) * 255.0 + 0.5, dtype=np.uint8)


def _floor(view: View, rays: Array, depth: Array, normal: Array, colour: Array) -> None:
    falling = rays[..., 2] < -1e-6
    distance = np.where(falling, -view.eye[2] / np.where(falling, rays[..., 2], 1.0), np.inf)
    depth[...] = np.where(distance < 12.0, distance, np.inf)
    solid = np.isfinite(depth)
    normal[solid] = (0.0, 0.0, 1.0)
    points = view.eye[:2] + rays[solid][:, :2] * depth[solid][:, None]
    tile = (np.floor(points * 2.0).sum(axis=-1) % 2)[:, None]
    colour[solid] = _FLOOR * (1.0 - 0.03 * tile)


def _window(view: View, item: Drawable) -> tuple[slice, slice]:
    """Pixels that may show an item, from the projection of its bounding sphere."""
    centre, radius = item.bound
    local = view.axes @ (centre - view.eye)
    if local[2] <= radius * 1.05:
        return slice(0, view.height), slice(0, view.width)
    spread = view.focal * radius / (local[2] - radius) * 1.3 + 2.0
    x, y = view.project(centre)
    low_y, high_y = int(max(y - spread, 0)), int(min(y + spread + 1, view.height))
    low_x, high_x = int(max(x - spread, 0)), int(min(x + spread + 1, view.width))
    return slice(low_y, max(high_y, low_y)), slice(low_x, max(high_x, low_x))


def _intersect(origin: Array, rays: Array, item: Drawable) -> tuple[Array, Array]:
    """Distances (inf for a miss) and outward normals where rays [..., 3] enter an item."""
    if item.rotation is not None:
        return _box(origin, rays, item)
    return _capsule(origin, rays, item)


def _box(origin: Array, rays: Array, item: Drawable) -> tuple[Array, Array]:
    rotation = item.rotation if item.rotation is not None else np.eye(3)
    start = (origin - item.start) @ rotation
    direction = rays @ rotation
    safe = np.where(np.abs(direction) > 1e-9, direction, 1e-9)
    one, two = (-item.half - start) / safe, (item.half - start) / safe
    near, far = np.minimum(one, two), np.maximum(one, two)
    enter = near.max(axis=-1)
    hit = (enter <= far.min(axis=-1)) & (enter > 1e-4)
    axis = near.argmax(axis=-1)
    local = np.zeros(rays.shape)
    sign = -np.sign(np.take_along_axis(direction, axis[..., None], axis=-1))
    np.put_along_axis(local, axis[..., None], sign, axis=-1)
    return np.where(hit, enter, np.inf), local @ rotation.T


def _capsule(origin: Array, rays: Array, item: Drawable) -> tuple[Array, Array]:
    axis, offset = item.end - item.start, origin - item.start
    length = float(axis @ axis)
    along, base = rays @ axis, offset @ axis
    best = np.full(rays.shape[:-1], np.inf)
    if length > 1e-12:
        a = length - along**2
        b = length * (rays * offset).sum(axis=-1) - base * along
        c = length * (offset * offset).sum(axis=-1) - base**2 - item.radius**2 * length
        root = b * b - a * c
        good = (root >= 0.0) & (a > 1e-12)
        t = (-b - np.sqrt(np.where(good, root, 0.0))) / np.where(good, a, 1.0)
        inside = base + t * along
        best = np.where(good & (inside >= 0.0) & (inside <= length) & (t > 1e-4), t, best)
    for end in (item.start, item.end):
        gap = origin - end
        b = (rays * gap).sum(axis=-1)
        root = b * b - (gap * gap).sum(axis=-1) + item.radius**2
        t = -b - np.sqrt(np.where(root >= 0.0, root, 0.0))
        best = np.where((root >= 0.0) & (t > 1e-4) & (t < best), t, best)
    hit = np.isfinite(best)
    point = origin + rays * np.where(hit, best, 0.0)[..., None]
    share = np.clip((point - item.start) @ axis / max(length, 1e-12), 0.0, 1.0)
    normal = (point - item.start - share[..., None] * axis) / item.radius
    return best, normal


def _shadowed(points: Array, light: Array, drawables: list[Drawable]) -> Array:
    """1 where something stands between a point [n, 3] and the light, else 0."""
    dark = np.zeros(len(points), dtype=bool)
    one = np.cross(light, np.array([0.0, 0.0, 1.0]))
    one = one / np.linalg.norm(one)
    plane = np.stack([one, np.cross(light, one)])
    u, v = plane @ points.T
    for item in drawables:
        centre, radius = item.bound
        at_u, at_v = plane @ centre
        near = np.flatnonzero((np.abs(u - at_u) <= radius) & (np.abs(v - at_v) <= radius) & ~dark)
        if len(near):
            directions = np.broadcast_to(light, (len(near), 3))
            hit, _ = _intersect(points[near], directions, item)
            dark[near] |= np.isfinite(hit)
    return dark.astype(np.float64)
