"""Synthesis of opinions: counts, identity of draws, reading of the scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pact_scenes import draws
from pact_scenes.conditions import LABELS, load_conditions
from pact_scenes.opinions import OpinionParams, Synthesiser, read_scene, synthesise
from pact_scenes.reading import previous_scene_rows

PARAMS = OpinionParams.default()
CONDITIONS = load_conditions()
NAMES = [c.name for c in CONDITIONS]


def observations(scenes: int = 48, steps: int = 10, seed: int = 3) -> dict[str, np.ndarray]:
    """Return plausible observations of approaches, one row per scene and step."""
    rng = np.random.default_rng(seed)
    scene = np.repeat(np.arange(1, scenes + 1), steps)
    phase = np.tile((np.arange(steps) + 0.5) / steps, scenes)
    distance = rng.uniform(0.5, 0.9, scenes)[scene - 1] * (1.0 - 0.85 * phase)
    return {
        "scene_id": np.array([f"scene_{i:03d}" for i in scene]),
        "geometry": np.array(["face_to_face", "side_by_side", "table_mediated"])[scene % 3],
        "step": np.tile(np.arange(steps), scenes),
        "hand_gripper_distance": distance,
        "path_clearance": rng.uniform(0.03, 0.4, scenes)[scene - 1],
        "separation_margin": distance - 0.2,
        "closing_speed": np.sin(np.pi * phase) * rng.uniform(0.1, 0.8, scenes)[scene - 1],
        "occlusion": np.maximum(0.0, rng.uniform(-0.5, 0.7, scenes))[scene - 1],
    }


@pytest.fixture(scope="module")
def table():
    """Return a whole benchmark."""
    return synthesise(observations(), CONDITIONS, LABELS, PARAMS, seed=1)


def rows_of(columns: dict[str, np.ndarray], index: np.ndarray) -> dict[str, np.ndarray]:
    """Return some rows of a table of observations."""
    return {name: values[index] for name, values in columns.items()}


def test_counts_are_exact_by_construction(table):
    """The design counts of the paper hold in every table of 48 scenes and ten steps."""
    batch = table.to_batch()
    observed = np.asarray(batch.observed())
    missing = np.asarray(batch.unavailable).sum(axis=1)
    assert len(table) == 31_200
    assert (observed.sum(axis=1) == 3).sum() == 19_200
    assert (missing == 1).sum() == 7_200
    assert (missing == 3).sum() == 2_400
    assert ((missing == 0) & (observed.sum(axis=1) == 2)).sum() == 2_400
    assert observed[:, 1:].all(axis=1).sum() == 24_000
    assert (observed.sum(axis=1) >= 2).sum() == 28_800
    assert (table.condition_name == "adversarial_consensus_wrong").sum() == 2_400
    assert len(set(table.record_id)) == 31_200


def test_opinions_are_distributions_and_attributes_are_in_range(table):
    """Every present source with mass sums to one; quality and conflict stay in [0, 1]."""
    total = table.opinion.sum(axis=-1)
    assert set(np.unique(np.round(total[~np.isnan(total)], 9))) == {0.0, 1.0}
    for values in (table.quality, table.conflict):
        known = values[~np.isnan(values)]
        assert known.min() >= 0.0
        assert known.max() <= 1.0


def test_rows_do_not_depend_on_order_or_subset(table):
    """A row is the same in a shuffled part of the observations with fewer conditions and labels."""
    columns = observations()
    rng = np.random.default_rng(0)
    index = rng.permutation(480)[:60]
    previous = rows_of(columns, previous_scene_rows(columns)[index])
    part = synthesise(
        rows_of(columns, index), CONDITIONS[3:5], ("T", "N"), PARAMS, 1, previous=previous
    )
    where = {name: i for i, name in enumerate(table.record_id)}
    same = table.take(np.array([where[name] for name in part.record_id]))
    assert np.array_equal(part.opinion, same.opinion, equal_nan=True)
    assert np.array_equal(part.quality, same.quality, equal_nan=True)
    assert np.array_equal(part.conflict, same.conflict, equal_nan=True)


def test_one_step_gives_the_table_row(table):
    """Synthesising a single observation gives exactly the row of the table."""
    columns = observations()
    context = previous_scene_rows(columns)
    for position, name in ((17, NAMES[1]), (333, NAMES[3]), (479, NAMES[8])):
        condition = CONDITIONS[NAMES.index(name)]
        one = Synthesiser([condition], PARAMS, 1).instances(
            rows_of(columns, np.array([position])),
            ("H",),
            rows_of(columns, context[[position]]),
        )
        row = table.take(table.record_id == one.record_id[0])
        assert np.array_equal(one.opinion, row.opinion, equal_nan=True)
        assert np.array_equal(one.quality, row.quality, equal_nan=True)
        assert one.rows() == row.rows()


def test_another_seed_draws_other_opinions(table):
    """The seed changes the draws and nothing else."""
    other = synthesise(observations(), CONDITIONS, LABELS, PARAMS, seed=2)
    assert not np.array_equal(other.opinion, table.opinion, equal_nan=True)
    assert np.array_equal(other.record_id, table.record_id)
    assert np.array_equal(other.relation_class, table.relation_class)


def leading(table, name: str) -> np.ndarray:
    """Return the leading contracts of the rows of a condition, shape [n, 3]."""
    rows = table.take(table.condition_name == name)
    return np.where(np.isnan(rows.opinion[..., 0]), -1, np.nan_to_num(rows.opinion).argmax(-1))


def test_sources_support_what_the_conditions_promise(table):
    """Cue, wrong, previous cue, urgent, scene and third contracts are where they should be."""

    def label(name: str) -> np.ndarray:
        return table.label[table.condition_name == name]

    clean = leading(table, "clean_control")
    rows = table.take(table.condition_name == "clean_control")
    assert (clean[:, 0] == label("clean_control")).all()
    assert (clean[:, 1] == rows.relation_class).all()
    assert (clean[:, 2] == rows.risk_class).all()
    agreed = leading(table, "adversarial_consensus_wrong")
    assert (agreed == agreed[:, :1]).all()
    assert (agreed[:, 0] != label("adversarial_consensus_wrong")).all()
    dropped = leading(table, "conflict_bit_dropout_all_wrong")
    assert all(
        len({*row, cue}) == 4
        for row, cue in zip(dropped, label("conflict_bit_dropout_all_wrong"), strict=True)
    )
    assert (leading(table, "unsafe_urgency_injection")[:, 0] == LABELS.index("U")).all()
    stale = leading(table, "stale_language_previous_cue")[:, 0]
    assert (stale != label("stale_language_previous_cue")).all()
    opposed = leading(table, "overconfident_contradictory_sources")
    assert all(len(set(row)) == 3 for row in opposed)
    assert (opposed[:, 0] != label("overconfident_contradictory_sources")).all()
    partial = leading(table, "partial_disagreement_low_quality")
    assert (partial[:, 0] == label("partial_disagreement_low_quality")).all()
    assert ((partial[:, 2] != partial[:, 0]) & (partial[:, 2] != partial[:, 1])).all()


def test_what_is_read_in_the_scene_does_not_depend_on_the_command(table):
    """One acquisition serves all five commands; language and scene-less sources are drawn anew."""
    states = table.take(np.lexsort((table.label, table.step, table.scene_id, table.condition)))
    five = (-1, len(LABELS), 3)
    drawn = {
        "opinion": states.opinion.reshape(*five, len(LABELS)),
        "quality": states.quality.reshape(*five, 1),
        "conflict": states.conflict.reshape(*five, 1),
    }
    condition = states.condition.reshape(-1, len(LABELS))[:, 0]
    for index, known in enumerate(CONDITIONS):
        for j, source in enumerate(known.sources):
            if not source.available:
                continue
            reads = source.supports in ("scene", "previous_scene")
            for name, values in drawn.items():
                found = values[condition == index, :, j]
                if reads:
                    assert np.array_equal(found, np.repeat(found[:, :1], 5, 1), equal_nan=True)
                elif source.valid and (name != "conflict" or source.conflict_recorded):
                    differs = (found[:, 0] != found[:, 1]).any(axis=-1)
                    assert differs.mean() > (0.99 if name == "opinion" else 0.3)  # some are clipped


@pytest.mark.parametrize("rule", ["pact", "nested_dirichlet", "product", "global_cautious"])
def test_the_scene_alone_is_right_one_time_in_five(table, rule):
    """Without usable language a rule is right for exactly one of the five commands."""
    from pact_core import fuse

    contract = np.asarray(fuse(table.to_batch(), rule=rule).contract)
    for name in ("language_missing_context_noisy", "schema_invalid_language_distribution"):
        inside = table.condition_name == name
        assert (contract == table.label)[inside].sum() == 480


def test_stale_context_describes_the_previous_scene(table):
    """Geometry and risk of the stale condition lead with the previous scene's classes."""
    stale = table.take(table.condition_name == "stale_context_previous_scene")
    leads = leading(table, "stale_context_previous_scene")
    classes = {
        (s, int(k)): (g, r)
        for s, k, g, r in zip(
            stale.scene_id, stale.step, stale.relation_class, stale.risk_class, strict=True
        )
    }
    expected = [
        classes[s, int(k)] for s, k in zip(stale.previous_scene_id, stale.step, strict=True)
    ]
    assert np.array_equal(leads[:, 1:], np.array(expected))


