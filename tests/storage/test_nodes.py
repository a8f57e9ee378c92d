"""Nodes by id and by key tell at every instant what a naive reader tells."""

from __future__ import annotations

from retrograph.storage.nodes import find_nodes, nodes_by_id, nodes_then, present
from retrograph.storage.records import NodeRef
from tests.storage.counting import count
from tests.storage.world import FLEET, KEYS, TENANT, World


def test_nodes_are_as_they_were_at_every_instant(world: World) -> None:
    ids = [*world.identities, *world.strangers, 7]
    for at in world.moments():
        with world.store.read(TENANT, FLEET, at) as s:
            assert nodes_by_id(s, ids) == world.nodes(at)
            assert present(s, ids) == world.nodes(at).keys()


def test_each_node_is_as_of_an_instant_of_its_own(world: World) -> None:
    ids = [*world.identities, *world.strangers, 7]
    with world.store.read(TENANT, FLEET) as s:
        instants = {min(at, s.instant) for at in world.moments()}
        places = {(id, at) for id in ids for at in instants}
        then = {(id, at): each for at in instants for id, each in world.nodes(at).items()}
        assert nodes_then(s, places) == then
        assert count(s, lambda: nodes_then(s, places)) == 2
        assert count(s, lambda: nodes_then(s, [])) == 0


def test_without_an_instant_they_are_as_of_the_last_commit(world: World) -> None:
    with world.store.read(TENANT, FLEET) as s:
        assert s.current
        assert nodes_by_id(s, world.identities) == world.nodes(world.instants[-1])


def test_refs_find_what_exists_at_the_instant(world: World) -> None:
    refs = [NodeRef(key=key) for key in (*KEYS, "missing")]
    refs += [NodeRef(id=id) for id in (*world.identities, *world.strangers, 7)]
    for at in world.moments():
        nodes = world.nodes(at)
        named = {NodeRef(key=node.key): node.id for node in nodes.values() if node.key is not None}
        with world.store.read(TENANT, FLEET, at) as s:
            assert find_nodes(s, refs) == named | {NodeRef(id=id): id for id in nodes}


def test_nothing_asked_for_asks_nothing(world: World) -> None:
    with world.store.read(TENANT, FLEET) as s:
        assert count(s, lambda: nodes_by_id(s, [])) == 0
        assert count(s, lambda: find_nodes(s, [])) == 0


def test_any_number_of_nodes_takes_two_statements(world: World) -> None:
    for at in (None, world.instants[3]):
        with world.store.read(TENANT, FLEET, at) as s:
            assert count(s, lambda: nodes_by_id(s, [100])) == 2
            assert count(s, lambda: nodes_by_id(s, range(5_000))) == 2
