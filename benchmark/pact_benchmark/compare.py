"""A run against the published figures, or against another run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from pact_benchmark.selection import Curve

FAMILIES = ("controlled", "learned", "hrc")
ABSOLUTE_TOLERANCE = 0.02
RELATIVE_TOLERANCE = 0.05
EXACT_KINDS = frozenset({"exact", "protocol", "invariant", "boolean"})

MATCH, DIFFERS, KEPT_BACK, MISSING = "match", "differs", "kept back", "missing"
PARTIAL = "partial"
VERDICTS = (MATCH, DIFFERS, KEPT_BACK, PARTIAL, MISSING)
_STUDY_OF = {"random_order": "before_admission"}
"""Studies that give figures under another name than their own."""
_NAMED = 5
COLUMNS = ("id", "published", "ours", "low", "high", "difference", "verdict")


@dataclass(frozen=True, slots=True)
class Target:
    """A published figure.

    Attributes:
        id: Identity, as in `statistics.json`.
        family: Which study it belongs to, one of `FAMILIES`.
        value: The published number or the two ends of a range; None = kept back.
        interval: The published interval, or None.
        kind: "exact" and similar kinds must agree to the published precision.
        definition: What it is, in words.
    """

    id: str
    family: str
    value: float | int | str | tuple[float, float] | None
    interval: tuple[float, float] | None
    kind: str
    definition: str


@cache
def targets(family: str) -> tuple[Target, ...]:
    """Return the published figures of one family."""
    source = resources.files("pact_benchmark.targets").joinpath(f"{family}.toml")
    entries = tomllib.loads(source.read_text(encoding="utf-8"))["target"]
    return tuple(_target(entry, family) for entry in entries)


def _target(entry: Mapping[str, Any], family: str) -> Target:
    value, interval = entry.get("value"), entry.get("ci")
    return Target(
        id=str(entry["id"]),
        family=family,
        value=_pair_or_number(value),
        interval=(float(interval[0]), float(interval[1])) if interval else None,
        kind=str(entry.get("kind", "")),
        definition=str(entry.get("definition", "")),
    )


def _pair_or_number(value: Any) -> Any:
    """Return two numbers in a list as a tuple, anything else unchanged."""
    return (float(value[0]), float(value[1])) if isinstance(value, list) else value


def verdict(target: Target, statistic: Mapping[str, Any] | None) -> str:
    """Judge a statistic against a published figure.

    A figure matches when it is within 0.02, within 5% of the published value, or inside the
    published interval; exact kinds must agree to the published precision. A published range
    matches when both ends do. A statistic whose note begins with "partial" is not judged.
    """
    if statistic is None:
        return MISSING
    if str(statistic.get("note") or "").startswith(PARTIAL):
        return PARTIAL
    if target.value is None:
        return KEPT_BACK
    ours: Any = statistic.get("value")
    pair = isinstance(ours, (list, tuple))
    if isinstance(target.value, tuple):
        ends = ours if pair else (statistic.get("low"), statistic.get("high"))
        fits = all(_close(found, end) for found, end in zip(ends, target.value, strict=True))
        return MATCH if fits else DIFFERS
    if pair:
        return DIFFERS
    if isinstance(target.value, (str, bool)) or isinstance(ours, (str, bool)):
        return MATCH if ours == target.value else DIFFERS
    if target.kind in EXACT_KINDS:
        return MATCH if _equal_as_printed(ours, target.value) else DIFFERS
    inside = (
        ours is not None
        and target.interval is not None
        and target.interval[0] <= ours <= target.interval[1]
    )
    return MATCH if inside or _close(ours, target.value) else DIFFERS


def _close(ours: float | None, published: float) -> bool:
    if ours is None:
        return False
    distance = abs(ours - published)
    return distance <= ABSOLUTE_TOLERANCE or distance <= RELATIVE_TOLERANCE * abs(published)


def _equal_as_printed(ours: float | None, published: float) -> bool:
    """Tell whether a number rounds to the published one (integers must be equal)."""
    if ours is None:
        return False
    if isinstance(published, int):
        return ours == published
    digits = len(repr(published).partition(".")[2])
    return abs(ours - published) <= 0.5 * 10.0**-digits + 1e-12


def compare_with_published(statistics: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row per published figure of every family of which the run has a figure.

    Columns: id, published, ours, low, high (our interval), difference, verdict.
    """
    owners = {target.id: family for family in FAMILIES for target in targets(family)}
    present = {owners[name] for name in statistics if name in owners}
    rows = []
    for family in FAMILIES:
        if family not in present:
            continue
        for target in targets(family):
            ours = statistics.get(target.id)
            rows.append(_row(target, ours))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(target: Target, ours: Mapping[str, Any] | None) -> tuple[Any, ...]:
    value = None if ours is None else ours.get("value")
    low = None if ours is None else ours.get("low")
    high = None if ours is None else ours.get("high")
    numbers = (int, float)
    comparable = isinstance(value, numbers) and isinstance(target.value, numbers)
    difference = value - target.value if comparable else None  # type: ignore[operator]
    return (target.id, target.value, value, low, high, difference, verdict(target, ours))


