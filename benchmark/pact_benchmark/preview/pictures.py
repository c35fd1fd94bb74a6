"""Pictures of scenes: one frame, an animation, a contact sheet."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pact_benchmark.console import Console
from pact_benchmark.preview.raycast import Drawable, View, render
from pact_scenes.catalogue import Geometry, SceneSpec, load_catalogue
from pact_scenes.model import Body, Group, SceneModel
from pact_scenes.observation import Observation, SceneState
from pact_scenes.planning import model_for
from pact_scenes.transforms import matrix_from_quaternion, rotation_z

Array = NDArray[np.float64]
Colour = tuple[float, float, float]

__all__ = ["animation", "colour_of", "contact_sheet", "frame", "picture"]

_COLOURS: Final[dict[str, Colour]] = {
    "robot": (0.93, 0.93, 0.95),
    "gripper": (0.30, 0.33, 0.38),
    "object": (0.90, 0.45, 0.10),
    "skin": (0.87, 0.68, 0.55),
    "clothes": (0.20, 0.42, 0.62),
    "trousers": (0.25, 0.27, 0.33),
    "table": (0.72, 0.58, 0.42),
    "pedestal": (0.55, 0.57, 0.60),
    "stool": (0.50, 0.42, 0.36),
    "obstacle": (0.75, 0.25, 0.30),
    "screen": (0.45, 0.60, 0.55),
}
_SILENT: Final = Console(quiet=True)
_GEOMETRY_NAMES: Final = {g: g.value.replace("_", " ") for g in Geometry}


def picture(
    model: SceneModel,
    position: Array,
    rotation: Array,
    *,
    size: tuple[int, int] = (960, 720),
    smooth: int = 1,
) -> Image.Image:
    """Draw a scene with its bodies at given poses [B, 3] and [B, 3, 3]."""
    view = _view(model, size[0] * smooth, size[1] * smooth)
    image = Image.fromarray(render(view, _drawables(model, position, rotation)))
    return image.resize(size, Image.Resampling.BOX) if smooth > 1 else image


def frame(
    model: SceneModel,
    time: float,
    *,
    size: tuple[int, int] = (960, 720),
    state: SceneState | None = None,
    observation: Observation | None = None,
) -> bytes:
    """One PNG of a scene, at a planned time [s] or in a simulated state."""
    image = _captioned(model, time, size, state, observation)
    return _png(image)


def animation(
    model: SceneModel,
    states: Sequence[SceneState],
    observations: Sequence[Observation] = (),
    *,
    size: tuple[int, int] = (640, 480),
    rate: float = 10.0,
    console: Console = _SILENT,
) -> bytes:
    """A GIF of simulated states, `rate` pictures per second of simulated time."""
    wanted = np.arange(states[0].time, states[-1].time + 1e-9, 1.0 / rate)
    times = np.array([s.time for s in states])
    frames = []
    with console.progress("pictures", len(wanted)) as bar:
        for time in wanted:
            state = states[int(np.argmin(np.abs(times - time)))]
            seen = [o for o in observations if o.time <= state.time + 1e-9]
            image = _captioned(model, state.time, size, state, seen[-1] if seen else None)
            frames.append(image.quantize(96, dither=Image.Dither.NONE))
            bar.advance()
    stream = io.BytesIO()
    pause = round(1000.0 / rate)
    durations = [pause] * (len(frames) - 1) + [1200]
    frames[0].save(
        stream, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0
    )
    return stream.getvalue()


def contact_sheet(
    section: Mapping[str, Any] | None = None,
    *,
    width: int = 240,
    columns: int = 8,
    console: Console = _SILENT,
) -> bytes:
    """A PNG with all scenes of a catalogue at their transfer, under the name of their geometry.

    Args:
        section: The `scenes` section of a configuration; the shipped one by default.
        width: Width of one cell in pixels.
        columns: Cells per row.
        console: Where progress is shown.
    """
    catalogue = load_catalogue(section)
    height, caption, heading = width * 3 // 4, width // 7, width // 5
    small, large = (ImageFont.load_default(size) for size in (width // 9, width // 7))
    groups = {
        geometry: [spec for spec in catalogue if spec.geometry is geometry] for geometry in Geometry
    }
    rows = sum(-(-len(specs) // columns) for specs in groups.values())
    tall = rows * (height + caption) + sum(heading for specs in groups.values() if specs)
    sheet = Image.new("RGB", (columns * width, tall), "white")
    pen = ImageDraw.Draw(sheet)
    top = 0
    with console.progress("scenes drawn", len(catalogue)) as bar:
        for geometry, specs in groups.items():
            if not specs:
                continue
            title = _GEOMETRY_NAMES[geometry].capitalize()
            pen.text((width // 30, top + width // 60), title, fill=(20, 20, 20), font=large)
            top += heading
            for number, spec in enumerate(specs):
                x, y = number % columns * width, top + number // columns * (height + caption)
                sheet.paste(_cell(spec, (width, height)), (x, y))
                label = f"{spec.scene_id[-3:]}  {spec.posture}"
                pen.text((x + width // 30, y + height), label, fill=(40, 40, 40), font=small)
                bar.advance()
            top += -(-len(specs) // columns) * (height + caption)
    return _png(sheet)


def _cell(spec: SceneSpec, size: tuple[int, int]) -> Image.Image:
    model = model_for(spec)
    position, rotation = model.planned_poses(model.plan.approach_time)
    return picture(model, position, rotation, size=size, smooth=2)


def _captioned(
    model: SceneModel,
    time: float,
    size: tuple[int, int],
    state: SceneState | None,
    observation: Observation | None,
) -> Image.Image:
    if state is None:
        position, rotation = model.planned_poses(time)
    else:
        position, rotation = state.position, matrix_from_quaternion(state.quaternion)
    image = picture(model, position, rotation, size=size)
    pen = ImageDraw.Draw(image)
    spec = model.spec
    lines = [
        f"{spec.scene_id}  {_GEOMETRY_NAMES[spec.geometry]}, {spec.posture}   t = {time:.2f} s"
    ]
    if observation is not None:
        o = observation
        lines.append(
            f"decision {o.step + 1}:   hand-object {o.hand_object_distance:.3f} m   "
            f"clearance {o.clearance:.3f} m   "
            f"margin {o.separation_margin:+.3f} m   closing {o.closing_speed:.2f} m/s   "
            f"occlusion {o.occlusion:.0%}"
        )
    font = ImageFont.load_default(max(11, size[0] // 56))
    for row, line in enumerate(lines):
        pen.text((10, 8 + row * (size[0] // 42)), line, fill=(30, 30, 30), font=font)
    return image


def _view(model: SceneModel, width: int, height: int) -> View:
    """A view of the whole scene from the side that shows hand and gripper."""
    transfer, root = np.array(model.plan.transfer), np.array(model.plan.root)
    middle = np.array([root[0] * 0.5, root[1] * 0.5, model.spec.mount_height + 0.14])
    if model.spec.geometry is Geometry.SIDE_BY_SIDE:
        direction = np.array([1.0, -0.30 * np.sign(root[1]), 0.42])
    else:
        side = float(np.sign(model.plan.cameras[0].eye[1]))
        if any(box.name == "screen" for box in model.plan.boxes):
            side = -side
        direction = np.array([0.10 - 0.25 * transfer[0], side, 0.42])
    eye = middle + 2.75 * direction / np.linalg.norm(direction)
    return View(eye, middle, 36.0, width, height)


def _drawables(model: SceneModel, position: Array, rotation: Array) -> list[Drawable]:
    items = [
        item
        for index, body in enumerate(model.bodies)
        for item in _shapes(body, position[index], rotation[index], colour_of(body))
    ]
    for body, box in zip(model.statics, model.plan.boxes, strict=True):
        items += _shapes(body, np.array(box.centre), rotation_z(box.yaw), colour_of(body))
    return items


def _shapes(body: Body, position: Array, rotation: Array, colour: Colour) -> list[Drawable]:
    items = []
    for shape in (*body.primitives, *body.visuals):
        start = position + rotation @ np.array(shape.start)
        end = position + rotation @ np.array(shape.end)
        box = shape.half is not None
        items.append(
            Drawable(
                start,
                end,
                shape.radius,
                rotation if box else None,
                np.array(shape.half) if shape.half is not None else np.zeros(3),
                colour,
            )
        )
    return items


def colour_of(body: Body) -> Colour:
    """Red, green and blue of a body in pictures, each in [0, 1]."""
    if body.group is Group.STATIC:
        return _COLOURS[next(name for name in _COLOURS if body.name.startswith(name))]
    if body.group is Group.ROBOT:
        dark = body.name in ("hand", "finger_left", "finger_right", "link0", "link7")
        return _COLOURS["gripper" if dark else "robot"]
    if body.group is Group.OBJECT:
        return _COLOURS["object"]
    if body.name.startswith(("head", "hand", "forearm")):
        return _COLOURS["skin"]
    if body.name.startswith(("thigh", "shin", "pelvis")):
        return _COLOURS["trousers"]
    return _COLOURS["clothes"]


def _png(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG", optimize=True)
    return stream.getvalue()
