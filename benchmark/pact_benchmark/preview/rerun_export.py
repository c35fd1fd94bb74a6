"""Write a rollout as a Rerun recording; needs the `viz` extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pact_benchmark.errors import UsageError
from pact_benchmark.preview.pictures import colour_of
from pact_scenes.installation import install_command
from pact_scenes.model import Body, SceneModel
from pact_scenes.rollout import Rollout
from pact_scenes.transforms import matrix_from_z, quaternion_from_matrix, rotation_z

__all__ = ["write_rerun"]

_SERIES = (
    "hand_object_distance",
    "hand_gripper_distance",
    "closing_speed",
    "clearance",
    "path_clearance",
    "separation_margin",
    "occlusion",
    "contact_force",
)


def write_rerun(model: SceneModel, rollout: Rollout, path: Path) -> Path:
    """Log bodies, surroundings and observations to a .rrd file.

    Raises:
        UsageError: Rerun is not installed.
    """
    try:
        import rerun
    except ImportError as error:
        raise UsageError(f"rerun-sdk not installed; run: {install_command('viz')}") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = rerun.RecordingStream("pact_handover", recording_id=model.spec.scene_id)
    stream.save(str(path))
    stream.log("world", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    for body, box in zip(model.statics, model.plan.boxes, strict=True):
        name = f"world/{body.path.rsplit('/', 1)[1]}"
        turn = quaternion_from_matrix(rotation_z(box.yaw))
        stream.log(
            name,
            rerun.Boxes3D(
                centers=[box.centre],
                half_sizes=[box.half],
                quaternions=[rerun.Quaternion(xyzw=turn)],
                colors=[_bytes(body)],
                fill_mode="solid",
            ),
            static=True,
        )
    for body in model.bodies:
        stream.log(_entity(body), _shape(rerun, body), static=True)
    for state in rollout.states:
        stream.set_time("time", duration=state.time)
        for index, body in enumerate(model.bodies):
            stream.log(
                _entity(body),
                rerun.Transform3D(
                    translation=state.position[index],
                    quaternion=rerun.Quaternion(xyzw=state.quaternion[index]),
                ),
            )
    for observation in rollout.observations:
        stream.set_time("time", duration=observation.time)
        for name in _SERIES:
            stream.log(f"observation/{name}", rerun.Scalars(float(getattr(observation, name))))
    stream.flush()
    return path


def _entity(body: Body) -> str:
    return "world" + body.path.removeprefix("/World")


def _bytes(body: Body) -> tuple[int, int, int]:
    red, green, blue = (round(255 * c) for c in colour_of(body))
    return red, green, blue


def _shape(rerun: Any, body: Body) -> Any:
    """The primitive of a body; every body has one."""
    shape = body.primitives[0]
    if shape.half is not None:
        return rerun.Boxes3D(
            centers=[shape.start], half_sizes=[shape.half], colors=[_bytes(body)], fill_mode="solid"
        )
    start, end = np.array(shape.start), np.array(shape.end)
    axis = end - start
    turn = quaternion_from_matrix(matrix_from_z(axis, np.array([1.0, 0.0, 0.0])))
    return rerun.Capsules3D(
        lengths=[float(np.linalg.norm(axis))],
        radii=[shape.radius],
        translations=[start],
        quaternions=[rerun.Quaternion(xyzw=turn)],
        colors=[_bytes(body)],
        fill_mode="solid",
    )
