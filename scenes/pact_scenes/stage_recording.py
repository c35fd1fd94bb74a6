"""Record a rollout as a USD layer with time samples, to be played over the scene's stage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from pact_scenes.model import SceneModel
from pact_scenes.observation import SceneState
from pact_scenes.stage_prims import ROOT, StageError, save_layer

__all__ = ["RECORDING_RATE", "write_recording"]

RECORDING_RATE: Final = 60.0
"""Time codes per second of a recording."""


def write_recording(
    model: SceneModel, states: Sequence[SceneState], path: Path | str, scene: str
) -> Path:
    """Write time samples of every body's pose as a layer over the scene.

    Args:
        model: The scene.
        states: States in time order.
        path: The recording, a .usda or .usd file.
        scene: Path of the scene's stage relative to the recording.

    Raises:
        StageError: The file cannot be written; nothing is left behind.
    """
    if not states:
        raise StageError("a recording needs at least one state")
    stage = Usd.Stage.CreateInMemory()
    layer = stage.GetRootLayer()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(RECORDING_RATE)
    stage.SetStartTimeCode(states[0].time * RECORDING_RATE)
    stage.SetEndTimeCode(states[-1].time * RECORDING_RATE)
    stage.SetDefaultPrim(stage.OverridePrim(ROOT))
    layer.documentation = f"Recorded rollout of {model.spec.scene_id}, to be played over its scene."
    for index, body in enumerate(model.bodies):
        prim = stage.OverridePrim(body.path)
        # A body that physics moves would fight with its time samples.
        prim.CreateAttribute(
            UsdPhysics.Tokens.physicsRigidBodyEnabled, Sdf.ValueTypeNames.Bool, custom=False
        ).Set(False)
        translate = prim.CreateAttribute(
            "xformOp:translate", Sdf.ValueTypeNames.Double3, custom=False
        )
        orient = prim.CreateAttribute("xformOp:orient", Sdf.ValueTypeNames.Quatd, custom=False)
        for state in states:
            code = Usd.TimeCode(state.time * RECORDING_RATE)
            x, y, z, w = (float(v) for v in state.quaternion[index])
            translate.Set(Gf.Vec3d(*map(float, state.position[index])), code)
            orient.Set(Gf.Quatd(w, x, y, z), code)
    recording = Sdf.Layer.CreateAnonymous(".usda")
    recording.TransferContent(layer)
    recording.subLayerPaths.append(scene)
    return save_layer(recording, Path(path))
