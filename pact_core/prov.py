"""Parent sets from W3C PROV records (needs the ``prov`` package).

The parents of an output are the acquisitions it was derived from: entities with no derivation
behind them. These relations are followed:

- ``wasDerivedFrom``, and ``hadMember`` from a collection to its members;
- ``wasGeneratedBy`` and ``used``: an output comes from what its activity used;
- ``wasInformedBy``: an activity uses what its informant generated; an informant without a recorded
  product stands for that product itself;
- ``specializationOf``, ``alternateOf`` and ``mentionOf``: names of one thing, never two origins;
- ``wasInfluencedBy``, as the one of these that its ends call for.

Where the records leave a choice, the coarser origin is taken: it can only lower the evidence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pact_core.provenance import components

Pair = tuple[str, str]
Relation = dict[str, set[str]]
"""A binary PROV relation: first argument -> second arguments."""


class Granularity(StrEnum):
    """What counts as one origin.

    ``DEVICE``: the agents behind the acquisitions, so that two shots of one camera share a
    parent. ``ACQUISITION``: the acquisitions themselves. ``FILE``: what the output was made from
    directly, so that two crops of one image count as two.
    """

    DEVICE = "device"
    ACQUISITION = "acquisition"
    FILE = "file"


def parents_from_prov(
    document: Any,
    outputs: Iterable[str] | None = None,
    *,
    granularity: Granularity | str = Granularity.ACQUISITION,
) -> dict[str, frozenset[str]]:
    """Return the parent set of every output.

    Args:
        document: A ``prov.model.ProvDocument``, a PROV-JSON mapping, or the path of such a file.
        outputs: Qualified names such as ``"ex:answer-1"``; None = every entity that was made from
            something and that nothing else was made from.
        granularity: What counts as one origin.

    Raises:
        ImportError: The ``prov`` package is not installed.
        OSError: The file cannot be read.
        ValueError: It is no PROV document, an output is not an entity of it, or it has no output.
    """
    level = Granularity(granularity)
    graph = _Derivations(read_prov(document))
    chosen = graph.leaves() if outputs is None else list(outputs)
    if outputs is None and not chosen:
        raise ValueError("the document derives no output from anything; name the outputs")
    unknown = [name for name in chosen if name not in graph.entities]
    if unknown:
        raise ValueError(f"the document has no entities {unknown}")
    return {name: graph.parents(name, level) for name in chosen}


def entities_in_prov(document: Any) -> list[str]:
    """Return the names of all entities, declared or only named in a relation, sorted.

    Takes and raises what ``parents_from_prov`` does.
    """
    return sorted(_Derivations(read_prov(document)).entities)


def read_prov(document: Any) -> Any:
    """Return a ``prov.model.ProvDocument`` as it is, from a PROV-JSON mapping or from a file.

    Raises:
        ImportError: The ``prov`` package is not installed.
        OSError: The file cannot be read.
        ValueError: It is no PROV document.
    """
    try:
        from prov.model import ProvDocument
    except ImportError:
        raise ImportError("reading PROV needs the prov package: pip install prov") from None
    if isinstance(document, ProvDocument):
        return document
    if isinstance(document, (str, Path)):
        document = _json(Path(document).read_bytes())
    if not isinstance(document, Mapping):
        raise ValueError(f"not a PROV-JSON document (an object, not {type(document).__name__})")
    try:
        return ProvDocument.deserialize(content=json.dumps(document), format="json")
    except Exception as error:  # the prov package raises whatever a foreign document leads it into
        raise ValueError(f"not a PROV-JSON document ({error or type(error).__name__})") from error


def _json(content: bytes) -> Any:
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from error


class _Derivations:
    """Who was made from what, and which agents stand behind it, by qualified name.

    Attributes:
        entities: Every entity, declared or only named in a relation.
        made_from: Entity -> what it was made from, the names of one thing taken together. An
            activity stands for a product of its own that has no record.
        agents: Entity or activity -> the agents behind it.
    """

    def __init__(self, document: Any) -> None:
        from prov import model

        flat = document.flattened()
        derived = _pairs(flat, model.ProvDerivation) + _pairs(flat, model.ProvMembership)
        used, generated = _pairs(flat, model.ProvUsage), _pairs(flat, model.ProvGeneration)
        informed = _pairs(flat, model.ProvCommunication)
        attributed = _pairs(flat, model.ProvAttribution)
        associated = _pairs(flat, model.ProvAssociation)
        same = _pairs(flat, model.ProvSpecialization) + _pairs(flat, model.ProvAlternate)
        activities = _named(flat, model.ProvActivity).union(
            _firsts(used), _seconds(generated), *informed, _firsts(associated)
        )
        agents = _named(flat, model.ProvAgent).union(_seconds(attributed), _seconds(associated))
        for pair in _pairs(flat, model.ProvInfluence):
            acts = pair[0] in activities
            if pair[1] in agents:
                (associated if acts else attributed).append(pair)
            elif pair[1] in activities:
                (informed if acts else generated).append(pair)
            else:
                (used if acts else derived).append(pair)
        self.entities = _named(flat, model.ProvEntity).union(
            *same, *derived, _firsts(generated), _seconds(used), _firsts(attributed)
        )
        self._name = _representatives(same)
        self.made_from = self._relation(derived)
        self._add_activities(
            self._relation(used), self._relation(generated), self._relation(informed)
        )
        self.agents = self._relation(attributed + associated)
        for entity, makers in self._relation(generated).items():
            behind = (self.agents.get(activity, ()) for activity in makers)
            self.agents.setdefault(entity, set()).update(*behind)
        made_into = _inverse(self.made_from)
        origins = self.entities.union(made_into) - self.made_from.keys()
        self._grounded = _reachable(origins, made_into)

    def _relation(self, pairs: Iterable[Pair]) -> Relation:
        """Return pairs as a relation between representatives, none of them related to itself."""
        relation: Relation = {}
        for names in pairs:
            first, second = (self._name.get(name, name) for name in names)
            if first != second:
                relation.setdefault(first, set()).add(second)
        return relation

    def _add_activities(self, used: Relation, generated: Relation, informed: Relation) -> None:
        """Derive what activities generated from what they used and were informed of."""
        products = _inverse(generated)
        informants = set().union(*informed.values()) if informed else set()
        takers = {**generated, **{name: {name} for name in informants - products.keys()}}
        for taker, activities in takers.items():
            for activity in activities:
                handed = (products.get(i) or {i} for i in informed.get(activity, ()))
                origins = used.get(activity, set()).union(*handed) - {taker}
                if origins:
                    self.made_from.setdefault(taker, set()).update(origins)

    def leaves(self) -> list[str]:
        """Return the entities that were made from something and nothing was made from, sorted."""
        inner = set().union(*self.made_from.values()) if self.made_from else set()
        ends = self.made_from.keys() - inner
        return sorted(name for name in self.entities if self._name.get(name, name) in ends)

    def parents(self, name: str, level: Granularity) -> frozenset[str]:
        """Return the origins of an entity at a granularity; its own name when it has none."""
        name = self._name.get(name, name)
        if level is Granularity.FILE:
            return frozenset(self.made_from.get(name) or {name})
        roots = self._acquisitions(name)
        if level is Granularity.ACQUISITION:
            return roots
        return frozenset().union(*(self.agents.get(root) or {root} for root in roots))

    def _acquisitions(self, name: str) -> frozenset[str]:
        """Walk all derivations back; what leads only into a cycle is an origin with it."""
        seen = _reachable({name}, self.made_from)
        return frozenset(n for n in seen if n not in self.made_from or n not in self._grounded)


def _pairs(document: Any, kind: Any) -> list[Pair]:
    """Return the first two arguments of every record of a PROV relation that has both."""
    ends = (tuple(v for _, v in r.formal_attributes[:2]) for r in document.get_records(kind))
    return [(str(first), str(second)) for first, second in ends if None not in (first, second)]


def _named(document: Any, kind: Any) -> set[str]:
    return {str(element.identifier) for element in document.get_records(kind)}


def _firsts(pairs: Iterable[Pair]) -> set[str]:
    return {first for first, _ in pairs}


def _seconds(pairs: Iterable[Pair]) -> set[str]:
    return {second for _, second in pairs}


def _inverse(relation: Relation) -> Relation:
    inverse: Relation = {}
    for first, seconds in relation.items():
        for second in seconds:
            inverse.setdefault(second, set()).add(first)
    return inverse


def _representatives(pairs: Sequence[Pair]) -> dict[str, str]:
    """Return for names that mean one thing, directly or through others, the first of them."""
    groups: dict[int, set[str]] = {}
    for pair, label in zip(pairs, components(pairs), strict=True):
        groups.setdefault(label, set()).update(pair)
    return {name: min(group) for group in groups.values() for name in group}


def _reachable(starts: Iterable[str], relation: Relation) -> set[str]:
    """Return the starts and all that the relation leads to from them."""
    seen: set[str] = set()
    stack = list(starts)
    while stack:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            stack.extend(relation.get(current, ()))
    return seen
