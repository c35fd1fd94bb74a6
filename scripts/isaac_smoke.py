"""Check an Isaac Sim installation in about three minutes; run it with Isaac Sim's Python.

    ./python.sh scripts/isaac_smoke.py [--scene=scene_001]

Prints one line per capability, PASS or FAIL with what was measured, and ends with 0 when all pass
and with 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys

from _isaac_app import finish, start


def main(arguments: list[str] | None = None) -> None:
    """Start Isaac Sim, run the checks and end the process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scene", default="scene_001", help="scene to check with")
    options = parser.parse_known_args(arguments)[0]
    app = start(enable=("pact.handover",))
    from pact_handover.smoke import run_checks

    results = run_checks(options.scene)
    for result in results:
        print(result.line(), flush=True)
    failed = sum(not result.passed for result in results)
    print(f"{len(results) - failed} passed, {failed} failed", file=sys.stderr)
    finish(app, 1 if failed else 0)


if __name__ == "__main__":
    main()
