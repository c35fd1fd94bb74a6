"""The shortest start: votes and where they come from in, a decision out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pact_core.admission import AdmissionPolicy
from pact_core.contracts import ContractSet
from pact_core.decision import Decision
from pact_core.scalar import decide
from pact_core.sources import Source

TWO_ORIGINS = AdmissionPolicy(
    corroboration="component_count", required_components=2, minimum_supporters=1
)
"""Whatever wins needs the support of two separate components."""


def decide_votes(
    votes: Sequence[str],
    origins: Sequence[str | Collection[str]],
    *,
    options: Sequence[str] | None = None,
    kappa: float = 8.0,
    threshold: float | None = None,
    policy: AdmissionPolicy = TWO_ORIGINS,
) -> Decision:
    """Decide what a majority count would decide, counting shared origins once.

    Args:
        votes: One answer per voter.
        origins: What each vote was made from, for example the image: a name, or several.
        options: The possible answers in tie-breaking order; None = the votes' own, in order of
            appearance.
        kappa: Evidence of one vote.
        threshold: Selection threshold on the score; None selects every eligible instance.
        policy: By default the winner must be supported by two components.

    Raises:
        ValueError: There is no vote, lengths differ, an origin is no name, or a vote is not among
            the options.
    """
    if not votes:
        raise ValueError("there are no votes to decide on")
    if len(votes) != len(origins):
        raise ValueError(f"{len(votes)} votes but {len(origins)} origins")
    nameless = [origin for origin in origins if not isinstance(origin, Collection)]
    if nameless:
        raise ValueError(f"origins must be names or collections of names, not {nameless[0]!r}")
    names = tuple(dict.fromkeys(votes if options is None else options))
    unknown = [vote for vote in votes if vote not in names]
    if unknown:
        raise ValueError(f"votes {unknown} are not among the options {names}")
    if len(names) == 1:
        names = (*names, f"not {names[0]}")
    sources = [
        Source(
            role="vote",
            opinion=[1.0 if name == vote else 0.0 for name in names],
            quality=1.0,
            conflict=0.0,
            parents=(origin,) if isinstance(origin, str) else origin,
        )
        for vote, origin in zip(votes, origins, strict=True)
    ]
    return decide(
        sources, kappa=kappa, threshold=threshold, policy=policy, contracts=ContractSet(names)
    )
