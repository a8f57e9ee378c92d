"""Graphs as values: what they hold, and how one comes from another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograph.rules.cascade import cascade
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import NotFound
from retrograph.rules.graph import Graph
from retrograph.rules.standing import NARROW
from retrograph.rules.validity import Validity
from tests.rules.cascade_reference import Edge, Node
from tests.rules.cascade_strategies import TYPES, VALIDITIES, World, nodes_of, states, worlds

REQUIRES = EdgeType.REQUIRES
ROWS: list[Node] = [(7, 1, 1, 0), (-5, 3, 4, 1), (2**63 - 1, 6, 6, 0)]


def _same(one: Graph, other: Graph) -> bool:
    return (
        states(one) == states(other)
        and np.array_equal(one.structure.edges, other.structure.edges)
        and one.standing().stands == other.standing().stands
        and np.array_equal(one.standing().standing_supporters, other.standing().standing_supporters)
        and np.array_equal(one.standing().mild_supporters, other.standing().mild_supporters)
    )


def test_holds_what_it_was_built_of() -> None:
    graph = Graph.build(iter(ROWS), [(7, -5, REQUIRES)])

    assert (graph.node_count, graph.edge_count) == (3, 1)
    assert graph.state(-5) == (Validity.DEFINITELY_STALE, Validity.INVALID, True)
    assert graph.state(2**63 - 1) == (Validity.REVALIDATED, Validity.REVALIDATED, False)
    assert 7 in graph


@pytest.mark.parametrize("node", [0, 6, 8, -(2**63), 2**62, 2**80])
def test_knows_what_it_does_not_hold(node: int) -> None:
    graph = Graph.build(ROWS, [])

    assert node not in graph
    assert graph.state(node) is None
    with pytest.raises(NotFound, match=str(node)):
        graph.places([7, node])


def test_an_empty_graph_is_a_graph() -> None:
    graph = Graph.build([], [])

    assert (graph.node_count, graph.edge_count) == (0, 0)
    assert 1 not in graph
    assert graph.changed(nodes=ROWS, edges_added=[(7, -5, REQUIRES)]).edge_count == 1


@pytest.mark.parametrize("rows", [ROWS, [(-(2**63), 5, 5, 0)], []])
def test_a_graph_parsed_equals_one_built(rows: list[Node]) -> None:
    edges = [(7, -5, REQUIRES), (7, 2**63 - 1, EdgeType.SUPPORTED_BY)]
    texts = [",".join(str(row[column]) for row in rows) for column in range(4)]
    joined = [",".join(str(int(edge[column])) for edge in edges) for column in range(3)]

    assert _same(Graph.parse(texts, joined), Graph.build(rows, edges))
    assert _same(Graph.parse(texts, ["", "", ""]), Graph.build(rows, []))


def test_edges_that_are_never_followed_are_left_out() -> None:
    edges = [(7, 7, REQUIRES), (7, 8, REQUIRES), (8, 7, REQUIRES), (8, 9, REQUIRES)]
    graph = Graph.build(ROWS, [*edges, (7, -5, REQUIRES), (7, -5, REQUIRES)])

    assert graph.edge_count == 1


def test_refuses_what_is_no_graph() -> None:
    with pytest.raises(ValueError, match="each node once"):
        Graph.build([*ROWS, ROWS[0]], [])
    with pytest.raises(ValueError, match="validity"):
        Graph.build([(1, 0, 1, 0)], [])
    with pytest.raises(ValueError, match="validity"):
        Graph.build([(1, 1, 7, 0)], [])
    with pytest.raises(ValueError, match="edge type"):
        Graph.build(ROWS, [(7, -5, 8)])


def test_changing_states_shares_the_structure() -> None:
    graph = Graph.build(ROWS, [(7, -5, REQUIRES)])
    changed = graph.changed(nodes=[(7, 3, 3, 0), (7, 4, 4, 0)])

    assert changed.structure is graph.structure
    assert changed.state(7) == (Validity.INVALID, Validity.INVALID, False)
    assert graph.state(7) == (Validity.CURRENTLY_VALID, Validity.CURRENTLY_VALID, False)


def test_a_node_that_is_removed_and_put_again_has_no_edges() -> None:
    graph = Graph.build(ROWS, [(7, -5, REQUIRES)])

    assert graph.changed(removed_nodes=[7], nodes=[ROWS[0]]).edge_count == 0
    assert graph.changed(edges_removed=[(7, -5, REQUIRES)]).edge_count == 0
    again = graph.changed(edges_removed=[(7, -5, REQUIRES)], edges_added=[(7, -5, REQUIRES)])
    assert again.edge_count == 1


@st.composite
def _changes(draw: st.DrawFn, world: World) -> tuple[list[Node], list[Edge], list[Edge], list[int]]:
    ids = [node[0] for node in world.nodes]
    everyone = [*ids, 1001, 1002, -1003]
    put = draw(st.lists(st.sampled_from(everyone), max_size=4, unique=True))
    ends = st.sampled_from(everyone)
    gone = draw(st.lists(st.sampled_from(ids), max_size=2, unique=True))
    added: list[Edge] = [*draw(st.lists(st.tuples(ends, ends, TYPES), max_size=5))]
    removed = draw(st.lists(st.sampled_from(world.edges), max_size=5)) if world.edges else []
    return draw(nodes_of(put, VALIDITIES)), added, removed, gone


@settings(deadline=None)
@given(world=worlds(), data=st.data())
def test_a_changed_graph_equals_one_built_anew(world: World, data: st.DataObject) -> None:
    put, added, removed, gone = data.draw(_changes(world))
    known = {node[0] for node in world.nodes}
    nodes = {node[0]: node for node in world.nodes if node[0] not in gone}
    kept = [edge for edge in world.edges if edge not in removed and {*edge[:2]} <= known]
    kept = [edge for edge in kept if not {*edge[:2]} & {*gone}]
    nodes |= {node[0]: node for node in put}

    changed = world.graph().changed(
        nodes=put, edges_added=added, edges_removed=removed, removed_nodes=gone
    )

    assert _same(changed, Graph.build(nodes.values(), kept + added))


@pytest.fixture(scope="module", params=[NARROW, -1], ids=["node by node", "columns"])
def always_updated(request: pytest.FixtureRequest) -> Iterator[None]:
    """Update the standing whatever part of a graph changes, in each of the two ways."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("retrograph.rules.graph.FEW", 0)
        patch.setattr("retrograph.rules.standing.NARROW", request.param)
        patch.setattr("retrograph.rules.standing_update.NARROW", request.param)
        yield


@pytest.mark.usefixtures("always_updated")
@settings(deadline=None, max_examples=100)
@given(world=worlds(), data=st.data())
def test_standing_is_kept_up_to_date(world: World, data: st.DataObject) -> None:
    rows = {node[0]: node for node in world.nodes}
    graph = world.graph()
    for _ in range(data.draw(st.integers(1, 4))):
        graph.standing()
        chosen = data.draw(st.lists(st.sampled_from([*rows]), min_size=1, max_size=4, unique=True))
        put = data.draw(nodes_of(chosen, VALIDITIES))
        rows |= {node[0]: node for node in put}
        graph = graph.changed(nodes=put)
        anew = Graph.build(rows.values(), world.edges)
        assert _same(graph, anew)
        assert cascade(graph, world.seeds) == cascade(anew, world.seeds)
