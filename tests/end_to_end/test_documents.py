"""Every code block and command of the README and of the documentation runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pact_benchmark.config import load_config
from pact_benchmark.plugins import GROUPS
from tests.conftest import PACT, ROOT

DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""Language, name and text of a fenced block; a block with a name is a file of that name."""

ELSEWHERE = {
    "git clone ": "the network",
    "cd pact": "the fresh clone",
    "make ": "minutes: the whole of it, this suite included",
    ".venv/bin/python -m pip install ": "the network",
    ".venv/bin/python -m pytest -m slow ": "minutes",
    ".venv/bin/python scripts/calibrate.py ": "minutes per iteration",
    "ray start ": "a cluster",
    ".venv/bin/pact sweep --backend ray ": "a cluster",
    "./isaac-sim.sh ": "Isaac Sim",
    "~/isaacsim/": "Isaac Sim",
    "C:\\isaacsim\\": "Isaac Sim",
}
"""What commands of `shell` blocks that begin like this need; all other commands are run."""

FOREIGN = {"text"}


def blocks(document: Path, *languages: str) -> list[tuple[str, str]]:
    """Return name and text of the fenced blocks of these languages in a document."""
    found = BLOCK.findall(document.read_text(encoding="utf-8"))
    return [(name, body) for language, name, body in found if language in languages]


def commands(document: Path, language: str) -> list[str]:
    """Return the commands of a document's `console` or `shell` blocks."""
    text = "\n".join(body for _, body in blocks(document, language))
    if language == "console":
        return re.findall(r"^\$ ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def is_elsewhere(command: str) -> bool:
    """Tell whether a command needs what is not here."""
    return command.startswith(tuple(ELSEWHERE))


@pytest.fixture
def workplace(request: pytest.FixtureRequest, document: Path, tmp_path: Path) -> Path:
    """Return a folder as a reader of the document has it: checkout, finished run, named files."""
    for entry in ROOT.iterdir():
        if entry.name not in ("runs", "build", ".venv", ".git"):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for name, body in blocks(document, "toml", "json"):
        if name:
            (tmp_path / name).write_text(body, encoding="utf-8")
    if "runs/default" in document.read_text(encoding="utf-8"):
        shutil.copytree(request.getfixturevalue("finished_run"), tmp_path / "runs" / "default")
    return tmp_path


def run_in(folder: Path, command: list[str | Path]) -> None:
    """Run a command in a folder with `pact` on the path; it must succeed."""
    result = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": f"{PACT.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert result.returncode == 0, f"{command[-1]}\n{result.stderr}"


each = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


def having(*languages: str) -> pytest.MarkDecorator:
    """Return a mark that runs a test for every document with blocks of these languages."""
    found = [document for document in DOCUMENTS if blocks(document, *languages)]
    return pytest.mark.parametrize("document", found, ids=lambda path: path.name)


@having("python")
def test_python_blocks_run(document: Path, workplace: Path) -> None:
    """The Python blocks of a document run from top to bottom in one session."""
    script = workplace / "blocks.py"
    script.write_text("\n\n".join(body for _, body in blocks(document, "python")), "utf-8")
    run_in(workplace, [sys.executable, script])


@having("console", "shell")
def test_commands_run(document: Path, workplace: Path) -> None:
    """The commands of a document succeed, but for those that need what is not here."""
    here = [c for c in commands(document, "shell") if not is_elsewhere(c)]
    for command in [*commands(document, "console"), *here]:
        run_in(workplace, ["bash", "-euo", "pipefail", "-c", command])


@having("shell")
def test_commands_for_elsewhere_are_well_formed(document: Path) -> None:
    """What is not run names make targets, extras, scripts and options that exist."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    for command in filter(is_elsewhere, commands(document, "shell")):
        words = shlex.split(command, comments=True, posix="\\" not in command)
        if words[0] == "make":
            subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, check=True)
        for name in re.findall(r"\[(\w+)\]", command) if "pip" in words else ():
            assert name in extras, command
        program = next((w for w in words if w.startswith("scripts/") or w.endswith("/pact")), None)
        if program is None:
            continue
        at = words.index(program)
        script = (
            [sys.executable, ROOT / program] if program.endswith(".py") else [PACT, words[at + 1]]
        )
        helped = subprocess.run(
            [*script, "--help"],
            env={**os.environ, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for option in (w.partition("=")[0] for w in words[at:] if w.startswith("--")):
            assert option in helped, f"{command}: {option}"
    for path in re.findall(r"(?:tests|scripts)/[\w/]+\.py", "\n".join(commands(document, "shell"))):
        assert (ROOT / path).is_file(), path


@having("toml")
def test_configurations_are_accepted(document: Path, tmp_path: Path) -> None:
    """A TOML block is a configuration that `--config` takes, or names entry-point groups."""
    code = "".join(body for _, body in blocks(document, "python"))
    for name, body in blocks(document, "toml"):
        content = tomllib.loads(body)
        if name and f'"{name}"' in code:
            continue  # read when the Python blocks run, after what it names is registered
        if "project" in content:
            assert set(content["project"]["entry-points"]) <= set(GROUPS)
            continue
        (tmp_path / "mine.toml").write_text(body, encoding="utf-8")
        load_config(tmp_path / "mine.toml")


@having("json")
def test_instances_are_decided(document: Path, pact) -> None:
    """A JSON block is an instance that `pact decide` takes."""
    for _, body in blocks(document, "json"):
        answer = json.loads(pact("decide", stdin=body, check=True).stdout)
        assert answer["status"] in ("admitted", "withheld")


@each
def test_every_block_is_tested(document: Path) -> None:
    """There is no block in a language that none of these tests looks at."""
    known = {"python", "console", "shell", "toml", "json"} | FOREIGN
    found = BLOCK.findall(document.read_text(encoding="utf-8"))
    assert {language for language, _, _ in found} <= known
    assert document.read_text(encoding="utf-8").count("\n```") == 2 * len(found)


@each
def test_links_lead_somewhere(document: Path) -> None:
    """Relative links of a document lead to files of the repository."""
    for target in re.findall(r"\]\(([^)#\s]+)", document.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (document.parent / target).exists(), target


def test_commands_in_documents_exist(pact) -> None:
    """Every `pact` command that a document names in passing is a command."""
    helped = pact("--help", check=True).stdout
    for document in DOCUMENTS:
        for name in re.findall(r"`pact ([a-z][a-z-]+)", document.read_text(encoding="utf-8")):
            assert re.search(rf"^│ {name}\b", helped, re.MULTILINE), f"{document.name}: pact {name}"


def test_the_map_of_the_code_is_complete() -> None:
    """CONTRIBUTING names every module of the three packages, and what it names is there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([\w/]+\.py)`", text))
    tree = [
        p.as_posix()
        for folder in ("pact_core", "scenes", "benchmark", "tests")
        for p in (ROOT / folder).rglob("*.py")
    ]
    missing = [name for name in names if not any(path.endswith(f"/{name}") for path in tree)]
    assert missing == []
    known = {Path(name).name for name in names}
    unnamed = [
        f"{folder}/{module.name}"
        for folder in ("pact_core", "scenes/pact_scenes", "benchmark/pact_benchmark")
        for module in (ROOT / folder).glob("[!_]*.py")
        if module.name not in known
    ]
    assert unnamed == []
