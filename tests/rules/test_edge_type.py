"""The propagation matrix, cell by cell."""

from __future__ import annotations

from itertools import product

import pytest

from retrograph.rules.cascade import Cascade, Seeds, cascade
from retrograph.rules.edge_type import (
    CEILING,
    LIFTING,
    PROPAGATING,
    SUPPORT_EFFECT,
    EdgeType,
)
from retrograph.rules.graph import Graph
from retrograph.rules.validity import RAISED, severity

MATRIX = {
    EdgeType.REQUIRES: (1, 2, 3),
    EdgeType.VALID_ONLY_WHEN: (1, 2, 3),
    EdgeType.DERIVED_FROM: (1, 2, 2),
    EdgeType.OBSERVED_FROM: (1, 1, 1),
    EdgeType.CONTRADICTS: (0, 0, 0),
    EdgeType.SUPERSEDES: (0, 0, 0),
}


def _fell(root: int, *edges: tuple[int, int, int]) -> Cascade:
    """Give node 1 this severity; the other nodes are healthy."""
    graph = Graph.build([(node, 1, 1, 0) for node in range(1, 5)], edges)
    return cascade(graph, Seeds(roots={1: RAISED[root]}))


def _severity(found: Cascade, node: int) -> int:
    return severity(found.after[found.nodes.index(node)]) if node in found.nodes else 0


@pytest.mark.parametrize(("kind", "effects"), MATRIX.items())
def test_a_source_alone(kind: EdgeType, effects: tuple[int, ...]) -> None:
    given = [_severity(_fell(root, (1, 2, kind)), 2) for root in (1, 2, 3)]

    assert tuple(given) == effects


@pytest.mark.parametrize(("root", "effect"), [(1, 1), (2, 2), (3, 2)])
def test_the_only_supporter(root: int, effect: int) -> None:
    assert _severity(_fell(root, (1, 2, EdgeType.SUPPORTED_BY)), 2) == effect


@pytest.mark.parametrize(("root", "effect"), [(1, 0), (2, 1), (3, 1)])
def test_a_supporter_beside_one_that_stands(root: int, effect: int) -> None:
    found = _fell(root, (1, 2, EdgeType.SUPPORTED_BY), (3, 2, EdgeType.SUPPORTED_BY))

    assert _severity(found, 2) == effect


def test_support_effect_is_the_rule_for_all_supporters() -> None:
    """Tried on every set of up to three supporters, each with a severity, standing if it is 0."""
    states = [(0, True), (0, False), (1, False), (2, False), (3, False)]
    for count, raised in product((1, 2, 3), (1, 2, 3)):
        for others in product(states, repeat=count - 1):
            supporters = [(raised, False), *others]
            stands = any(standing for _, standing in supporters)
            least = min(max(number, 1) for number, _ in supporters)
            expected = (0 if raised == 1 else 1) if stands else min(2, least)
            mild = any(number <= 1 for number, _ in supporters)
            assert SUPPORT_EFFECT[min(raised, 2) * 4 + stands * 2 + mild] == expected


def test_types_are_either_followed_or_lifting() -> None:
    assert {*PROPAGATING, *LIFTING} == set(EdgeType)
    assert len(PROPAGATING) == 5
    assert set(CEILING) == set(PROPAGATING)


def test_stored_numbers_never_change() -> None:
    assert [(one.name, one.value) for one in EdgeType] == [
        ("DERIVED_FROM", 1),
        ("REQUIRES", 2),
        ("CONTRADICTS", 3),
        ("SUPERSEDES", 4),
        ("VALID_ONLY_WHEN", 5),
        ("SUPPORTED_BY", 6),
        ("OBSERVED_FROM", 7),
    ]
