"""Shapes that break a cascade which recurses, enumerates paths, or starts over every round."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest

from retrograph.rules.cascade import Cascade, Seeds, cascade
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.graph import Graph
from retrograph.rules.validity import Validity

LONG = 10_000
WAYS = pytest.mark.parametrize(
    "narrow", [sys.maxsize, -1, 100], ids=["node by node", "columns", "mixed"]
)
INVALID = Seeds(roots={1: Validity.INVALID})
Edges = list[tuple[int, int, EdgeType]]


def _fell(edges: Edges, narrow: int = 100) -> Cascade:
    ids = {1, *(edge[0] for edge in edges), *(edge[1] for edge in edges)}
    return cascade(Graph.build([(node, 1, 1, 0) for node in ids], edges), INVALID, narrow=narrow)


def _chain(kind: EdgeType, first: int = 1, last: int = LONG) -> Edges:
    return [(node, node + 1, kind) for node in range(first, last)]


@WAYS
@pytest.mark.parametrize("kind", [EdgeType.REQUIRES, EdgeType.SUPPORTED_BY])
def test_long_chain(kind: EdgeType, narrow: int) -> None:
    found = _fell(_chain(kind), narrow)

    assert found.nodes == list(range(1, LONG + 1))
    assert found.depths == list(range(LONG))
    assert found.path(LONG - 1) == found.nodes
    assert found.path(LONG - 1, limit=3) == [1, 2, 3]


@WAYS
@pytest.mark.parametrize("kind", [EdgeType.DERIVED_FROM, EdgeType.SUPPORTED_BY])
def test_long_cycle(kind: EdgeType, narrow: int) -> None:
    found = _fell([*_chain(kind), (LONG, 1, kind)], narrow)

    assert found.nodes == list(range(1, LONG + 1))
    assert found.depths[-1] == LONG - 1


@WAYS
def test_layers_with_a_trillion_paths(narrow: int) -> None:
    width, depth = 10, 12
    layers = [range(2 + width * layer, 2 + width * (layer + 1)) for layer in range(depth)]
    edges = [(1, node, EdgeType.REQUIRES) for node in layers[0]]
    for upper, lower in pairwise(layers):
        edges += [(one, other, EdgeType.REQUIRES) for one in upper for other in lower]

    found = _fell(edges, narrow)

    assert len(found) == 1 + width * depth
    assert found.path(len(found) - 1) == [1, *(layer[0] for layer in layers[:-1]), layers[-1][-1]]


@WAYS
def test_wide_star(narrow: int) -> None:
    found = _fell([(1, node, EdgeType.OBSERVED_FROM) for node in range(2, LONG)], narrow)

    assert set(found.after[1:]) == {Validity.POTENTIALLY_STALE}
    assert set(found.causes[1:]) == {0}


@WAYS
def test_supporters_of_one_node_fall_one_by_one(narrow: int) -> None:
    """Nodes 1..n fall in a chain; each supports node h, which a chain of its own stands by."""
    count = 1_000
    hub = count + 1
    edges = _chain(EdgeType.REQUIRES, 1, count)
    edges += [(node, hub, EdgeType.SUPPORTED_BY) for node in range(1, count + 1)]
    edges += _chain(EdgeType.SUPPORTED_BY, hub, hub + count)

    found = _fell(edges, narrow)

    hub_at = found.nodes.index(hub)
    assert len(found) == 2 * count + 1
    assert found.after[hub_at] == Validity.DEFINITELY_STALE
    assert found.path(hub_at) == [1, hub]


@WAYS
def test_circles_of_support_fall_with_their_last_ground(narrow: int) -> None:
    """A long two-way chain of support stands by its two ends; first one falls, then the other."""
    count = 1_000
    edges = _chain(EdgeType.SUPPORTED_BY, 10, 10 + count)
    edges += [(target, source, kind) for source, target, kind in edges]
    edges += [(2, 10, EdgeType.SUPPORTED_BY), (3, 10 + count, EdgeType.SUPPORTED_BY)]

    one_end = _fell([*edges, (1, 2, EdgeType.REQUIRES)], narrow)
    both_ends = _fell([*edges, (1, 2, EdgeType.REQUIRES), (2, 3, EdgeType.REQUIRES)], narrow)

    assert one_end.nodes == [1, 2, 10]
    assert len(both_ends) == count + 4
    assert both_ends.nodes[:4] == [1, 2, 3, 10]
    assert set(both_ends.after[3:]) == {Validity.POTENTIALLY_STALE}


@pytest.mark.long
@pytest.mark.parametrize("kind", [EdgeType.REQUIRES, EdgeType.SUPPORTED_BY])
def test_chain_of_a_million(kind: EdgeType) -> None:
    found = _fell(_chain(kind, last=1_000_000))

    assert len(found) == 1_000_000
    assert found.depths[-1] == 999_999