def test_admission_answers_as_the_conditions_intend(table):
    """Whole conditions pass or fail their check, whatever the candidate."""
    from pact_core import AdmissionPolicy, admission_response, fuse

    policy = AdmissionPolicy()
    batch = table.to_batch()
    code = np.asarray(admission_response(batch, fuse(batch, "pact").contract, policy))
    check = np.array(["", *policy.checks])[code]
    expected = {
        "stale_language_previous_cue": "command_consistency",
        "unsafe_urgency_injection": "command_consistency",
        "conflict_bit_dropout_all_wrong": "source_validity",
        "schema_invalid_language_distribution": "source_validity",
        "all_sources_missing": "source_validity",
        "adversarial_consensus_wrong": "component_corroboration",
        "clean_control": "",
        "stale_context_previous_scene": "",
        "partial_disagreement_low_quality": "",
        "overconfident_contradictory_sources": "",
        "geometry_missing_language_low_quality": "",
        "language_missing_context_noisy": "",
    }
    for name, stopped in expected.items():
        assert (check[table.condition_name == name] == stopped).all(), name
    missing = check[table.condition_name == "risk_missing_language_overconfident_wrong"]
    assert set(missing) == {"", "risk_support"}
    assert 0.05 < (missing == "").mean() < 0.25


def test_occlusion_strength_leaves_unoccluded_rows_unchanged(table):
    """Only rows whose context is occluded change with the strength of occlusion."""
    strong = synthesise(
        observations(), CONDITIONS, LABELS, PARAMS.override(occlusion_strength=1.5), seed=1
    )
    clean = (table.condition_name == "clean_control") & (table.occlusion_band == 0)
    occluded = (table.condition_name == "clean_control") & (table.occlusion_band > 0)
    assert np.array_equal(strong.quality[clean], table.quality[clean])
    assert np.array_equal(strong.opinion[clean], table.opinion[clean])
    assert (strong.quality[occluded, 1:] <= table.quality[occluded, 1:]).all()
    assert (strong.quality[occluded, 1:] < table.quality[occluded, 1:]).any()
    assert (strong.conflict[occluded, 1:] >= table.conflict[occluded, 1:]).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("generation_concentration", 50.0),
        ("quality_multiplier", 0.8),
        ("conflict_multiplier", 1.2),
        ("language_peak", 0.65),
    ],
)
def test_sweep_parameters_have_effect_and_keep_the_leads(table, name, value):
    """A sweep parameter changes sources but never what the undegraded sources lead with."""
    varied = synthesise(observations(), CONDITIONS, LABELS, PARAMS.override(**{name: value}), 1)
    clean = table.condition_name == "clean_control"
    before, after = table.take(clean), varied.take(clean)
    changed = [
        not np.array_equal(getattr(before, part), getattr(after, part))
        for part in ("opinion", "quality", "conflict")
    ]
    assert any(changed)
    assert np.array_equal(before.opinion.argmax(-1), after.opinion.argmax(-1))


