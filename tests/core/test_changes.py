"""What a withheld decision says would have changed it, does: every named change is applied."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import nextafter
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pact_core import (
    CORROBORATIONS,
    SELECTION_STOPS,
    AdmissionPolicy,
    CommandState,
    FusionOptions,
    Response,
    Source,
    admission_check,
    decide,
    fuse_evidence,
    register_check,
)
from pact_core.admission import _FAILS, CHECKS
from pact_core.decision import _budget_for
from tests.core.examples import APART, CURRENT, instance, sharp
from tests.core.strategies import ROLES

RULES = [
    "pact", "pact_singleton", "maximum", "representative", "nested_dirichlet", "product",
    "hierarchy_cautious",
]  # fmt: skip
COMMANDS = [CURRENT, CURRENT, CURRENT, None, CommandState("a", "b", "current"), CommandState("a")]
COMMANDS += [CommandState("a", "b", "stale_previous_command", "b", "r0")]


def random_sources(random):
    """Return sources that mostly agree and are sound, so that every check gets its turn."""
    roles = random.choices([*ROLES, "language", "risk"], k=random.randint(1, 5))
    faulty, lean = random.random() < 0.2, random.random() < 0.3
    top = random.randrange(5)
    sources = []
    for role in roles:
        leader = random.randrange(5) if lean else top
        opinion, quality = (
            sharp(random.choice((0.5, 0.91, 0.97)), leader),
            0.85 + 0.15 * random.random(),
        )
        fields = {"opinion": opinion, "quality": quality, "conflict": 0.1 * random.random()}
        if faulty and random.random() < 0.5:
            fields[random.choice(list(fields))] = random.choice((None, 3.0, float("nan"), "x"))
        sources.append(
            Source(
                role,
                **fields,
                parents={random.choice("abcd")},
                available=random.random() < (0.4 if role == "risk" else 0.9),
                command=random.choice(COMMANDS) if random.random() < 0.3 else CURRENT,
            )
        )
    return sources


def sound(source):
    """Return an available source without faults."""
    return replace(
        source, opinion=[0.2] * 5, quality=0.5, conflict=0.1, available=True, declared_valid=True
    )


def supporter(decision, role, name):
    """Return one more source for the decision's contract, with an origin of its own."""
    top = decision.contracts.index(decision.contract)
    return Source(role, sharp(0.8, top), 0.8, 0.0, {name}, command=CURRENT)


def quieter(source, attribute, limit):
    """Return a sure language source with peak, quality or margin just below a limit."""
    if attribute == "quality":
        return replace(source, quality=nextafter(limit, 0.0))
    ordered = sorted(source.opinion)
    top, rest = source.opinion.index(ordered[-1]), 1.0 - ordered[-1]
    if attribute == "margin":
        peak = min(ordered[-1], (1.0 + limit) / 2.0 - 1e-9)
        opinion = [0.0] * 5
        opinion[top], opinion[(top + 1) % 5] = peak, 1.0 - peak
        return replace(source, opinion=opinion)
    peak = limit - 1e-9
    scale = (1.0 - peak) / rest
    return replace(
        source, opinion=[peak if k == top else p * scale for k, p in enumerate(source.opinion)]
    )


def kappa_for(decision, budget):
    """Return the smallest kappa found whose total evidence reaches a budget."""

    def reached(kappa):
        return sum(again(decision, kappa=kappa).evidence) >= budget

    low, high = decision.kappa, 2.0 * decision.kappa
    while not reached(high):
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def again(decision, sources=None, **changes):
    """Decide once more with other sources or settings."""
    settings = {name: getattr(decision, name) for name in ("rule", "kappa", "threshold", "policy")}
    settings["options"] = decision.options
    return decide(decision.sources if sources is None else sources, **settings | changes)


def applied(decision, change):
    """Return the decision after one change, None where nothing in the tests can bring it about."""
    sources, what = list(decision.sources), change.what
    if what == "observed valid sources":
        extra = [Source("view", sharp(), 0.9, 0.0, {f"new-{i}"}) for i in range(change.needed)]
        return again(decision, [*map(sound, sources), *extra][: max(len(sources), change.needed)])
    if what == "score":
        return again(decision, threshold=change.current)
    if what == "total evidence budget":
        if change.current == 0.0:
            return None
        nested = decision.rule == "nested_dirichlet"  # whose product rounds otherwise than a sum
        budget = change.needed * (1.0 + 1e-12) if nested else change.needed
        return again(decision, kappa=kappa_for(decision, budget))
    if what.startswith("command "):
        return again(decision, [replace(s, command=CURRENT) for s in sources])
    if what == "faults of present sources":
        return again(decision, [sound(s) if s.available else s for s in sources])
    if what == "risk source":
        return again(decision, [sound(s) if s.role == "risk" else s for s in sources])
    if what.endswith(" below"):
        attribute = what.split()[-2]
        loud = [i for i, s in enumerate(sources) if s.role == "language" and s.available]
        loud = [i for i in loud if decision.readings[i].peak >= 0.9 and sources[i].quality >= 0.9]
        assert (len(loud) > 1) == what.startswith("every sure")
        return again(
            decision,
            [
                quieter(s, attribute, change.needed) if i in loud else s
                for i, s in enumerate(sources)
            ],
        )
    if what.endswith("supporting components"):
        missing = change.needed - change.current
        more = [supporter(decision, "vision", f"new-{i}") for i in range(missing)]
        return again(decision, [*sources, *more])
    assert what.endswith("supporting roles")
    more = [supporter(decision, role, f"new-{role}") for role in ("language", "geometry")]
    return again(decision, [*sources, *more])


