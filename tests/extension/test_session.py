"""The session on real simulators: rows of the benchmark, events, recordings, changes on the fly."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pact_handover.explain import explain
from pact_handover.options import COMPARED_RULES, Options
from pact_handover.session import HandoverSession
from pact_scenes.conditions import load_conditions
from pact_scenes.model import build_model
from pact_scenes.rollout import roll_out
from pact_scenes.simulators import available_backends, open_simulator

SCENE = "scene_009"
RATE = 120
BACKENDS = [
    pytest.param(name, marks=pytest.mark.physx if name == "physx" else ())
    for name in ("kinematic", "physx")
]


def drive(session, simulator, seconds=None):
    """Play a session on a simulator step by step, as the physics callbacks of Isaac Sim do."""
    session.play_on(simulator, until=seconds)


@pytest.fixture
def session(tmp_path):
    """A session with a folder of its own, and the list of its events."""
    events = []
    options = Options(scene=SCENE, folder=str(tmp_path))
    made = HandoverSession(options, events.append, backend="kinematic")
    made.events = events
    return made


@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_at_decision_times_are_rows_of_the_benchmark(tmp_path, backend):
    """What the session observes at the ten decision times is what the rollout observes."""
    if available_backends()[backend] is not None:
        pytest.skip(available_backends()[backend])
    options = Options(scene=SCENE, folder=str(tmp_path), decide_every=1_000_000)
    session = HandoverSession(options, lambda change: None, backend=backend)
    with open_simulator(backend) as simulator:
        expected = roll_out(build_model(session.spec(SCENE)), simulator, transfer=False)
        drive(session, simulator)
    records = list(session.history)
    assert [record.observation.step for record in records] == list(range(10))
    assert all(record.benchmark for record in records)
    for record, row in zip(records, expected.observations, strict=True):
        for name in ("time", "hand_object_distance", "clearance", "path_clearance"):
            within = 1e-9 if backend == "kinematic" else 1e-5
            assert getattr(record.observation, name) == pytest.approx(
                getattr(row, name), abs=within
            ), name
        assert record.observation.closing_speed == pytest.approx(row.closing_speed, abs=1e-3)
        assert record.observation.backend == row.backend


def test_every_physics_step_decides(session):
    """Each step gives one decision of each rule; the first rule leads."""
    with open_simulator("kinematic") as simulator:
        drive(session, simulator, seconds=0.5)
    assert len(session.history) == 60
    assert [record.step for record in session.history] == list(range(60))
    assert tuple(rule.rule for rule in session.latest.rules) == COMPARED_RULES
    assert session.latest.lead.rule == "pact"
    assert session.latest.time == pytest.approx(0.5)


def test_an_event_per_change_of_response(session):
    """Events are exactly the changes of outcome or contract of the lead rule, in order."""
    session.use(session.options.changed(condition="overconfident_contradictory_sources"))
    with open_simulator("kinematic") as simulator:
        drive(session, simulator)
    states = [(record.lead.outcome, record.lead.contract) for record in session.history]
    changes = [0, *(i for i in range(1, len(states)) if states[i] != states[i - 1])]
    assert [event.step for event in session.events] == changes
    assert [(event.outcome, event.contract) for event in session.events] == [
        states[i] for i in changes
    ]
    assert session.events[0].previous is None
    payload = session.events[-1].payload()
    assert all(isinstance(value, (str, int, float)) for value in payload.values())


def test_settings_change_the_next_decision(session):
    """Condition, partition, threshold and rules can change while it plays."""
    with open_simulator("kinematic") as simulator:
        drive(session, simulator, seconds=0.2)
        model = session.open(SCENE)
        simulator.open(model, RATE)
        session.begin()
        state = simulator.state()
        session.advance(1 / RATE)
        outcomes = []
        for change in (
            {"condition": "adversarial_consensus_wrong"},
            {"partition": "singleton"},
            {"threshold": 0.99},
            {"condition": "schema_invalid_language_distribution", "threshold": 0.0},
            {"condition": "all_sources_missing"},
        ):
            session.use(session.options.changed(**change))
            outcomes.append(session.decide(state, 1 / RATE).lead.outcome)
    assert outcomes == ["confirm", "admitted", "withheld", "fallback", "withheld"]


def test_budgets_add_up_to_the_evidence(session):
    """The budgets of the components sum to the cumulative evidence behind the posterior."""
    with open_simulator("kinematic") as simulator:
        for condition in load_conditions():
            for partition in ("reference", "singleton", "merged"):
                session.use(
                    session.options.changed(
                        condition=condition.name, partition=partition, decide_every=1000
                    )
                )
                model = session.open(SCENE)
                simulator.open(model, RATE)
                session.begin()
                session.advance(1 / RATE)
                record = session.decide(simulator.state(), 1 / RATE)
                total = np.sum(record.budgets, axis=0)
                assert record.lead.posterior == pytest.approx((1 + total) / (5 + total.sum()))
                assert all(text for text in explain(record))


def test_recordings_hold_importable_rows(session, tmp_path):
    """Instances are the benchmark's ten rows with unique ids; decisions cover every step."""
    folder = session.start_recording()
    with open_simulator("kinematic") as simulator:
        drive(session, simulator)
    session.end()
    assert not session.recording
    rows = {
        name: [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for name in ("observations", "instances", "decisions")
    }
    assert [row["step"] for row in rows["observations"]] == list(range(10))
    assert len({row["record_id"] for row in rows["instances"]}) == 10
    assert len(rows["decisions"]) == len(session.history) * len(COMPARED_RULES)
    assert json.loads((folder / "manifest.json").read_text())["complete"] is True
    exported = session.export(tmp_path / "exported")
    assert (exported / "instances.jsonl").read_text() == (folder / "instances.jsonl").read_text()


def test_record_on_play_and_history_limit(session):
    """The settings start a recording at play and bound what is kept in memory."""
    session.use(session.options.changed(record_on_play=True, history=7))
    with open_simulator("kinematic") as simulator:
        drive(session, simulator, seconds=0.2)
    assert session.recording
    assert len(session.history) == 7
    session.close()
    assert not session.recording
    assert session.latest is None


def test_nothing_open_is_explained(session):
    """Without a scene there is nothing to play or export, and the message says what to do."""
    with pytest.raises(RuntimeError, match="build one first"):
        session.begin()
    with pytest.raises(RuntimeError, match="press play first"):
        session.export()
