"""The entry in Kit's Window menu, where the application has menus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import omni.kit.actions.core
    import omni.kit.menu.utils
    from isaacsim.gui.components.menu import make_menu_item_description

    HAS_MENU = True
except ImportError:
    HAS_MENU = False

MENU = "Window"


class MenuEntry:
    """Adds one entry and takes it away again; does nothing in an application without menus."""

    def __init__(self, ext_id: str, name: str, on_click: Callable[[], None]) -> None:
        self._ext_id = ext_id
        self._items: list[Any] = []
        if HAS_MENU:
            self._items = [make_menu_item_description(ext_id, name, on_click)]
            omni.kit.menu.utils.add_menu_items(self._items, MENU)

    def remove(self) -> None:
        """Take the entry and its action away; removing twice is allowed."""
        items, self._items = self._items, []
        if items:
            omni.kit.menu.utils.remove_menu_items(items, MENU)
            registry = omni.kit.actions.core.get_action_registry()
            registry.deregister_all_actions_for_extension(self._ext_id)
