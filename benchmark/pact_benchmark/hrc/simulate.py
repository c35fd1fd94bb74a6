"""Simulated recordings: what a panel of models might have said about our own handover scenes.

No model and no camera takes part. The scene comes from the simulator (distances and occlusions
of a rollout); a response model turns it into log odds. Every row is marked as simulated.

The response of checkpoint c to prompt s on the image of camera v in window w of event e is

    ℓ = g_c (1 − o_v) r + b_c + t_{c,task} + (1 + o_v)(σ_f ε_{f(c)} + σ_i ε_c) + σ_p η_s

with readiness r = tanh((d₀ − d)/s) from the hand–object distance d (d₀ and s are the median and
the interquartile range over the windows used), occlusion o_v of the camera, gain g_c, bias b_c, a
task baseline t, an image error shared by all checkpoints of family f(c), an image error of the
checkpoint shared by all its prompts, and a variation per prompt. ε and η are standard normal and
keyed by identity. Log odds are rounded to 1/8, as coarse logits are, so that equal vectors occur.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from pact_benchmark.hrc.evidence import PROMPT_ORDER
from pact_benchmark.hrc.files import RecordError, RecordFile
from pact_benchmark.hrc.recordings import (
    COMPOSITE,
    FEATURE_COLUMNS,
    OUTPUT_COLUMNS,
    QUERY_COLUMNS,
    Recordings,
)
from pact_benchmark.hrc.schema import COUNTERFACTUAL, EARLY, EPISODE_TARGET, PRE_EARLY, PROXIMAL
from pact_scenes.draws import Floats, Keys, join, key_of, keys_of, normal, uniform

CAMERAS = ("exo_view", "front_view", "human_front_view", "left_wrist_view", "right_wrist_view")
SETTINGS = {
    "all_five": (0, 1, 2, 3, 4),
    "workspace_context": (0, 1, 2),
    "robot_local": (3, 4),
}
NEEDED = (
    "scene_id", "geometry", "step", "time", "hand_object_distance", "hand_gripper_distance",
    "closing_speed", "clearance", "occlusion_robot", "occlusion_human", "occlusion_overhead",
)  # fmt: skip
QUANTUM = 0.125
WRIST_NEAR, WRIST_FAR = 0.10, 0.70


@dataclass(frozen=True, slots=True)
class CheckpointModel:
    """Parameters of one simulated checkpoint; log odds without unit."""

    name: str
    family: str
    gain: float
    bias: float
    own_error: float
    prompt_spread: float
    order_bias: float


CHECKPOINTS = (
    CheckpointModel("sim_a_small", "sim_a", 2.2, -0.5, 0.7, 1.3, 0.50),
    CheckpointModel("sim_a_large", "sim_a", 3.2, 0.1, 0.5, 0.9, 0.25),
    CheckpointModel("sim_b_small", "sim_b", 1.2, 0.8, 0.9, 1.2, 0.75),
    CheckpointModel("sim_b_large", "sim_b", 2.6, -0.6, 0.6, 1.0, 0.25),
    CheckpointModel("sim_c_small", "sim_c", 0.5, 3.4, 0.5, 0.8, 1.00),
    CheckpointModel("sim_c_large", "sim_c", 0.7, 3.0, 0.5, 0.8, 0.50),
    CheckpointModel("sim_d_small", "sim_d", 0.9, 0.4, 1.2, 1.5, 0.75),
    CheckpointModel("sim_d_large", "sim_d", 1.8, -0.2, 0.8, 1.1, 0.50),
)
CAMERA_CHECKPOINTS = ("sim_a_small", "sim_a_large")
QUERY_CHECKPOINTS = ("sim_a_small", "sim_a_large", "sim_b_large")


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """Size and seed of simulated recordings.

    Attributes:
        seed: Root of every draw.
        takes: Recordings per rollout; they share the motion and differ in windows and errors.
        query_episodes: Episodes per task family that queries are asked about.
        family_error: Standard deviation of the image error that a model family shares.
        task_baseline: Standard deviation of a task's baseline in log odds and in image features.
        features: Length of the image features.
    """

    seed: int = 20260801
    takes: int = 4
    query_episodes: int = 10
    family_error: float = 0.8
    task_baseline: float = 1.0
    features: int = 24


@dataclass(frozen=True, slots=True)
class _Windows:
    """Event windows: identity columns in `frame`, readiness [n], occlusion [n, cameras]."""

    frame: pd.DataFrame
    readiness: Floats
    occlusion: Floats


def simulate_recordings(
    observations: pd.DataFrame, options: SimulationOptions | None = None
) -> Recordings:
    """Return simulated recordings of the rollouts in `observations`.

    Args:
        observations: One row per scene and decision step, as `pact simulate` stores them.
        options: Size and seed.
    """
    chosen = options or SimulationOptions()
    windows = _windows(observations, chosen)
    evaluation = _take(windows, (windows.frame["split"] == "evaluation").to_numpy())
    both = _take(evaluation, (evaluation.frame["window"] != PRE_EARLY).to_numpy())
    outputs = [_camera_outputs(both, model, chosen) for model in CHECKPOINTS
               if model.name in CAMERA_CHECKPOINTS]  # fmt: skip
    outputs += [_panel_outputs(both, model, chosen) for model in CHECKPOINTS]
    queries = [_queries(both, model, chosen) for model in CHECKPOINTS
               if model.name in QUERY_CHECKPOINTS]  # fmt: skip
    asked = set(pd.concat(queries)["episode"])
    return Recordings(
        outputs=pd.concat(outputs, ignore_index=True),
        queries=pd.concat(queries, ignore_index=True),
        features=_features(windows, asked, chosen),
        families={model.name: model.family for model in CHECKPOINTS},
        files=(RecordFile("simulation", "simulated recordings", len(observations), ""),),
        simulated=True,
    )


def _task_families(observations: pd.DataFrame) -> pd.Series:
    """Return a task family per scene: its geometry, and a near or a far start of the hand."""
    first = observations.sort_values("step").groupby("scene_id").first()
    rank = first.groupby("geometry")["hand_object_distance"].rank(method="first")
    size = first.groupby("geometry")["hand_object_distance"].transform("size")
    far = np.where(rank > size / 2, "far", "near")
    return pd.Series("sim_" + first["geometry"] + "_" + far, index=first.index)


def _events(observations: pd.DataFrame, options: SimulationOptions) -> pd.DataFrame:
    """Return one row per event window: identity and the step of the rollout it shows."""
    tasks = _task_families(observations)
    steps = np.sort(observations["step"].unique())
    if len(steps) < 6:
        raise RecordError("simulated recordings need rollouts of at least six decision steps")
    names = sorted(tasks.unique())
    rows = []
    for task in names:
        scenes = sorted(tasks.index[tasks == task])
        # Two events per episode in every second family: event-occurrence profiles differ.
        events = 1 + names.index(task) % 2
        for place, scene in enumerate(scenes):
            split = "evaluation" if place % 2 == 0 else "development"
            for take in range(options.takes):
                episode = f"{scene}-{take}"
                for event in range(events):
                    late = len(steps) - 1 - (take + event) % 2
                    early = max(2, late - 5 + (take // 2) % 2)
                    for window, at in ((PRE_EARLY, early - 2), (EARLY, early), (PROXIMAL, late)):
                        rows.append((task, episode, f"{episode}_{event + 1:02d}", window,
                                     split, scene, int(steps[at])))  # fmt: skip
    columns = ["task", "episode", "event", "window", "split", "scene_id", "step"]
    return pd.DataFrame(rows, columns=columns)


def _windows(observations: pd.DataFrame, options: SimulationOptions) -> _Windows:
    missing = [name for name in NEEDED if name not in observations]
    if missing:
        raise RecordError(f"observations: column {missing[0]!r} is missing; run `pact simulate`")
    events = _events(observations, options)
    frame = events.merge(observations[list(NEEDED)], on=["scene_id", "step"], how="left")
    distance = frame["hand_object_distance"].to_numpy(dtype=float)
    if not np.isfinite(distance).all():
        raise RecordError("observations: rollouts of different lengths or without distances")
    low, middle, high = np.quantile(distance, [0.25, 0.5, 0.75])
    readiness = np.tanh((middle - distance) / max(high - low, 1e-6))
    return _Windows(frame, readiness, _occlusion(frame))


def _occlusion(frame: pd.DataFrame) -> Floats:
    """Return occlusion per camera in [0, 1], shape [n, 5].

    Three cameras are simulated (overhead, robot side, human side). A wrist camera has the hand in
    view once it is near: its occlusion rises from 0 at 0.1 m to 1 at 0.7 m between hand and
    gripper; the right one is also half blocked by what blocks the robot's camera.
    """
    robot = frame["occlusion_robot"].to_numpy(dtype=float)
    near = frame["hand_gripper_distance"].to_numpy(dtype=float)
    away = np.clip((near - WRIST_NEAR) / (WRIST_FAR - WRIST_NEAR), 0.0, 1.0)
    columns = [
        frame["occlusion_overhead"].to_numpy(dtype=float),
        robot,
        frame["occlusion_human"].to_numpy(dtype=float),
        away,
        np.clip(away + 0.5 * robot, 0.0, 1.0),
    ]
    known = np.nan_to_num(np.stack(columns, axis=1), nan=1.0)
    return np.asarray(np.clip(known, 0.0, 1.0), dtype=np.float64)


def _take(windows: _Windows, keep: npt.NDArray[np.bool_]) -> _Windows:
    return _Windows(
        windows.frame[keep].reset_index(drop=True), windows.readiness[keep], windows.occlusion[keep]
    )


def _keys(options: SimulationOptions, purpose: str, *names: npt.ArrayLike) -> Keys:
    """Return draw keys of rows named by columns; equal names draw equal numbers."""
    root = np.array([key_of(f"hrc:{options.seed}:{purpose}")], dtype=np.uint64)
    return join(root, *(keys_of(np.asarray(name).astype(str)) for name in names))


def _baseline(options: SimulationOptions, task: npt.ArrayLike, who: str) -> Floats:
    return options.task_baseline * normal(_keys(options, f"baseline:{who}", task), 0)


def _image_error(
    windows: _Windows, model: CheckpointModel, camera: str, options: SimulationOptions
) -> Floats:
    names = (windows.frame["event"], windows.frame["window"])
    shared = normal(_keys(options, f"family:{model.family}:{camera}", *names), 0)
    own = normal(_keys(options, f"checkpoint:{model.name}:{camera}", *names), 0)
    return options.family_error * shared + model.own_error * own


def _coarse(value: Floats) -> Floats:
    return np.round(value / QUANTUM) * QUANTUM


def _camera_outputs(
    windows: _Windows, model: CheckpointModel, options: SimulationOptions
) -> pd.DataFrame:
    parts = []
    base = model.bias + 0.5 * _baseline(options, windows.frame["task"], model.name)
    names = (windows.frame["event"], windows.frame["window"])
    for v, camera in enumerate(CAMERAS):
        hidden = windows.occlusion[:, v]
        signal = model.gain * (1.0 - hidden) * windows.readiness + base
        signal = signal + (1.0 + hidden) * _image_error(windows, model, camera, options)
        for prompt in PROMPT_ORDER:
            key = _keys(options, f"prompt:{model.name}:{camera}:{prompt}", *names)
            log_odds = _coarse(signal + model.prompt_spread * normal(key, 0))
            parts.append(_outputs(windows, model, camera, prompt, log_odds))
    return pd.concat(parts, ignore_index=True)


def _composite(windows: _Windows, model: CheckpointModel, options: SimulationOptions) -> Floats:
    visible = 1.0 - windows.occlusion.mean(axis=1)
    base = model.bias + 0.5 * _baseline(options, windows.frame["task"], model.name)
    return np.asarray(
        model.gain * visible * windows.readiness + base
        + _image_error(windows, model, COMPOSITE, options)
    )  # fmt: skip


def _panel_outputs(
    windows: _Windows, model: CheckpointModel, options: SimulationOptions
) -> pd.DataFrame:
    log_odds = _coarse(_composite(windows, model, options))
    return _outputs(windows, model, COMPOSITE, PROMPT_ORDER[0], log_odds)


def _outputs(
    windows: _Windows, model: CheckpointModel, camera: str, prompt: str, log_odds: Floats
) -> pd.DataFrame:
    frame = windows.frame[["task", "episode", "event", "window", "time"]].assign(
        checkpoint=model.name,
        family=model.family,
        camera=camera,
        prompt=prompt,
        repeat=0.0,
        log_odds_map0=log_odds + model.order_bias,
        log_odds_map1=model.order_bias - log_odds,
        parents=None,
    )
    return frame[list(OUTPUT_COLUMNS)]


def _queries(windows: _Windows, model: CheckpointModel, options: SimulationOptions) -> pd.DataFrame:
    """Ask about the first event of some episodes: the own target and every other family's."""
    frame = windows.frame
    place = frame.groupby("task")["episode"].transform(lambda s: pd.factorize(s)[0])
    asked = (place < options.query_episodes) & frame["event"].str.endswith("_01")
    chosen = _take(windows, asked.to_numpy())
    tasks = sorted(frame["task"].unique())
    ready = _composite(chosen, model, options)
    visible = 1.0 - chosen.occlusion.mean(axis=1)
    parts = []
    for number, target in enumerate(tasks):
        rows = chosen.frame[["task", "episode", "event", "window"]].copy()
        own = (rows["task"] == target).to_numpy()
        # Families of one geometry look alike: their targets are confused more often.
        alike = (rows["task"].str.rsplit("_", n=1).str[0] == target.rsplit("_", 1)[0]).to_numpy()
        key = _keys(options, f"target:{model.name}:{target}", rows["event"], rows["window"])
        chance = np.where(own, 0.70 + 0.28 * visible, np.where(alike, 0.40, 0.10))
        draw = uniform(key, 0)
        verdict = np.where(draw < chance, "matched", "mismatched")
        verdict = np.where(np.abs(draw - chance) < 0.005, "uncertain", verdict)
        said = ready + 0.6 * normal(key, 2)
        rows = rows.assign(
            checkpoint=model.name,
            query=rows["event"] + ":" + rows["window"] + f":{number}",
            target=target,
            target_kind=np.where(own, EPISODE_TARGET, COUNTERFACTUAL),
            target_match=verdict,
            readiness=np.where(said > 0.0, "ready", "not_ready"),
            identity=np.where(own, "match", "mismatch"),
        )
        parts.append(rows[list(QUERY_COLUMNS)])
    return pd.concat(parts, ignore_index=True)


