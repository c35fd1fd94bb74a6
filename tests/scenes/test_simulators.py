"""Backends: the kinematic oracle, PhysX, how they agree and how they fail."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from pact_scenes.catalogue import load_catalogue
from pact_scenes.geometry import ray_hits_box, ray_hits_capsule
from pact_scenes.installation import install_command
from pact_scenes.model import SceneModel, build_model
from pact_scenes.rollout import Rollout, decision_ticks, roll_out
from pact_scenes.settings import simulation_settings
from pact_scenes.simulators import (
    BackendUnavailableError,
    SimulationError,
    Simulator,
    available_backends,
    choose_backend,
    open_simulator,
    register_backend,
)
from pact_scenes.simulators.agreement import TOLERANCES, agreement
from pact_scenes.transforms import matrix_from_quaternion

CATALOGUE = load_catalogue()
RATE = simulation_settings().rollout.physics_rate
SAMPLE = [CATALOGUE[i] for i in (0, 1, 5, 12, 26, 34)]
"""Two scenes of each geometry; three of them are designed for early contact."""
physx = pytest.mark.skipif(
    available_backends()["physx"] is not None, reason="PhysX is not installed"
)


@pytest.fixture(scope="module")
def engine() -> Simulator:
    """The PhysX backend of this process."""
    return open_simulator("physx")


@pytest.fixture(scope="module")
def rollouts(engine) -> dict[str, Rollout]:
    """PhysX rollouts of the sample."""
    return {s.scene_id: roll_out(build_model(s), engine) for s in SAMPLE}


@pytest.fixture(scope="module")
def oracle() -> dict[str, Rollout]:
    """Kinematic rollouts of all scenes."""
    simulator = open_simulator("kinematic")
    return {s.scene_id: roll_out(build_model(s), simulator) for s in CATALOGUE}


def test_kinematic_rollout_of_every_scene(oracle):
    """Ten decisions per scene, evenly spaced, on the planned path, with the transfer at the end."""
    settings = simulation_settings()
    for spec in CATALOGUE:
        model = build_model(spec)
        result = oracle[spec.scene_id]
        ticks = decision_ticks(model.plan.approach_time, settings.rollout)
        assert [o.step for o in result.observations] == list(range(10))
        assert np.allclose([o.time for o in result.observations], ticks / RATE)
        assert max(o.tracking_error for o in result.observations) < 1e-9
        assert result.reach_error < 1e-9
        kinds = [e.kind for e in result.events]
        assert kinds[-4:] == ["arrived", "hand_closed", "released", "received"]
        assert ("contact_begins" in kinds) == spec.early_touch
        assert result.steps / RATE >= 2.0


def test_object_follows_the_hand_after_the_transfer():
    """After the release the object keeps its place in the receiving hand."""
    model = build_model(CATALOGUE[3])
    states = roll_out(model, open_simulator("kinematic"), record=True).states
    hand, held = model.index(model.hand_name), model.index("object")

    def place(state):
        turn = matrix_from_quaternion(state.quaternion[hand])
        return turn.T @ (state.position[held] - state.position[hand])

    assert np.allclose(place(states[-1]), place(states[-30]), atol=1e-9)
    assert np.linalg.norm(states[-1].position[held] - np.array(model.plan.transfer)) > 0.03


def test_catalogue_spreads_what_decisions_depend_on(oracle):
    """Hand distance, clearance, speed and occlusion vary widely and not in step."""
    rows = [o for result in oracle.values() for o in result.observations]
    last = [o for o in rows if o.step == 9]
    hand = np.array([o.hand_object_distance for o in last])
    path = np.array([o.path_clearance for o in last])
    assert hand.min() < 0.01
    assert hand.max() > 0.25
    assert path.min() < 0.06
    assert path.max() > 0.3
    assert abs(np.corrcoef(hand, path)[0, 1]) < 0.4
    hidden = np.array([o.occlusion for o in last])
    assert np.count_nonzero(hidden == 0.0) >= 12
    assert np.count_nonzero(hidden > 0.2) >= 12
    assert max(o.closing_speed for o in rows) > 0.6


def test_unopened_simulator_refuses_to_step():
    """Stepping without a scene is an error, closing twice is not."""
    simulator = open_simulator("kinematic")
    with pytest.raises(SimulationError, match="no scene is open"):
        simulator.step()
    simulator.close()
    simulator.close()


def test_absent_backend_says_what_is_missing_and_how_to_get_it(monkeypatch):
    """Asking for a backend that is not there gives one line with the command that installs it."""
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ovphysx" else real(name)
    )
    with pytest.raises(BackendUnavailableError) as caught:
        choose_backend("physx")
    assert f"ovphysx not installed; run: {install_command('sim')}" in str(caught.value)
    assert "\n" not in str(caught.value)
    backend, why = choose_backend("auto")
    assert backend == "kinematic"
    assert "ovphysx" in why


def test_unknown_backend_lists_the_known():
    """A backend that does not exist is an error that lists those that do."""
    with pytest.raises(BackendUnavailableError, match="kinematic, physx, isaac"):
        choose_backend("bullet")


@physx
@pytest.mark.physx
def test_physx_reaches_holds_and_hands_over(rollouts):
    """Arms reach their pose within 5 mm, hold the object, and contact happens only by design."""
    for spec in SAMPLE:
        result = rollouts[spec.scene_id]
        assert result.reach_error < 0.005
        assert result.grip_error < 0.001
        begun = [e for e in result.events if e.kind == "contact_begins"]
        assert bool(begun) == spec.early_touch
        assert all(e.note == "designed" for e in begun)
        closed, received = (
            next(e.value for e in result.events if e.kind == kind)
            for kind in ("hand_closed", "received")
        )
        assert abs(received - closed) < 1e-3


@physx
@pytest.mark.physx
def test_physx_agrees_with_the_kinematic_oracle(rollouts, oracle):
    """PhysX and kinematic observations agree within the stated tolerances."""
    ours = [o for s in SAMPLE for o in rollouts[s.scene_id].observations]
    theirs = [o for s in SAMPLE for o in oracle[s.scene_id].observations]
    rows = agreement(ours, theirs)
    assert {r.quantity for r in rows} == set(TOLERANCES)
    assert [r for r in rows if r.largest > r.tolerance] == []


@physx
@pytest.mark.physx
def test_physx_repeats_bit_for_bit(engine, rollouts):
    """A second run, after other scenes were loaded, gives the very same numbers."""
    for spec in SAMPLE[:3]:
        again = roll_out(build_model(spec), engine)
        assert again.observations == rollouts[spec.scene_id].observations
        assert again.events == rollouts[spec.scene_id].events


@physx
@pytest.mark.physx
def test_physx_feels_no_contact_between_decisions(engine):
    """Without design no force acts on the human at any step before the transfer."""
    model = build_model(CATALOGUE[21])
    states = roll_out(model, engine, record=True, transfer=False).states
    assert len(states) > 200
    assert max(s.contact_force for s in states) == 0.0


@physx
@pytest.mark.physx
def test_forward_kinematics_agree_with_physx(engine):
    """Our poses of all links equal those that PhysX starts with."""
    model = build_model(CATALOGUE[7])
    engine.open(model, RATE)
    try:
        state = engine.state()
    finally:
        engine.close()
    position, rotation = model.planned_poses(0.0)
    assert np.abs(state.position - position).max() < 1e-6
    assert np.abs(matrix_from_quaternion(state.quaternion) - rotation).max() < 1e-5


@physx
@pytest.mark.physx
@pytest.mark.filterwarnings("ignore:.*deprecated.*")
def test_sight_lines_agree_with_physx_ray_casts(engine):
    """Our closed-form rays and PhysX ray casts see the same free and blocked lines."""
    model = build_model(next(s for s in CATALOGUE if s.occluder > 0.3 and s.obstacle != "none"))
    engine.open(model, RATE)
    try:
        engine.step()
        rays = _random_lines(model, 400)
        theirs = [_physx_blocked(engine, a, b) for a, b in rays]
        ours = [_blocked(model, engine.state(), a, b) for a, b in rays]
    finally:
        engine.close()
    different = np.flatnonzero(np.array(theirs) != np.array(ours))
    assert 60 < np.count_nonzero(ours) < 340
    # A line that grazes a surface may go either way in single precision.
    assert len(different) <= 1


def _random_lines(model: SceneModel, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Lines from the cameras' neighbourhood into the scene, above the floor."""
    rng = np.random.default_rng(3)
    eyes = np.array([c.eye for c in model.plan.cameras])
    starts = eyes[rng.integers(0, 3, count)] + rng.uniform(-0.1, 0.1, (count, 3))
    ends = np.array(model.plan.transfer) + rng.normal(0.0, 0.25, (count, 3))
    ends[:, 2] = np.maximum(ends[:, 2], 0.05)
    return list(zip(starts, ends, strict=True))


