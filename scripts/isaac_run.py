"""Roll the benchmark's scenes out in Isaac Sim, without a window; run it with Isaac Sim's Python.

    ./python.sh scripts/isaac_run.py --output=runs/isaac [--scenes=scene_001,face_to_face]

The output goes on outside Isaac Sim with `pact import runs/isaac --output runs/from-isaac` and
`pact evaluate`. A run that was interrupted continues; a scene that fails is noted and the others
go on. Exit codes: 0 all scenes are there, 1 some failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from _isaac_app import finish, start


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; what is unknown belongs to Kit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, required=True, help="folder of the run")
    parser.add_argument("--scenes", default="", help="ids, numbers or geometries, with commas")
    parser.add_argument("--seed", type=int, default=None, help="seed of the opinions")
    parser.add_argument("--rules", default="pact", help="rules to decide with, with commas")
    parser.add_argument("--kappa", type=float, default=8.0, help="evidence scale")
    parser.add_argument("--threads", type=int, default=2, help="processor threads for Kit")
    return parser.parse_known_args(arguments)[0]


def main(arguments: list[str] | None = None) -> None:
    """Start Isaac Sim, roll out, write, and end the process."""
    options = parse(arguments)
    app = start(threads=options.threads)
    from pact_handover.benchmark_run import run_benchmark
    from pact_scenes.catalogue import UnknownSceneError, load_catalogue, select_scenes
    from pact_scenes.configuration import default_section
    from pact_scenes.simulators import open_simulator

    try:
        wanted = [name.strip() for name in options.scenes.split(",") if name.strip()]
        scenes = select_scenes(load_catalogue(), wanted)
        with open_simulator("isaac") as simulator:
            summary = run_benchmark(
                options.output,
                scenes,
                simulator,
                seed=default_section("run")["seed"] if options.seed is None else options.seed,
                rules=options.rules.split(","),
                kappa=options.kappa,
                say=lambda text: print(text, file=sys.stderr, flush=True),
            )
    except UnknownSceneError as error:
        print(error, file=sys.stderr)
        finish(app, 2)
    except KeyboardInterrupt:
        print("Interrupted; the same command goes on where it stopped.", file=sys.stderr)
        finish(app, 130)
    print(
        f"{len(summary.done)} scenes rolled out, {len(summary.resumed)} there already, "
        f"{len(summary.failed)} failed; {summary.rows} rows in {options.output}"
    )
    finish(app, summary.exit_code)


if __name__ == "__main__":
    main()
