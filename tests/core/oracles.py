"""Slow, independent implementations that the tests compare with."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components


def pairwise_partition(parents):
    """Return labels by testing every pair of parent sets and SciPy's connected components."""
    n = len(parents)
    overlap = np.array([[bool(set(a) & set(b)) for b in parents] for a in parents])
    _, group = connected_components(csr_matrix(overlap), directed=False)
    return tuple(min(j for j in range(n) if group[j] == group[i]) for i in range(n))


def cumulative(evidence, partition):
    """Return the sum over components of the coordinatewise minimum."""
    total = np.zeros(evidence.shape[1])
    for label in set(partition):
        members = [i for i, other in enumerate(partition) if other == label]
        total += np.min([evidence[i] for i in members], axis=0)
    return total


def dempster_sequence(evidence):
    """Compose Dirichlet opinions one after the other by the printed formula."""
    contracts = evidence.shape[1]
    norm = contracts + evidence.sum(axis=1)
    belief, frame = evidence[0] / norm[0], contracts / norm[0]
    for e, z in zip(evidence[1:], norm[1:], strict=True):
        other, free = e / z, contracts / z
        clash = sum(
            belief[k] * other[j] for k in range(contracts) for j in range(contracts) if j != k
        )
        belief = (belief * other + belief * free + other * frame) / (1.0 - clash)
        frame = frame * free / (1.0 - clash)
    return belief + frame / contracts, 1.0 - frame


class Lattice:
    """Belief functions over all subsets of a small frame, as dictionaries."""

    def __init__(self, contracts):
        """Build the subsets of a frame with K contracts."""
        self.frame = frozenset(range(contracts))
        self.subsets = [
            frozenset(c) for r in range(contracts + 1) for c in combinations(range(contracts), r)
        ]

    def masses(self, opinion, reliability):
        """Return the discounted opinion: singletons and the frame."""
        mass = dict.fromkeys(self.subsets, 0.0)
        for k, p in enumerate(opinion):
            mass[frozenset({k})] = reliability * p
        mass[self.frame] = 1.0 - reliability
        return mass

    def log_weights(self, mass):
        """Return the logarithms of the conjunctive weights of all proper subsets."""
        q = {a: sum(m for b, m in mass.items() if a <= b) for a in self.subsets}
        return {
            a: -sum((-1) ** len(b - a) * np.log(q[b]) for b in self.subsets if a <= b)
            for a in self.subsets
            if a != self.frame
        }

    def masses_of_weights(self, log_weights):
        """Return the masses that conjunctive weights stand for, by Moebius inversion."""
        q = {b: np.exp(sum(w for a, w in log_weights.items() if not b <= a)) for b in self.subsets}
        return {
            a: sum((-1) ** len(b - a) * q[b] for b in self.subsets if a <= b) for a in self.subsets
        }

    def pignistic(self, mass):
        """Return the pignistic probabilities and the frame's mass, both after normalisation."""
        rest = 1.0 - mass[frozenset()]
        bets = [
            sum(m / len(a) for a, m in mass.items() if k in a) / rest for k in sorted(self.frame)
        ]
        return np.array(bets), mass[self.frame] / rest

    def cautious(self, masses, partition):
        """Take the minimum of weights inside components and add their logarithms across."""
        logs = [self.log_weights(mass) for mass in masses]
        total = dict.fromkeys(logs[0], 0.0)
        for label in set(partition):
            members = [log for log, other in zip(logs, partition, strict=True) if other == label]
            for a in total:
                total[a] += min(log[a] for log in members)
        return self.pignistic(self.masses_of_weights(total))
