"""Parent sets from W3C PROV records (needs the ``prov`` package).

The parents of an output are the acquisitions it was derived from: entities with no derivation
behind them. A derivation is recorded directly (``wasDerivedFrom``) or by the activity that
generated the output and the entities it used.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any


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
        outputs: Qualified names such as ``"ex:answer-1"``; None = every entity that nothing else
            was made from.
        granularity: What counts as one origin.

    Raises:
        ImportError: The ``prov`` package is not installed.
        ValueError: An output is not an entity of the document.
    """
    level = Granularity(granularity)
    graph = _Derivations(_load(document))
    chosen = graph.leaves() if outputs is None else list(outputs)
    unknown = [name for name in chosen if name not in graph.entities]
    if unknown:
        raise ValueError(f"the document has no entities {unknown}")
    return {name: graph.parents(name, level) for name in chosen}


def _load(document: Any) -> Any:
    try:
        from prov.model import ProvDocument
    except ImportError:
        raise ImportError("reading PROV needs the prov package: pip install prov") from None
    if isinstance(document, Mapping):
        return ProvDocument.deserialize(content=json.dumps(document), format="json")
    if isinstance(document, (str, Path)):
        text = Path(document).read_text(encoding="utf-8")
        return ProvDocument.deserialize(content=text, format="json")
    return document


class _Derivations:
    """Who was made from what, and which agents stand behind it, by qualified name."""

    def __init__(self, document: Any) -> None:
        from prov import model

        flat = document.flattened()
        self.entities = {str(e.identifier) for e in flat.get_records(model.ProvEntity)}
        self.made_from: dict[str, set[str]] = {}
        self.agents: dict[str, set[str]] = {}
        used = _relation(flat, model.ProvUsage)
        generated = _relation(flat, model.ProvGeneration)
        associated = _relation(flat, model.ProvAssociation)
        for entity, origins in _relation(flat, model.ProvDerivation).items():
            self.made_from.setdefault(entity, set()).update(origins)
        for entity, activities in generated.items():
            for activity in activities:
                self.made_from.setdefault(entity, set()).update(used.get(activity, ()))
                self.agents.setdefault(entity, set()).update(associated.get(activity, ()))
        for entity, agents in _relation(flat, model.ProvAttribution).items():
            self.agents.setdefault(entity, set()).update(agents)

    def leaves(self) -> list[str]:
        """Return the entities that nothing else was made from, sorted."""
        inner: set[str] = set().union(*self.made_from.values()) if self.made_from else set()
        return sorted(self.entities - inner)

    def parents(self, name: str, level: Granularity) -> frozenset[str]:
        """Return the origins of an entity at a granularity; its own name when it has none."""
        if level is Granularity.FILE:
            return frozenset(self.made_from.get(name) or {name})
        roots = self._acquisitions(name)
        if level is Granularity.ACQUISITION:
            return roots
        return frozenset().union(*(self.agents.get(root) or {root} for root in roots))

    def _acquisitions(self, name: str) -> frozenset[str]:
        """Walk all derivations back; on a cycle without an origin the cycle is the origin."""
        seen: set[str] = set()
        roots: set[str] = set()
        stack = [name]
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            origins: Collection[str] = self.made_from.get(current, ())
            stack.extend(origins)
            if not origins:
                roots.add(current)
        return frozenset(roots or seen)


def _relation(document: Any, kind: Any) -> dict[str, set[str]]:
    """Return a binary PROV relation as first argument -> set of second arguments."""
    pairs: dict[str, set[str]] = {}
    for record in document.get_records(kind):
        first, second = (value for _, value in record.formal_attributes[:2])
        if first is not None and second is not None:
            pairs.setdefault(str(first), set()).add(str(second))
    return pairs
