"""Selection and typed admission: order, responses, thresholds and alternative rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pact_core import (
    CHECKS,
    CORROBORATIONS,
    HANDOVER,
    PRIMARY,
    AdmissionPolicy,
    CommandState,
    Response,
    SourceBatch,
    Status,
    admissible,
    admission_response,
    decide,
    decide_batch,
    fuse,
    register_check,
    response_of,
)
from pact_core.admission import _FAILS
from tests.core.examples import APART, instance, sharp
from tests.core.strategies import agreeing_sources, sound_sources, wild_sources


def outcome(sources, **options):
    """Return status, response and check, the same from the scalar and the batched path."""
    decision = decide(sources, **options)
    batch = decide_batch(SourceBatch.from_instances([sources]), **options)
    found = (decision.status, decision.response, decision.check)
    assert batch.outcome(0) == found
    return found


def test_three_separate_components_are_admitted():
    """Unanimous support from three components passes every check."""
    assert outcome(instance(**APART)) == (Status.ADMITTED, Response.NONE, None)


def test_unanimity_over_two_components_asks_for_confirmation():
    """The reference partition has two components: high-confidence unanimity is confirmed."""
    expected = (Status.WITHHELD, Response.CONFIRM, "component_corroboration")
    assert outcome(instance()) == expected


@pytest.mark.parametrize(
    ("role", "change", "response", "check"),
    [
        ("language", {"command": None}, "hold", "command_consistency"),
        ("language", {"command": CommandState("now", "now", None)}, "hold", "command_consistency"),
        (
            "language",
            {"command": CommandState("now", "old", "current")},
            "hold",
            "command_consistency",
        ),
        (
            "language",
            {"command": CommandState("now", "now", "stale_previous_command", "old", "row-1")},
            "hold",
            "command_consistency",
        ),
        ("geometry", {"opinion": [0.5, 0.5, 0.5, 0.0, 0.0]}, "fallback", "source_validity"),
        ("geometry", {"opinion": None}, "fallback", "source_validity"),
        ("geometry", {"opinion": {"N": 1.0}}, "fallback", "source_validity"),
        ("geometry", {"quality": None}, "fallback", "source_validity"),
        ("geometry", {"quality": 1.5}, "fallback", "source_validity"),
        ("risk", {"conflict": None}, "fallback", "source_validity"),
        ("risk", {"declared_valid": False}, "fallback", "source_validity"),
        ("risk", {"available": False}, "hold", "risk_support"),
    ],
)
def test_each_failure_has_its_response(role, change, response, check):
    """Every listed condition withholds with the response of its check."""
    sources = instance(**APART)
    index = ["language", "geometry", "risk"].index(role)
    sources[index] = replace(sources[index], **change)
    assert outcome(sources) == (Status.WITHHELD, Response(response), check)


def test_stale_status_alone_is_not_a_carry_over():
    """A stale status counts only with the previous command and where it was carried from."""
    command = CommandState("now", "now", "stale_previous_command", None, "row-1")
    assert outcome(instance(**APART, language={"command": command}))[0] is Status.ADMITTED


def test_first_failed_check_decides():
    """With all four conditions failing, each removed check uncovers the next."""
    sources = instance(
        language={"command": None},
        geometry={"conflict": None},
        risk={"available": False},
    )
    policy = AdmissionPolicy(corroboration="component_count", required_components=9)
    seen = []
    while policy.checks:
        check = outcome(sources, policy=policy)[2]
        seen.append(check)
        policy = policy.without(check)
    assert tuple(seen) == tuple(CHECKS)[:4]
    assert outcome(sources, policy=policy)[0] is Status.ADMITTED


@pytest.mark.parametrize(
    ("attribute", "at", "beyond"),
    [("opinion", sharp(0.90), sharp(0.899)), ("quality", 0.90, 0.899)],
)
def test_risk_support_thresholds(attribute, at, beyond):
    """Language at the threshold needs a risk source, language below does not."""
    gone = {"risk": {"available": False}}
    assert outcome(instance(language={attribute: at}, **gone))[2] == "risk_support"
    assert outcome(instance(language={attribute: beyond}, **gone))[2] is None


def test_risk_support_margin():
    """A second contract close behind the peak lifts the requirement."""
    wide = [0.90, 0.10, 0.0, 0.0, 0.0]
    policy = AdmissionPolicy(risk_margin=0.85)
    sources = instance(language={"opinion": wide}, risk={"available": False})
    assert outcome(sources)[2] == "risk_support"
    assert outcome(sources, policy=policy)[2] is None


@pytest.mark.parametrize(
    ("attribute", "at", "beyond"),
    [
        ("opinion", sharp(0.40), sharp(0.39)),
        ("quality", 0.30, 0.29),
        ("conflict", 0.15, 0.16),
    ],
)
def test_corroboration_thresholds(attribute, at, beyond):
    """The component requirement applies at the thresholds and not beyond them."""
    assert outcome(instance(geometry={attribute: at}))[2] == "component_corroboration"
    assert outcome(instance(geometry={attribute: beyond}))[2] is None


TABLE = [
    # supporters, partition, unanimity, component_count, cross_role
    (("L",), (0, 1, 1), None, None, None),
    (("L", "G"), (0, 0, 2), None, "confirm", "confirm"),
    (("L", "G"), (0, 1, 2), None, "confirm", "none"),
    (("G", "R"), (0, 1, 2), None, "confirm", "confirm"),
    (("L", "G", "R"), (0, 0, 0), "confirm", "confirm", "confirm"),
    (("L", "G", "R"), (0, 1, 1), "confirm", "confirm", "none"),
    (("L", "G", "R"), (0, 1, 2), "none", "none", "none"),
]


@pytest.mark.parametrize("row", TABLE)
def test_alternative_corroboration_rules(row):
    """The paper's table of alternative rules, line by line."""
    supporters, partition, *expected = row
    sources = [
        replace(
            source, opinion=sharp(top=0 if role[0].upper() in supporters else 3), parents={label}
        )
        for source, role, label in zip(
            instance(), ("language", "geometry", "risk"), partition, strict=True
        )
    ]
    batch = SourceBatch.from_instances([sources])
    for mode, word in zip(("unanimity", "component_count", "cross_role"), expected, strict=True):
        policy = AdmissionPolicy(corroboration=mode)
        code = int(admission_response(batch, np.array([0]), policy)[0])
        assert str(response_of(code, policy)) == (word or "none")