def compare_runs(
    first: Mapping[str, Mapping[str, Any]], second: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Compare the statistics of two runs; the second takes the place of the published figures.

    A figure matches when it is inside the other run's interval or within the usual tolerance, or
    when neither run gives it a value.
    """
    rows = []
    for name in sorted({*first, *second}):
        other = second.get(name)
        value = None if other is None else _pair_or_number(other.get("value"))
        interval = None
        if other is not None and other.get("low") is not None and other.get("high") is not None:
            interval = (other["low"], other["high"])
        target = Target(name, "run", value, interval, "", "")
        *row, judged = _row(target, first.get(name))
        if other is None:
            judged = MISSING
        elif judged == KEPT_BACK:
            judged = MATCH if first[name].get("value") is None else DIFFERS
        rows.append((*row, judged))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def summarise(frame: pd.DataFrame, *, published: bool = True) -> list[dict[str, str]]:
    """Return headline numbers of a comparison, as cards of key, value and label.

    Args:
        frame: What `compare_with_published` or `compare_runs` returned.
        published: Whether it was the former.
    """
    found = counts(frame)
    judged = found[MATCH] + found[DIFFERS]
    cards = []
    if judged:
        matched = "published figures matched" if published else "figures of the other run matched"
        cards.append(_card(f"{found[MATCH]}/{judged}", matched))
    if found[KEPT_BACK]:
        cards.append(_card(str(found[KEPT_BACK]), "figures kept back, computed"))
    if found[PARTIAL]:
        cards.append(_card(str(found[PARTIAL]), "figures of a partial design"))
    if found[MISSING]:
        missing = "figures not computed" if published else "figures of one run only"
        cards.append(_card(str(found[MISSING]), missing))
    return cards


def counts(frame: pd.DataFrame) -> dict[str, int]:
    """Return how many figures of a comparison have each verdict."""
    given = frame["verdict"].value_counts()
    return {name: int(given.get(name, 0)) for name in VERDICTS}


def _card(value: str, label: str) -> dict[str, str]:
    return {"key": label.replace(",", "").replace(" ", "_"), "value": value, "label": label}


def command_for(figure: str, run: str) -> str:
    """Return the command that computes a published figure; `run` stands for the run folder."""
    families = {target.id: family for family in FAMILIES for target in targets(family)}
    family = families.get(figure, FAMILIES[0])
    if family != FAMILIES[0]:
        data = {"learned": "learned --data DIR", "hrc": "hrc --records DIR"}[family]
        return f"pact {data} --output {run}"
    study = figure.partition(".")[0]
    if figure == "joint_holdout.set_transformer":
        return f"pact set-transformer --output {run}"
    if study == "sobol":
        return f"pact sweep --output {run}"
    return f"pact evaluate {_STUDY_OF.get(study, study)} --output {run}"


def remark(changed: Sequence[str]) -> str:
    """Return what a run's changes of the configuration mean for its comparison, or nothing."""
    if not changed:
        return ""
    named = "; ".join(changed[:_NAMED]) + (
        f"; and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    )
    return (
        f"The configuration of this run differs from the default ({named}). The published figures"
        " belong to the default design: a figure that differs here need not be an error."
    )


@cache
def _published_curves() -> dict[str, Any]:
    source = resources.files("pact_benchmark.targets").joinpath("curves.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


def published_curves() -> dict[tuple[str, str], pd.DataFrame]:
    """Return the published curve points by (stage, rule): target, admitted, wrong."""
    content = _published_curves()
    return {
        (entry["stage"], entry["rule"]): pd.DataFrame(
            {
                "target": content["targets"],
                "admitted": entry["admitted"],
                "wrong": entry["wrong"],
            }
        )
        for entry in content["curve"]
    }


def compare_curves(curves: Mapping[tuple[str, str], Curve]) -> pd.DataFrame:
    """Compare wrong counts along curves, given by (stage, rule).

    Returns:
        One row per published curve: stage, rule, mean absolute deviation of the wrong counts, and
        that as a share of the mean published wrong count.
    """
    rows = []
    for (stage, rule), points in published_curves().items():
        if (stage, rule) not in curves:
            continue
        curve = curves[stage, rule]
        _, _, wrong = curve.totals()
        ours = np.array([wrong[curve.index(float(t))] for t in points["target"]])
        published = points["wrong"].to_numpy()
        deviation = float(np.abs(ours - published).mean())
        rows.append((stage, rule, deviation, deviation / float(published.mean())))
    return pd.DataFrame(rows, columns=["stage", "rule", "mean_deviation", "relative_deviation"])
