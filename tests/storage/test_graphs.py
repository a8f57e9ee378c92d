"""The graph that is loaded as columns is the graph that the reads tell, at every instant."""

from __future__ import annotations

from retrograph.rules.edge_type import EdgeType
from retrograph.rules.graph import Graph
from retrograph.storage.edge_writes import create_edges, end_edges
from retrograph.storage.edges import edges_by_id
from retrograph.storage.node_writes import set_pin
from retrograph.storage.nodes import nodes_by_id
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store
from retrograph.storage.write import Write, take_ids
from tests.planting import new_node, plant_edges, plant_nodes

REQUIRES, DERIVED_FROM = EdgeType.REQUIRES, EdgeType.DERIVED_FROM


def _told_by_reads(s: Snapshot, nodes: range, edges: range) -> Graph:
    found = nodes_by_id(s, nodes).values()
    return Graph.build(
        [(each.id, each.validity, each.projected, each.pinned) for each in found],
        [(e.source_id, e.target_id, e.type) for e in edges_by_id(s, edges).values()],
    )


def _same(one: Graph, other: Graph) -> bool:
    arrays = ("validity", "projected", "pinned")
    return (
        one.structure.ids.tolist() == other.structure.ids.tolist()
        and one.structure.edges.tolist() == other.structure.edges.tolist()
        and all(getattr(one, name).tolist() == getattr(other, name).tolist() for name in arrays)
    )


def _history_of_changes(store: Store) -> list[int]:
    """Pins, unlinks, links anew and adds a node, one write each; returns the instants."""
    a, b, c = plant_nodes(store, [new_node("a"), new_node("b"), new_node("c")])
    first = plant_edges(store, [(a, b, REQUIRES), (b, c, DERIVED_FROM)])
    instants = [store.clock(1, 1)]

    def pin(write: Write) -> None:
        node = nodes_by_id(write.snapshot, [b])[b]
        set_pin(write, node, pinned=not node.pinned, reason=None)

    def unlink(write: Write) -> None:
        end_edges(write, list(edges_by_id(write.snapshot, first).values()))

    def relink(write: Write) -> None:
        create_edges(write, [(a, b, REQUIRES), (a, c, REQUIRES)])

    for job in (pin, unlink, pin, relink):
        store.write(1, 1, job)
        instants.append(store.clock(1, 1))
    plant_nodes(store, [new_node("d")])
    return [*instants, store.clock(1, 1)]


def test_the_graph_at_any_instant(store: Store) -> None:
    for at in _history_of_changes(store):
        for instant in (at - 1, at):
            with store.read(1, 1, instant) as s:
                told = _told_by_reads(s, range(1, 5), range(1, 5))
                assert _same(s.profile.load_graph(s), told)


def test_a_graph_before_all_history_is_empty(store: Store) -> None:
    _history_of_changes(store)
    with store.read(1, 1, 0) as s:
        assert s.profile.load_graph(s).node_count == 0


def test_a_graph_of_ids_far_apart_is_loaded_whole(store: Store) -> None:
    """The texts in which columns travel are cut into pieces by id."""
    ids: list[int] = []
    for first in (1, 99_998, 250_000, 2**62):
        for name in ("node", "edge"):
            _skip_ids(store, name, first)
        ids += plant_nodes(store, [new_node() for _ in range(4)])
        plant_edges(store, [(source, ids[-1], REQUIRES) for source in ids[:-1]])
    with store.read(1, 1) as s:
        graph = s.profile.load_graph(s)
    assert graph.structure.ids.tolist() == ids
    assert graph.edge_count == sum(range(3, 16, 4))


def _skip_ids(store: Store, name: str, next_id: int) -> None:
    def skip(write: Write) -> None:
        (drawn,) = take_ids(write, name, 1)
        if drawn + 1 < next_id:
            take_ids(write, name, next_id - drawn - 1)

    store.write(1, 1, skip)
