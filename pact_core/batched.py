"""Selection and admission of a whole batch."""

from __future__ import annotations

from dataclasses import dataclass

from pact_core._array import Array, asarray, total
from pact_core.admission import CHECKS, PRIMARY, AdmissionPolicy, admission_block
from pact_core.batch import SourceBatch
from pact_core.columns import Columns, by_block
from pact_core.contracts import Response, Status
from pact_core.decision import SELECTION_STOPS
from pact_core.fusion import (
    Fused,
    check_options,
    check_per_instance,
    fuse_block,
    rule_named,
    widen,
)
from pact_core.options import DEFAULT_OPTIONS, FusionOptions
from pact_core.sources import MINIMUM_OBSERVED


@dataclass(frozen=True, slots=True, eq=False)
class DecisionBatch:
    """Decisions of a batch.

    Attributes:
        fused: What the rule said.
        base_eligible: At least two observed valid sources, boolean, shape [...].
        selected: Eligible, with a finite posterior and a finite score at or above the threshold,
            boolean, shape [...].
        admission: Code of ``admission_response`` whether selected or not, int8, shape [...].
        stop: 0 admitted, otherwise 1 + the index in ``stops`` of what withheld it, int8 [...].
        policy: The admission policy.
    """

    fused: Fused
    base_eligible: Array
    selected: Array
    admission: Array
    stop: Array
    policy: AdmissionPolicy

    @property
    def admitted(self) -> Array:
        """Whether the candidate may be executed, boolean, shape [...]."""
        return self.stop == 0

    @property
    def stops(self) -> tuple[str, ...]:
        """Names that ``stop`` counts: the two selection conditions, then the checks."""
        return SELECTION_STOPS + self.policy.checks

    @property
    def responses(self) -> tuple[Response, ...]:
        """Typed response for every value of ``stop``."""
        held = (Response.HOLD,) * len(SELECTION_STOPS)
        return (Response.NONE, *held, *(CHECKS[name] for name in self.policy.checks))

    def outcome(self, index: int | tuple[int, ...]) -> tuple[Status, Response, str | None]:
        """Return status, response and the name of what stopped one instance."""
        stop = int(self.stop[index])
        status = Status.WITHHELD if stop else Status.ADMITTED
        return status, self.responses[stop], self.stops[stop - 1] if stop else None


def decide_batch(
    batch: SourceBatch,
    *,
    rule: str = "pact",
    options: FusionOptions = DEFAULT_OPTIONS,
    threshold: float | Array | None = None,
    policy: AdmissionPolicy = PRIMARY,
) -> DecisionBatch:
    """Fuse, select and admit every instance.

    Args:
        batch: Sources, leading shape [...].
        rule: Name in ``RULES``.
        options: Fusion options.
        threshold: tau, a number or shape [...]; None selects every eligible instance.
        policy: Typed admission.
    """
    function = rule_named(rule)
    check_options(batch, options)
    if isinstance(threshold, (list, tuple)):
        threshold = asarray(threshold)
    check_per_instance("threshold", threshold, batch)

    def kernel(x: Columns) -> tuple[Array | None, ...]:
        xp = x.xp
        result = fuse_block(x, function, options)
        eligible = x.observed_count >= MINIMUM_OBSERVED
        selected = eligible & xp.isfinite(result.score + total(result.posterior))
        if threshold is not None:
            selected = selected & (result.score >= x.per_instance(threshold))
        code = admission_block(x, result.contract, policy)
        checked = xp.where(code > 0, code + len(SELECTION_STOPS), code)
        withheld = xp.where(eligible, xp.full_like(code, 2), xp.full_like(code, 1))
        stop = xp.where(selected, checked, withheld)
        return (*result, eligible, selected, code, stop)

    results = by_block(batch, kernel)
    fused = Fused(*widen(results[:6]))
    eligible, selected, admission, stop = results[6:]
    return DecisionBatch(fused, eligible, selected, admission, stop, policy)
