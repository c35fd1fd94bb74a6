"""The studies of prediction, selection, admission and availability."""

from __future__ import annotations

import dataclasses
import itertools
import math
import tomllib

import numpy as np
import pytest

from pact_benchmark import plotting
from pact_benchmark.config import Config, load_config
from pact_benchmark.data import from_instances
from pact_benchmark.errors import UsageError
from pact_benchmark.estimates import Estimator, Settings, evaluation_under
from pact_benchmark.evaluation import RULES, Evaluation
from pact_benchmark.selection import TARGETS
from pact_benchmark.studies import (
    after_admission,
    before_admission,
    calibration,
    design,
    matched,
    missing_sources,
    prediction,
    strata,
)
from pact_benchmark.study import StudyContext, all_studies, run_study

FAMILIES = (
    "design",
    "prediction",
    "before_admission",
    "random_order",
    "after_admission",
    "matched",
    "strata",
    "missing_sources",
)
STUDIES = (
    "design",
    "prediction",
    "before_admission",
    "after_admission",
    "matched",
    "strata",
    "missing_sources",
    "calibration",
)


def compute_all(evaluation, settings):
    """Run the eight studies and return their results by id."""
    return {
        "design": design.compute(evaluation.benchmark),
        "prediction": prediction.compute(evaluation, settings),
        "before_admission": before_admission.compute(evaluation, settings),
        "after_admission": after_admission.compute(evaluation, settings),
        "matched": matched.compute(evaluation, settings),
        "strata": strata.compute(evaluation, settings),
        "missing_sources": missing_sources.compute(evaluation, settings),
        "calibration": calibration.compute(evaluation, settings),
    }


@pytest.fixture(scope="module")
def results(benchmark_rows, settings):
    """Return the results of the eight studies at one concentration."""
    return compute_all(Evaluation(benchmark_rows, kappa=[8.0] * 5), settings)


@pytest.fixture(scope="module")
def statistics(results):
    """Return the statistics of all eight."""
    return {key: value for result in results.values() for key, value in result.statistics.items()}


def value(statistics, key):
    """Return a statistic that must have a value."""
    assert statistics[key].value is not None, statistics[key].note
    return float(statistics[key].value)


def test_every_published_id_is_produced(shared, statistics):
    """Each id of the published figures of these families is there, also those kept back."""
    published = tomllib.loads((shared / "targets" / "controlled.toml").read_text())["target"]
    wanted = {item["id"] for item in published if item["id"].split(".")[0] in FAMILIES}
    assert wanted - set(statistics) == set()


def test_studies_are_registered_and_run_from_a_context(benchmark_rows, statistics):
    """Studies run through the registry, on a configuration, with the same values."""
    sections = {**load_config().sections}
    sections["evaluation"] = {**sections["evaluation"], "draws": 20, "concentrations": [8.0]}
    context = StudyContext(benchmark_rows, type(load_config())(sections))
    known = all_studies()
    for name in STUDIES:
        for key, found in run_study(known[name], context).statistics.items():
            assert found.value == statistics[key].value or key.startswith("matched."), key


def test_design_counts(statistics):
    """Counts of the small design: every stratum as a multiple of 120 rows."""
    expected = {
        "instances": 13,
        "three_valid_sources": 8,
        "one_unavailable": 3,
        "all_unavailable": 1,
        "one_invalid": 1,
        "base_eligible": 12,
        "geometry_and_risk_valid": 10,
        "sources_present": 9,
        "any_unavailable": 4,
        "unavailable_or_invalid": 5,
        "adversarial_consensus": 1,
        "without_adversarial": 12,
        "three_valid_without_adversarial": 7,
        "instances_per_condition": 1,
    }
    for name, multiple in expected.items():
        assert statistics[f"design.{name}"].value == 120 * multiple, name
    assert statistics["design.scenes"].value == 12


def test_intervals_contain_their_values(statistics):
    """Percentile intervals lie around the point value, up to the skew of a small sample."""
    checked = 0
    for key, found in statistics.items():
        if found.low is None or found.value is None:
            continue
        slack = 0.25 * (found.high - found.low) + 1e-9
        assert found.low - slack <= found.value <= found.high + slack, key
        checked += 1
    assert checked > 250


