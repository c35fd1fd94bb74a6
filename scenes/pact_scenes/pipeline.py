"""One physics step: from an observation to every rule's decision.

The same synthesis and the same decision functions make the benchmark's rows, so a step that falls
on one of the benchmark's decisions gives that row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pact_core import PRIMARY, AdmissionPolicy, CommandState, Decision, Source, decide_rules
from pact_scenes.conditions import ROLES, Condition, load_conditions
from pact_scenes.instances import InstanceTable
from pact_scenes.observation import Observation
from pact_scenes.opinions import OpinionParams, Synthesiser

__all__ = ["PARTITIONS", "StepPipeline", "StepResult", "partition_parents", "sources_of"]

PARTITIONS = ("reference", "singleton", "merged")
"""Named partitions: the recorded parents, every source alone, all sources together."""

Parents = Mapping[str, Sequence[str]]

_COLUMNS = (
    "scene_id",
    "geometry",
    "step",
    "hand_gripper_distance",
    "path_clearance",
    "separation_margin",
    "closing_speed",
    "occlusion",
)


@dataclass(frozen=True, slots=True)
class StepResult:
    """The decisions of one step.

    Attributes:
        instances: The synthesised sources, a table of one row (with the recorded parents).
        sources: The sources as decided on, with the parents of the chosen partition.
        decisions: One decision per rule, in the order of the rules.
    """

    instances: InstanceTable
    sources: tuple[Source, ...]
    decisions: tuple[Decision, ...]


class StepPipeline:
    """Synthesises the sources of one observation and decides with several rules.

    Args:
        rules: Names in `pact_core.RULES`.
        kappa: Evidence scale.
        threshold: Selection threshold; None selects every eligible candidate.
        policy: Typed admission.
        seed: Root of all draws.
        conditions: The conditions to choose from; the shipped ones by default.
        params: Shared parameters of the synthesis; the shipped ones by default.
    """

    def __init__(
        self,
        *,
        seed: int,
        rules: Sequence[str] = ("pact",),
        kappa: float = 8.0,
        threshold: float | None = None,
        policy: AdmissionPolicy = PRIMARY,
        conditions: Sequence[Condition] | None = None,
        params: OpinionParams | None = None,
    ) -> None:
        chosen = load_conditions() if conditions is None else conditions
        shared = OpinionParams.default() if params is None else params
        self.rules = tuple(rules)
        self.kappa, self.threshold, self.policy = kappa, threshold, policy
        self._synthesisers = {c.name: Synthesiser([c], shared, seed) for c in chosen}

    def decide(
        self,
        observation: Observation,
        condition: str,
        label: str,
        *,
        previous: Observation | None = None,
        partition: str | Parents = "reference",
    ) -> StepResult:
        """Decide on one observation.

        Args:
            observation: What was observed; its `step` is part of the identity of the draws.
            condition: Name of the source condition.
            label: Commanded contract.
            previous: The previous scene's observation at this step, for stale context; None: the
                scene stands for itself.
            partition: One of `PARTITIONS`, or parents per role.

        Raises:
            KeyError: The condition is unknown.
        """
        now = _table(observation)
        earlier = now if previous is None else _table(previous)
        instances = self._synthesisers[condition].instances(now, (label,), earlier)
        sources = sources_of(instances, partition)
        decisions = decide_rules(
            sources, self.rules, kappa=self.kappa, threshold=self.threshold, policy=self.policy
        )
        return StepResult(instances, sources, tuple(decisions))


def _table(observation: Observation) -> dict[str, npt.NDArray[Any]]:
    """Return the columns that the synthesis reads, one row."""
    return {name: np.array([getattr(observation, name)]) for name in _COLUMNS}


@lru_cache(maxsize=8)
def _named_parents(partition: str) -> dict[str, tuple[str, ...]] | None:
    if partition == "reference":
        return None
    if partition == "singleton":
        return {role: (f"{role}:own",) for role in ROLES}
    if partition == "merged":
        return dict.fromkeys(ROLES, ("merged",))
    raise ValueError(f"no partition {partition!r}: use {', '.join(PARTITIONS)} or parents per role")


def partition_parents(partition: str | Parents) -> Parents | None:
    """Return the parents per role that a partition stands for; None: the recorded ones.

    Raises:
        ValueError: The name is unknown.
    """
    return _named_parents(partition) if isinstance(partition, str) else partition


def sources_of(
    instances: InstanceTable, partition: str | Parents = "reference", row: int = 0
) -> tuple[Source, ...]:
    """Return one row's sources as the scalar decision takes them."""
    chosen = partition_parents(partition)
    recorded = instances.parents()[row] if chosen is None else None
    commands = instances.commands()
    command = CommandState(
        **{name.removeprefix("command_"): values[row] for name, values in commands.items()}
    )
    opinion = instances.opinion[row].tolist()
    quality, conflict = instances.quality[row].tolist(), instances.conflict[row].tolist()
    states = instances.conditions[int(instances.condition[row])].sources
    return tuple(
        Source(
            role=role,
            opinion=opinion[j] if states[j].available else None,
            quality=_known(quality[j]),
            conflict=_known(conflict[j]),
            parents=tuple(recorded[j] if recorded is not None else (chosen or {})[role]),
            available=states[j].available,
            declared_valid=states[j].valid or not states[j].available,
            command=command if role == "language" else None,
        )
        for j, role in enumerate(ROLES)
    )


def _known(value: float) -> float | None:
    return value if value == value else None
