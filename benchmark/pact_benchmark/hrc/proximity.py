"""The event-proximity model: regularised logistic regression on image and text features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pact_benchmark.hrc.files import RecordError
from pact_benchmark.hrc.recordings import SCORE_COLUMNS, Recordings
from pact_benchmark.hrc.schema import PROXIMAL

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

REGULARISATION = (0.01, 0.1, 1.0, 10.0)
FOLDS = 5
MAX_FALSE_POSITIVE_RATE = 0.05


@dataclass(frozen=True, slots=True)
class DevelopmentScores:
    """Out-of-fold scores of development rows, from which thresholds are chosen.

    Attributes:
        score: In [0, 1], shape [n].
        proximal: Whether the row is event-proximal, shape [n].
        regularisation: The chosen inverse strength C.
    """

    score: Floats
    proximal: Flags
    regularisation: float

    def balanced_accuracy_threshold(self) -> float:
        """Return the threshold of highest balanced accuracy; the highest one on ties."""
        cuts, true_rate, false_rate = self._rates()
        return float(cuts[int(np.argmax(true_rate - false_rate))])

    def false_positive_threshold(self, limit: float = MAX_FALSE_POSITIVE_RATE) -> float:
        """Return the lowest threshold whose false-positive rate is at most `limit`."""
        cuts, _, false_rate = self._rates()
        allowed = cuts[false_rate <= limit]
        return float(allowed.min()) if len(allowed) else float("inf")

    def platt_threshold(self) -> float:
        """Return the score at which a Platt-scaled probability reaches one half."""
        from sklearn.linear_model import LogisticRegression

        x = _logit(self.score)[:, None]
        model = LogisticRegression(C=1e6, max_iter=1_000).fit(x, self.proximal)
        slope, offset = float(model.coef_[0, 0]), float(model.intercept_[0])
        if slope <= 0:
            return float("inf")
        return float(1.0 / (1.0 + np.exp(np.clip(offset / slope, -700, 700))))

    def _rates(self) -> tuple[Floats, Floats, Floats]:
        """Return thresholds from high to low, with true- and false-positive rates."""
        cuts = np.unique(self.score)[::-1]
        kept = self.score[None, :] >= cuts[:, None]
        return cuts, kept[:, self.proximal].mean(axis=1), kept[:, ~self.proximal].mean(axis=1)


@dataclass(frozen=True, slots=True)
class HeldOutRules:
    """Development scores with each task held out, by the held-out task."""

    development: dict[str, DevelopmentScores]

    def thresholds(self) -> dict[str, dict[str, float]]:
        """Return the absolute thresholds of each rule, by held-out task."""
        items = self.development.items()
        return {
            "dev_balanced_accuracy": {t: d.balanced_accuracy_threshold() for t, d in items},
            "dev_fpr_0.05": {t: d.false_positive_threshold() for t, d in items},
            "dev_platt": {t: d.platt_threshold() for t, d in items},
        }


def _logit(score: Floats) -> Floats:
    p = np.clip(score, 1e-12, 1.0 - 1e-12)
    return np.log(p) - np.log1p(-p)


class _Design:
    """Image and text features as one matrix; the vocabulary is that of the fitted rows."""

    def __init__(self, frame: pd.DataFrame) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._text = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b")
        self._text.fit(frame["text"])

    def matrix(self, frame: pd.DataFrame) -> Floats:
        """Return both blocks side by side, each row of each block of unit length."""
        image = np.array([np.asarray(row, dtype=float) for row in frame["features"]])
        norm = np.linalg.norm(image, axis=1, keepdims=True)
        image = np.divide(image, norm, out=np.zeros_like(image), where=norm > 0)
        code, texts = pd.factorize(frame["text"])
        # TfidfVectorizer returns rows of unit length, so both blocks have equal weight.
        return np.hstack([image, self._text.transform(texts).toarray()[code]])


@dataclass(frozen=True, slots=True)
class ProximityModel:
    """A fitted model."""

    design: _Design
    regression: Any

    def score(self, frame: pd.DataFrame) -> Floats:
        """Return event-proximity scores in [0, 1], shape [n]."""
        return _predict(self.regression, self.design.matrix(frame))


def _regress(matrix: Floats, truth: Flags, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=5_000).fit(matrix, truth)


def _predict(regression: Any, matrix: Floats) -> Floats:
    return np.asarray(regression.predict_proba(matrix)[:, 1], dtype=np.float64)


def _proximal(frame: pd.DataFrame) -> Flags:
    return np.asarray((frame["window"] == PROXIMAL).to_numpy(dtype=bool))


def out_of_fold(frame: pd.DataFrame) -> dict[float, Floats]:
    """Return, per regularisation, scores of every row from models fitted on other episodes."""
    from sklearn.model_selection import GroupKFold

    truth = _proximal(frame)
    scores = {strength: np.empty(len(frame)) for strength in REGULARISATION}
    splitter: Any = GroupKFold(n_splits=min(FOLDS, frame["episode"].nunique()))
    for fitted, held in splitter.split(frame, groups=frame["episode"]):
        design = _Design(frame.iloc[fitted])
        matrix, unseen = design.matrix(frame.iloc[fitted]), design.matrix(frame.iloc[held])
        for strength in REGULARISATION:
            scores[strength][held] = _predict(_regress(matrix, truth[fitted], strength), unseen)
    return scores


def fit(frame: pd.DataFrame) -> tuple[ProximityModel, DevelopmentScores]:
    """Choose the regularisation by episode-grouped log loss, then fit on all rows."""
    truth = _proximal(frame)
    if frame["episode"].nunique() < 2 or len(set(truth)) < 2:
        raise RecordError("event proximity: development rows need two episodes and both windows")
    scores = out_of_fold(frame)

    def loss(strength: float) -> float:
        p = np.where(truth, scores[strength], 1.0 - scores[strength])
        return float(-np.log(np.clip(p, 1e-15, 1.0)).mean())

    best = min(REGULARISATION, key=loss)
    design = _Design(frame)
    model = ProximityModel(design, _regress(design.matrix(frame), truth, best))
    return model, DevelopmentScores(scores[best], truth, best)


def _check(features: pd.DataFrame) -> None:
    sizes = {len(row) for row in features["features"]}
    if len(sizes) > 1:
        raise RecordError(f"event proximity: feature vectors of different lengths {sorted(sizes)}")
    split = features.groupby("episode")["split"].nunique()
    both = split[split > 1]
    if len(both):
        raise RecordError(
            f"event proximity: episode {both.index[0]} is both for development and for evaluation"
        )


def fit_event_proximity(recordings: Recordings) -> tuple[Recordings, HeldOutRules | None]:
    """Fit the model on development rows and score the evaluation rows.

    Returns:
        The recordings with scores of predictor ``in_task`` (fitted on all tasks) and
        ``task_heldout`` (the evaluated task left out), and the development scores with each task
        held out; unchanged and None when there is nothing to fit.
    """
    features = recordings.features
    development = features[features["split"] == "development"].reset_index(drop=True)
    evaluation = features[features["split"] == "evaluation"].reset_index(drop=True)
    if not len(development) or not len(evaluation):
        return recordings, None
    _check(features)
    # The pre-early window is scored, never fitted on: it is not one of the two classes.
    development = development[development["window"] != "pre_early"].reset_index(drop=True)
    model, _ = fit(development)
    parts = [_scored(evaluation, model, "in_task")]
    chosen: dict[str, DevelopmentScores] = {}
    for task in sorted(evaluation["task"].unique()):
        others = development[development["task"] != task].reset_index(drop=True)
        if others["task"].nunique() < 1:
            continue
        model, chosen[str(task)] = fit(others)
        rows = evaluation[evaluation["task"] == task].reset_index(drop=True)
        parts.append(_scored(rows, model, "task_heldout"))
    rules = HeldOutRules(chosen) if chosen else None
    return recordings.with_scores(pd.concat(parts, ignore_index=True)), rules


def _scored(rows: pd.DataFrame, model: ProximityModel, predictor: str) -> pd.DataFrame:
    scored = rows.assign(predictor=predictor, score=model.score(rows))
    return scored[list(SCORE_COLUMNS)]
