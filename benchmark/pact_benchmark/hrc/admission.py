"""Typed admission of target queries: complementary requirements, no evidence-mass cutoff."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pandas as pd

from pact_benchmark.hrc.schema import EARLY, EPISODE_TARGET, PRE_EARLY, PROXIMAL
from pact_core import Response

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

RESPONSES: tuple[Response, ...] = (
    Response.NONE,
    Response.HOLD,
    Response.CONFIRM,
    Response.FALLBACK,
)
_NONE, _HOLD, _CONFIRM, _FALLBACK = range(4)
PREVIOUS = {PROXIMAL: EARLY, EARLY: PRE_EARLY}


class Requirements(StrEnum):
    """Which requirements stand beside candidate evidence."""

    NONE = "none"
    IDENTITY = "identity"
    TEMPORAL = "temporal"
    IDENTITY_TEMPORAL = "identity_temporal"

    @property
    def identity(self) -> bool:
        """Whether target identity is required."""
        return self in (Requirements.IDENTITY, Requirements.IDENTITY_TEMPORAL)

    @property
    def temporal(self) -> bool:
        """Whether temporal evidence is required."""
        return self in (Requirements.TEMPORAL, Requirements.IDENTITY_TEMPORAL)


@dataclass(frozen=True, slots=True)
class QueryTable:
    """The queries of one checkpoint as arrays, each of shape [n].

    Attributes:
        frame: The rows: task, episode, event, window, query, target, target_kind.
        parsed: Whether both verdicts of the model are there.
        candidate: The model says that the target matches and is ready.
        identity: Target-identity evidence says match.
        consistent: Admission would agree with the data set's reference action.
        on_target: The target is the episode's own.
    """

    frame: pd.DataFrame
    parsed: Flags
    candidate: Flags
    identity: Flags
    consistent: Flags
    on_target: Flags


def query_table(queries: pd.DataFrame) -> QueryTable:
    """Return the rows of one checkpoint as arrays."""
    frame = queries.reset_index(drop=True)
    match, ready = frame["target_match"], frame["readiness"]
    on_target = (frame["target_kind"] == EPISODE_TARGET).to_numpy(dtype=bool)
    proximal = (frame["window"] == PROXIMAL).to_numpy(dtype=bool)
    return QueryTable(
        frame=frame,
        parsed=(match.notna() & ready.notna()).to_numpy(dtype=bool),
        candidate=((match == "matched") & (ready == "ready")).to_numpy(dtype=bool),
        identity=(frame["identity"] == "match").to_numpy(dtype=bool),
        consistent=on_target & proximal,
        on_target=on_target,
    )


def typed_responses(
    table: QueryTable, requirements: Requirements, temporal: Flags | None = None
) -> npt.NDArray[np.int8]:
    """Return the typed response of every query as an index into `RESPONSES`, shape [n].

    The order is: unparsed verdicts → FALLBACK; candidate not selected → HOLD; selected with a
    target mismatch (or no identity evidence) → CONFIRM; temporal condition unmet → HOLD; else
    admitted. A requirement that is switched off is skipped.

    Args:
        table: The queries.
        requirements: What stands beside candidate evidence.
        temporal: Whether the temporal condition is met, shape [n]; False where no temporal
            reference exists. Needed when the requirements include it.
    """
    response = np.full(len(table.frame), _NONE, dtype=np.int8)
    if requirements.temporal:
        if temporal is None:
            raise ValueError("the temporal requirement needs a temporal condition")
        response[~temporal] = _HOLD
    if requirements.identity:
        response[~table.identity] = _CONFIRM
    response[~table.candidate] = _HOLD
    response[~table.parsed] = _FALLBACK
    return response


def admitted(response: npt.NDArray[np.int8]) -> Flags:
    """Return which responses admit."""
    return np.asarray(response == _NONE)


@dataclass(frozen=True, slots=True)
class Counts:
    """Admissions of one rule: how many agree with the reference action and how many do not."""

    queries: int
    ready_targets: int
    consistent: int
    off_target: int
    early_on_target: int

    @property
    def inconsistent(self) -> int:
        """Reference-inconsistent admissions."""
        return self.off_target + self.early_on_target

    @property
    def recall(self) -> float:
        """Share of the reference-READY episode targets that are admitted."""
        return self.consistent / self.ready_targets if self.ready_targets else float("nan")

    @property
    def coverage(self) -> float:
        """Share of all queries that are admitted."""
        return (
            (self.consistent + self.inconsistent) / self.queries if self.queries else float("nan")
        )


def count(table: QueryTable, admit: Flags, rows: Flags | None = None) -> Counts:
    """Count the admissions `admit` among `rows` (all of them when None)."""
    here = np.ones(len(admit), dtype=bool) if rows is None else rows
    wrong = here & admit & ~table.consistent
    return Counts(
        queries=int(here.sum()),
        ready_targets=int((here & table.consistent).sum()),
        consistent=int((here & admit & table.consistent).sum()),
        off_target=int((wrong & ~table.on_target).sum()),
        early_on_target=int((wrong & table.on_target).sum()),
    )


def lookup(frame: pd.DataFrame, values: pd.Series, *, previous: bool = False) -> Floats:
    """Return the value of each row's event window, NaN where none is recorded.

    Args:
        frame: Rows with columns event and window.
        values: Numbers indexed by (event, window).
        previous: Look at the window before the row's own instead.
    """
    window = frame["window"].map(PREVIOUS) if previous else frame["window"]
    keys = pd.MultiIndex.from_arrays([frame["event"], window])
    at = values.index.get_indexer(keys)
    found = values.to_numpy(dtype=float)
    return np.where(at >= 0, found[np.clip(at, 0, None)] if len(found) else np.nan, np.nan)


def at_least(frame: pd.DataFrame, scores: pd.Series, threshold: float) -> Flags:
    """Absolute temporal condition: the score of the query's window is at least `threshold`."""
    with np.errstate(invalid="ignore"):
        return np.asarray(lookup(frame, scores) >= threshold)


def strict_change(frame: pd.DataFrame, values: pd.Series, *, first: bool = False) -> Flags:
    """Temporal condition: strictly higher than in the window before; ties and gaps fail.

    Args:
        frame: The queries.
        values: Scores or posteriors indexed by (event, window).
        first: Let the early window be compared with the pre-early one where that was recorded.
            Otherwise the early window is itself the reference and never meets the condition.
    """
    with np.errstate(invalid="ignore"):
        rises = lookup(frame, values) > lookup(frame, values, previous=True)
    return np.asarray(rises if first else rises & (frame["window"] == PROXIMAL).to_numpy())


def window_series(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return column `name` indexed by (event, window)."""
    index = pd.MultiIndex.from_frame(frame[["event", "window"]])
    return pd.Series(frame[name].to_numpy(dtype=float), index=index)
