"""The strict fake of `omni.ui` and of one viewport window."""

# The public names are those of omni.ui, documented there.
# ruff: noqa: D102

from __future__ import annotations

import enum
import itertools
import weakref
from typing import Any

STACK = {"height", "width", "spacing"}
WIDGETS: dict[str, tuple[set[str], set[str]]] = {
    # name: (keywords of the constructor, attributes that may be set later)
    "VStack": (STACK, set()),
    "HStack": (STACK, set()),
    "ZStack": (STACK, set()),
    "Spacer": ({"height", "width"}, set()),
    "ScrollingFrame": (set(), set()),
    "CollapsableFrame": ({"height", "collapsed"}, set()),
    "Frame": ({"height", "build_fn"}, set()),
    "Placer": ({"offset_x", "offset_y"}, set()),
    "Rectangle": ({"width", "height", "style"}, {"width", "style"}),
    "Label": (
        {"width", "height", "style", "alignment", "word_wrap"},
        {"text", "style"},
    ),
    "Button": ({"clicked_fn"}, {"text"}),
    "ComboBox": (set(), set()),
    "StringField": ({"tooltip"}, set()),
    "FloatSlider": ({"min", "max", "step"}, set()),
    "CheckBox": ({"width"}, set()),
    "FreeBezierCurve": ({"style"}, set()),
}
CONTAINERS = {"VStack", "HStack", "ZStack", "ScrollingFrame", "CollapsableFrame", "Frame", "Placer"}


class Token:
    """A subscription; the callback lives as long as it is held."""

    def __init__(self, callback: Any) -> None:
        self.callback = callback


class Model:
    """The value of a field, with subscriptions that end when they are dropped."""

    def __init__(self, value: Any, unknown: type[AttributeError]) -> None:
        self.__dict__.update(value=value, unknown=unknown, watchers=[])

    def __getattr__(self, name: str) -> Any:
        raise self.unknown(f"model.{name}")

    def get_item_value_model(self) -> Model:
        return self

    @property
    def as_int(self) -> int:
        return int(self.value)

    @property
    def as_float(self) -> float:
        return float(self.value)

    @property
    def as_bool(self) -> bool:
        return bool(self.value)

    @property
    def as_string(self) -> str:
        return str(self.value)

    def set_value(self, value: Any) -> None:
        self.__dict__["value"] = value

    def _watch(self, callback: Any) -> Any:
        token = Token(callback)
        self.watchers.append(weakref.ref(token))
        return token

    def subscribe_value_changed_fn(self, callback: Any) -> Any:
        return self._watch(lambda: callback(self))

    subscribe_end_edit_fn = subscribe_value_changed_fn

    def subscribe_item_changed_fn(self, callback: Any) -> Any:
        return self._watch(lambda: callback(self, None))

    def edit(self, value: Any) -> None:
        """Change the value as a user would."""
        self.set_value(value)
        for reference in list(self.watchers):
            token = reference()
            if token is not None:
                token.callback()


