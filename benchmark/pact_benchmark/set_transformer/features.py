"""The 19 numbers that describe one source to the Set Transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pact_core import SourceBatch

FEATURES = (
    "p_N",
    "p_S",
    "p_H",
    "p_T",
    "p_U",
    "quality",
    "conflict",
    "missing",
    "stale",
    "invalid_format",
    "missing_conflict",
    "current",
    "stale_carries_previous",
    "hash_differs",
    "is_language",
    "is_geometry",
    "is_risk",
    "command_group",
    "scene_group",
)


def source_features(sources: SourceBatch) -> NDArray[np.float32]:
    """Describe every source of every instance.

    An absent number (the opinion of an unavailable source, an absent quality or conflict) is
    0; its indicator says that it is absent. The two lineage groups are the component of the
    language source and any other component.

    Args:
        sources: A batch of shape [n] with the roles language, geometry and risk.

    Returns:
        Features in the order of `FEATURES`, shape [n, 3, 19].
    """
    count, roles = sources.quality.shape
    missing = sources.unavailable
    language = np.array([role == "language" for role in sources.roles])
    stale = sources.command_stale[:, None] & language & ~missing
    current = ~missing & ~stale & ~(sources.command_missing[:, None] & language)
    differs = sources.command_mismatch[:, None] & language & ~missing
    invalid = sources.declared_invalid & ~missing
    no_conflict = np.isnan(sources.conflict) & ~missing
    present = ~missing
    with_command = sources.component == sources.component[:, language.argmax(), None]
    indicators = (missing, stale, invalid, no_conflict, current, stale, differs)
    features = np.zeros((count, roles, len(FEATURES)), dtype=np.float32)
    features[..., :5] = np.nan_to_num(np.where(present[..., None], sources.opinion, 0.0))
    features[..., 5] = np.nan_to_num(np.where(present, sources.quality, 0.0))
    features[..., 6] = np.nan_to_num(np.where(present, sources.conflict, 0.0))
    for column, indicator in enumerate(indicators, start=7):
        features[..., column] = indicator
    features[..., 14:17] = np.eye(3, dtype=np.float32)
    features[..., 17] = with_command
    features[..., 18] = ~with_command
    return features
