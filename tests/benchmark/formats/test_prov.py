"""Parents from PROV: nothing that is recorded as one origin may count as two."""

from __future__ import annotations

import json

import pytest

from pact_core.prov import entities_in_prov, parents_from_prov

pytest.importorskip("prov")


def document(**relations):
    """Return PROV-JSON with relations given as lists of (first, second); nothing is declared."""
    ends = {
        "wasDerivedFrom": ("generatedEntity", "usedEntity"),
        "used": ("activity", "entity"),
        "wasGeneratedBy": ("entity", "activity"),
        "wasInformedBy": ("informed", "informant"),
        "specializationOf": ("specificEntity", "generalEntity"),
        "alternateOf": ("alternate1", "alternate2"),
        "hadMember": ("collection", "entity"),
        "wasInfluencedBy": ("influencee", "influencer"),
        "wasAssociatedWith": ("activity", "agent"),
        "wasAttributedTo": ("entity", "agent"),
    }
    made = {"prefix": {"ex": "http://example.org/"}}
    for kind, pairs in relations.items():
        made[kind] = {
            f"_:{kind}{i}": {
                f"prov:{end}": f"ex:{name}" for end, name in zip(ends[kind], pair, strict=True)
            }
            for i, pair in enumerate(pairs)
        }
    return made


def parents(outputs=None, granularity="acquisition", **relations):
    """Return parents by local name."""
    wanted = None if outputs is None else [f"ex:{name}" for name in outputs]
    found = parents_from_prov(document(**relations), wanted, granularity=granularity)
    return {
        name.removeprefix("ex:"): {origin.removeprefix("ex:") for origin in origins}
        for name, origins in found.items()
    }


def test_entities_named_only_in_relations_are_outputs():
    """Declarations are optional in PROV."""
    assert parents(wasDerivedFrom=[("a1", "image"), ("a2", "image")]) == {
        "a1": {"image"},
        "a2": {"image"},
    }
    named = document(used=[("ask", "image")], wasGeneratedBy=[("a1", "ask")])
    assert entities_in_prov(named) == ["ex:a1", "ex:image"]


@pytest.mark.parametrize("kind", ["specializationOf", "alternateOf"])
def test_names_of_one_image_are_one_origin(kind):
    """Specialisations and alternates merge, also through each other."""
    found = parents(
        wasDerivedFrom=[("a1", "image"), ("a2", "view"), ("a3", "copy")],
        **{kind: [("view", "image"), ("copy", "view")]},
    )
    assert found == {"a1": {"copy"}, "a2": {"copy"}, "a3": {"copy"}}


def test_a_specialisation_that_is_also_derived_is_no_cycle():
    """A crop that specialises the image it was cut from has the image's origin."""
    found = parents(
        wasDerivedFrom=[("a1", "crop"), ("crop", "image"), ("a2", "image")],
        specializationOf=[("crop", "image")],
    )
    assert found == {"a1": {"crop"}, "a2": {"crop"}}


def test_an_informed_activity_has_its_informants_origins():
    """What was handed over between activities is followed, recorded or not."""
    answers = [("a1", "ask1"), ("a2", "ask2")]
    informed = [("ask1", "crop"), ("ask2", "crop")]
    used = [("crop", "image")]
    hidden = parents(wasGeneratedBy=answers, wasInformedBy=informed, used=used)
    assert hidden == {"a1": {"image"}, "a2": {"image"}}
    recorded = parents(
        wasGeneratedBy=[*answers, ("cut", "crop")], wasInformedBy=informed, used=used
    )
    assert recorded == hidden
    nothing = parents(wasGeneratedBy=answers, wasInformedBy=informed)
    assert nothing == {"a1": {"crop"}, "a2": {"crop"}}
    chain = parents(
        wasGeneratedBy=answers, wasInformedBy=[("ask1", "b"), ("b", "shot"), ("ask2", "shot")]
    )
    assert chain["a1"] == chain["a2"] == {"shot"}


def test_devices_stand_behind_informants_too():
    """An activity that stands for its product has the agents it was associated with."""
    found = parents(
        granularity="device",
        wasGeneratedBy=[("a1", "ask1"), ("a2", "ask2")],
        wasInformedBy=[("ask1", "shot1"), ("ask2", "shot2")],
        wasAssociatedWith=[("shot1", "camera"), ("shot2", "camera")],
    )
    assert found == {"a1": {"camera"}, "a2": {"camera"}}


def test_collections_and_influences_are_followed():
    """Members are behind their collection; an influence is what its ends make of it."""
    assert parents(wasDerivedFrom=[("a1", "set")], hadMember=[("set", "image")]) == {
        "a1": {"image"}
    }
    assert parents(wasInfluencedBy=[("a1", "image")]) == {"a1": {"image"}}
    found = parents(
        granularity="device",
        used=[("ask", "image")],
        wasAttributedTo=[("other", "camera")],
        wasInfluencedBy=[("a1", "ask"), ("image", "camera"), ("ask", "shot"), ("shot", "plate")],
        wasAssociatedWith=[("shot", "camera")],
    )
    assert found == {"a1": {"camera", "plate"}}


def test_an_unused_acquisition_is_no_output():
    """Only what was made from something is an output; without one, that is said."""
    found = parents(
        wasDerivedFrom=[("a1", "image")], wasGeneratedBy=[("spare", "shot"), ("image", "shot")]
    )
    assert found == {"a1": {"image"}}
    assert parents(["spare"], wasGeneratedBy=[("spare", "shot")]) == {"spare": {"spare"}}
    with pytest.raises(ValueError, match="name the outputs"):
        parents(wasGeneratedBy=[("spare", "shot")])


def test_a_cycle_beside_an_origin_stays_shared():
    """An output with an origin and a cycle behind it overlaps with one that has the cycle alone."""
    found = parents(
        wasDerivedFrom=[("a1", "image"), ("a1", "x"), ("a2", "x"), ("x", "y"), ("y", "x")]
    )
    assert found["a1"] == {"image", "x", "y"}
    assert found["a1"] & found["a2"] == {"x", "y"}


@pytest.mark.parametrize(
    "content",
    [
        "{", "[]", "7", '{"a": 1}', '{"entity": 5}', '{"entity": {"nope": {}}}', "[" * 100_000,
        '{"wasDerivedFrom": {"_:d": 7}}', "\xff",
    ],
)  # fmt: skip
def test_what_is_not_prov_is_one_clear_error(tmp_path, content):
    """Files, mappings and other objects give the same kind of error."""
    path = tmp_path / "p.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=r"^not (JSON|a PROV-JSON document) \("):
        parents_from_prov(path)
    with pytest.raises(ValueError, match="not a PROV-JSON document"):
        parents_from_prov(object())


def test_byte_order_mark_and_mapping_are_read_alike(tmp_path):
    """A file with a byte-order mark is the document it holds."""
    made = document(wasDerivedFrom=[("a1", "image")])
    path = tmp_path / "p.json"
    path.write_text("\ufeff" + json.dumps(made), encoding="utf-8")
    assert parents_from_prov(path) == parents_from_prov(made) == {"ex:a1": {"ex:image"}}
