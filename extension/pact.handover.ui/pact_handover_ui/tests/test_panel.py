"""Open the panel in a real Isaac Sim."""

from __future__ import annotations

import omni.kit.app
import omni.kit.test
import omni.ui as ui

from pact_handover_ui.kit.window import TITLE


class TestPanel(omni.kit.test.AsyncTestCase):
    """The window is there and survives being hidden."""

    async def test_window_opens_and_hides(self) -> None:
        """The panel can be found by its title, hidden and shown again."""
        await omni.kit.app.get_app().next_update_async()
        window = ui.Workspace.get_window(TITLE)
        assert window is not None
        for visible in (False, True):
            window.visible = visible
            await omni.kit.app.get_app().next_update_async()
            assert window.visible == visible
