"""The laws of the fixpoint, on random graphs."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograph.rules.cascade import Cascade, Seeds, cascade
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import RunTooLarge
from retrograph.rules.graph import Graph
from retrograph.rules.plan import plan_hash
from retrograph.rules.validity import Validity, severity
from tests.rules.cascade_reference import Edge, Node, Reference
from tests.rules.cascade_strategies import (
    EFFECTS,
    HEALTHY,
    World,
    applied,
    impacts,
    states,
    worlds,
)

WAYS = pytest.mark.parametrize(
    "narrow", [sys.maxsize, -1, 3], ids=["node by node", "columns", "mixed"]
)


@WAYS
@settings(max_examples=200, deadline=None)
@given(world=worlds())
def test_equals_the_letter_of_the_law(narrow: int, world: World) -> None:
    expected = Reference(world.nodes, world.edges, world.seeds).impacts()

    found = cascade(world.graph(), world.seeds, narrow=narrow)

    assert impacts(found) == expected
    assert found.depths == [len(found.path(ordinal)) - 1 for ordinal in range(len(found))]


@pytest.mark.parametrize("seed", range(12))
def test_all_ways_agree_on_larger_graphs(seed: int) -> None:
    """Graphs of circles and ranks deep enough that waves of every size occur in one run."""
    source = random.Random(seed)
    count = source.choice((60, 400, 1_500))
    validities = (Validity.CURRENTLY_VALID,) * 9 + tuple(Validity)
    nodes: list[Node] = []
    for node in range(count):
        validity = source.choice(validities)
        nodes.append((node, validity, validity, 0))
    kinds = (EdgeType.SUPPORTED_BY, *EdgeType) if seed % 2 else tuple(EdgeType)
    reach = source.choice((5, 50, count))
    edges: list[Edge] = []
    for target in range(count):
        for _ in range(source.randrange(5)):
            near = (target + source.randint(-reach, reach // 4)) % count
            edges.append((near, target, source.choice(kinds)))
    roots = dict.fromkeys(source.sample(range(count), 3), Validity.INVALID)
    seeds = Seeds(roots=roots, touched=[5], passing=source.sample(edges, 5))
    graph = Graph.build(nodes, edges)

    found = cascade(graph, seeds, narrow=sys.maxsize)

    assert all(cascade(graph, seeds, narrow=narrow) == found for narrow in (-1, 5, 30, 100))
    if count == 60:
        assert impacts(found) == Reference(nodes, edges, seeds).impacts()


@settings(deadline=None)
@given(world=worlds(), data=st.data())
def test_order_of_rows_does_not_matter(world: World, data: st.DataObject) -> None:
    nodes = data.draw(st.permutations(world.nodes))
    edges = data.draw(st.permutations(world.edges + world.edges[:3]))

    assert cascade(Graph.build(nodes, edges), world.seeds) == cascade(world.graph(), world.seeds)


@settings(deadline=None)
@given(world=worlds(single=True))
def test_repeating_a_run_changes_nothing(world: World) -> None:
    graph = world.graph()
    after = applied(graph, cascade(graph, world.seeds))

    assert len(cascade(after, world.seeds)) == 0


@settings(deadline=None)
@given(world=worlds())
def test_severity_only_rises(world: World) -> None:
    found = cascade(world.graph(), world.seeds)

    for before, after in zip(found.before, found.after, strict=True):
        risen = severity(after) > severity(before)
        assert risen or after in {before, Validity.SUPERSEDED}


@settings(deadline=None)
@given(world=worlds(validities=st.sampled_from(HEALTHY), single=True), data=st.data())
def test_two_runs_commute_on_a_healthy_graph(world: World, data: st.DataObject) -> None:
    node = data.draw(st.sampled_from([row[0] for row in world.nodes]))
    other = Seeds(roots={node: Validity.INVALID})
    first = Seeds(roots=dict.fromkeys(world.seeds.roots, Validity.INVALID))

    assert _both(world.graph(), first, other) == _both(world.graph(), other, first)


def _both(graph: Graph, first: Seeds, second: Seeds) -> object:
    middle = applied(graph, cascade(graph, first))
    return states(applied(middle, cascade(middle, second)))


@settings(deadline=None)
@given(world=worlds(single=True))
def test_chains_end_at_the_root_and_never_grow_worse(world: World) -> None:
    found = cascade(world.graph(), world.seeds)
    root = next(iter(world.seeds.roots))

    for ordinal in range(len(found)):
        path = found.path(ordinal)
        assert path[0] == root
        assert path[-1] == found.nodes[ordinal]
        assert len(set(path)) == len(path)
        assert found.path(ordinal, limit=2) == path[:2]
        cause = found.causes[ordinal]
        if cause is not None and found.before[ordinal] != found.after[ordinal]:
            assert severity(found.after[ordinal]) <= severity(found.after[cause])


@settings(deadline=None)
@given(world=worlds(single=True), worse=st.sampled_from(EFFECTS))
def test_a_worse_effect_leaves_nothing_healthier(world: World, worse: Validity) -> None:
    (root, effect) = next(iter(world.seeds.roots.items()))
    milder, stronger = sorted((effect, worse), key=severity)
    graph = world.graph()
    mild = applied(graph, cascade(graph, Seeds(roots={root: milder})))
    strong = applied(graph, cascade(graph, Seeds(roots={root: stronger})))

    for (_, one), (_, other) in zip(states(mild), states(strong), strict=True):
        assert one is not None
        assert other is not None
        assert severity(one[1]) <= severity(other[1])


@settings(deadline=None)
@given(world=worlds())
def test_a_run_over_its_limit_is_refused(world: World) -> None:
    size = len(cascade(world.graph(), world.seeds))

    assert len(cascade(world.graph(), world.seeds, limit=size)) == size
    if size:
        with pytest.raises(RunTooLarge):
            cascade(world.graph(), world.seeds, limit=size - 1)


@settings(deadline=None)
@given(world=worlds())
def test_plan_hash_tells_states_apart_not_chains(world: World) -> None:
    found = cascade(world.graph(), world.seeds)
    forgetful = Cascade(
        found.nodes[::-1],
        found.kinds[::-1],
        found.before[::-1],
        found.after[::-1],
        found.stored_before[::-1],
        found.stored_after[::-1],
        causes=[None] * len(found),
        origins=[None] * len(found),
        depths=[0] * len(found),
    )

    assert plan_hash(forgetful) == plan_hash(found)