def test_zero_errors_have_an_interval_with_room(statistics):
    """Where no wrong admission was observed the upper end is above zero, with a note."""
    for rule in ("pact", "nested_dirichlet"):
        found = statistics[f"after_admission.{rule}.wrong_all_at_013"]
        assert found.value == 0.0
        assert found.low == 0.0
        assert found.high == pytest.approx(1 - 0.025 ** (1 / 1560), rel=1e-6)
        assert "no event" in found.note
        count = statistics[f"after_admission.{rule}.wrong_at_013"]
        assert count.value == 0
        assert count.high == pytest.approx(1560 * found.high)


def test_random_order_decomposition_adds_up(statistics):
    """The gap of two areas is the gap of their references plus the gap of their excesses."""
    gap = value(statistics, "before_admission.product_minus_pact")
    reference = value(statistics, "random_order.product_minus_pact")
    excess = value(statistics, "random_order.product.excess") - value(
        statistics, "random_order.pact.excess"
    )
    assert gap == pytest.approx(reference + excess, abs=1e-12)
    stated = statistics["random_order.product_minus_pact.excess"]
    assert stated.value == pytest.approx(excess, abs=1e-12)
    assert stated.low < stated.value < stated.high
    errors = statistics["random_order.pact.errors_among_eligible"]
    assert value(statistics, "random_order.pact.reference") == pytest.approx(errors.value / 1440)


def test_selective_metrics_are_statistics(results, statistics):
    """Every entry of the tables of selective metrics is a statistic under the support's name."""
    tables = {t.id: t.frame for result in results.values() for t in result.tables}
    after = tables["selective_metrics"].set_index("rule").loc["PACT"]
    assert after.index[0] == "AUGRC [0.10, 0.39]"
    names = ["augrc", *(f"risk_at_coverage_0{c}0" for c in range(1, 5))]
    names += [f"coverage_at_risk_{r}" for r in ("001", "005", "010")]
    assert [statistics[f"after_admission.pact.{name}"].value for name in names] == after.tolist()
    ranked = tables["ranking_metrics"].set_index("rule").loc["PACT"]
    names = ["aurc", "augrc", *(f"risk_at_coverage_{c}" for c in ("010", "050", "100"))]
    names += [f"coverage_at_risk_{r}" for r in ("010", "050")]
    assert [statistics[f"before_admission.pact.{name}"].value for name in names] == ranked.tolist()


def test_selective_metrics_follow_the_support(benchmark_rows, results):
    """Another support gives another AUGRC, and its column says so."""
    other = after_admission.compute(
        Evaluation(benchmark_rows, kappa=[8.0] * 5), Settings(draws=0, support=(0.05, 0.30))
    )
    frame = next(t.frame for t in other.tables if t.id == "selective_metrics")
    assert frame.columns[1] == "AUGRC [0.05, 0.30]"
    shipped = results["after_admission"].statistics["after_admission.product.augrc"]
    assert other.statistics["after_admission.product.augrc"].value != shipped.value


def test_best_source_uses_what_leads_on_the_training_rows(benchmark_rows, results, statistics):
    """Each fold ranks by its best source alone; here that is one source in all folds."""
    frame = next(t.frame for t in results["before_admission"].tables if t.id == "best_source")
    found = statistics["before_admission.best_source.ncsaurc"]
    assert f"by fold: {', '.join(frame['best'])}" in found.note
    assert set(frame["best"]) == {"language"}
    assert found.value == value(statistics, "before_admission.language_only.base_eligible.ncsaurc")


def test_constant_score_reaches_the_random_reference(benchmark_rows):
    """A score that says nothing has, over many draws, the area of the random reference."""
    from pact_benchmark.curve_metrics import ncsaurc
    from pact_benchmark.selection import Ranking

    evaluation = Evaluation(benchmark_rows, kappa=[8.0] * 5)
    outputs, rng = evaluation.outputs("pact", 8.0), np.random.default_rng(0)
    eligible = benchmark_rows.base_eligible
    areas = [
        ncsaurc(evaluation.curve_of(Ranking(rng.random(1560), eligible, outputs.correct)))
        for _ in range(40)
    ]
    assert np.mean(areas) == pytest.approx(1 - outputs.correct[eligible].mean(), abs=0.01)


def test_matched_effects_are_differences_of_cells(statistics):
    """Effects are contrasts of the cells, and the interaction is the contrast of effects."""
    for stratum in ("all", "present", "without_adversarial"):
        effects = {}
        for policy in ("without_corroboration", "with_corroboration"):
            cells = [
                value(statistics, f"matched.{partition}.{policy}.{stratum}")
                for partition in ("provenance", "singleton")
            ]
            effects[policy] = value(statistics, f"matched.partition_effect.{policy}.{stratum}")
            assert effects[policy] == pytest.approx(cells[0] - cells[1], abs=0.01)
        interaction = effects["with_corroboration"] - effects["without_corroboration"]
        found = value(statistics, f"matched.interaction.{stratum}")
        assert found == pytest.approx(interaction, abs=1e-12)


