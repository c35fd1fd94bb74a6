"""A user's file over the shipped defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from pact_benchmark.config import load_config
from pact_benchmark.errors import UsageError
from pact_scenes.configuration import ConfigurationError, default_section, load, sections


def write(folder: Path, text: str) -> Path:
    """Write a configuration file."""
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_have_every_section() -> None:
    """Every shipped file is a section, and loading without a file gives the defaults."""
    assert {"run", "scenes", "conditions", "opinions", "evaluation"} <= set(sections())
    assert load() == {name: default_section(name) for name in sections()}


def test_a_value_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    """A user's value replaces the default; all other values stay."""
    loaded = load(write(tmp_path, "[run]\nseed = 5\n"))
    assert loaded["run"]["seed"] == 5
    assert {**loaded, "run": None} == {**load(), "run": None}


def test_whole_number_for_a_decimal(tmp_path: Path) -> None:
    """A whole number is accepted where the default is decimal."""
    text = "[conditions.conditions.clean_control.language]\npeak = 1\n"
    entry = load(write(tmp_path, text))["conditions"]["conditions"]["clean_control"]
    assert isinstance(entry["language"]["peak"], float)


def test_new_condition_takes_the_keys_of_its_siblings(tmp_path: Path) -> None:
    """A new condition may use any key that another condition uses."""
    text = "[conditions.conditions.mine.language]\nlike = 'clean_control'\npeak = 0.5\n"
    loaded = load(write(tmp_path, text))["conditions"]["conditions"]
    assert loaded["mine"] == {"language": {"like": "clean_control", "peak": 0.5}}


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("[run]\n\nsed = 1\n", 3, "did you mean 'seed'"),
        ("[conditions.conditions.mine.language]\npeek = 0.5\n", 2, "did you mean 'peak'"),
        ("[runn]\nseed = 1\n", 1, "did you mean 'run'"),
        ("[run]\nseed = true\n", 2, "must be a int"),
        ("run = 3\n", 1, "must be a table"),
        ("[run.seed]\nx = 1\n", 1, "must be a value"),
    ],
)
def test_mistakes_name_file_line_and_remedy(
    tmp_path: Path, text: str, line: int, expected: str
) -> None:
    """A mistake names the file, the line and what was probably meant."""
    path = write(tmp_path, text)
    with pytest.raises(ConfigurationError, match=expected) as caught:
        load(path)
    assert f"{path}, line {line}:" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("[conditions.conditions.clean_control.risk]\n\npeak = 1.5\n", 3, "outside"),
        ("[conditions.conditions.mine.risk]\nlike = 'clean_control'\n", 1, "language: missing"),
        ("[conditions.conditions.mine.language]\nlike = 'clear'\n", 2, "not defined above"),
        ("[conditions.conditions.mine]\nlanguage = {supports = 'all'}\n", 2, "none of cue"),
        ("[conditions.conditions.mine.language]\nquality = 0.5\n", 1, "supports is missing"),
        ("[opinions.sharing]\nwidth = 0.2\nshare = 2.0\n", 3, r"must be in \[0, 1\]"),
        ("[opinions.risk]\npath_clearance = [1.0, 0.5]\n", 2, "three strictly falling"),
        ("[simulation.rollout]\nphysics_rate = 7\n", 1, "must divide physics_rate"),
        ("[scenes.axes]\n# dim\nlight = [0.5]\n", 3, "pair of numbers"),
    ],
)
def test_mistaken_values_name_file_and_line(
    tmp_path: Path, text: str, line: int, expected: str
) -> None:
    """A value that cannot be used is refused before any work, with the file and the line."""
    path = write(tmp_path, text)
    with pytest.raises(UsageError, match=expected) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}, line {line}:")


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    """A missing, malformed or binary file is named."""
    with pytest.raises(ConfigurationError, match=r"absent\.toml"):
        load(tmp_path / "absent.toml")
    for content in (b"[run\n", b"\xff\xfe"):
        path = tmp_path / "bad.toml"
        path.write_bytes(content)
        with pytest.raises(ConfigurationError, match="not valid TOML"):
            load(path)
