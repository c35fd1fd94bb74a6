"""The mathematics of PACT: provenance partition, evidence, fusion, selection, typed admission."""

from __future__ import annotations

from pact_core import rules
from pact_core.admission import (
    CHECKS,
    CORROBORATIONS,
    PRIMARY,
    AdmissionPolicy,
    admissible,
    admission_response,
    response_of,
)
from pact_core.batch import SourceBatch
from pact_core.columns import Columns
from pact_core.contracts import HANDOVER, RELEASE_NAMES, ContractSet, Response, Status
from pact_core.decision import MINIMUM_OBSERVED, SELECTION_STOPS, DecisionBatch, decide_batch
from pact_core.fusion import (
    MISSING_CONVENTIONS,
    RULES,
    Belief,
    Fused,
    FusionOptions,
    fuse,
    register_rule,
)
from pact_core.provenance import (
    Partition,
    blocks,
    bridge,
    components,
    components_batch,
    from_blocks,
    is_coarsening,
    merge,
    refine,
    regroup,
    replicate,
)
from pact_core.scores import inverse_entropy, posterior_peak, top_two_margin
from pact_core.sources import HANDOVER_ROLES, CommandState, Source

__all__ = [
    "AdmissionPolicy",
    "Belief",
    "CHECKS",
    "CORROBORATIONS",
    "Columns",
    "CommandState",
    "ContractSet",
    "DecisionBatch",
    "Fused",
    "FusionOptions",
    "HANDOVER",
    "HANDOVER_ROLES",
    "MINIMUM_OBSERVED",
    "MISSING_CONVENTIONS",
    "PRIMARY",
    "Partition",
    "RELEASE_NAMES",
    "RULES",
    "Response",
    "SELECTION_STOPS",
    "Source",
    "SourceBatch",
    "Status",
    "admissible",
    "admission_response",
    "blocks",
    "bridge",
    "components",
    "components_batch",
    "decide_batch",
    "from_blocks",
    "fuse",
    "inverse_entropy",
    "is_coarsening",
    "merge",
    "posterior_peak",
    "refine",
    "register_rule",
    "regroup",
    "replicate",
    "response_of",
    "rules",
    "top_two_margin",
]
