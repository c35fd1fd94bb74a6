"""The audit of pinned packages: findings fail, silence is said and is not a pass."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from types import ModuleType

import pytest

from tests.conftest import ROOT

SCRIPT = ROOT / "scripts" / "audit.py"
NUMPY = {"name": "numpy", "version": "2.0.0", "vulns": []}
FLAW = {"id": "CVE-2026-1", "fix_versions": ["2.0.1"], "aliases": [], "description": ""}
UNKNOWN = {"name": "pillow", "skip_reason": "not found"}


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("audit", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ([NUMPY], 0, "1 packages audited, 0 known"),
        ([{**NUMPY, "vulns": [FLAW]}, UNKNOWN], 1, "numpy 2.0.0: CVE-2026-1, fixed in 2.0.1"),
        ([{**NUMPY, "vulns": [FLAW]}], 1, "1 known vulnerabilities"),
        ([NUMPY, UNKNOWN], 0, "not judged, unknown to the service: pillow"),
        ([UNKNOWN], 3, "audit not done"),
    ],
)
def test_findings_fail_and_silence_is_no_pass(audit, packages, code, words):
    """A finding is listed and fails; when nothing could be judged, that is what is said."""
    found, lines = audit.judge(json.dumps({"dependencies": packages}), "")
    assert found == code
    assert any(words in line for line in lines)


def test_a_tool_that_fails_is_not_taken_for_a_lost_network(audit):
    """Only errors of the connection count as unreachable."""
    assert audit.judge("", "Traceback\nrequests.exceptions.ReadTimeout: slow")[0] == 3
    assert audit.judge("", "usage: pip-audit\nerror: no such option")[0] == 2


def test_unreachable_service_is_one_line():
    """Without a network the real tool ends with one line and an exit code of its own."""
    closed = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, SCRIPT, "-s", "osv"],
        env={**os.environ, **closed, "NO_PROXY": "", "no_proxy": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 3
    assert done.stdout == "audit not done: the advisory service cannot be reached\n"
    assert done.stderr == ""
