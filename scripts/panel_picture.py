"""Draw the panel of the Isaac Sim extension without Isaac Sim, from a real rollout.

python scripts/panel_picture.py [--backend=physx] [--output=docs/images/isaac-panel.png]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The extensions are not part of the installed distribution: Kit loads them from their folders.
sys.path[:0] = [str(ROOT / "extension" / name) for name in ("pact.handover", "pact.handover.ui")]


def main(arguments: list[str] | None = None) -> int:
    """Roll a scene out, decide at every step and draw the panel at one time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--backend", default="auto", help="kinematic, physx or auto")
    parser.add_argument("--scene", default="scene_001")
    parser.add_argument("--condition", default="overconfident_contradictory_sources")
    parser.add_argument("--label", default="N", help="commanded contract")
    parser.add_argument("--threshold", type=float, default=0.3)
    parser.add_argument("--time", type=float, default=None, help="time of the picture [s]")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/images/isaac-panel.png")
    parser.add_argument("--dpi", type=int, default=110)
    options = parser.parse_args(arguments)

    from pact_handover.explain import explain
    from pact_handover.options import Options
    from pact_handover.session import HandoverSession
    from pact_handover_ui.controller import tail
    from pact_handover_ui.preferences import Preferences
    from pact_handover_ui.still import save_still
    from pact_handover_ui.viewmodel import Explanation, panel_of
    from pact_scenes.simulators import open_simulator

    chosen = Options(
        scene=options.scene,
        condition=options.condition,
        label=options.label,
        threshold=options.threshold,
    )
    with open_simulator(options.backend) as simulator:
        session = HandoverSession(chosen, lambda _change: None, backend=simulator.name)
        session.play_on(simulator, until=options.time)
    record = session.latest
    if record is None:
        raise RuntimeError("the rollout made no decision")
    history = tail(session.history, Preferences().timeline_length)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    panel = panel_of(record, history, Explanation(*explain(record)))
    print(save_still(panel, options.output, dpi=options.dpi))
    return 0


if __name__ == "__main__":
    sys.exit(main())
