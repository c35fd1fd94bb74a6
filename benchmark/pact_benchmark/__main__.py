"""Starts the command line, with one thread per process for linear algebra.

The matrices here are small: more threads make them slower, and `--jobs` is what uses the cores.
"""

from __future__ import annotations

import os
import sys

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Run `pact`; the libraries read these variables once, when they are first imported."""
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    try:
        from pact_benchmark.cli import main as command_line
    except KeyboardInterrupt:
        print("pact: interrupted", file=sys.stderr)
        sys.exit(130)
    command_line()


if __name__ == "__main__":
    main()