distances = st.floats(0.0, 1.5)


@given(st.lists(distances, min_size=2, max_size=2), st.floats(-0.5, 1.0), st.floats(-0.5, 2.0))
def test_closer_is_never_less_cautious(pair, margin, speed):
    """Neither class falls as the hand comes closer and clearance shrinks."""
    near, far = sorted(pair)
    columns = {
        "hand_gripper_distance": np.array([near, far]),
        "path_clearance": np.array([near, far]),
        "separation_margin": np.array([margin, margin]),
        "closing_speed": np.array([speed, speed]),
        "occlusion": np.zeros(2),
    }
    classes = read_scene(columns, PARAMS).scene_class
    assert (classes[0] >= classes[1]).all()
    assert classes.min() >= 0
    assert classes.max() <= 3


def test_thresholds_belong_to_the_more_cautious_class():
    """A value exactly at a threshold is in the class beyond it."""
    columns = {
        "hand_gripper_distance": np.array(PARAMS.hand_gripper_distance),
        "path_clearance": np.full(3, 9.0),
        "separation_margin": np.full(3, 9.0),
        "closing_speed": np.array(PARAMS.closing_speed),
        "occlusion": np.zeros(3),
    }
    classes = read_scene(columns, PARAMS).scene_class
    assert classes[:, 0].tolist() == [1, 2, 3]
    assert classes[:, 1].tolist() == [1, 2, 3]