def test_every_change_is_enough_to_pass_the_check():
    """Each change of random withheld decisions, applied alone, lets the candidate pass.

    It may then be stopped by a later check, never by the same or an earlier one. (Sources that are
    changed for a typed check may move the score; selection is not what is asked there.)
    """
    seen = Counter()
    random = Random(1)
    for _ in range(6000):
        policy = AdmissionPolicy(
            corroboration=random.choice(CORROBORATIONS),
            required_components=random.randint(1, 5),
            complete_components=random.random() < 0.7,
            support_conflict=random.choice((0.15, 1.0)),
        )
        decision = decide(
            random_sources(random),
            rule=random.choice(RULES),
            kappa=random.uniform(0.5, 12.0),
            threshold=random.choice((None, None, random.random())),
            policy=policy,
            options=FusionOptions(prior_strength=random.choice((None, 1.0, 9.0))),
        )
        order = [*SELECTION_STOPS, *policy.checks, None]
        assert decision.admitted == (decision.smallest_change is None)
        for change in decision.changes:
            after = applied(decision, change)
            if after is not None:
                seen[change.what] += 1
                selecting = decision.check in SELECTION_STOPS
                reached = after.check if selecting else admission_check(after)
                assert order.index(reached) > order.index(decision.check), (decision, change)
    for what in (
        "observed valid sources", "score", "total evidence budget", "command missing",
        "command mismatch, stale", "faults of present sources", "risk source",
        "language peak below", "language quality below", "language margin below",
        "every sure language quality below", "complete supporting components",
        "supporting components", "supporting roles",
        "complete supporting components and supporting roles",
    ):  # fmt: skip
        assert seen[what] > 3, (what, seen)


@given(st.floats(0.0, 1.0, exclude_max=True), st.sampled_from([1.0, 2.0, 5.0, 0.3, 1e6]))
def test_the_named_budget_selects_and_a_little_less_does_not(threshold, strength):
    """Exactly the needed total reaches the threshold after rounding, whatever the threshold."""
    needed = _budget_for(threshold, strength)
    options = FusionOptions(prior_strength=strength)
    assert fuse_evidence([[needed, 0.0]], [0], options).score >= threshold
    assume(threshold > 1e-6 and 1.0 - threshold > 1e-6)
    assert fuse_evidence([[needed * (1.0 - 1e-8), 0.0]], [0], options).score < threshold


def test_cross_role_asks_for_geometry_or_risk():
    """Language with vision in two components lacks a role, and the change says which."""
    sources = [
        Source("language", sharp(), 0.95, 0.0, {"a"}, command=CURRENT),
        Source("vision", sharp(), 0.95, 0.0, {"b"}),
    ]
    decision = decide(sources, policy=AdmissionPolicy(corroboration="cross_role"))
    assert decision.response is Response.CONFIRM
    assert decision.changes == (
        ("supporting roles", "language, vision", "language with geometry or risk"),
    )


def test_nested_budgets_use_the_prior_of_the_rule():
    """Nested composition has one unit of prior per contract whatever the prior strength."""
    options = FusionOptions(prior_strength=1.0)
    decision = decide(instance(**APART), rule="nested_dirichlet", threshold=0.99, options=options)
    budget = decision.changes[1]
    assert decision.score == pytest.approx(budget.current / (5.0 + budget.current))
    assert budget.needed == pytest.approx(5.0 * 0.99 / 0.01)


def test_every_sure_language_source_is_named():
    """With two sure language sources one change is for both."""
    first, geometry, risk = instance(risk={"available": False}, **{"geometry": {"parents": {"g"}}})
    second = replace(first, quality=0.93, parents={"other"})
    decision = decide([first, second, geometry, risk])
    assert decision.check == "risk_support"
    assert decision.smallest_change.what.startswith("every sure language ")
    assert decision.values["quality"] == 0.95
    quiet = [replace(s, quality=0.89) for s in (first, second)]
    assert decide([quiet[0], second, geometry, risk]).check == "risk_support"
    assert decide([*quiet, geometry, risk]).check != "risk_support"


def test_faults_of_a_repeated_role_are_all_numbered():
    """Which of two cameras is broken can be read off, also for the first."""
    good = Source("camera", [0.2] * 5, 0.9, 0.0, {"a"})
    first = decide([replace(good, quality=2.0), good, good])
    assert first.values["faults"] == {"camera[0]": ["quality 2 outside [0, 1]"]}
    second = decide([good, replace(good, quality=None), replace(good, conflict=None)])
    assert second.values["faults"] == {
        "camera[1]": ["quality absent"],
        "camera[2]": ["conflict absent"],
    }


def test_a_check_from_outside_says_nothing_about_itself():
    """Its name is all there is: no values, no changes, though the decision is withheld."""

    def never(x, contract, policy):
        return np.ones(contract.shape, dtype=bool)

    register_check("test_never", Response.CONFIRM)(never)
    try:
        decision = decide(instance(**APART), policy=AdmissionPolicy(checks=("test_never",)))
        assert (decision.check, decision.admitted) == ("test_never", False)
        assert (decision.values, decision.changes, decision.smallest_change) == ({}, (), None)
    finally:
        del CHECKS["test_never"], _FAILS["test_never"]
