"""Figures of the offline study."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from pact_benchmark import plotting
from pact_benchmark.hrc.arms import arm_of, most_prompts
from pact_benchmark.hrc.evidence import Counting
from pact_benchmark.hrc.family_study import Panel
from pact_benchmark.hrc.names import in_order, label, short, task_label
from pact_benchmark.hrc.pairings import Ranking
from pact_benchmark.hrc.schema import EARLY, PROXIMAL
from pact_benchmark.hrc.statistics import auroc, calibration_intercept
from pact_benchmark.plotting import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from pact_benchmark.study import Figure, Statistic

COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
BUDGET_ROWS = (
    (Counting.ONE_PER_CAMERA, "One per camera"),
    (Counting.ACQUISITION, "Acquisition grouped"),
    (Counting.SHUFFLED, "Shuffled groups"),
    (Counting.PER_OUTPUT, "Per output"),
    (Counting.IDENTICAL_MERGE, "Identical merged"),
    (Counting.ALL_VIEW_MERGE, "All views merged"),
)


def _letter(axes: Axes, letter: str, title: str) -> None:
    axes.set_title(f"({letter}) {title}", loc="left")


def _look(index: int) -> dict[str, str]:
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def requirement_figure(frame: pd.DataFrame) -> Figure:
    """Draw consistent and inconsistent admissions per requirement and checkpoint."""

    def plot() -> Canvas:
        names = list(dict.fromkeys(frame["Checkpoint"]))
        canvas = plotting.new_figure(2.7 * len(names) + 1.2, 3.0)
        for index, name in enumerate(names):
            axes = canvas.add_subplot(1, len(names), index + 1)
            rows = frame[frame["Checkpoint"] == name]
            place = np.arange(len(rows))[::-1]
            series = (
                ("Consistent", "Consistent", BLUE, 0.24),
                ("Off-target", "Inconsistent, off-target", VERMILION, 0.0),
                ("On-target early-window", "Inconsistent, early", ORANGE, -0.24),
            )
            for column, text, colour, shift in series:
                bars = axes.barh(place + shift, rows[column], 0.24, color=colour, label=text)
                axes.bar_label(bars, padding=2, fontsize=7)
            axes.set_yticks(place, list(rows["Admission evidence"]) if index == 0 else [])
            axes.set_xlabel("Admissions")
            axes.set_xlim(right=1.15 * float(frame[[s[0] for s in series]].to_numpy().max()))
            axes.grid(visible=False, axis="y")
            _letter(axes, "abcdefgh"[index % 8], name)
        handles, texts = canvas.axes[0].get_legend_handles_labels()
        canvas.legend(handles, texts, loc="outside lower center", ncols=3)
        return canvas

    alt = "Bars of consistent, off-target and early admissions for four sets of requirements."
    return Figure("hrc_requirements", "What each admission requirement removes", alt, plot)


def camera_figure(arms: pd.DataFrame, statistics: Mapping[str, Statistic]) -> Figure:
    """Draw the effect of acquisition grouping on ordering and budgets."""
    checkpoints = in_order(arms["checkpoint"].unique())

    def plot() -> Canvas:
        canvas = plotting.new_figure(10.2, 3.1)
        by_prompt, by_score, budgets = canvas.subplots(1, 3)
        for index, checkpoint in enumerate(checkpoints):
            look = _look(index)
            name, last = short(checkpoint), most_prompts(arms, checkpoint)
            counts = sorted(set(arms.loc[arms["checkpoint"] == checkpoint, "prompts"]))
            _whiskers(
                by_prompt,
                [float(c) + 0.06 * (index - 0.5) for c in counts],
                [statistics[f"camera.{name}.contrast_m{c}"] for c in counts],
                label(checkpoint),
                look,
                line=True,
            )
            for place, suffix in enumerate(("", "_posterior")):
                entry = statistics[f"camera.{name}.contrast_m{last}{suffix}"]
                filled = look if not suffix else {**look, "markerfacecolor": "white"}
                _whiskers(by_score, [place + 0.15 * (index - 0.5)], [entry], None, filled)
            for place, (rule, _) in enumerate(BUDGET_ROWS):
                arm = arm_of(arms, checkpoint, last, rule)
                mean = arm.groupby("task")["budget_ratio"].mean().mean()
                hollow = {"markerfacecolor": "white"} if rule is Counting.SHUFFLED else {}
                at = len(BUDGET_ROWS) - 1 - place + 0.2 * (index - 0.5)
                budgets.plot([mean], [at], linestyle="none", **{**look, **hollow})
        for axes in (by_prompt, by_score):
            axes.axhline(0.0, color=GREY, linewidth=0.8)
            axes.set_ylabel("Per-output − acquisition ncsAURC")
        by_prompt.set_xlabel("Prompts per camera")
        by_prompt.legend()
        by_score.set_xticks([0, 1], ["Selection score", "Posterior"])
        by_score.set_xlim(-0.6, 1.6)
        budgets.set_yticks(range(len(BUDGET_ROWS)), [text for _, text in BUDGET_ROWS[::-1]])
        budgets.set_xscale("log")
        budgets.set_xlabel("Budget / one output per camera")
        _letter(by_prompt, "a", "Prompt multiplicity")
        _letter(by_score, "b", "Which score ranks")
        _letter(budgets, "c", "Evidence budgets")
        return canvas

    alt = "Differences of selective risk by prompt count and score, and budgets by counting rule."
    return Figure("hrc_camera", "Acquisition grouping changes retained evidence", alt, plot)


def _whiskers(
    axes: Axes,
    at: Sequence[float],
    entries: Sequence[Statistic],
    text: str | None,
    look: Mapping[str, str],
    *,
    line: bool = False,
) -> None:
    value = np.array([float(e.value or 0.0) for e in entries])
    low = np.array([v if e.low is None else e.low for v, e in zip(value, entries, strict=True)])
    high = np.array([v if e.high is None else e.high for v, e in zip(value, entries, strict=True)])
    spread = np.maximum(np.stack([value - low, high - value]), 0.0)
    style = "-" if line else "none"
    options: dict[str, Any] = {**look, "label": text, "linestyle": style}
    axes.errorbar(at, value, yerr=spread, capsize=2.5, **options)


def pairing_figure(
    ranking: Ranking, panel: Panel | None, statistics: Mapping[str, Statistic]
) -> Figure:
    """Draw all pairings by their statistic; with panel outputs also changes and budgets."""

    def plot() -> Canvas:
        if panel is None:
            canvas = plotting.new_figure(5.4, 3.2)
            _pairings(canvas.add_subplot(), ranking)
            return canvas
        canvas = plotting.new_figure(12.4, 3.6)
        changes, budgets, pairs = canvas.subplots(1, 3, width_ratios=(1.6, 0.9, 1.2))
        _changes(canvas, changes, panel)
        names = {"separate": "Checkpoints\nseparate", "merge_all": "All\nmerged"}
        ratio = [float(statistics[f"family.{k}.budget_ratio"].value or 0.0) for k in names]
        bars = budgets.bar([0, 1, 2], [1.0, *ratio], color=[BLUE, SKY, VERMILION], width=0.6)
        budgets.bar_label(bars, fmt="%.3g", fontsize=8)
        budgets.set_xticks([0, 1, 2], ["Model\nfamilies", *names.values()], fontsize=8)
        budgets.set_ylabel("Budget / model families")
        _letter(changes, "a", "READY change, early to proximal")
        _letter(budgets, "b", "Budgets")
        _pairings(pairs, ranking, "c")
        return canvas

    alt = "Every pairing of checkpoints by within-minus-between error association, ranked."
    return Figure("hrc_pairings", "Error association does not single out families", alt, plot)


def _pairings(axes: Axes, ranking: Ranking, letter: str | None = None) -> None:
    order = np.argsort(-ranking.statistic, kind="stable")
    place = int(np.flatnonzero(order == ranking.family)[0])
    rank = np.arange(1, len(order) + 1)
    axes.plot(rank, ranking.statistic[order], ".", color=GREY, label="other pairings")
    axes.plot(
        [place + 1], [ranking.statistic[ranking.family]], "o", color=BLUE, markersize=7,
        label=f"model families (rank {ranking.rank}, {ranking.tied_or_higher} tied or higher)",
    )  # fmt: skip
    axes.set_xlabel(f"Pairing, ranked ({len(order)})")
    axes.set_ylabel("Within − between φ")
    axes.legend(loc="upper right")
    title = "Error association of all pairings"
    axes.set_title(title if letter is None else f"({letter}) {title}", loc="left")


def _changes(canvas: Canvas, axes: Axes, panel: Panel) -> None:
    tasks = sorted(panel.frame["task"].unique())
    table = np.empty((len(panel.checkpoints), len(tasks)))
    for column, task in enumerate(tasks):
        rows = (panel.frame["task"] == task).to_numpy()
        late, early = panel.p[rows & panel.ready], panel.p[rows & ~panel.ready]
        table[:, column] = late.mean(axis=0) - early.mean(axis=0)
    limit = max(float(np.abs(table).max()), 1e-6)
    picture = axes.imshow(table, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_yticks(range(len(panel.checkpoints)), [label(name) for name in panel.checkpoints])
    axes.set_xticks(range(len(tasks)), [_wrapped(task) for task in tasks], fontsize=6.5)
    axes.grid(visible=False)
    for row, column in np.ndindex(*table.shape):
        dark = abs(table[row, column]) > 0.6 * limit
        axes.text(column, row, f"{table[row, column]:.2f}", ha="center", va="center", fontsize=6.5,
                  color="white" if dark else "black")  # fmt: skip
    canvas.colorbar(picture, ax=axes, shrink=0.8)


def _wrapped(task: str) -> str:
    text = task_label(task).replace("sim_", "").replace("_", " ")
    return "\n".join(textwrap.wrap(text, 10, break_long_words=False))


def score_figure(events: pd.DataFrame) -> Figure:
    """Draw score levels, discrimination, calibration and paired change by task."""
    tasks = sorted(events["task"].unique())

    def plot() -> Canvas:
        canvas = plotting.new_figure(10.2, 6.4)
        (levels, trade), (intercepts, changes) = canvas.subplots(2, 2)
        place = np.arange(len(tasks))[::-1]
        for at, task in zip(place, tasks, strict=True):
            rows = events[events["task"] == task]
            early, late = rows[EARLY].to_numpy(float), rows[PROXIMAL].to_numpy(float)
            _violin(levels, early, at + 0.18, SKY)
            _violin(levels, late, at - 0.18, BLUE)
            _violin(changes, late - early, float(at), GREEN)
            _trade_point(trade, early, late, tasks.index(task), task)
            value = np.r_[early, late]
            proximal = np.r_[np.zeros(len(early), bool), np.ones(len(late), bool)]
            cluster = pd.factorize(np.r_[rows["episode"], rows["episode"]])[0]
            estimate, spread = calibration_intercept(value, proximal, cluster)
            intercepts.errorbar(
                [estimate], [at], xerr=[[1.96 * spread], [1.96 * spread]], capsize=2.5,
                color=BLUE, marker="o",
            )  # fmt: skip
        levels.axvline(0.5, color=GREY, linestyle="--", linewidth=0.9)
        changes.axvline(0.0, color=GREY, linestyle="--", linewidth=0.9)
        intercepts.axvline(0.0, color=GREY, linestyle="--", linewidth=0.9)
        names = [f"{task_label(t)} ({(events['task'] == t).sum()})" for t in tasks]
        for axes, words in ((levels, names), (intercepts, None), (changes, names)):
            axes.set_yticks(place, words or [task_label(t) for t in tasks], fontsize=7.5)
        levels.set_xlabel("Held-out score (light: early, dark: proximal; tick: median)")
        changes.set_xlabel("Proximal − early score")
        intercepts.set_xlabel("Calibration intercept (95 %)")
        trade.set_xlabel("Within-task AUROC")
        trade.set_ylabel("Balanced error at 0.5")
        trade.legend(fontsize=7)
        _letter(levels, "a", "Score levels by task (events)")
        _letter(trade, "b", "Discrimination and a fixed threshold")
        _letter(intercepts, "c", "Calibration intercepts")
        _letter(changes, "d", "Change within the event")
        return canvas

    alt = "Score distributions by task shift in level while changes within events stay positive."
    return Figure("hrc_scores", "Changes transfer across tasks, levels do not", alt, plot)


def _violin(axes: Axes, values: np.ndarray, at: float, colour: str) -> None:
    if len(values) > 1 and np.ptp(values) > 0:
        parts = axes.violinplot(
            [values], positions=[at], widths=0.34, showextrema=False, orientation="horizontal"
        )
        bodies: Any = parts["bodies"]
        for body in bodies:
            body.set(facecolor=colour, alpha=0.85, edgecolor="none")
    axes.plot([np.median(values)] * 2, [at - 0.1, at + 0.1], color="white", linewidth=1.8)


def _trade_point(axes: Axes, early: np.ndarray, late: np.ndarray, index: int, task: str) -> None:
    proximal = np.r_[np.zeros(len(early), bool), np.ones(len(late), bool)]
    area = auroc(np.r_[early, late], proximal)
    error = 0.5 * (float((early >= 0.5).mean()) + float((late < 0.5).mean()))
    look = _look(index)
    axes.plot(
        [area], [error], color=look["color"], marker=look["marker"], linestyle="",
        label=task_label(task),
    )  # fmt: skip


def multiplicity_figure(frame: pd.DataFrame) -> Figure:
    """Draw budgets and changed responses against the number of exact copies."""

    def plot() -> Canvas:
        canvas = plotting.new_figure(9.6, 3.4)
        budgets, changed = canvas.subplots(1, 2, width_ratios=(1.0, 1.2))
        first = frame["Checkpoint"].iloc[0]
        mine = frame[frame["Checkpoint"] == first]
        for index, rule in enumerate(dict.fromkeys(mine["Counting rule"])):
            rows = mine[mine["Counting rule"] == rule]
            copies = rows[rows["Varied"] == "copies"]
            level = copies["Level"].to_numpy(dtype=float)
            budgets.plot(level, copies["Mean budget"], label=rule, **_look(index))
            _changed(changed, rows, index)
        budgets.set_yscale("log")
        budgets.set_ylabel("Mean evidence budget")
        budgets.set_xlabel("Copies of every prompt output")
        changed.set_ylabel("Typed responses changed")
        changed.set_ylim(bottom=-0.5)
        changed.yaxis.get_major_locator().set_params(integer=True)
        handles, texts = budgets.get_legend_handles_labels()
        canvas.legend(handles, texts, loc="outside lower center", ncols=4)
        _letter(budgets, "a", f"Budget, {first}")
        _letter(changed, "b", "Responses against all prompts and cameras")
        return canvas

    alt = "Per-output budgets grow with exact copies; camera-grouped budgets and responses do not."
    return Figure("hrc_multiplicity", "Copies are not witnesses", alt, plot)


def _changed(axes: Axes, rows: pd.DataFrame, index: int) -> None:
    """Mark how many responses change under the most copies, fewer prompts, one camera less."""
    copies, prompts = rows[rows["Varied"] == "copies"], rows[rows["Varied"] == "prompts"]
    chosen = pd.concat(
        [copies.tail(1), prompts.iloc[:-1], rows[rows["Varied"] == "without camera"]]
    )
    names = {"copies": "{} copies", "prompts": "{} prompts", "without camera": "no {}"}
    words = [
        names[varied].format(str(level).removesuffix("_view").replace("_", " "))
        for varied, level in zip(chosen["Varied"], chosen["Level"], strict=True)
    ]
    place = np.arange(len(chosen)) + 0.14 * (index - 1.5)
    look = _look(index)
    axes.plot(
        place, chosen["Responses changed"], color=look["color"], marker=look["marker"], linestyle=""
    )
    axes.set_xticks(range(len(words)), words, rotation=35, ha="right", fontsize=7.5)


def marked(figure: Figure, mark: str) -> Figure:
    """Return the figure with `mark` in its title and on the picture itself."""
    inner: Callable[[], Canvas] = figure.plot

    def plot() -> Canvas:
        canvas = inner()
        canvas.suptitle(
            mark.upper(), x=0.995, ha="right", fontsize=8, color=VERMILION, weight="bold"
        )
        return canvas

    return Figure(figure.id, f"{figure.title} ({mark})", f"{figure.alt} ({mark})", plot)
