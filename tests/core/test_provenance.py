"""Provenance: parent sets to components, and operations on partitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pact_core import (
    blocks,
    bridge,
    components,
    components_batch,
    from_blocks,
    is_coarsening,
    merge,
    refine,
    regroup,
    replicate,
)
from tests.core.oracles import pairwise_partition
from tests.core.strategies import parent_sets, partitions


@given(parent_sets(names=12))
def test_components_match_pairwise_overlap(parents):
    """Union-find gives the connected components of pairwise parent overlap."""
    assert components(parents) == pairwise_partition(parents)


@given(parent_sets(), st.randoms())
def test_components_ignore_source_order(parents, random):
    """Renumbering the sources renumbers the components."""
    order = list(range(len(parents)))
    random.shuffle(order)
    shuffled = components([parents[i] for i in order])
    straight = components(parents)
    for a in range(len(order)):
        for b in range(len(order)):
            assert (shuffled[a] == shuffled[b]) == (straight[order[a]] == straight[order[b]])


@given(st.lists(parent_sets(sources=4), min_size=1, max_size=5))
def test_batched_components_match_single(rows):
    """The batched labelling equals the single one row by row."""
    width = max(len(names) for row in rows for names in row)
    table = np.full((len(rows), 4, width), -1)
    for i, row in enumerate(rows):
        for j, names in enumerate(row):
            table[i, j, : len(names)] = sorted(names)
    assert components_batch(table).tolist() == [list(components(row)) for row in rows]


def test_indirect_bridge_joins_sources_without_common_parent():
    """A chain of overlaps makes one component."""
    assert components([{"a"}, {"b"}, {"a", "b"}, {"c"}]) == (0, 0, 0, 3)


def test_components_of_many_linked_sources_is_one():
    """A long chain collapses into the first source, whatever the order of links."""
    chain = [{i, i + 1} for i in range(5000)]
    assert set(components(chain)) == {0}
    assert set(components(chain[::-1])) == {0}


@pytest.mark.parametrize("empty", [set(), (), frozenset()])
def test_empty_parent_set_is_the_callers_error(empty):
    """A source without parents is refused, single and batched."""
    with pytest.raises(ValueError, match="no parents"):
        components([{"a"}, empty])
    with pytest.raises(ValueError, match="no parents"):
        components_batch(np.array([[0], [-1]]))


def test_sources_left_out_stand_alone():
    """A source that does not take part neither joins nor bridges components."""
    table = np.array([[[0, -1], [0, 1], [1, -1]]])
    assert components_batch(table).tolist() == [[0, 0, 0]]
    keep = np.array([[True, False, True]])
    assert components_batch(table, keep=keep).tolist() == [[0, 1, 2]]


@given(partitions(6), st.integers(0, 5), st.integers(0, 5))
def test_merge_coarsens_and_refine_refines(partition, a, b):
    """Merging joins two components; refining frees a member."""
    merged = merge(partition, a, b)
    assert merged[a] == merged[b]
    assert is_coarsening(merged, partition)
    freed = refine(partition, a)
    assert freed.count(freed[a]) == 1
    assert is_coarsening(partition, freed)


@given(partitions(5), st.permutations(range(5)))
def test_regroup_keeps_component_sizes(partition, order):
    """Regrouping hands the same component sizes to other members."""
    sizes = sorted(len(group) for group in blocks(partition))
    assert sorted(len(group) for group in blocks(regroup(partition, order))) == sizes


@given(partitions(4), st.integers(0, 3), st.integers(0, 3))
def test_replicate_same_joins_and_new_separates(partition, source, copies):
    """Copies with the same parents stay in the component, copies with new ones leave it."""
    same = replicate(partition, source, copies)
    assert same[:4] == partition
    assert set(same[4:]) <= {partition[source]}
    new = replicate(partition, source, copies, parents="new")
    assert len(set(new[4:])) == copies
    assert not set(new[4:]) & set(partition)


def test_bridge_adds_one_common_parent():
    """A bridge links two sources and changes nothing else."""
    parents = [{"a"}, {"b"}, {"c"}]
    bridged = bridge(parents, 0, 2)
    assert components(bridged) == (0, 1, 0)
    assert bridged[1] == frozenset({"b"})


@given(partitions(6))
def test_blocks_and_labels_are_inverse(partition):
    """Explicit components and labels describe the same partition."""
    assert from_blocks(blocks(partition), 6) == partition


def test_misuse_of_partition_operations_is_an_error():
    """Wrong orders, overlapping blocks and unknown copy modes are refused."""
    with pytest.raises(ValueError, match="permutation"):
        regroup((0, 1), (0, 0))
    with pytest.raises(ValueError, match="disjoint"):
        from_blocks([[0, 1], [1, 2]], 3)
    with pytest.raises(ValueError, match="parents"):
        replicate((0, 1), 0, 1, parents="other")
