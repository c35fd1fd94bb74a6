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
    register_check,
    response_of,
)
from pact_core.batch import SourceBatch
from pact_core.batched import DecisionBatch, decide_batch
from pact_core.columns import Columns
from pact_core.contracts import HANDOVER, RELEASE_NAMES, ContractSet, Response, Status
from pact_core.decision import SELECTION_STOPS, Change, Decision, Reading, source_faults
from pact_core.direct import fuse_evidence
from pact_core.fusion import RULES, Belief, Fused, fuse, register_rule
from pact_core.options import DEFAULT_OPTIONS, MISSING_CONVENTIONS, FusionOptions
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
from pact_core.scalar import admission_check, check_response, decide, decide_rules
from pact_core.scores import inverse_entropy, posterior_peak, top_two_margin
from pact_core.sources import HANDOVER_ROLES, MINIMUM_OBSERVED, CommandState, Source
from pact_core.stability import (
    Certificate,
    certificate,
    counting_partition,
    near_copy_loss,
    perturbation,
    posterior_bound,
    score_bound,
    selection_holds,
)
from pact_core.votes import TWO_ORIGINS, decide_votes

__all__ = [
    "CHECKS",
    "CORROBORATIONS",
    "DEFAULT_OPTIONS",
    "HANDOVER",
    "HANDOVER_ROLES",
    "MINIMUM_OBSERVED",
    "MISSING_CONVENTIONS",
    "PRIMARY",
    "RELEASE_NAMES",
    "RULES",
    "SELECTION_STOPS",
    "TWO_ORIGINS",
    "AdmissionPolicy",
    "Belief",
    "Certificate",
    "Change",
    "Columns",
    "CommandState",
    "ContractSet",
    "Decision",
    "DecisionBatch",
    "Fused",
    "FusionOptions",
    "Partition",
    "Reading",
    "Response",
    "Source",
    "SourceBatch",
    "Status",
    "admissible",
    "admission_check",
    "admission_response",
    "blocks",
    "bridge",
    "certificate",
    "check_response",
    "components",
    "components_batch",
    "counting_partition",
    "decide",
    "decide_batch",
    "decide_rules",
    "decide_votes",
    "from_blocks",
    "fuse",
    "fuse_evidence",
    "inverse_entropy",
    "is_coarsening",
    "merge",
    "near_copy_loss",
    "perturbation",
    "posterior_bound",
    "posterior_peak",
    "refine",
    "register_check",
    "register_rule",
    "regroup",
    "replicate",
    "response_of",
    "rules",
    "score_bound",
    "selection_holds",
    "source_faults",
    "top_two_margin",
]
