"""Colours and words of responses, components and contracts (Okabe–Ito, colour-blind safe).

A colour never stands alone: every response also has a word and a shape.
"""

from __future__ import annotations

from dataclasses import dataclass

from pact_core import SELECTION_STOPS, Status

RGB = tuple[float, float, float]


def rgb(code: str) -> RGB:
    """Return red, green and blue in [0, 1] of `#RRGGBB`."""
    return (int(code[1:3], 16) / 255, int(code[3:5], 16) / 255, int(code[5:7], 16) / 255)


@dataclass(frozen=True, slots=True)
class Look:
    """How one outcome is shown.

    Attributes:
        word: What the banner says.
        colour: Fill, `#RRGGBB`.
        ink: Text on the fill, `#RRGGBB`.
        meaning: One line for the legend.
    """

    word: str
    colour: str
    ink: str
    meaning: str


OUTCOMES: dict[str, Look] = {
    "admitted": Look("ADMIT", "#009E73", "#FFFFFF", "every check passed: the contract may run"),
    "hold": Look("HOLD", "#E69F00", "#000000", "stay: the command or the risk support fails"),
    "confirm": Look("CONFIRM", "#56B4E9", "#000000", "ask: too few separate components agree"),
    "fallback": Look("FALLBACK", "#D55E00", "#FFFFFF", "retreat: a source is not valid"),
    "withheld": Look("NOT SELECTED", "#999999", "#000000", "hold: below tau, or not eligible"),
}
COMPONENTS = ("#0072B2", "#CC79A7", "#F0E442", "#009E73", "#E69F00", "#56B4E9")
SIGHT_FREE = "#56B4E9"
SIGHT_BLOCKED = "#D55E00"
CLEARANCE = "#F0E442"


def outcome_of(status: str, response: str, check: str | None) -> str:
    """Return the key of `OUTCOMES` for a decision.

    A candidate that selection stopped answers HOLD like a failed check, but is shown apart.
    """
    if status == Status.ADMITTED:
        return "admitted"
    return "withheld" if check in SELECTION_STOPS else response


def component_colour(index: int) -> str:
    """Return the colour of the component with this rank."""
    return COMPONENTS[index % len(COMPONENTS)]