def _features(windows: _Windows, asked: set[str], options: SimulationOptions) -> pd.DataFrame:
    """Return image features: a fixed mixture of readiness, scene, task appearance and noise."""
    frame = windows.frame
    n, size = len(frame), options.features
    task_shift = _baseline(options, frame["task"], "appearance")
    event_shift = normal(_keys(options, "event", frame["event"]), 0)
    mixture = np.stack(
        [normal(_keys(options, "mixture", np.arange(size)), 2 * k) for k in range(6)]
    )
    parts = []
    for setting, views in SETTINGS.items():
        visible = 1.0 - windows.occlusion[:, list(views)].mean(axis=1)
        # The appearance of a task and of an event moves the image along the direction of
        # readiness: levels shift while the change within an event stays.
        latent = np.stack(
            [
                visible * windows.readiness + 0.4 * task_shift + 0.3 * event_shift,
                np.nan_to_num(frame["closing_speed"].to_numpy(dtype=float)),
                np.nan_to_num(frame["clearance"].to_numpy(dtype=float)),
                visible,
                0.3 * task_shift,
                np.full(n, 2.0),
            ],
            axis=1,
        )
        names = (frame["event"], frame["window"])
        noise = np.stack(
            [normal(_keys(options, f"noise:{setting}:{k}", *names), 0) for k in range(size)], axis=1
        )
        values = latent @ mixture + 0.8 * noise
        rows = frame.assign(
            setting=setting,
            text="hand the object over, " + frame["task"].str.replace("_", " "),
        )
        rows["features"] = pd.Series(
            [tuple(row) for row in np.round(values, 6).tolist()], dtype=object
        )
        # The pre-early window is only asked for where queries are.
        keep = (frame["window"] != PRE_EARLY) | (
            frame["episode"].isin(asked) & (frame["split"] == "evaluation")
        )
        parts.append(rows.loc[keep, list(FEATURE_COLUMNS)])
    return pd.concat(parts, ignore_index=True)
