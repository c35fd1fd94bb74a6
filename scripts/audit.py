"""Ask an advisory service about every pinned package.

Exit codes: 0 nothing known, 1 known vulnerabilities, 2 the tool failed, 3 nothing could be judged
because the service did not answer.

    python scripts/audit.py [options of pip-audit, such as -s osv]

A mirror of the package index may answer for projects and not for single releases. Packages that
`pip-audit` finds nothing about are therefore asked for once more by project: what the index knows
of the newest release counts where that is the pinned one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests
from pip._internal.models.index import PyPI

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
CLEAN, VULNERABLE, BROKEN, UNREACHABLE = 0, 1, 2, 3
_NO_ANSWER = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ProxyError", "SSLError")
_SECONDS = 30

Package = dict[str, Any]
"""What `pip-audit --format json` says of a package: `name` and either `version` and `vulns`, or
`skip_reason`."""


def judge(packages: list[Package]) -> tuple[int, list[str]]:
    """Return the exit code and the lines to print for what is known of the packages."""
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
        lines.append(f"not judged, the service does not answer for: {', '.join(skipped)}")
    return code, lines


def failure(errors: str) -> tuple[int, list[str]]:
    """Return the exit code and the line to print for a `pip-audit` that gave no answer."""
    last = (errors.strip().splitlines() or ["no output"])[-1]
    if any(name in last for name in _NO_ANSWER):
        return UNREACHABLE, ["audit not done: the advisory service cannot be reached"]
    return BROKEN, [f"audit not done: {last}"]


def pinned_versions(*locks: Path) -> dict[str, str]:
    """Return the pinned version of every package in some lock files."""
    text = "\n".join(lock.read_text(encoding="utf-8") for lock in locks)
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


def project_page(name: str) -> Any:
    """Return the index's page of a project, or none where it does not answer."""
    try:
        answer = requests.get(f"{PyPI.pypi_url}/{name}/json", timeout=_SECONDS)
        return answer.json() if answer.ok else None
    except (requests.RequestException, ValueError):
        return None


def asked_by_project(
    item: Package, pinned: dict[str, str], page_of: Callable[[str], Any] = project_page
) -> Package:
    """Return a package that was not judged as its project's page judges it, if it can."""
    if "skip_reason" not in item or item["name"] not in pinned:
        return item
    name, version = item["name"], pinned[item["name"]]
    try:
        page = page_of(name)
        newest, known = page["info"]["version"], list(page["vulnerabilities"])
    except (KeyError, TypeError):
        return item
    if newest != version:
        return item
    flaws = [
        {"id": flaw["id"], "fix_versions": flaw["fixed_in"]}
        for flaw in known
        if flaw.get("withdrawn") is None
    ]
    return {"name": name, "version": version, "vulns": flaws}


def main(options: list[str]) -> int:
    """Audit the pinned packages and print what was found."""
    locks = [ROOT / name for name in LOCKS]
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--format=json"]
    command += ["--progress-spinner=off", *(f"--requirement={lock}" for lock in locks)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    try:
        packages: list[Package] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        code, lines = failure(done.stderr)
    else:
        pinned = pinned_versions(*locks)
        with ThreadPoolExecutor(8) as pool:
            packages = list(pool.map(lambda item: asked_by_project(item, pinned), packages))
        code, lines = judge(packages)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
