"""Ask an advisory service about every pinned package.

Exit codes: 0 nothing known, 1 known vulnerabilities, 2 the tool failed, 3 nothing could be judged
because the service did not answer.

    python scripts/audit.py [options of pip-audit, such as -s osv]
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
CLEAN, VULNERABLE, BROKEN, UNREACHABLE = 0, 1, 2, 3
_NO_ANSWER = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ProxyError", "SSLError")


def judge(output: str, errors: str) -> tuple[int, list[str]]:
    """Return the exit code and the lines to print for what `pip-audit --format json` said."""
    try:
        packages: list[dict[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        last = (errors.strip().splitlines() or ["no output"])[-1]
        if any(name in last for name in _NO_ANSWER):
            return UNREACHABLE, ["audit not done: the advisory service cannot be reached"]
        return BROKEN, [f"audit not done: {last}"]
    skipped = sorted({item["name"] for item in packages if "skip_reason" in item})
    judged = {item["name"]: item for item in packages if "skip_reason" not in item}
    if not judged:
        # What stands in for the service on a closed network answers that nothing exists.
        return UNREACHABLE, ["audit not done: no advisory service answers for any of the packages"]
    lines = [
        f"{name} {item['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or '–'}"
        for name, item in sorted(judged.items())
        for flaw in item["vulns"]
    ]
    code = VULNERABLE if lines else CLEAN
    lines.append(f"{len(judged)} packages audited, {len(lines)} known vulnerabilities")
    if skipped:
        lines.append(f"not judged, unknown to the service: {', '.join(skipped)}")
    return code, lines


def main(options: list[str]) -> int:
    """Audit the pinned packages and print what was found."""
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--format=json"]
    command += ["--progress-spinner=off", *(f"--requirement={ROOT / name}" for name in LOCKS)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    code, lines = judge(done.stdout, done.stderr)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
