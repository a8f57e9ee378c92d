"""Evidence tells at every instant what a naive reader tells."""

from __future__ import annotations

from retrograph.storage.evidence import evidence_of
from tests.storage.counting import count
from tests.storage.world import FLEET, TENANT, World


def test_evidence_is_as_it_was_at_every_instant(world: World) -> None:
    for at in world.moments():
        expected = world.evidence_at(at)
        with world.store.read(TENANT, FLEET, at) as s:
            found = evidence_of(s, world.identities)
        assert found == {id: expected.get(id, []) for id in world.identities}


def test_any_number_of_nodes_takes_one_statement(world: World) -> None:
    with world.store.read(TENANT, FLEET, world.instants[-2]) as s:
        assert count(s, lambda: evidence_of(s, [100])) == 1
        assert count(s, lambda: evidence_of(s, range(5_000))) == 1
        assert count(s, lambda: evidence_of(s, [])) == 0
