"""Rules, checks, conditions and studies from other distributions, through entry points."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Lay out an installed distribution with a good study, a good rule and a broken study."""
    info = tmp_path / "pact_extra-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pact-extra\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[pact.studies]\nrows = pact_extra\nbroken = pact_extra_broken\n"
        "[pact.rules]\nuniform = pact_extra_rule\n"
    )
    (tmp_path / "pact_extra.py").write_text(
        "from pact_benchmark.study import Statistic, StudyResult, study\n"
        "@study('extra_rows', title='Rows', purpose='Counts the rows.', order=9999)\n"
        "def rows(context):\n"
        "    return StudyResult({'extra.rows': Statistic(context.benchmark.n)})\n"
    )
    (tmp_path / "pact_extra_broken.py").write_text("raise RuntimeError('broken on purpose')\n")
    (tmp_path / "pact_extra_rule.py").write_text(
        "import numpy as np\n"
        "from pact_core import Belief, register_rule\n"
        "@register_rule('uniform')\n"
        "def uniform(x, options):\n"
        "    return Belief(np.full(x.p.shape[1:], 1 / x.p.shape[1]))\n"
    )
    return tmp_path


def test_plugin_study_is_listed_and_a_broken_one_reported(site: Path, pact) -> None:
    """A foreign study is listed; one that fails to load is named with its reason."""
    result = pact("evaluate", "--list", env={"PYTHONPATH": str(site)}, check=True)
    assert "extra_rows" in result.stdout
    assert "broken on purpose" in result.stderr
    assert "pact_extra_broken" in result.stderr


def test_plugin_rule_decides(site: Path, pact) -> None:
    """`pact decide --rule` knows a rule of another distribution."""
    source = {
        "role": "language",
        "opinion": {"N": 0.2, "S": 0.8, "H": 0.0, "T": 0.0, "U": 0.0},
        "quality": 1.0,
        "conflict": 0.0,
        "parents": ["a"],
    }
    line = json.dumps({"sources": [source]})
    result = pact("decide", "--rule", "uniform", stdin=line, env={"PYTHONPATH": str(site)})
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["posterior"] == pytest.approx([0.2] * 5)


def test_doctor_reports_plugins(site: Path, pact) -> None:
    """`pact doctor` lists plug-ins and says which one is broken."""
    findings = json.loads(
        pact("doctor", "--format", "json", env={"PYTHONPATH": str(site)}, check=True).stdout
    )
    broken = [f for f in findings if "broken on purpose" in f["detail"]]
    assert len(broken) == 1
    assert not broken[0]["ok"]
