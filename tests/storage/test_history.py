"""Histories tell at every instant what a naive reader tells, however many versions there are."""

from __future__ import annotations

from functools import partial

import pytest

from retrograph.rules.validity import Validity
from retrograph.storage import tables
from retrograph.storage.history import histories
from retrograph.storage.records import NodeRecord
from retrograph.storage.store import Store
from retrograph.storage.versions import open_next
from retrograph.storage.write import Write
from tests.planting import new_node, plant_nodes
from tests.storage.counting import count, plan
from tests.storage.world import FLEET, TENANT, World


def _versions(world: World, id: int, at: int) -> list[NodeRecord]:
    """Every overlap of a state and a content that began by `at`, newest first."""
    found = []
    for state in world.states.lines[id]:
        for content in world.contents.lines[id]:
            began = max(state.begin, content.begin)
            ended = min((v.end for v in (state, content) if v.end is not None), default=None)
            if began <= at and (ended is None or began < ended):
                valid_to = None if ended is None or ended > at else ended
                found.append(world.record(id, state, content, valid_to, at))
    return sorted(found, key=lambda node: -node.valid_from)


def test_a_history_holds_every_version_up_to_the_instant(world: World) -> None:
    for at in world.moments():
        with world.store.read(TENANT, FLEET, at) as s:
            found = histories(s, world.identities, 1_000, None)
        for id in world.identities:
            assert found[id].rows == _versions(world, id, at)
            assert not found[id].has_next


@pytest.mark.parametrize("first", [1, 2, 3])
def test_pages_follow_each_other_without_gap_or_overlap(world: World, first: int) -> None:
    for at in (world.instants[-1], world.instants[-4]):
        with world.store.read(TENANT, FLEET, at) as s:
            for id in world.identities:
                expected, found = _versions(world, id, at), list[NodeRecord]()
                after = None
                while (page := histories(s, [id], first, after)[id]).rows:
                    found += page.rows
                    after = found[-1].valid_from
                    assert page.has_next == (len(found) < len(expected))
                assert found == expected


def test_a_node_that_never_was_has_no_history(world: World) -> None:
    with world.store.read(TENANT, FLEET) as s:
        assert histories(s, [7, *world.strangers], 10, None)[7].rows == []
        assert histories(s, world.strangers, 10, None)[world.strangers[0]].rows == []


def test_any_number_of_nodes_takes_two_statements(world: World) -> None:
    for at in (None, world.instants[-2]):
        with world.store.read(TENANT, FLEET, at) as s:
            assert count(s, lambda: histories(s, [100], 1, None)) == 2
            assert count(s, lambda: histories(s, range(5_000), 1_000, None)) == 2


def _change(write: Write, row: dict[str, int]) -> None:
    open_next(write.snapshot, tables.node_state, [row])


@pytest.mark.needs("query_plans")
def test_a_page_reads_no_more_versions_than_it_shows(store: Store) -> None:
    """Of 300 versions the first page of 10 is found by seeks at both its ends."""
    (node,) = plant_nodes(store, [new_node("a")])
    for number in range(300):
        row = {"id": node, "validity": 1 + number % 6}
        store.write(1, 1, partial(_change, row=row))
    with store.read(1, 1) as s:
        page = histories(s, [node], 10, None)[node]
        steps = plan(s, lambda: histories(s, [node], 10, None))
    assert [record.validity for record in page.rows[:2]] == [Validity(6), Validity(5)]
    assert page.has_next
    bounded = "SEARCH node_state_history USING PRIMARY KEY (id=? AND valid_to>? AND valid_to<?)"
    assert bounded in steps