def test_incomplete_components_do_not_count():
    """A component with a missing member counts only in the release's variant."""
    sources = instance(risk={"available": False}, language={"quality": 0.8})
    policy = AdmissionPolicy(corroboration="cross_role")
    assert outcome(sources, policy=policy)[2] == "component_corroboration"
    lenient = replace(policy, complete_components=False)
    assert outcome(sources, policy=lenient)[2] is None


def test_required_components_can_be_lowered():
    """With nu = 2 the reference partition suffices; off asks nothing."""
    assert outcome(instance(), policy=AdmissionPolicy(required_components=2))[2] is None
    assert outcome(instance(), policy=AdmissionPolicy(corroboration="off"))[2] is None


def test_selection_precedes_admission():
    """Too few sources or too low a score answer HOLD whatever the checks say."""
    lonely = instance(geometry={"available": False}, risk={"opinion": None})
    assert outcome(lonely) == (Status.WITHHELD, Response.HOLD, "base_eligibility")
    score = decide(instance()).score
    above = float(np.nextafter(score, 2.0))
    assert outcome(instance(), threshold=score)[2] == "component_corroboration"
    assert outcome(instance(), threshold=above)[2] == "score_selection"
    assert outcome(instance(**APART), threshold=float("inf"))[1] is Response.HOLD


def drawn(data):
    """Draw sources of any kind, a policy and a threshold."""
    wild = st.one_of(wild_sources(HANDOVER.names), sound_sources(5), agreeing_sources())
    policy = AdmissionPolicy(
        corroboration=data.draw(st.sampled_from(CORROBORATIONS)),
        required_components=data.draw(st.integers(1, 4)),
        complete_components=data.draw(st.booleans()),
    )
    threshold = data.draw(st.sampled_from([None, 0.0, 0.2, 0.6, 1.0, float("inf")]))
    return data.draw(wild), policy, threshold


