"""Simulated recordings show the phenomena of the study and say that they are simulated."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pact_benchmark.hrc.analysis import AnalysisOptions, Part, analyse, statistics_of_parts
from pact_benchmark.hrc.files import RecordError
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.hrc.simulate import SimulationOptions, simulate_recordings
from pact_benchmark.plotting import style


@pytest.fixture(scope="module")
def parts(simulated: Recordings) -> list[Part]:
    """Return the analysis of the simulated recordings."""
    return analyse(simulated, AnalysisOptions(draws=100, permutations=200))


def test_draws_depend_on_identity_only(observations: pd.DataFrame, simulated: Recordings) -> None:
    """Row order does not matter, the seed does."""
    shuffled = simulate_recordings(observations.sample(frac=1.0, random_state=1))
    pd.testing.assert_frame_equal(shuffled.outputs, simulated.outputs)
    pd.testing.assert_frame_equal(shuffled.queries, simulated.queries)
    other = simulate_recordings(observations, SimulationOptions(seed=0))
    assert not np.array_equal(other.outputs["log_odds_map0"], simulated.outputs["log_odds_map0"])


def test_size_follows_the_study(simulated: Recordings) -> None:
    """Five cameras, four prompts, six task families, eight checkpoints, 720 queries each."""
    cameras = simulated.camera_outputs
    assert cameras["camera"].nunique() == 5
    assert cameras["prompt"].nunique() == 4
    assert simulated.queries["task"].nunique() == 6
    assert simulated.panel_outputs["checkpoint"].nunique() == 8
    assert set(simulated.queries.groupby("checkpoint").size()) == {720}
    split = simulated.features.groupby("episode")["split"].nunique()
    assert (split == 1).all()


def test_prompts_share_the_error_of_their_image(simulated: Recordings) -> None:
    """Outputs of one image agree more with each other than with outputs of other cameras."""
    rows = simulated.camera_outputs.query("checkpoint == 'sim_a_large' and window == 'early'")
    odds = rows.assign(odds=0.5 * (rows["log_odds_map0"] - rows["log_odds_map1"]))
    odds["odds"] -= odds.groupby("task")["odds"].transform("mean")
    wide = odds.pivot(index="event", columns=["camera", "prompt"], values="odds").corr()
    names = wide.columns.to_list()
    same = [wide.loc[a, b] for a in names for b in names if a[0] == b[0] and a[1] < b[1]]
    other = [wide.loc[a, b] for a in names for b in names if a[0] < b[0]]
    assert np.mean(same) > np.mean(other) + 0.1


def test_families_share_errors(parts: list[Part]) -> None:
    """The families that were put in stand at the top of the 105 pairings."""
    found = statistics_of_parts(parts)
    assert int(found["simulated.family.rank_pooled"].value or 0) <= 5


def test_copies_and_amplification(parts: list[Part]) -> None:
    """Grouped responses never move with copies; per-output budgets grow by 280."""
    found = statistics_of_parts(parts)
    assert found["simulated.copy.typed_responses_unchanged"].value == 720
    assert found["simulated.copy.per_output_extra_mass"].value == 280
    budget = found["simulated.camera.sim_a_large.acquisition.budget_ratio"].value
    assert 0.0 < float(budget or 0) < 1.0
    assert found["simulated.camera.sim_a_large.per_output.budget_ratio"].value == 4.0


def test_absolute_thresholds_do_not_transfer(parts: list[Part]) -> None:
    """Held-out absolute rules lose consistent admissions or admit early ones; change does not."""
    found = statistics_of_parts(parts)
    name = "simulated.loto.sim_a_large"
    change = int(found[f"{name}.paired_positive_change.consistent"].value or 0)
    assert found[f"{name}.paired_positive_change.inconsistent"].value == 0
    for rule in ("absolute_0.5", "dev_balanced_accuracy", "dev_fpr_0.05", "dev_platt"):
        assert int(found[f"{name}.{rule}.consistent"].value or 0) < change
        assert int(found[f"{name}.{rule}.inconsistent"].value or 0) > 0


def test_temporal_rule_removes_early_admissions(parts: list[Part]) -> None:
    """Identity and strict change leave no inconsistent admission; candidates alone do."""
    found = statistics_of_parts(parts)
    alone = "simulated.factorial.none.all_rules.sim_a_large.inconsistent"
    both = "simulated.factorial.identity_temporal.pact.sim_a_large.inconsistent"
    assert int(found[alone].value or 0) > 20
    assert found[both].value == 0
    early = found["simulated.sequential.sim_a_large.early_inconsistent"].value
    assert int(early or 0) > 0


def test_labelled_everywhere(parts: list[Part]) -> None:
    """Ids, titles, notes, readings and pictures say that the recordings are simulated."""
    for part in parts:
        assert "simulated recordings" in part.study.title
        assert part.result.reading.startswith("Simulated recordings")
        for name, entry in part.result.statistics.items():
            assert name.startswith("simulated.")
            assert entry.note == "simulated"
        for table in part.result.tables:
            assert "(simulated recordings)" in table.title
            assert table.note.startswith("Simulated recordings")
        for figure in part.result.figures:
            assert "(simulated recordings)" in figure.title
            with style():
                canvas = figure.plot()
            assert canvas.get_suptitle() == "SIMULATED RECORDINGS"


def test_unusable_observations(observations: pd.DataFrame) -> None:
    """Missing columns and rollouts that are too short are user errors."""
    with pytest.raises(RecordError, match="closing_speed"):
        simulate_recordings(observations.drop(columns="closing_speed"))
    with pytest.raises(RecordError, match="six decision steps"):
        simulate_recordings(observations[observations["step"] < 4])


def test_pre_early_gap_is_reported(parts: list[Part]) -> None:
    """The time between pre-early and early frames comes from the recorded times."""
    gap = statistics_of_parts(parts)["simulated.design.preearly_gap_s"].value
    assert gap == pytest.approx(1.0)
