"""The audit of pinned packages: findings fail, silence is said and is not a pass."""

from __future__ import annotations

import importlib.util
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
        ([NUMPY, UNKNOWN], 0, "not judged, the service does not answer for: pillow"),
        ([UNKNOWN], 3, "audit not done"),
    ],
)
def test_findings_fail_and_silence_is_no_pass(audit, packages, code, words):
    """A finding is listed and fails; when nothing could be judged, that is what is said."""
    found, lines = audit.judge(packages)
    assert found == code
    assert any(words in line for line in lines)


def test_a_tool_that_fails_is_not_taken_for_a_lost_network(audit):
    """Only errors of the connection count as unreachable."""
    assert audit.failure("Traceback\nrequests.exceptions.ReadTimeout: slow")[0] == 3
    assert audit.failure("usage: pip-audit\nerror: no such option")[0] == 2


def test_a_project_page_judges_the_newest_release_only(audit):
    """What was skipped is judged by its project's page where the pinned release is the newest."""
    withdrawn = {"id": "CVE-2026-2", "fixed_in": [], "withdrawn": "2026-10-01T00:00:00Z"}
    page = {
        "info": {"version": "13.0.0"},
        "vulnerabilities": [{"id": "CVE-2026-1", "fixed_in": ["13.0.1"]}, withdrawn],
    }
    judged = audit.asked_by_project(UNKNOWN, {"pillow": "13.0.0"}, lambda _: page)
    assert audit.judge([judged])[1][0] == "pillow 13.0.0: CVE-2026-1, fixed in 13.0.1"
    assert audit.asked_by_project(UNKNOWN, {"pillow": "12.0.0"}, lambda _: page) is UNKNOWN
    assert audit.asked_by_project(UNKNOWN, {"pillow": "13.0.0"}, lambda _: None) is UNKNOWN
    for other in ([], {"message": "none"}, {"info": None}, {**page, "vulnerabilities": None}):
        found = audit.asked_by_project(UNKNOWN, {"pillow": "13.0.0"}, lambda _, o=other: o)
        assert found is UNKNOWN
    assert audit.asked_by_project(NUMPY, {"numpy": "2.0.0"}, lambda _: page) is NUMPY


def test_every_pinned_package_is_asked_for(audit):
    """The pins read from the lock files are those that pip-audit is given."""
    pinned = audit.pinned_versions(*(ROOT / name for name in audit.LOCKS))
    lines = {
        line
        for name in audit.LOCKS
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
        if line and not line.startswith(("#", " "))
    }
    assert {f"{name}=={version}" for name, version in pinned.items()} == lines


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
