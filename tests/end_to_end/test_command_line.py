"""The command line as people expect it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.markup import render

from pact_benchmark.cli import app
from pact_benchmark.diagnosis import EXTRAS
from pact_benchmark.formats.transfer import export_recording
from pact_benchmark.store import RunFolder
from pact_scenes.installation import _needs, checkout, install_command
from tests.end_to_end.test_security import INSTANCE

COMMANDS = [
    "run",
    "scenes",
    "simulate",
    "generate",
    "evaluate",
    "sweep",
    "learned",
    "hrc",
    "decide",
    "perf",
    "report",
    "compare",
    "status",
    "verify",
    "doctor",
    "import",
    "export",
    "set-transformer",
]


def test_version_and_help(pact) -> None:
    """`pact --version` prints the version, `pact --help` lists every command."""
    assert re.match(r"pact \d+\.\d+", pact("--version", check=True).stdout)
    text = pact("--help", check=True).stdout
    for command in COMMANDS:
        assert re.search(rf"^│ {command}\b", text, re.MULTILINE), command


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(pact, command: str) -> None:
    """Every command's help says what it does and gives an example."""
    text = pact(command, "--help", check=True).stdout
    if command != "scenes":
        assert "xample" in text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["evaluat"], "'evaluate'"),
        (["compare", "--outptu", "x"], "--output"),
        (["scenes", "lst"], "pact scenes --help"),
        (["sweep", "--points", "0"], "--points"),
        (["decide", "--corroboration", "unanimty"], "unanimity"),
        (["scenes", "preview"], "Missing argument"),
    ],
)
def test_a_mistake_in_the_command_line_is_one_line(
    pact, arguments: list[str], expected: str
) -> None:
    """A mistyped command, option or value ends with code 2 and one line that helps."""
    result = pact(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("pact: ")
    assert result.stderr.count("\n") == 1
    assert expected in result.stderr


def test_not_a_run_folder(pact, tmp_path: Path) -> None:
    """A folder that is no run gives one line that says how to make one, and code 2."""
    result = pact("evaluate", "--output", tmp_path)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "pact run" in result.stderr


def test_debug_shows_the_traceback(pact, tmp_path: Path) -> None:
    """`--debug` shows where a user error came from."""
    result = pact("--debug", "evaluate", "--output", tmp_path)
    assert "Traceback" in result.stderr


def test_unknown_study_lists_the_known(pact, run_copy: Path) -> None:
    """A study that does not exist is answered with those that do."""
    result = pact("evaluate", "copis", "--output", run_copy)
    assert result.returncode == 2
    assert "copies" in result.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[run]\nsed = 1\n", "line 2: unknown key 'sed' in table [run]; did you mean 'seed'?"),
        ("\n[opinion]\n", "line 2: unknown key 'opinion'"),
        ("[run]\nseed = 'x'\n", "line 2: run.seed must be a int"),
        ("[run]\nseed = -1\n", "line 2: run.seed = -1 is negative"),
        ("[evaluation]\n[evaluation.seeds]\nmain = -5\n", "line 3: evaluation.seeds.main = -5"),
        (
            "[admission]\nchecks = ['comand_consistency']\n",
            "line 2: unknown name 'comand_consistency' in admission.checks;"
            " did you mean 'command_consistency'?",
        ),
        ("[admission]\ncorroboration = 'unanimty'\n", "did you mean 'unanimity'?"),
        (
            "[run]\nseed = 1\n[evaluation]\nextra_rules = ['pact_singelton']\n",
            "line 4: unknown name 'pact_singelton' in evaluation.extra_rules;"
            " did you mean 'pact_singleton'?",
        ),
        ("[evaluation]\nconcentrations = []\n", "line 2: evaluation.concentrations is empty"),
        (
            "[evaluation]\nfold_concentrations = [true, 4, 4, 8, 8]\n",
            "line 2: evaluation.fold_concentrations = [True, 4, 4, 8, 8]: give positive numbers",
        ),
        (
            "[evaluation]\nconcentrations = [4, 0]\n",
            "line 2: evaluation.concentrations = [4, 0]: give positive numbers",
        ),
        ("[sweep]\nrules = ['pakt']\n", "line 2: unknown name 'pakt' in sweep.rules"),
        ("[run\n", "not valid TOML"),
        ("[run]\nseed = " + "[" * 50_000 + "]" * 50_000 + "\n", "nested too deeply"),
    ],
)
def test_configuration_mistakes_are_named(pact, tmp_path: Path, text: str, expected: str) -> None:
    """A mistake in a configuration names the file, the line and the nearest valid key."""
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    result = pact("run", "--config", path, "--output", tmp_path / "run")
    assert result.returncode == 2
    assert expected in result.stderr
    assert str(path) in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", [["run"], ["simulate", "1"]], ids=lambda command: command[0])
