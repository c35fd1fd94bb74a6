"""Short names and labels of checkpoints, tasks and requirements."""

from __future__ import annotations

from collections.abc import Iterable

SHORT = {"qwen3vl_8b": "q8b", "qwen3vl_32b": "q32b"}
CHECKPOINT_LABELS = {
    "qwen3vl_8b": "Qwen3-VL-8B",
    "qwen3vl_32b": "Qwen3-VL-32B",
    "internvl3_2b": "InternVL3-2B",
    "internvl3_8b": "InternVL3-8B",
    "llava_onevision_0_5b": "LLaVA-OneVision-0.5B",
    "llava_onevision_7b": "LLaVA-OneVision-7B",
    "smolvlm2_0_5b": "SmolVLM2-0.5B",
    "smolvlm2_2_2b": "SmolVLM2-2.2B",
}
TASK_LABELS = {
    "S6759": "Power Cable",
    "S7025": "Organizing box",
    "S7414": "Paper to-go box",
    "S7788": "iced cup",
    "S8940": "Airtight Container lid",
    "S8975": "100 cm Hotel Towel",
}
HOTEL_TOWEL = "S8975"
LLAVA = "LLaVA-OneVision"
SIMULATED = "simulated"


def short(checkpoint: str) -> str:
    """Return the name of a checkpoint in statistic ids."""
    return SHORT.get(checkpoint, checkpoint)


def label(checkpoint: str) -> str:
    """Return the name of a checkpoint in tables and figures."""
    return CHECKPOINT_LABELS.get(checkpoint, checkpoint)


def task_label(task: str) -> str:
    """Return the name of a task in tables and figures."""
    return TASK_LABELS.get(task, task)


def in_order(checkpoints: Iterable[str]) -> list[str]:
    """Return checkpoints in the order of the published tables, others after them by name."""
    known = list(CHECKPOINT_LABELS)
    position = {name: index for index, name in enumerate(known)}
    return sorted(set(checkpoints), key=lambda name: (position.get(name, len(known)), name))
