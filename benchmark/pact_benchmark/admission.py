"""The admission policy of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pact_benchmark.errors import UsageError
from pact_core import AdmissionPolicy


def admission_policy(section: Mapping[str, Any]) -> AdmissionPolicy:
    """Return the policy that the configuration's section `admission` describes.

    Raises:
        UsageError: if it names a check or a corroboration rule that does not exist.
    """
    choices = dict(section) | {"checks": tuple(section["checks"])}
    try:
        return AdmissionPolicy(**choices)
    except (TypeError, ValueError) as error:
        raise UsageError(f"section [admission] of the configuration: {error}") from error
