"""What a decision says about itself: values, changes, faults; votes and PROV as ways in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pact_core import (
    HANDOVER,
    AdmissionPolicy,
    CommandState,
    ContractSet,
    Response,
    Source,
    Status,
    decide,
    decide_votes,
    source_faults,
)
from pact_core.prov import parents_from_prov
from tests.core.examples import APART, instance, sharp


def test_score_change_is_enough_and_no_more():
    """Raising the budget to the named value selects, a little less does not."""
    decision = decide(instance(**APART), threshold=0.9)
    assert decision.check == "score_selection"
    assert decision.values == {"score": decision.score, "threshold": 0.9}
    needed = next(c for c in decision.changes if c.what == "total evidence budget").needed
    scale = 8.0 * needed / sum(decision.evidence)
    assert decide(instance(**APART), threshold=0.9, kappa=scale * 1.0001).admitted
    assert not decide(instance(**APART), threshold=0.9, kappa=scale * 0.9999).admitted


def test_corroboration_change_is_enough():
    """The named number of components admits what fewer did not."""
    decision = decide(instance())
    assert decision.check == "component_corroboration"
    assert decision.values["supporting_components"] == 2
    change = decision.smallest_change
    assert (change.current, change.needed) == (2, 3)
    assert decide(instance(**APART)).admitted


def test_cross_role_change_names_the_roles():
    """Where roles are missing the change says which."""
    sources = instance(language={"opinion": sharp(top=3), "quality": 0.1}, **APART)
    decision = decide(sources, policy=AdmissionPolicy(corroboration="cross_role"))
    assert decision.smallest_change.what == "supporting roles"
    assert decision.required_components == 2


def test_risk_change_is_the_smallest_one_and_enough():
    """Lowering the first named value below its threshold passes the check."""
    sources = instance(language={"quality": 0.91}, risk={"available": False})
    decision = decide(sources)
    assert decision.check == "risk_support"
    assert decision.values["quality"] == 0.91
    change = decision.smallest_change
    assert change.what == "language quality below"
    lower = replace(sources[0], quality=change.needed - 1e-9)
    assert decide([lower, *sources[1:]]).check is None


def test_eligibility_and_command_changes():
    """Too few sources and an inconsistent command say what is missing."""
    lonely = decide(instance(geometry={"available": False}, risk={"available": False}))
    assert lonely.values["observed"] == ["language"]
    assert lonely.smallest_change == ("observed valid sources", 1, 2)
    other = CommandState("now", "old", "current")
    stopped = decide(instance(language={"command": other}))
    assert stopped.values == {"missing": False, "mismatch": True, "stale": False}
    assert stopped.smallest_change.what == "command mismatch"


def test_validity_names_every_fault():
    """Each fault of a present source appears with its reason."""
    sources = instance(geometry={"opinion": [0.5] * 5, "quality": None}, risk={"conflict": 3.0})
    decision = decide([*sources, replace(sources[0], role="view")])
    assert decision.check == "source_validity"
    assert decision.values["faults"] == {
        "geometry": ["opinion sums to 2.5", "quality absent"],
        "risk": ["conflict 3 outside [0, 1]"],
    }
    assert "quality absent" in decision.smallest_change.current
    nobody = decide(
        [replace(s, available=False) for s in sources],
    )
    assert nobody.check == "base_eligibility"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"opinion": None}, "opinion absent"),
        ({"opinion": {"N": 1.0}}, "one number for each of N, S, H, T, U"),
        ({"opinion": [0.1] * 4}, "one number for each"),
        ({"opinion": [np.inf, 0, 0, 0, 0]}, "not finite"),
        ({"opinion": [1.2, -0.2, 0, 0, 0]}, "negative"),
        ({"opinion": [0.3] * 5}, "sums to 1.5"),
        ({"quality": "high"}, "quality not a number"),
        ({"conflict": None}, "conflict absent"),
        ({"declared_valid": False}, "declared invalid"),
    ],
)
def test_faults_in_words(change, fault):
    """Every kind of bad input has words, and a sound source has none."""
    sound = instance()[1]
    assert source_faults(sound, HANDOVER.names) == ()
    faults = source_faults(replace(sound, **change), HANDOVER.names)
    assert len(faults) == 1
    assert fault in faults[0]


def test_decision_reads_well():
    """Printing a decision gives one short line."""
    assert repr(decide(instance())) == (
        "Decision(withheld by component_corroboration: contract N, response confirm, score 0.7436)"
    )


def test_sources_need_parents_and_contracts_need_names():
    """Empty parents and bad contract sets are refused when they are made."""
    with pytest.raises(ValueError, match="has no parents"):
        Source("risk", None, None, None, set())
    with pytest.raises(ValueError, match="must be a collection"):
        Source("risk", None, None, None, "frame-12")
    with pytest.raises(ValueError, match="must be a CommandState, not dict"):
        Source("language", None, None, None, {"c"}, command={"status": "current"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least two"):
        ContractSet(("only",))
    with pytest.raises(ValueError, match="distinct"):
        ContractSet(("a", "a"))


def test_four_prompts_on_one_image_are_one_origin():
    """A unanimous vote from one image is confirmed, from two images admitted."""
    one = decide_votes(["ready"] * 4, ["image-1"] * 4)
    assert (one.contract, one.status, one.response) == ("ready", Status.WITHHELD, Response.CONFIRM)
    two = decide_votes(["ready"] * 4, ["image-1", "image-1", "image-2", "image-2"])
    assert (two.contract, two.status) == ("ready", Status.ADMITTED)


def test_votes_within_one_image_must_agree_to_count():
    """Contradicting votes of one origin retain nothing; the other two origins decide."""
    decision = decide_votes(
        ["wait", "go", "go", "go"], ["a", "a", "b", {"c", "d"}], options=["go", "wait"]
    )
    assert decision.contract == "go"
    assert decision.evidence == [16.0, 0.0]
    assert decision.admitted


def test_votes_that_do_not_fit_are_refused():
    """Lengths, options and origins are checked."""
    with pytest.raises(ValueError, match="2 votes but 1 origins"):
        decide_votes(["a", "b"], ["x"])
    with pytest.raises(ValueError, match="not among the options"):
        decide_votes(["a", "b"], ["x", "y"], options=["a", "c"])
    with pytest.raises(ValueError, match="no parents"):
        decide_votes(["a", "b"], ["x", ()])


def prompts_document():
    """Return PROV-JSON of four prompts on two images of one camera; one image is cropped."""
    return {
        "prefix": {"ex": "http://example.org/"},
        "entity": {
            f"ex:{name}": {}
            for name in (
                "image-1",
                "image-2",
                "crop",
                "answer-1",
                "answer-2",
                "answer-3",
                "answer-4",
            )
        },
        "activity": {"ex:ask-3": {}, "ex:shot-1": {}},
        "agent": {"ex:camera": {}},
        "wasDerivedFrom": {
            "_:d1": {"prov:generatedEntity": "ex:answer-1", "prov:usedEntity": "ex:image-1"},
            "_:d2": {"prov:generatedEntity": "ex:answer-2", "prov:usedEntity": "ex:crop"},
            "_:d3": {"prov:generatedEntity": "ex:crop", "prov:usedEntity": "ex:image-1"},
            "_:d4": {"prov:generatedEntity": "ex:answer-4", "prov:usedEntity": "ex:image-2"},
        },
        "used": {"_:u1": {"prov:activity": "ex:ask-3", "prov:entity": "ex:image-2"}},
        "wasGeneratedBy": {
            "_:g1": {"prov:entity": "ex:answer-3", "prov:activity": "ex:ask-3"},
            "_:g2": {"prov:entity": "ex:image-1", "prov:activity": "ex:shot-1"},
        },
        "wasAssociatedWith": {"_:a1": {"prov:activity": "ex:shot-1", "prov:agent": "ex:camera"}},
        "wasAttributedTo": {"_:t1": {"prov:entity": "ex:image-2", "prov:agent": "ex:camera"}},
    }


@pytest.mark.parametrize(
    ("granularity", "distinct", "second"),
    [("device", 1, "ex:camera"), ("acquisition", 2, "ex:image-1"), ("file", 3, "ex:crop")],
)
def test_prov_parents_follow_the_granularity(granularity, distinct, second):
    """Derivations and activities lead back to devices, acquisitions or files."""
    pytest.importorskip("prov")
    parents = parents_from_prov(prompts_document(), granularity=granularity)
    assert sorted(parents) == [f"ex:answer-{i}" for i in (1, 2, 3, 4)]
    assert len(set(parents.values())) == distinct
    assert parents["ex:answer-2"] == {second}


def test_prov_files_cycles_and_unknown_outputs(tmp_path):
    """A PROV-JSON file is read; a cycle is its own origin; an unknown output is refused."""
    pytest.importorskip("prov")
    import json

    document = prompts_document()
    document["wasDerivedFrom"]["_:d5"] = {
        "prov:generatedEntity": "ex:image-1",
        "prov:usedEntity": "ex:crop",
    }
    path = tmp_path / "prov.json"
    path.write_text(json.dumps(document))
    parents = parents_from_prov(path, ["ex:answer-1", "ex:answer-4"])
    assert parents["ex:answer-1"] == {"ex:answer-1", "ex:image-1", "ex:crop"}
    assert parents["ex:answer-4"] == {"ex:image-2"}
    with pytest.raises(ValueError, match="no entities"):
        parents_from_prov(path, ["ex:nothing"])