@pytest.mark.parametrize("wrong", [["--backend", "physics"], ["--seed", "-1"]])
def test_a_wrong_request_creates_nothing(
    pact, tmp_path: Path, command: list[str], wrong: list[str]
) -> None:
    """What exits with code 2 leaves no folder behind."""
    result = pact(*command, *wrong, "--output", tmp_path / "run")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


JSON_CALLS: dict[str, list[str]] = {
    "status": ["status", "small"],
    "verify": ["verify", "finished"],
    "doctor": ["doctor"],
    "report": ["report", "small"],
    "evaluate": ["evaluate", "design", "-o", "small"],
    "compare": ["compare", "small"],
    "export": ["export", "exported", "-o", "small"],
    "import": ["import", "recording", "-o", "imported"],
    "sweep": ["sweep", "--points", "1", "--jobs", "1", "-o", "small"],
    "simulate": ["simulate", "1", "2", "--backend", "kinematic", "-o", "new"],
    "generate": ["generate", "-o", "small"],
    "run": ["run", "--backend", "kinematic", "-o", "finished"],
    "learned": ["learned", "--evidence", "evidence.jsonl", "--draws", "2", "-o", "learned"],
    "hrc": ["hrc", "--schema"],
    "set-transformer": ["set-transformer", "--quick", "-o", "small"],
    "decide": ["decide", "instance.json"],
    "perf": ["perf", "--instances", "1000"],
    "scenes list": ["scenes", "list"],
    "scenes plan": ["scenes", "plan", "1", "--jobs", "1"],
    "scenes author": ["scenes", "author", "1", "-o", "stages"],
    "scenes validate": ["scenes", "validate"],
    "scenes preview": ["scenes", "preview", "1", "--width", "160"],
    "scenes sheet": ["scenes", "sheet", "--width", "80"],
    "scenes record": ["scenes", "record", "1", "--backend", "kinematic", "-o", "stages"],
}
"""A quick call of every command that takes --format, in a folder with the files it needs."""