def test_clarity_changes_the_peak_of_geometry_where_it_reads_the_scene():
    """A clearer class multiplies the odds of the lead; the faintest still leads."""
    columns = observations()
    clean = CONDITIONS[:1]
    sharp = PARAMS.override(generation_concentration=1e9)
    plain = synthesise(columns, clean, LABELS, sharp.override(relation_clarity=(1.0,) * 4), seed=1)
    clear = synthesise(
        columns, clean, LABELS, sharp.override(relation_clarity=(3.0, 1.0, 1.0, 1e-3)), seed=1
    )
    peak, raised = plain.opinion.max(axis=-1), clear.opinion.max(axis=-1)
    normal, retreat = plain.relation_class == 0, plain.relation_class == 3
    odds, raised_odds = peak / (1.0 - peak), raised / (1.0 - raised)
    np.testing.assert_allclose(raised_odds[normal, 1], 3.0 * odds[normal, 1], rtol=1e-3)
    np.testing.assert_allclose(raised[~normal & ~retreat], peak[~normal & ~retreat])
    np.testing.assert_allclose(raised[:, [0, 2]], peak[:, [0, 2]])
    assert (raised[retreat, 1] < peak[retreat, 1]).all()
    np.testing.assert_array_equal(clear.opinion.argmax(-1), plain.opinion.argmax(-1))


def test_attribute_spread_multiplies_the_noise_of_quality_and_conflict():
    """Twice the spread, twice the deviation from the mean, and the same opinions."""
    columns = observations() | {"occlusion": np.zeros(480)}
    weak = CONDITIONS[NAMES.index("partial_disagreement_low_quality")]
    calm, noisy = (
        synthesise(
            columns,
            [replace(weak, sources=[replace(s, attribute_spread=a) for s in weak.sources])],
            LABELS,
            PARAMS,
            seed=1,
        )
        for a in (0.5, 1.0)
    )
    mean = np.array([[s.quality, s.conflict] for s in weak.sources]).T
    for name, middle in zip(("quality", "conflict"), mean, strict=True):
        deviation = getattr(calm, name) - middle
        np.testing.assert_allclose(getattr(noisy, name) - middle, 2.0 * deviation, atol=1e-12)
    np.testing.assert_array_equal(calm.opinion, noisy.opinion)


def test_draws_have_the_moments_of_their_distributions():
    """Uniform, normal, gamma and Dirichlet draws agree with theory within sampling error."""
    key = draws.join(draws.keys_of(np.array(["test"])), np.arange(40_000, dtype=np.uint64))
    uniform, normal = draws.uniform(key, 0), draws.normal(key, 1)
    assert abs(uniform.mean() - 0.5) < 0.006
    assert abs(uniform.var() - 1 / 12) < 0.002
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1.0) < 0.02
    for shape in (0.3, 1.0, 4.0, 60.0):
        variate = draws.gamma(np.full(key.shape, shape), key)
        assert abs(variate.mean() / shape - 1.0) < 5.0 / np.sqrt(shape * key.size)
        assert abs(variate.var() / shape - 1.0) < 0.1
    alpha = np.broadcast_to(np.array([50.0, 20.0, 15.0, 10.0, 5.0]), (key.size, 5))
    mean = draws.dirichlet(alpha, key).mean(axis=0)
    assert np.allclose(mean, alpha[0] / 100.0, atol=0.002)


def test_an_unusable_configuration_is_refused():
    """Thresholds out of order and a zero concentration are errors."""
    from pact_scenes.configuration import ConfigurationError, default_section

    section = default_section("opinions")
    section["risk"]["path_clearance"] = [0.1, 0.2, 0.3]
    with pytest.raises(ConfigurationError, match="path_clearance"):
        OpinionParams.from_section(section)
    section = default_section("opinions")
    section["generation_concentration"] = 0.0
    with pytest.raises(ConfigurationError, match="generation_concentration"):
        OpinionParams.from_section(section)
