"""Peers on the same work: belief-function libraries and a torch composition.

Every peer's answer is compared with ours before it is timed, so that the work is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from pact_benchmark.errors import PactError
from pact_benchmark.perf import call_times, median, median_time, random_batch
from pact_core import HANDOVER, FusionOptions, fuse

_RELIABILITY = (0.8, 0.6, 0.7)
_OPINIONS = (
    (0.60, 0.15, 0.10, 0.10, 0.05),
    (0.30, 0.40, 0.10, 0.15, 0.05),
    (0.25, 0.25, 0.30, 0.10, 0.10),
)
_KAPPA = 8.0


def peer_ratios() -> dict[str, float | None]:
    """Return how many times longer each peer takes than our own function; None = not installed."""
    conjunctive = _ours("hierarchy_cautious")
    cautious = _ours("global_cautious")
    return {
        "peer_pyds_cautious": _ratio("pyds", _pyds(cautious=True), cautious),
        "peer_pyds_conjunctive": _ratio("pyds", _pyds(cautious=False), conjunctive),
        "peer_evtools_cautious": _ratio("evtools", _evtools(cautious=True), cautious),
        "peer_evtools_conjunctive": _ratio("evtools", _evtools(cautious=False), conjunctive),
        "peer_torch_sequential_dirichlet": _torch_ratio(),
    }


def _ours(rule: str) -> Callable[[], Sequence[float]]:
    """Return our scalar rule on the example, every source in a component of its own."""
    from pact_core import Source
    from pact_core.scalar import read
    from pact_core.scalar_rules import SCALAR_RULES, Case

    sources = [
        Source("view", p, rho, 0.0, {f"own-{i}"})
        for i, (p, rho) in enumerate(zip(_OPINIONS, _RELIABILITY, strict=True))
    ]
    function = SCALAR_RULES[rule]

    def fuse_one() -> Sequence[float]:
        readings = [read(source, HANDOVER.names) for source in sources]
        return function(Case(sources, readings, (0, 1, 2), _KAPPA, FusionOptions())).posterior

    return fuse_one


def _ratio(
    module: str, peer: Callable[[], Sequence[float]], ours: Callable[[], Sequence[float]]
) -> float | None:
    if find_spec(module) is None:
        return None
    if not np.allclose(peer(), ours(), atol=1e-9):
        raise PactError(f"{module} and pact_core disagree on the example; the ratio means nothing")
    return median(call_times(peer, 1, 50)) / median(call_times(ours, 1, 500))


def _masses() -> list[dict[frozenset[str], float]]:
    """Return the example's mass functions: discounted opinions, the rest on the frame."""
    frame = frozenset(HANDOVER)
    return [
        {frozenset({k}): rho * v for k, v in zip(HANDOVER, p, strict=True)} | {frame: 1.0 - rho}
        for p, rho in zip(_OPINIONS, _RELIABILITY, strict=True)
    ]


def _separable(mass: dict[frozenset[str], float]) -> dict[frozenset[str], float]:
    """Return the same weights on singletons with none on the empty set.

    The weight of the empty set cancels in the normalised result; pyds cannot represent it.
    """
    frame = frozenset(HANDOVER)
    odds = {a: m / mass[frame] for a, m in mass.items() if a != frame}
    rest = float(np.prod([1.0 / (1.0 + r) for r in odds.values()]))
    scaled = {a: r * rest for a, r in odds.items()} | {frame: rest}
    return scaled | {frozenset(): 1.0 - sum(scaled.values())}


def _pyds(*, cautious: bool) -> Callable[[], Sequence[float]]:
    def run() -> Sequence[float]:
        from pyds import MassFunction

        first, *others = masses = [MassFunction(_separable(mass)) for mass in _masses()]
        if cautious:  # its combine_cautious, with the rounding of weights just above one cut off
            weights = [mass.weight_function() for mass in masses]
            theta = first.frame()
            smallest = {a: min(1.0, *(w[a] for w in weights)) for a in weights[0]}
            others = [MassFunction({theta: w, a: 1.0 - w}) for a, w in smallest.items()]
            first = MassFunction({theta: 1.0})
        for other in others:
            first = first.combine_conjunctive(other, normalization=False)
        bets = first.normalize().pignistic()
        return [bets[frozenset({k})] for k in HANDOVER]

    return run


def _evtools(*, cautious: bool) -> Callable[[], Sequence[float]]:
    def run() -> Sequence[float]:
        from evtools import combinations
        from evtools.dsvector import DSVector

        frame = list(HANDOVER)
        combine = combinations.cautious if cautious else combinations.dempster
        first, *others = (DSVector(frame, mass) for mass in _masses())
        for other in others:
            first = combine(first, other)
        result: list[float] = first.to_betp().tolist()
        return result

    return run


def torch_sequential_dirichlet(evidence: Any) -> tuple[Any, Any]:
    """Compose Dirichlet opinions one after the other, the way the formula is printed.

    Args:
        evidence: torch tensor, shape [n, J, K].

    Returns:
        Posterior [n, K] and score [n].
    """
    contracts = evidence.shape[-1]
    norm = contracts + evidence.sum(-1, keepdim=True)
    beliefs, frames = evidence / norm, contracts / norm[..., 0]
    belief, frame = beliefs[:, 0], frames[:, 0]
    for j in range(1, evidence.shape[1]):
        other, free = beliefs[:, j], frames[:, j]
        clash = belief.sum(-1) * other.sum(-1) - (belief * other).sum(-1)
        agree = belief * other + belief * free[:, None] + other * frame[:, None]
        belief = agree / (1.0 - clash)[:, None]
        frame = frame * free / (1.0 - clash)
    return belief + frame[:, None] / contracts, 1.0 - frame


def _torch_ratio(instances: int = 100_000) -> float | None:
    if find_spec("torch") is None:
        return None
    import torch

    batch = random_batch(instances)
    invalid = batch.declared_invalid[..., None]
    opinion = torch.from_numpy(np.where(invalid, 1.0 / len(HANDOVER), batch.opinion))
    rho = torch.from_numpy(batch.quality * (1.0 - batch.conflict) * ~batch.unavailable)

    def peer() -> Any:
        return torch_sequential_dirichlet(_KAPPA * rho[..., None] * opinion)

    ours = fuse(batch, "nested_dirichlet", FusionOptions(kappa=_KAPPA))
    kept = ours.native_eligible
    if not np.allclose(peer()[0].numpy()[kept], ours.posterior[kept], atol=1e-9):
        raise PactError("torch and pact_core disagree; the ratio means nothing")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        theirs = median_time(peer, 7)
    finally:
        torch.set_num_threads(threads)
    return theirs / median_time(lambda: fuse(batch, "nested_dirichlet"), 7)
