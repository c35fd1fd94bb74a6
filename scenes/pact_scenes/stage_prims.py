"""Small helpers for authoring prims."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom

from pact_scenes.model import Body, Group
from pact_scenes.transforms import quaternion_from_matrix

Array = NDArray[np.float64]

__all__ = [
    "ROOT",
    "StageError",
    "look_of",
    "place",
    "quaternion",
    "quaternion_float",
    "save_layer",
]

ROOT: Final = "/World"


class StageError(RuntimeError):
    """A stage cannot be written, or is not one of this catalogue."""


def save_layer(layer: Sdf.Layer, path: Path) -> Path:
    """Write a layer, text for .usda, by way of a temporary file in the same folder.

    Raises:
        StageError: The file cannot be written; nothing is left behind.
    """
    temporary = path.with_name(f".{path.stem}.tmp{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".usda":
            temporary.write_text(layer.ExportToString(), encoding="utf-8")
        elif not layer.Export(str(temporary)):
            raise StageError(f"cannot write {path}")
        temporary.replace(path)
    except OSError as error:
        raise StageError(f"cannot write {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def quaternion(rotation: Array) -> Gf.Quatd:
    """A rotation matrix as a double quaternion."""
    x, y, z, w = (float(v) for v in quaternion_from_matrix(rotation))
    return Gf.Quatd(w, x, y, z)


def quaternion_float(rotation: Array) -> Gf.Quatf:
    """A rotation matrix as a float quaternion."""
    return Gf.Quatf(quaternion(rotation))


def place(prim: Usd.Prim, position: Array, rotation: Array, *, scale: Array | None = None) -> None:
    """Author translate, orient and, if given, scale."""
    xform = UsdGeom.Xformable(prim)
    xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*map(float, position)))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(quaternion(rotation))
    if scale is not None:
        xform.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*map(float, scale)))


def look_of(body: Body) -> str:
    """Name of a body's material."""
    if body.group is Group.ROBOT:
        dark = body.name in ("hand", "finger_left", "finger_right", "link0", "link7")
        return "gripper" if dark else "robot"
    if body.group is Group.OBJECT:
        return "object"
    if body.name.startswith(("head", "hand", "forearm")):
        return "skin"
    return "trousers" if body.name.startswith(("thigh", "shin", "pelvis")) else "clothes"