class FakeUi:
    """Widgets with known keywords only, the windows that are open, and one viewport."""

    def __init__(self, unknown: type[AttributeError]) -> None:
        self.unknown = unknown
        self.windows: list[Any] = []
        self.widgets: list[Any] = []
        self.rebuilds = 0
        self.shown_by_layouts: dict[str, Any] = {}
        self._numbers = itertools.count()
        self.viewport = self._viewport()

    def held(self) -> dict[str, int]:
        """Return open windows and what is drawn over the viewport."""
        drawn = sum(1 for frame in self.viewport.frames.values() if frame.filled)
        return {
            "windows": len(self.windows),
            "viewport frames": drawn,
            "layouts": len(self.shown_by_layouts),
        }

    def find(self, kind: str, text: str) -> Any:
        """Return the last widget of a kind whose first argument is `text`."""
        return [w for w in self.widgets if w.kind == kind and w.args[:1] == (text,)][-1]

    def of_kind(self, kind: str) -> list[Any]:
        """Return all widgets of a kind."""
        return [w for w in self.widgets if w.kind == kind]

    def texts(self) -> list[str]:
        """Return the texts of all labels."""
        return [w.text for w in self.of_kind("Label")]

    def names(self) -> dict[str, Any]:
        """Return the members of `omni.ui` that are known."""

        class Alignment(enum.Enum):
            CENTER = 1
            RIGHT_CENTER = 2

        class DockPreference(enum.Enum):
            RIGHT_TOP = 1

        def length(unit: str) -> Any:
            def make(value: float) -> tuple[str, float]:
                if not 0 <= value <= 100 and unit == "percent":
                    raise ValueError(f"{value} percent")
                return (unit, float(value))

            return make

        shown = self.shown_by_layouts

        class Workspace:
            @staticmethod
            def set_show_window_fn(title: str, callback: Any) -> None:
                shown.pop(title, None)
                if callback is not None:
                    shown[title] = callback

        return {
            **{name: self._widget(name) for name in WIDGETS},
            "Workspace": Workspace,
            "Window": self._window(),
            "Alignment": Alignment,
            "DockPreference": DockPreference,
            "Percent": length("percent"),
            "Fraction": length("fraction"),
        }

    def _widget(self, kind: str) -> type:
        ui, (keywords, settable) = self, WIDGETS[kind]

        class Widget:
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                if set(kwargs) - keywords:
                    raise ui.unknown(f"omni.ui.{kind}({', '.join(set(kwargs) - keywords)}=…)")
                self.__dict__.update(kind=kind, args=args, kwargs=kwargs)
                self.__dict__.update({name: kwargs.get(name) for name in settable})
                if kind in ("Label", "Button"):
                    self.__dict__["text"] = args[0]
                if kind in ("ComboBox", "StringField", "FloatSlider", "CheckBox"):
                    start = args[0] if args else 0
                    self.__dict__["model"] = Model(start, ui.unknown)
                ui.widgets.append(self)
                if kind == "Frame":
                    kwargs["build_fn"]()

            def __setattr__(self, name: str, value: Any) -> None:
                if name not in settable:
                    raise ui.unknown(f"omni.ui.{kind}.{name} = …")
                self.__dict__[name] = value

            def __getattr__(self, name: str) -> Any:
                raise ui.unknown(f"omni.ui.{kind}.{name}")

            if kind in CONTAINERS:

                def __enter__(self) -> Any:
                    return self

                def __exit__(self, *_error: object) -> None:
                    return None

            if kind == "Frame":

                def rebuild(self) -> None:
                    ui.rebuilds += 1
                    self.kwargs["build_fn"]()

            if kind == "Button":

                def click(self) -> None:
                    self.kwargs["clicked_fn"]()

        Widget.__name__ = kind
        return Widget

    def _container(self) -> Any:
        return self._widget("ScrollingFrame")()

    def _window(self) -> type:
        ui = self

        class Window:
            def __init__(self, title: str, *, width: int, height: int, dockPreference: Any) -> None:
                self.__dict__.update(title=title, visible=True, frame=ui._container(), changed=None)
                ui.windows.append(self)

            def set_visibility_changed_fn(self, callback: Any) -> None:
                self.__dict__["changed"] = callback

            def __setattr__(self, name: str, value: Any) -> None:
                if name != "visible":
                    raise ui.unknown(f"omni.ui.Window.{name} = …")
                self.__dict__["visible"] = value
                if self.changed:
                    self.changed(value)

            def __getattr__(self, name: str) -> Any:
                raise ui.unknown(f"omni.ui.Window.{name}")

            def destroy(self) -> None:
                ui.windows.remove(self)

        return Window

    def _viewport(self) -> Any:
        ui = self

        class Frame:
            filled = False

            def __enter__(self) -> Any:
                self.filled = True
                return self

            def __exit__(self, *_error: object) -> None:
                return None

            def clear(self) -> None:
                self.filled = False

            def __getattr__(self, name: str) -> Any:
                raise ui.unknown(f"viewport frame.{name}")

        class ViewportWindow:
            def __init__(self) -> None:
                self.frames: dict[str, Frame] = {}

            def get_frame(self, name: str) -> Frame:
                return self.frames.setdefault(name, Frame())

            def __getattr__(self, name: str) -> Any:
                raise ui.unknown(f"viewport window.{name}")

        return ViewportWindow()