def test_corroboration_does_nothing_without_adversarial_rows(statistics):
    """Once the adversarial rows are gone, the check changes no area."""
    for partition in ("singleton", "provenance"):
        pair = [
            value(statistics, f"matched.{partition}.{policy}.without_adversarial")
            for policy in ("without_corroboration", "with_corroboration")
        ]
        assert pair[0] == pytest.approx(pair[1], abs=1e-12)


def test_route_transitions_count_every_row(results, statistics):
    """Each stratum's transitions add up to its rows, and adversarial ones go to confirm."""
    frame = next(t.frame for t in results["matched"].tables if t.id == "route_transitions")
    sizes = frame.groupby(["stratum", "partition"])["rows"].sum()
    assert sizes.loc["all"].tolist() == [1560, 1560]
    assert sizes.loc["present"].tolist() == [1080, 1080]
    moved = frame[frame["without"] != frame["with"]]
    assert set(moved["without"]) == {"admit"}
    assert set(moved["with"]) == {"confirm"}
    assert moved["correct"].sum() == 0
    for (stratum, partition), n in sizes.items():
        prefix = f"matched.{partition}.transitions.{stratum}"
        ends = ("admitted", "hold", "confirm", "fallback", "score_withheld")
        assert sum(value(statistics, f"{prefix}.{end}") for end in ends) == n
        rerouted = moved[(moved["stratum"] == stratum) & (moved["partition"] == partition)]
        assert value(statistics, f"{prefix}.rerouted") == rerouted["rows"].sum()


def test_route_transitions_fit_cutoffs_within_the_stratum(benchmark_rows, settings, statistics):
    """Routes of the rows with all sources present are those of a benchmark of just these rows."""
    rows = np.flatnonzero(benchmark_rows.sources_present)
    part = dataclasses.replace(
        benchmark_rows,
        sources=benchmark_rows.sources.take(rows),
        **{
            name: getattr(benchmark_rows, name)[rows]
            for name in ("label", "scene", "fold", "condition", "geometry", "step", "record_id")
        },
    )
    alone = matched.compute(Evaluation(part, kappa=[8.0] * 5), settings).statistics
    for partition, route in itertools.product(
        ("singleton", "provenance"), ("admitted", "hold", "confirm", "score_withheld")
    ):
        name = f"matched.{partition}.transitions"
        assert statistics[f"{name}.present.{route}"] == alone[f"{name}.all.{route}"]


def test_alternative_conventions_coincide(statistics):
    """Excluding, removing and isolating an unavailable source agree where none bridges."""
    for name in ("before_admission", "after_admission", "contracts_changed", "mean_drift"):
        found = [
            value(statistics, f"missing_sources.{convention}.{name}")
            for convention in ("excluded", "omitted", "isolated")
        ]
        assert found == pytest.approx([found[0]] * 3, abs=1e-12)
    assert value(statistics, "missing_sources.omitted.contracts_changed") > 0
    assert value(statistics, "missing_sources.omitted.contracts_changed_without_unavailable") == 0
    zero = value(statistics, "missing_sources.zero.after_admission")
    assert zero == value(statistics, "after_admission.pact.ncsaurc")


def test_strata_have_their_own_denominator(statistics):
    """Areas of a stratum rest on the rows of the stratum."""
    assert statistics["strata.three_valid.before_admission.pact"].n == 960
    assert statistics["strata.unavailable_or_invalid.before_admission.pact"].n == 600
    assert statistics["strata.all_valid_eligibility.before_admission.pact"].n == 1560
    key = "strata.three_valid_without_adversarial.after_admission.peak.pact"
    assert statistics[key].n == 840


def test_empirical_prior_is_the_label_frequency(statistics):
    """With balanced labels the prior's log loss is ln 5 and its Brier score 0.8."""
    assert value(statistics, "prediction.empirical_prior.nll") == pytest.approx(math.log(5))
    assert value(statistics, "prediction.empirical_prior.brier") == pytest.approx(0.8)


