"""Rules, checks, conditions and studies from other distributions, through entry points."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

MODULES = {
    "good_rule": (
        "import numpy as np\n"
        "from pact_core import Belief, register_rule\n"
        "@register_rule('uniform')\n"
        "def uniform(x, options):\n"
        "    return Belief(np.full(x.p.shape[1:], 1 / x.p.shape[1]))\n"
    ),
    "good_check": (
        "from pact_core import Response, register_check\n"
        "@register_check('never', Response.HOLD)\n"
        "def never(x, contract, policy):\n"
        "    return x.present_count >= 0\n"
    ),
    "good_condition": (
        "from pact_scenes.conditions import register_condition\n"
        "like = {'like': 'clean_control'}\n"
        "register_condition('twin', {'language': like, 'geometry': like, 'risk': like})\n"
    ),
    "good_study": (
        "from pact_benchmark.study import Statistic, StudyResult, study\n"
        "@study('extra_rows', title='Rows', purpose='Counts the rows.', order=9999)\n"
        "def rows(context):\n"
        "    return StudyResult({'extra.rows': Statistic(context.benchmark.n)})\n"
    ),
    "failing_study": (
        "from pact_benchmark.study import study\n"
        "@study('extra_failing', title='Fails', purpose='Fails.', order=1)\n"
        "def fails(context):\n"
        "    raise RuntimeError('it failed\\non purpose')\n"
    ),
    "ending_study": (
        "from pact_benchmark.study import study\n"
        "@study('extra_ending', title='Ends', purpose='Ends the process.', order=2)\n"
        "def ends(context):\n"
        "    raise SystemExit(7)\n"
    ),
    "undrawable_study": (
        "from pact_benchmark.study import Figure, StudyResult, study\n"
        "@study('extra_undrawable', title='Draws', purpose='Draws badly.', order=3)\n"
        "def draws(context):\n"
        "    return StudyResult({}, figures=[Figure('f', 'f', 'f', lambda: 1 / 0)])\n"
    ),
    "failing_rule": (
        "from pact_core import register_rule\n"
        "@register_rule('failing')\n"
        "def failing(x, options):\n"
        "    raise KeyError('no such thing')\n"
    ),
    "failing_check": (
        "from pact_core import Response, register_check\n"
        "@register_check('failing', Response.HOLD)\n"
        "def failing(x, contract, policy):\n"
        "    return 1 / 0\n"
    ),
    "broken": "raise RuntimeError('broken\\non purpose')\n",
    "exiting": "import sys\nsys.exit(3)\n",
}

Site = Callable[..., dict[str, str]]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a function that installs modules as plug-ins and gives the environment with them.

    It takes the modules of each group by name: `site(rules=["good_rule"])`.
    """

    def install(**groups: list[str]) -> dict[str, str]:
        folder = tmp_path / "site"
        info = folder / "pact_extra-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pact-extra\nVersion: 1.0\n")
        text = ""
        for group, modules in groups.items():
            text += f"[pact.{group}]\n"
            text += "".join(f"my_{module} = pact_extra_{module}\n" for module in modules)
            for module in modules:
                (folder / f"pact_extra_{module}.py").write_text(MODULES[module])
        (info / "entry_points.txt").write_text(text)
        paths = [str(folder), os.environ.get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}

    return install


SOURCE = {
    "role": "language",
    "opinion": {"N": 0.2, "S": 0.8, "H": 0.0, "T": 0.0, "U": 0.0},
    "quality": 1.0,
    "conflict": 0.0,
    "parents": ["a"],
}


def test_rule_decides_beside_broken_ones(site: Site, pact) -> None:
    """`pact decide --rule` knows a foreign rule; those that do not load are a line each."""
    env = site(rules=["good_rule", "broken", "exiting"])
    line = json.dumps({"sources": [SOURCE]})
    result = pact("decide", "--rule", "uniform", stdin=line, env=env)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["posterior"] == pytest.approx([0.2] * 5)
    assert sorted(result.stderr.splitlines()) == [
        "pact: plug-in 'my_broken' of group pact.rules is left out:"
        " pact_extra_broken failed to load: RuntimeError: broken on purpose",
        "pact: plug-in 'my_exiting' of group pact.rules is left out:"
        " pact_extra_exiting failed to load: SystemExit: 3",
    ]


