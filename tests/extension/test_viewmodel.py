"""The view model and the still picture, from real decisions."""

from __future__ import annotations

import pytest

from pact_handover.explain import explain
from pact_handover.options import Options
from pact_handover.palette import OUTCOMES
from pact_handover.session import HandoverSession
from pact_handover_ui.controller import RefreshController, tail
from pact_handover_ui.preferences import Preferences
from pact_handover_ui.still import save_still
from pact_handover_ui.viewmodel import Explanation, panel_of, short_name
from pact_scenes.conditions import load_conditions
from pact_scenes.simulators import open_simulator
from tests.extension.test_session import drive

CONDITIONS = [condition.name for condition in load_conditions()]


def play(tmp_path, **settings):
    """Return a session after a tenth of a second of play."""
    options = Options(folder=str(tmp_path)).changed(**settings)
    session = HandoverSession(options, lambda change: None, backend="kinematic")
    with open_simulator("kinematic") as simulator:
        drive(session, simulator, seconds=0.1)
    return session


def panel(session):
    """Return the panel of the last decision."""
    record = session.latest
    return panel_of(record, list(session.history), Explanation(*explain(record)))


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("partition", ["reference", "singleton", "merged"])
def test_panel_is_consistent_with_the_decision(tmp_path, condition, partition):
    """Bars, budgets, graph, rules and time line say what the decision says."""
    session = play(tmp_path, condition=condition, partition=partition, threshold=0.3)
    shown, lead = panel(session), session.latest.lead
    assert [bar.share for bar in shown.posterior] == pytest.approx(list(lead.posterior))
    assert [bar.chosen for bar in shown.posterior].count(True) == 1
    assert shown.look == OUTCOMES[lead.outcome]
    components = {source.component for source in session.latest.sources}
    assert len(shown.budgets) == len(components)
    assert sorted(role for budget in shown.budgets for role in budget.members) == [
        "geometry", "language", "risk",
    ]  # fmt: skip
    assert all(0 <= share <= 1 for budget in shown.budgets for share in budget.shares)
    sources = [node for node in shown.nodes if node.kind == "source"]
    assert len({node.colour for node in sources}) == len(components)
    for edge in shown.edges:
        assert shown.nodes[edge.source].colour == shown.nodes[edge.parent].colour == edge.colour
    assert all(0 <= node.x <= 1 and 0 <= node.y <= 1 for node in shown.nodes)
    assert shown.timeline[0].start == 0
    assert shown.timeline[-1].end == pytest.approx(1)
    for left, right in zip(shown.timeline, shown.timeline[1:], strict=False):
        assert left.end == pytest.approx(right.start)
        assert (left.outcome, left.contract) != (right.outcome, right.contract)
    assert shown.reason
    assert len(shown.rules) == len(session.options.rules)


def test_missing_sources_are_faded(tmp_path):
    """An unavailable source stays in the graph, faded."""
    shown = panel(play(tmp_path, condition="geometry_missing_language_low_quality"))
    faded = {node.name: node.faded for node in shown.nodes if node.kind == "source"}
    assert faded == {"language": False, "geometry": True, "risk": False}


def test_long_hashes_are_shortened():
    """A command's hash is cut, other names stay."""
    assert short_name("command:" + "0123456789abcdef" * 4) == "command:01234567…"
    assert short_name("scene:scene_001/step03") == "scene:scene_001/step03"


class View:
    """Counts what it is shown."""

    def __init__(self):
        self.shown = []

    def update(self, *what):
        """Remember what was shown."""
        self.shown.append(what)


def test_refresh_follows_the_wall_clock(tmp_path):
    """However many decisions there are, the panel is redrawn once per period and when new."""
    now, decided = [0.0], []
    session = play(tmp_path)
    records = list(session.history)

    class Decisions:
        latest = None
        history = records

        def explain(self, record):
            decided.append(record)
            return explain(record)

    decisions = Decisions()
    controller = RefreshController(decisions, Preferences(refresh_period=0.1), lambda: now[0])
    controller.panel, controller.banner = View(), View()
    assert controller.on_frame() is None
    for frame in range(12):
        decisions.latest = records[frame % len(records)]
        now[0] = 1.0 + frame / 60.0
        controller.on_frame()
    assert len(controller.panel.shown) == len(controller.banner.shown) == 2
    now[0] += 10
    controller.on_frame()
    now[0] += 10
    controller.on_frame()
    assert len(controller.panel.shown) == 3
    controller.forget()
    controller.on_frame()
    assert len(controller.panel.shown) == len(decided) == 4


def test_tail_takes_the_newest():
    """The time line shows the newest decisions."""
    assert tail(range(10), 3) == [7, 8, 9]
    assert tail([1], 5) == [1]


@pytest.mark.parametrize("condition", ["adversarial_consensus_wrong", "all_sources_missing"])
def test_still_picture_is_drawn_and_repeats(tmp_path, condition):
    """The picture has the size of the panel and is the same, byte for byte, the second time."""
    session = play(tmp_path, condition=condition)
    first = save_still(panel(session), tmp_path / "a.png", dpi=50).read_bytes()
    assert save_still(panel(session), tmp_path / "b.png", dpi=50).read_bytes() == first
    assert first.startswith(b"\x89PNG")
    assert len(first) > 10_000
