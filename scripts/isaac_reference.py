"""Write what the `physx` backend observes in some scenes, for `isaac_smoke.py` to compare with.

python scripts/isaac_reference.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pact_scenes.catalogue import load_catalogue, select_scenes
from pact_scenes.model import build_model
from pact_scenes.rollout import roll_out
from pact_scenes.simulators import open_simulator

REFERENCE = Path(__file__).resolve().parent.parent / "extension/pact.handover/data/reference.jsonl"
SCENES = ("scene_001", "scene_002", "scene_003")
"""One scene of each geometry."""


def rows() -> list[dict[str, object]]:
    """Roll the scenes out and return their observations."""
    with open_simulator("physx") as simulator:
        return [
            observation.as_dict()
            for spec in select_scenes(load_catalogue(), SCENES)
            for observation in roll_out(build_model(spec), simulator, transfer=False).observations
        ]


def main() -> int:
    """Write the file."""
    REFERENCE.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    print(REFERENCE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
