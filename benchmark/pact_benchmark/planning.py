"""Plan a catalogue in several processes."""

from __future__ import annotations

from collections.abc import Sequence

from joblib import delayed

from pact_benchmark.console import Console
from pact_benchmark.errors import PactError
from pact_benchmark.workers import deaf_to_interrupts, worker_pool
from pact_scenes.catalogue import SceneSpec
from pact_scenes.plan import ScenePlan
from pact_scenes.planning import PlanningError, plan_scene

__all__ = ["plan_all"]


def plan_all(specs: Sequence[SceneSpec], jobs: int, console: Console) -> dict[str, ScenePlan]:
    """Plan scenes; the result does not depend on the number of processes.

    Raises:
        PactError: A scene cannot be solved; the message names it.
    """
    plans: dict[str, ScenePlan] = {}
    with console.progress("plans", len(specs)) as bar:
        with deaf_to_interrupts():
            work = worker_pool(jobs, return_as="generator")(delayed(plan_scene)(s) for s in specs)
        try:
            for plan in work:
                plans[plan.scene_id] = plan
                bar.advance()
        except PlanningError as error:
            raise PactError(f"{error}; change its ranges in the `scenes` configuration") from error
    return plans