def test_curve_table_holds_every_point(results, evaluation):
    """The exported curves have a row per stage, rule and target, retained at least wrong."""
    frame = next(t.frame for t in results["after_admission"].tables if t.id == "curves")
    assert len(frame) == 2 * len(RULES) * TARGETS.size
    assert set(frame["stage"]) == {"before_admission", "after_admission"}
    assert (frame["admitted"] >= frame["wrong"]).all()
    assert (frame["n"] == 1560).all()


def test_statistics_repeat_exactly(benchmark_rows, settings, statistics):
    """A second evaluation of the same rows gives the same numbers to the last bit."""
    again = compute_all(Evaluation(benchmark_rows, kappa=[8.0] * 5), settings)
    for result in again.values():
        for key, found in result.statistics.items():
            assert found == statistics[key], key


def test_no_draws_leave_the_values(benchmark_rows, statistics):
    """Without resamples the point values stay and the intervals go."""
    plain = compute_all(Evaluation(benchmark_rows, kappa=[8.0] * 5), Settings(draws=0))
    for result in plain.values():
        for key, found in result.statistics.items():
            assert found.low is None, key
            if (
                "effect" not in key
                and "interaction" not in key
                and "without_adversarial" not in key
            ):
                assert found.value == statistics[key].value, key


@pytest.mark.parametrize(
    "choose",
    [
        lambda f: f[(f["scene_id"] <= "scene_003") & (f["condition"] == "clean_control")],
        lambda f: f[f["condition"] == "all_sources_missing"],
        lambda f: f[f["condition"] == "language_missing_context_noisy"],
        lambda f: f.iloc[::97],
    ],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_partial_data_give_reasons_instead_of_errors(instances, choose):
    """Rows that cannot support a figure leave it empty, with a note, and nothing fails."""
    for result in compute_all(
        Evaluation(from_instances(choose(instances))), Settings(draws=20)
    ).values():
        for key, found in result.statistics.items():
            assert found.value is not None or found.note, key
            assert found.value is None or math.isfinite(found.value), key
        for figure in result.figures:
            figure.plot()


def test_figures_draw_and_repeat(results):
    """Every figure has a text alternative and draws to the same bytes twice."""
    figures = [figure for result in results.values() for figure in result.figures]
    assert all(result.figures for result in results.values())
    for figure in figures:
        assert len(figure.alt) > 40
        first, second = (plotting.render(figure.plot(), "svg") for _ in range(2))
        assert first == second


def test_extra_rules_join_the_comparison(benchmark_rows):
    """A registered rule that the configuration names is measured and drawn with the others."""
    section = load_config().section("evaluation")
    chosen = Settings.from_section({**section, "draws": 0, "extra_rules": ["pact_singleton"]})
    results = compute_all(Evaluation(benchmark_rows, kappa=[8.0] * 5), chosen)
    for key in (
        "prediction.pact_singleton.nll",
        "before_admission.pact_singleton.native",
        "after_admission.pact_singleton.ncsaurc",
    ):
        family = key.split(".")[0]
        assert results[family].statistics[key].value is not None
    with pytest.raises(UsageError, match="'astrology'"):
        Settings.from_section({**section, "extra_rules": ["astrology"]})


def test_estimator_without_rows_is_empty():
    """A share or mean over no rows has no value and says so."""
    estimate = Estimator(draws=10, seed=1)
    for found in (
        estimate.share(np.zeros(3), np.zeros(3)),
        estimate.mean(np.zeros(3), np.zeros(3)),
    ):
        assert found.value is None
        assert "no row" in found.note


def test_the_configuration_decides_how_rows_are_evaluated(benchmark_rows):
    """Candidates, held concentrations and checks are those of the configuration."""
    sections = {**load_config().sections}
    sections["evaluation"] = {**sections["evaluation"], "concentrations": [4, 16]}
    sections["admission"] = {**sections["admission"], "checks": ["risk_support"]}
    chosen = evaluation_under(Config(sections), benchmark_rows)
    assert set(chosen.kappa) <= {4.0, 16.0}
    assert list(chosen.policy.checks) == ["risk_support"]
    sections["evaluation"] = {**sections["evaluation"], "fold_concentrations": [4, 8, 4, 8, 24]}
    held = evaluation_under(Config(sections), benchmark_rows)
    assert held.kappa.tolist() == [4.0, 8.0, 4.0, 8.0, 24.0]
    sections["evaluation"] = {**sections["evaluation"], "fold_concentrations": [4, 8]}
    with pytest.raises(UsageError, match="has 2 values and these rows have 5 outer folds"):
        evaluation_under(Config(sections), benchmark_rows)