def _physx_blocked(engine: Simulator, start: np.ndarray, end: np.ndarray) -> bool:
    length = float(np.linalg.norm(end - start))
    ray = ((end - start) / length).tolist()
    return bool(engine._engine.physx.raycast(start.tolist(), ray, length))


def _blocked(model: SceneModel, state, start: np.ndarray, end: np.ndarray) -> bool:
    shapes = model.primitives
    rotation = matrix_from_quaternion(state.quaternion)
    one, two = shapes.capsules(state.position, rotation)
    centre, turn = shapes.boxes(state.position, rotation)
    return bool(
        ray_hits_capsule(start, end, one, two, shapes.capsule_radius).any()
        or ray_hits_box(start, end, centre, turn, shapes.box_half).any()
        or ray_hits_box(start, end, *model.static_boxes).any()
    )


@physx
@pytest.mark.physx
@pytest.mark.parametrize(
    "content",
    ["not usd at all", '#usda 1.0\ndef Xform "Elsewhere" {}\n'],
    ids=["corrupt", "foreign"],
)
def test_bad_stage_is_a_clear_error_and_the_engine_goes_on(engine, tmp_path, content):
    """A corrupt or foreign stage is refused by name; the next scene loads as if nothing was."""
    path = tmp_path / "bad.usda"
    path.write_text(content)
    model = build_model(CATALOGUE[0])
    with pytest.raises(SimulationError, match=r"bad\.usda"):
        engine.open_file(path, model, RATE)
    engine.open(model, RATE)
    engine.step()
    engine.close()


@physx
@pytest.mark.physx
@pytest.mark.slow
def test_two_hundred_scenes_do_not_leak(engine):
    """200 load/close cycles grow the process by less than 50 MB and stay below 1 GB."""
    import psutil

    process = psutil.Process()
    models = [build_model(s) for s in CATALOGUE]
    for cycle in range(210):
        engine.open(models[cycle % 48], RATE)
        engine.step(2)
        engine.state()
        engine.close()
        if cycle == 9:
            before = process.memory_info().rss
    after = process.memory_info().rss
    print(json.dumps({"before_mb": before / 1e6, "after_mb": after / 1e6}))
    assert after - before < 50e6
    assert after < 1e9


def test_backend_of_ones_own():
    """A registered backend opens by its name, can be unavailable, and cannot take a known name."""
    oracle = type(open_simulator("kinematic"))
    register_backend("mine", oracle)
    register_backend("absent", oracle, lambda: "the engine is not installed")
    assert isinstance(open_simulator("mine"), oracle)
    assert available_backends()["mine"] is None
    with pytest.raises(BackendUnavailableError, match="engine is not installed"):
        open_simulator("absent")
    with pytest.raises(ValueError, match="taken"):
        register_backend("physx", oracle)
