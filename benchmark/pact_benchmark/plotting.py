"""One look for every rule, in every figure: colour-blind safe, deterministic files.

Matplotlib is imported when something is drawn: names and colours cost nothing.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe–Ito palette.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
OLIVE = "#999933"  # in place of the palette's yellow, which is too faint on white


@dataclass(frozen=True, slots=True)
class RuleStyle:
    """How a rule is named and drawn."""

    label: str
    colour: str
    marker: str
    line: str

    @property
    def kwargs(self) -> dict[str, str]:
        """Keyword arguments for `Axes.plot`."""
        return {
            "label": self.label,
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.line,
        }


RULE_STYLE: dict[str, RuleStyle] = {
    "pact": RuleStyle("PACT", BLUE, "o", "-"),
    "pact_singleton": RuleStyle("Singleton PACT", SKY, "s", "--"),
    "nested_dirichlet": RuleStyle("Nested Dirichlet", VERMILION, "^", "-"),
    "product": RuleStyle("Product", GREEN, "D", "-"),
    "quality_weighted": RuleStyle("Quality-weighted", GREY, "v", ":"),
    "global_cautious": RuleStyle("Global cautious", ORANGE, "P", "-."),
    "hierarchy_cautious": RuleStyle("Hierarchy-matched cautious", OLIVE, "X", "-."),
    "pooling": RuleStyle("Pooling", BLACK, "<", ":"),
    "provenance_pooling": RuleStyle("Provenance-discounted pooling", PURPLE, ">", "--"),
    "maximum": RuleStyle("Coordinatewise maximum", ORANGE, "h", ":"),
    "representative": RuleStyle("Fixed representative", GREY, "d", "-."),
    "set_transformer": RuleStyle("Set Transformer", BLACK, "*", "--"),
    "language": RuleStyle("Language only", GREY, "1", ":"),
}

_STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "grid.alpha": 0.25,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "pact",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the house style inside the block."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def preload() -> None:
    """Import what drawing needs, so that it is there when something is drawn."""
    for name in ("figure", "backends.backend_svg", "backends.backend_agg", "backends.backend_pdf"):
        importlib.import_module(f"matplotlib.{name}")


def new_figure(width: float = 6.4, height: float = 3.6) -> Figure:
    """Return an empty figure, `width` × `height` in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def render(figure: Figure, kind: str) -> bytes:
    """Return the bytes of a figure as `svg`, `png` or `pdf`; equal figures give equal bytes."""
    metadata: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format=kind, dpi=160, metadata=metadata[kind])
    return buffer.getvalue()
