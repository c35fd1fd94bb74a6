"""The event-proximity model and its thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pact_benchmark.hrc.files import RecordError
from pact_benchmark.hrc.proximity import DevelopmentScores, fit_event_proximity
from pact_benchmark.hrc.recordings import Recordings


def small(simulated: Recordings) -> Recordings:
    """Return the features of three tasks in one camera setting."""
    features = simulated.features
    tasks = sorted(features["task"].unique())[:3]
    kept = features[(features["setting"] == "all_five") & features["task"].isin(tasks)]
    return replace(simulated, features=kept.reset_index(drop=True))


def test_held_out_task_does_not_enter_its_own_model(simulated: Recordings) -> None:
    """Changing the development rows of a task leaves that task's held-out scores as they are."""
    recordings = small(simulated)
    features = recordings.features
    task = sorted(features["task"].unique())[0]
    own = (features["task"] == task) & (features["split"] == "development")
    turned = features.copy()
    turned.loc[own, "window"] = features.loc[own, "window"].map(
        {"early": "proximal", "proximal": "early"}
    )

    def scores(frame: pd.DataFrame, predictor: str) -> np.ndarray:
        found = fit_event_proximity(replace(recordings, features=frame))[0].scores
        rows = (found["task"] == task) & (found["predictor"] == predictor)
        return found.loc[rows].sort_values(["event", "window"])["score"].to_numpy(float)

    assert np.array_equal(scores(features, "task_heldout"), scores(turned, "task_heldout"))
    assert not np.allclose(scores(features, "in_task"), scores(turned, "in_task"))


def test_scores_separate_the_windows(simulated: Recordings) -> None:
    """On unseen episodes of known tasks proximal windows score higher than early ones."""
    found, rules = fit_event_proximity(small(simulated))
    assert rules is not None
    known = found.scores[found.scores["predictor"] == "in_task"]
    mean = known.groupby("window")["score"].mean()
    assert mean["proximal"] > mean["early"] + 0.2
    assert set(rules.thresholds()) == {"dev_balanced_accuracy", "dev_fpr_0.05", "dev_platt"}


def test_thresholds_by_hand() -> None:
    """Thresholds are what their names say on a small example."""
    scores = DevelopmentScores(
        np.array([0.1, 0.2, 0.3, 0.8, 0.25, 0.6, 0.7, 0.9]),
        np.array([False, False, False, False, True, True, True, True]),
        1.0,
    )
    assert scores.balanced_accuracy_threshold() == 0.6
    assert scores.false_positive_threshold(0.05) == 0.9
    assert scores.false_positive_threshold(0.25) == 0.6
    assert 0.2 < scores.platt_threshold() < 0.8
    turned = replace(scores, proximal=~scores.proximal)
    assert turned.platt_threshold() == float("inf")


def test_bad_development_sets_are_user_errors(simulated: Recordings) -> None:
    """Shared episodes, ragged features and one-sided windows are refused in one line."""
    recordings = small(simulated)
    features = recordings.features
    shared = features.copy()
    shared["episode"] = "same"
    ragged = features.copy()
    ragged.at[0, "features"] = (1.0, 2.0)
    one_sided = features[features["window"] == "early"]
    for frame, text in ((shared, "both for"), (ragged, "lengths"), (one_sided, "both windows")):
        with pytest.raises(RecordError, match=text):
            fit_event_proximity(replace(recordings, features=frame.reset_index(drop=True)))


def test_nothing_to_fit_changes_nothing(simulated: Recordings) -> None:
    """Recordings without features keep their scores."""
    bare = replace(simulated, features=simulated.features.head(0))
    found, rules = fit_event_proximity(bare)
    assert rules is None
    assert found is bare