def test_check_and_rule_of_a_configuration(
    site: Site, small_run: Path, tmp_path: Path, pact
) -> None:
    """A configuration may name a foreign check and a foreign rule; the studies use them."""
    env = site(rules=["good_rule"], checks=["good_check", "broken"])
    config = tmp_path / "mine.toml"
    config.write_text(
        "[admission]\nchecks = ['command_consistency', 'never']\n"
        "[evaluation]\nextra_rules = ['uniform']\ndraws = 20\n",
        encoding="utf-8",
    )
    command = ["evaluate", "before_admission", "-c", config, "-o", small_run, "--quiet"]
    result = pact(*command, env=env)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("\n") == 1
    assert "pact_extra_broken" in result.stderr
    assert "uniform" in (small_run / "tables" / "before_admission.csv").read_text("utf-8")
    run = json.loads((small_run / "run.json").read_text("utf-8"))
    run["config"]["admission"]["checks"] = ["command_consistency", "never"]
    (small_run / "run.json").write_text(json.dumps(run), "utf-8")
    compared = pact("compare", small_run, "--format", "json", env=env, check=True)
    after = [c for c in json.loads(compared.stdout)["curves"] if c["stage"] == "after_admission"]
    assert after
    unknown = pact(*command)
    assert unknown.returncode == 2
    assert "line 2: unknown name 'never' in admission.checks" in unknown.stderr


@pytest.mark.parametrize(
    ("group", "module", "section", "study"),
    [
        ("rules", "failing_rule", "[evaluation]\nextra_rules = ['failing']", "before_admission"),
        ("checks", "failing_check", "[admission]\nchecks = ['failing']", "after_admission"),
    ],
)
def test_rule_or_check_that_fails_is_named(
    site: Site,
    small_run: Path,
    tmp_path: Path,
    pact,
    group: str,
    module: str,
    section: str,
    study: str,
) -> None:
    """A study that uses it fails by name, the next one is made."""
    (tmp_path / "mine.toml").write_text(section, encoding="utf-8")
    command = ["evaluate", study, "design", "-c", tmp_path / "mine.toml", "-o", small_run, "-q"]
    result = pact(*command, env=site(**{group: [module]}))
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert f"study {study}: plug-in 'my_{module}' (pact_extra_{module}) failed: " in result.stderr
    assert (small_run / "studies" / "design.json").exists()
    assert not (small_run / "studies" / f"{study}.json").exists()


def test_condition_is_generated(site: Site, small_run: Path, pact) -> None:
    """A foreign condition joins the rows; a broken one is one line."""
    env = site(conditions=["good_condition", "exiting"])
    result = pact("generate", "--format", "json", "--quiet", "-o", small_run, env=env)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["conditions"]["twin"] == 100
    assert result.stderr.count("\n") == 1
    assert "pact_extra_exiting" in result.stderr


def test_study_is_listed_beside_a_broken_one(site: Site, pact) -> None:
    """A foreign study is listed; one that fails to load is named with its reason."""
    result = pact("evaluate", "--list", env=site(studies=["good_study", "broken"]), check=True)
    assert "extra_rows" in result.stdout
    assert result.stderr.count("\n") == 1
    assert "pact_extra_broken failed to load: RuntimeError: broken on purpose" in result.stderr


