"""What a cascade can start from."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from retrograph.rules.cascade import Cascade, ImpactKind, Seeds, cascade
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import NotFound
from retrograph.rules.graph import Graph
from retrograph.rules.validity import Validity

VALID, STALE, FALLEN, INVALID = 1, 2, 3, 4
REQUIRES, SUPPORTED_BY = EdgeType.REQUIRES, EdgeType.SUPPORTED_BY
Edges = Sequence[tuple[int, int, int]]


def _run(states: dict[int, int], edges: Edges, seeds: Seeds) -> Cascade:
    nodes = [(node, validity, validity, 0) for node, validity in states.items()]
    return cascade(Graph.build(nodes, edges), seeds)


def _brief(found: Cascade) -> list[tuple[int, int, list[int]]]:
    return [
        (node, after, found.path(ordinal))
        for ordinal, (node, after) in enumerate(zip(found.nodes, found.after, strict=True))
    ]


def test_nothing_seeded_changes_nothing() -> None:
    assert len(_run({1: INVALID, 2: VALID}, [(1, 2, REQUIRES)], Seeds())) == 0


def test_unknown_nodes_are_refused() -> None:
    for seeds in (Seeds(roots={9: Validity.INVALID}), Seeds(touched=[9])):
        with pytest.raises(NotFound):
            _run({1: VALID}, [], seeds)


def test_a_root_that_another_raises_further_has_that_one_as_its_cause() -> None:
    roots = {1: Validity.INVALID, 2: Validity.POTENTIALLY_STALE}
    found = _run({1: VALID, 2: VALID}, [(1, 2, REQUIRES)], Seeds(roots=roots))

    assert _brief(found) == [(1, INVALID, [1]), (2, INVALID, [1, 2])]


def test_superseding_an_invalid_node_cascades_no_further() -> None:
    states = {1: INVALID, 2: VALID, 3: INVALID}
    edges = [(1, 2, REQUIRES), (1, 3, EdgeType.CONTRADICTS)]
    found = _run(states, edges, Seeds(roots={1: Validity.SUPERSEDED}))

    assert _brief(found) == [(1, Validity.SUPERSEDED, [1])]
    assert (found.before, found.stored_after) == ([INVALID], [Validity.SUPERSEDED])


def test_a_new_edge_passes_the_severity_of_its_unhealthy_source() -> None:
    states = {1: FALLEN, 2: VALID, 3: VALID}
    edges = [(1, 2, REQUIRES), (2, 3, REQUIRES)]
    found = _run(states, edges, Seeds(passing=[(1, 2, REQUIRES)]))

    assert _brief(found) == [(2, FALLEN, [1, 2]), (3, FALLEN, [1, 2, 3])]
    assert (found.causes, found.origins) == ([None, 0], [1, None])
    assert found.depths == [1, 2]


def test_a_new_edge_of_a_healthy_source_or_out_of_the_graph_passes_nothing() -> None:
    states = {1: VALID, 2: VALID, 3: INVALID}
    passing = [(1, 2, REQUIRES), (3, 2, REQUIRES), (3, 9, REQUIRES), (9, 2, REQUIRES)]

    assert len(_run(states, [(1, 2, REQUIRES)], Seeds(passing=passing))) == 0


def test_a_new_supporter_is_judged_beside_the_others() -> None:
    edges = [(1, 2, SUPPORTED_BY), (3, 2, SUPPORTED_BY)]
    seeds = Seeds(passing=[(1, 2, SUPPORTED_BY)])

    assert _brief(_run({1: INVALID, 2: VALID, 3: VALID}, edges, seeds)) == [(2, STALE, [1, 2])]
    assert _brief(_run({1: INVALID, 2: VALID, 3: FALLEN}, edges, seeds)) == [(2, FALLEN, [1, 2])]
    assert _brief(_run({1: STALE, 2: VALID, 3: VALID}, edges, seeds)) == []


def test_new_edges_never_lift() -> None:
    edges = [(1, 2, EdgeType.CONTRADICTS), (1, 3, EdgeType.SUPERSEDES)]

    assert len(_run({1: INVALID, 2: STALE, 3: STALE}, edges, Seeds(passing=edges))) == 0


def test_a_passing_source_that_rises_is_a_cause_only_of_what_rose_later() -> None:
    """1 passes 1 to 2 at once; 2 and the root 5 make 1 rise; the rest goes through it."""
    states = {1: STALE, 2: VALID, 5: VALID}
    edges = [(1, 2, REQUIRES), (5, 1, REQUIRES)]
    seeds = Seeds(passing=[(1, 2, REQUIRES)], roots={5: Validity.INVALID})
    found = _run(states, edges, seeds)

    assert _brief(found) == [(5, INVALID, [5]), (1, INVALID, [5, 1]), (2, INVALID, [5, 1, 2])]

    edges = [(1, 2, REQUIRES), (5, 1, EdgeType.DERIVED_FROM), (1, 3, EdgeType.OBSERVED_FROM)]
    seeds = Seeds(passing=[(1, 3, EdgeType.OBSERVED_FROM)], roots={5: Validity.INVALID})
    found = _run({**states, 3: VALID}, edges, seeds)

    assert (3, STALE, [1, 3]) in _brief(found)
    assert (1, FALLEN, [5, 1]) in _brief(found)


@pytest.mark.parametrize("own", [VALID, STALE, INVALID])
def test_changed_content_passes_severity_one_whatever_the_state(own: int) -> None:
    states = {1: own, 2: VALID, 3: VALID, 4: VALID, 5: FALLEN}
    edges = [(1, 2, REQUIRES), (1, 3, SUPPORTED_BY), (4, 3, SUPPORTED_BY), (1, 5, REQUIRES)]
    found = _run(states, edges, Seeds(touched=[1]))

    assert _brief(found) == [(2, STALE, [1, 2]), (3, STALE, [1, 3])]


def test_a_touched_node_never_rises_and_has_no_impact() -> None:
    edges = [(1, 2, REQUIRES), (2, 1, REQUIRES), (2, 3, EdgeType.CONTRADICTS)]
    found = _run({1: VALID, 2: VALID}, edges, Seeds(touched=[1]))
    assert _brief(found) == [(2, STALE, [1, 2])]

    seeds = Seeds(roots={1: Validity.INVALID, 2: Validity.INVALID}, touched=[1, 3])
    found = _run({1: VALID, 2: VALID, 3: INVALID}, edges, seeds)
    assert _brief(found) == [(2, INVALID, [2])]


def test_the_nearest_of_the_dead_that_held_a_node_down_is_its_cause() -> None:
    states = {1: VALID, 2: VALID, 3: VALID, 9: INVALID}
    held = [(node, 9, EdgeType.CONTRADICTS) for node in (1, 3, 2)]
    chain = [(3, 2, REQUIRES), (2, 1, REQUIRES)]
    found = _run(states, held + chain, Seeds(roots={3: Validity.INVALID}))

    assert _brief(found)[2] == (9, INVALID, [3, 9])
    assert found.kinds[2] == ImpactKind.REEVALUATE
    assert found.causes[2] == 0
