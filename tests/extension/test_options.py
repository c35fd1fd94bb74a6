"""Settings: defaults, checks, and agreement of code, extension.toml and documents."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from pact_handover.options import OptionError, Options
from pact_handover_ui.preferences import Preferences
from pact_scenes.configuration import default_section
from tests.conftest import ROOT

EXTENSIONS = {"pact.handover": Options, "pact.handover.ui": Preferences}


def read_toml(name: str) -> dict:
    """Return the contents of an extension's extension.toml."""
    return tomllib.loads((ROOT / "extension" / name / "config" / "extension.toml").read_text())


@pytest.mark.parametrize("name", EXTENSIONS)
def test_toml_and_code_have_the_same_defaults(name):
    """Every setting is declared in extension.toml with the default that the code has."""
    declared = read_toml(name)["settings"]["exts"][name]
    defaults = EXTENSIONS[name]()
    plain = {
        key: list(value) if isinstance(value, tuple) else value
        for key in EXTENSIONS[name].names()
        for value in [getattr(defaults, key)]
    }
    assert declared == plain


def test_the_seed_is_that_of_the_harness():
    """Without a setting the extension draws the rows that `pact run` makes."""
    assert Options().seed == default_section("run")["seed"]


@pytest.mark.parametrize("name", EXTENSIONS)
def test_every_setting_is_documented(name):
    """SETTINGS.md lists each setting once, and extension.toml has a comment above each."""
    folder = ROOT / "extension" / name
    rows = re.findall(r"^\| `(\w+)`", (folder / "docs" / "SETTINGS.md").read_text(), re.M)
    assert rows == list(EXTENSIONS[name].names())
    lines = (folder / "config" / "extension.toml").read_text().splitlines()
    for number, line in enumerate(lines):
        if line.startswith("exts."):
            assert lines[number - 1].startswith("# "), line


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"condition": "clean_contrl"}, "did you mean 'clean_control'"),
        ({"scene": "scene_99"}, "did you mean 'scene_0"),
        ({"scene": "kitchen"}, "known: scene_001 to scene_048"),
        ({"label": "X"}, "known: N, S, H, T, U"),
        ({"rules": []}, "at least one"),
        ({"rules": ["pacct"]}, "did you mean 'pact'"),
        ({"kappa": 0.0}, "positive"),
        ({"kappa": "much"}, "must be a float"),
        ({"threshold": 1.5}, "between 0 and 1"),
        ({"threshold": float("nan")}, "between 0 and 1"),
        ({"decide_every": 0}, "1 or more"),
        ({"partition": "custom", "custom_parents": "vision: a"}, "no source"),
        ({"threshhold": 0.5}, "did you mean 'threshold'"),
    ],
)
def test_bad_values_are_refused_with_a_hint(change, hint):
    """A value that cannot be used names the setting and what would do."""
    with pytest.raises(OptionError, match=re.escape(hint)):
        Options().changed(**change)


def test_settings_round_trip():
    """Plain settings give back the same options."""
    options = Options().changed(rules=["product", "pact"], threshold=1, folder="~/x", seed=0)
    assert Options.from_settings(options.to_settings()) == options
    assert options.threshold == 1.0
    assert options.resolved_folder() == Path.home() / "x"


def test_changelog_names_the_version():
    """The newest entry of each changelog is the version of extension.toml, equal in both."""
    versions = set()
    for name in EXTENSIONS:
        version = read_toml(name)["package"]["version"]
        text = (ROOT / "extension" / name / "docs" / "CHANGELOG.md").read_text()
        assert re.search(r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d", text, re.M).group(1) == version
        versions.add(version)
    assert len(versions) == 1


@pytest.mark.parametrize("name", EXTENSIONS)
def test_toml_follows_the_conventions(name):
    """Sections and package keys are in NVIDIA's order, dependencies sorted, files present."""
    data = read_toml(name)
    order = ["core", "package", "dependencies", "python", "settings", "test", "documentation"]
    assert list(data) == order
    keys = ["version", "category", "title", "description", "authors", "repository", "keywords",
            "changelog", "readme", "preview_image", "icon"]  # fmt: skip
    assert list(data["package"]) == keys
    assert list(data["dependencies"]) == sorted(data["dependencies"])
    folder = ROOT / "extension" / name
    for key in ("changelog", "readme", "preview_image", "icon"):
        assert (folder / data["package"][key]).is_file(), key
    for page in data["documentation"]["pages"]:
        assert (folder / page).is_file(), page
    assert data["test"][0]["name"] == "startup"