@settings(max_examples=300)
@given(st.data())
def test_exact_copy_leaves_the_complete_decision_unchanged(data):
    """Copies of any source with its parents change no output of fusion, nor the typed response.

    The response is promised where the copies leave base eligibility and the question that
    corroboration asks as they are: they may not make up the numbers that either needs.
    """
    sources, policy, threshold = drawn(data)
    copied = data.draw(st.integers(0, len(sources) - 1))
    copies = [sources[copied]] * data.draw(st.integers(1, 3))
    before = decide(sources, threshold=threshold, policy=policy)
    after = decide([*sources, *copies], threshold=threshold, policy=policy)
    assert (after.contract, after.posterior) == (before.contract, before.posterior)
    assert (after.score, after.evidence) == (before.score, before.evidence)
    assert after.supporting_components == before.supporting_components
    asked = policy.minimum_supporters
    if policy.corroboration == "unanimity":
        asked = max(asked, policy.unanimous_sources)
    crossed = len(before.supporters) < asked <= len(after.supporters)
    if after.base_eligible == before.base_eligible and not crossed:
        assert (after.status, after.response, after.check) == (
            before.status, before.response, before.check,
        )  # fmt: skip


def selection_map(contract, score, eligible, threshold):
    """The paper's A_tau, case by case."""
    if score >= (0.0 if threshold is None else threshold) and eligible:
        return ("selected", contract, "none")
    return ("withheld", contract, "hold")


def admission_map(preliminary, current, structure, risk, provenance):
    """The paper's V, case by case, on the four failure indicators."""
    status, contract, _ = preliminary
    if status != "selected":
        return preliminary
    if current:
        return ("withheld", contract, "hold")
    if structure:
        return ("withheld", contract, "fallback")
    if risk:
        return ("withheld", contract, "hold")
    if provenance:
        return ("withheld", contract, "confirm")
    return ("admitted", contract, "none")


@settings(max_examples=300)
@given(st.data())
def test_selection_and_typed_verifier_are_the_papers_case_maps(data):
    """Y = V(A_tau(k, s, zeta), x), with s exactly at the threshold too, scalar and batched."""
    sources, policy, threshold = drawn(data)
    score = decide(sources).score
    threshold = data.draw(st.sampled_from([threshold, score, float(np.nextafter(score, 2.0))]))
    batch = SourceBatch.from_instances([sources])
    fused = fuse(batch)
    observed = int(batch.observed().sum())
    contract = HANDOVER[int(fused.contract[0])]
    preliminary = selection_map(contract, float(fused.score[0]), observed >= 2, threshold)
    failures = [
        bool(admission_response(batch, fused.contract, replace(policy, checks=(name,)))[0])
        for name in PRIMARY.checks
    ]
    expected = admission_map(preliminary, *failures)
    decision = decide(sources, threshold=threshold, policy=policy)
    assert (decision.status, decision.contract, decision.response) == expected
    status, response, _ = decide_batch(batch, threshold=threshold, policy=policy).outcome(0)
    assert (status, contract, response) == expected


def test_batched_codes_name_the_check_and_shape_is_kept():
    """Codes index the policy's checks for any leading shape and any candidate."""
    rows = [instance(), instance(**APART), instance(geometry={"quality": None})]
    batch = SourceBatch.from_instances([*rows, *rows]).reshape(2, 3)
    code = admission_response(batch, fuse(batch).contract)
    assert code.tolist() == [[4, 0, 2]] * 2
    assert admissible(batch, 0).tolist() == [[False, True, False]] * 2
    assert [response_of(c) for c in (0, 1, 2, 3, 4)] == [
        Response.NONE, Response.HOLD, Response.FALLBACK, Response.HOLD, Response.CONFIRM,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="contract has shape"):
        admission_response(batch, np.zeros(6, dtype=int))


def test_own_checks_join_the_policy():
    """A registered check withholds with its response, scalar and batched."""

    def no_urgent(x, contract, policy):
        return contract == 4

    register_check("test_no_urgent", Response.FALLBACK)(no_urgent)
    try:
        policy = AdmissionPolicy(checks=("test_no_urgent",))
        urgent = instance(
            **{r: {"opinion": sharp(top=4)} for r in ("language", "geometry", "risk")}
        )
        assert outcome(urgent, policy=policy)[1:] == (Response.FALLBACK, "test_no_urgent")
        assert outcome(instance(), policy=policy)[0] is Status.ADMITTED
        with pytest.raises(ValueError, match="registered already"):
            register_check("test_no_urgent", Response.HOLD)(no_urgent)
    finally:
        del CHECKS["test_no_urgent"], _FAILS["test_no_urgent"]


def test_unknown_policy_values_are_refused():
    """Typos in checks and rules are errors at once."""
    with pytest.raises(ValueError, match="corroboration must be"):
        AdmissionPolicy(corroboration="majority")
    with pytest.raises(ValueError, match="unknown checks"):
        AdmissionPolicy(checks=("risk",))