def test_failing_studies_stop_no_other(site: Site, run_copy: Path, pact) -> None:
    """`pact run` names every study that failed, finishes the others and the report, exit code 1."""
    bad = ["failing_study", "ending_study", "undrawable_study"]
    (run_copy / "report.html").unlink()
    result = pact(
        "run",
        "--backend",
        "kinematic",
        "-q",
        "-o",
        run_copy,
        env=site(studies=[*bad, "good_study"]),
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    for reason in (
        "study extra_failing: plug-in 'my_failing_study' (pact_extra_failing_study) failed:"
        " RuntimeError: it failed on purpose",
        "study extra_ending: plug-in 'my_ending_study' (pact_extra_ending_study) failed:"
        " SystemExit: 7",
        "study extra_undrawable: plug-in 'my_undrawable_study' (pact_extra_undrawable_study)"
        " failed: ZeroDivisionError",
    ):
        assert reason in result.stderr
    statistics = json.loads((run_copy / "statistics.json").read_text(encoding="utf-8"))
    assert statistics["extra.rows"]["value"] == 31_200
    assert "Counts the rows" in (run_copy / "report.html").read_text(encoding="utf-8")


def test_a_study_that_fails_later_leaves_no_old_result(site: Site, small_run: Path, pact) -> None:
    """What a study found on other rows is not reported beside the new ones."""
    env = site(studies=["good_study"])
    pact("evaluate", "extra_rows", "-q", "-o", small_run, env=env, check=True)
    module = Path(env["PYTHONPATH"].split(os.pathsep)[0]) / "pact_extra_good_study.py"
    module.write_text(MODULES["good_study"].replace("return", "1 / 0\n    return"))
    pact("generate", "--seed", "7", "-q", "-o", small_run, check=True)
    result = pact("evaluate", "extra_rows", "-q", "-o", small_run, env=env)
    assert result.returncode == 1
    assert "ZeroDivisionError" in result.stderr
    assert "extra.rows" not in (small_run / "statistics.json").read_text(encoding="utf-8")


def test_changed_plug_ins_are_run_again(site: Site, small_run: Path, pact) -> None:
    """A study or condition whose source changed is made anew; studies of ours are not."""
    env = site(studies=["good_study"], conditions=["good_condition"])
    folder = Path(env["PYTHONPATH"].split(os.pathsep)[0])

    def made() -> dict[str, str]:
        pact("generate", "-q", "-o", small_run, env=env, check=True)
        pact("evaluate", "extra_rows", "design", "-q", "-o", small_run, env=env, check=True)
        parts = json.loads((small_run / "run.json").read_text(encoding="utf-8"))["parts"]
        return {name: parts[name]["key"] for name in ("instances", "study:extra_rows")}

    first = made()
    design = (small_run / "studies" / "design.json").stat().st_mtime_ns
    assert made() == first
    changed = MODULES["good_study"].replace("context.benchmark.n", "7")
    (folder / "pact_extra_good_study.py").write_text(changed)
    second = made()
    assert second["instances"] == first["instances"]
    assert second["study:extra_rows"] != first["study:extra_rows"]
    assert (small_run / "studies" / "design.json").stat().st_mtime_ns == design
    statistics = json.loads((small_run / "statistics.json").read_text(encoding="utf-8"))
    assert statistics["extra.rows"]["value"] == 7
    (folder / "pact_extra_good_condition.py").write_text(
        MODULES["good_condition"].replace("twin", "double")
    )
    assert made()["instances"] != first["instances"]


def test_doctor_reports_plugins(site: Site, pact) -> None:
    """`pact doctor` lists plug-ins of every group and calls those that do not load broken."""
    env = site(
        rules=["good_rule", "exiting"],
        checks=["good_check"],
        conditions=["good_condition"],
        studies=["good_study", "broken"],
    )
    lines = pact("doctor", env=env, check=True).stdout.splitlines()
    states = {line.split()[2]: line.split()[0] for line in lines if " plug-in " in line}
    good = ("my_good_rule", "my_good_check", "my_good_condition", "my_good_study")
    assert states == dict.fromkeys(good, "ok") | {"my_exiting": "broken", "my_broken": "broken"}
    findings = json.loads(pact("doctor", "--format", "json", env=env, check=True).stdout)
    broken = [finding for finding in findings if "broken on purpose" in finding["detail"]]
    assert [finding["ok"] for finding in broken] == [False]
