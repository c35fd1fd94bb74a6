"""Play a scene in a real Isaac Sim: callbacks, decisions, release."""

from __future__ import annotations

import tempfile

import omni.kit.app
import omni.kit.test
import omni.usd

from pact_handover import get_interface

FRAMES = 30


class TestHandover(omni.kit.test.AsyncTestCase):
    """The extension runs, decides while playing, and lets go when stopped."""

    async def setUp(self) -> None:
        """Use a folder of our own for stages and recordings."""
        self.folder = tempfile.TemporaryDirectory()
        self.pact = get_interface()
        assert self.pact is not None, "pact.handover did not start"
        self.pact.configure(folder=self.folder.name, scene="scene_001", label="N")

    async def tearDown(self) -> None:
        """Stop, close the stage and remove the folder."""
        self.pact.stop()
        await omni.usd.get_context().new_stage_async()
        self.folder.cleanup()

    async def frames(self, count: int) -> None:
        """Let the application run for some frames."""
        for _ in range(count):
            await omni.kit.app.get_app().next_update_async()

    async def play(self) -> None:
        """Build the scene and play it for a while."""
        self.pact.build_scene(force=True)
        await self.frames(10)
        self.pact.play()
        await self.frames(FRAMES)

    async def test_decides_while_playing(self) -> None:
        """Every step of the approach gives a decision of every rule."""
        await self.play()
        latest = self.pact.latest
        assert latest is not None
        assert [rule.rule for rule in latest.rules] == list(self.pact.options.rules)
        assert latest.time > 0.0

    async def test_stops_deciding_when_stopped(self) -> None:
        """After stop no decision is added."""
        await self.play()
        self.pact.stop()
        await self.frames(3)
        count = len(self.pact.history)
        await self.frames(5)
        assert len(self.pact.history) == count

    async def test_leaves_the_stage_unedited(self) -> None:
        """Colours and lines are in the session layer only."""
        self.pact.show_overlay(True)
        self.pact.build_scene(force=True)
        await self.frames(10)
        root = omni.usd.get_context().get_stage().GetRootLayer()
        self.pact.play()
        await self.frames(FRAMES)
        assert not root.GetPrimAtPath("/PactOverlay")
        self.pact.show_overlay(False)

    async def test_records_what_it_shows(self) -> None:
        """A recording holds one decision per rule and step."""
        self.pact.build_scene(force=True)
        await self.frames(10)
        self.pact.start_recording()
        self.pact.play()
        await self.frames(FRAMES)
        folder = self.pact.stop_recording()
        lines = (folder / "decisions.jsonl").read_text().splitlines()
        assert len(lines) >= len(self.pact.options.rules)