@pytest.fixture
def json_place(tmp_path: Path, small_run: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder with a small run, a finished one where it is asked for, and inputs."""
    if "finished" in JSON_CALLS[request.node.callspec.params["command"]]:
        shutil.copytree(request.getfixturevalue("finished_run"), tmp_path / "finished")
    run = RunFolder.open(small_run)
    if request.node.callspec.params["command"] == "import":
        export_recording(run, tmp_path / "recording")
    (tmp_path / "instance.json").write_text(INSTANCE, encoding="utf-8")
    rows = [{"record_id": i, "y": i % 2, "evidences": [[i % 2, 1], [i % 3, 2]]} for i in range(40)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "evidence.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("command", JSON_CALLS)
def test_json_results_are_json(pact, json_place: Path, command: str) -> None:
    """`--format json` prints one JSON document on standard output, nothing else."""
    result = pact(*JSON_CALLS[command], "--format", "json", cwd=json_place)
    if result.returncode == 2 and "pip install" in result.stderr:
        pytest.skip(result.stderr)
    assert result.returncode == 0, result.stderr
    json.loads(result.stdout)


def test_every_format_option_is_tried() -> None:
    """A command that takes --format has a call above."""

    def names(command: Any, path: str) -> Iterator[str]:
        for name, child in getattr(command, "commands", {}).items():
            yield from names(child, f"{path} {name}".strip())
        if any(parameter.name == "format" for parameter in command.params):
            yield path

    assert set(names(typer.main.get_command(app), "")) == set(JSON_CALLS)


def test_quiet_is_quiet(pact, run_copy: Path) -> None:
    """`--quiet` leaves standard error empty."""
    result = pact("evaluate", "design", "--output", run_copy, "--quiet", check=True)
    assert result.stderr == ""


def test_extras_are_installed_from_the_checkout(root: Path) -> None:
    """The command for a missing extra names this Python, the checkout and a known extra."""
    known = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    for extra, _, _ in EXTRAS:
        assert extra in known["optional-dependencies"]
        command = shlex.split(install_command(extra))
        assert command[:5] == [sys.executable, "-m", "pip", "install", "-e"]
        assert command[5] == f"{checkout()}[{extra}]"
    assert "ray>=2.40" in " ".join(_needs("ray"))


def test_doctor_names_the_remedy(pact) -> None:
    """`pact doctor` says for whatever is missing how to get it."""
    findings = json.loads(pact("doctor", "--format", "json", check=True).stdout)
    assert {"python", "numpy", "extra sim", "backend kinematic"} <= {f["name"] for f in findings}
    for finding in findings:
        if finding["name"].startswith("extra") and not finding["ok"]:
            assert finding["remedy"].startswith(f"{sys.executable} -m pip install ")


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def test_every_command_takes_quiet_and_format() -> None:
    """Every command takes `--quiet` and `--format`, and no help text loses a word to markup."""
    found = dict(_commands(typer.main.get_command(app)))
    assert {"doctor", "scenes list", "report"} <= set(found)
    for name, command in found.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"--quiet", "--format"} <= options, name
        for parameter in command.params:
            text = getattr(parameter, "help", None) or ""
            assert render(text).plain == text, f"{name}: {text}"


def test_report_as_json(pact, run_copy: Path) -> None:
    """`pact report --format json` names the page and leaves standard error empty."""
    result = pact("report", run_copy, "--format", "json", check=True)
    assert Path(json.loads(result.stdout)["report"]).is_file()
    assert result.stderr == ""


def test_verify_shows_progress_unless_quiet(pact, finished_run: Path) -> None:
    """`pact verify` counts the files it checks, and is silent when asked to be."""
    assert "files checked" in pact("verify", finished_run, check=True).stderr
    assert pact("verify", finished_run, "--quiet", check=True).stderr == ""


@pytest.mark.parametrize(
    "environment", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "cp1252"}]
)
def test_help_and_results_in_any_encoding(pact, finished_run: Path, environment) -> None:
    """Streams that cannot take every character get escapes; JSON stays JSON."""
    assert "pact doctor" in pact("--help", check=True, env=environment).stdout
    assert pact("status", finished_run, check=True, env=environment).stdout
    machine = pact("evaluate", "--list", "--format", "json", check=True, env=environment).stdout
    titles = [study["title"] for study in json.loads(machine)]
    assert "Matched partition × corroboration" in titles


def _keys(value: object) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for item in value.values() for key in _keys(item))]
    return [key for item in value for key in _keys(item)] if isinstance(value, list) else []


def test_json_keys_are_names(pact, finished_run: Path) -> None:
    """Keys of JSON results have no spaces."""
    for arguments in (["compare"], ["status"], ["verify"], ["run", "--backend", "kinematic"]):
        folder = ["--output", finished_run, "--quiet", "--format", "json"]
        found = json.loads(pact(*arguments, *folder, check=True).stdout)
        assert [key for key in _keys(found) if " " in key] == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pact evaluate copi", "copies"),
        ("pact simulate side", "side_by_side"),
        ("pact run --backend kin", "kinematic"),
        ("pact sweep --backend l", "local"),
        ("pact decide --rule hier", "hierarchy_cautious"),
        ("pact scenes preview scene_01", "scene_013"),
    ],
)
def test_shells_complete_names(pact, words: str, expected: str) -> None:
    """Studies, scenes, backends and rules are completed by the shell."""
    asked = {
        "_PACT_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    assert expected in pact(env=asked).stdout.split()
