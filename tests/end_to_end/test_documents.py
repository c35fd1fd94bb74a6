"""Every code block and command of the README and of the documentation runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PACT, ROOT

DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = re.compile(
    r"^(#|make |git clone |cd |pip install |\.venv/bin/|\S*isaac|\S*python\.(sh|bat)|ray )"
)
"""Commands that need another machine or a fresh checkout: only in `shell` blocks."""


def blocks(document: Path, language: str) -> list[str]:
    """Return the fenced blocks of one language in a document."""
    found = BLOCK.findall(document.read_text(encoding="utf-8"))
    return [body for name, body in found if name == language]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run(document: Path, tmp_path: Path) -> None:
    """The Python blocks of a document run from top to bottom in one session."""
    code = "\n\n".join(blocks(document, "python"))
    if not code:
        pytest.skip("no Python block")
    script = tmp_path / "blocks.py"
    script.write_text(code, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_console_blocks_run(document: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The commands of a document's console blocks succeed beside a finished run."""
    text = "\n".join(blocks(document, "console"))
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    if not commands:
        pytest.skip("no console block")
    shutil.copytree(request.getfixturevalue("finished_run"), tmp_path / "runs" / "default")
    environment = {**os.environ, "PATH": f"{PACT.parent}{os.pathsep}{os.environ['PATH']}"}
    for command in commands:
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert result.returncode == 0, f"{command}\n{result.stderr}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_shell_blocks_are_for_elsewhere(document: Path) -> None:
    """`shell` blocks, which are not run, hold only commands that need another machine."""
    for body in blocks(document, "shell"):
        for line in body.splitlines():
            assert not line.strip() or ELSEWHERE.match(line), f"run this one: {line}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    """Relative links of a document lead to files of the repository."""
    for target in re.findall(r"\]\(([^)#\s]+)", document.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (document.parent / target).exists(), target


def test_options_in_documents_exist() -> None:
    """Every `pact` command that a document names in passing is a command."""
    helped = subprocess.run([PACT, "--help"], capture_output=True, text=True, check=True).stdout
    for document in DOCUMENTS:
        for name in re.findall(r"`pact ([a-z][a-z-]+)", document.read_text(encoding="utf-8")):
            assert re.search(rf"^│ {name}\b", helped, re.MULTILINE), f"{document.name}: pact {name}"


def test_shell_splitting_is_plain() -> None:
    """Commands of the README need no shell beyond pipes and redirection."""
    for body in blocks(ROOT / "README.md", "console"):
        for command in re.findall(r"^\$ (.*)$", body, re.MULTILINE):
            assert shlex.split(command)
