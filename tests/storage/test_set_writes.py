"""Rows that a list names are written by one statement, and no others are."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from retrograph.storage.bulk import insert_rows
from retrograph.storage.gates import drop_gates, gates, put_gates, shift_gates
from retrograph.storage.nodes import states_by_id
from retrograph.storage.set_writes import update_named
from retrograph.storage.store import Store
from retrograph.storage.tables import node_state, task_gate
from retrograph.storage.versions import Row, end, open_next
from retrograph.storage.write import Write
from tests.planting import new_node, plant_nodes

EVERY = range(1, 31)


def put_elsewhere(write: Write) -> None:
    s = write.snapshot
    rows = [(1, 2, each, 7) for each in EVERY]
    columns = ("tenant_id", "fleet_id", "component_id", "blockers")
    insert_rows(s.connection, s.profile, task_gate.name, columns, rows)


def all_gates(write: Write) -> dict[tuple[int, int], int]:
    table = task_gate.c
    found = select(table.fleet_id, table.component_id, table.blockers).where(table.tenant_id == 1)
    return {(row[0], row[1]): row[2] for row in write.snapshot.connection.execute(found)}


def test_gates_are_shifted_and_dropped_by_their_list_in_their_fleet(store: Store) -> None:
    def job(write: Write) -> None:
        put_elsewhere(write)
        put_gates(write, dict.fromkeys(EVERY, 2))
        freed = shift_gates(write, {1: -2, 40: 3} | {each: each for each in range(2, 20)})
        drop_gates(write, [29, 30, 99])
        assert freed == {1}
        kept = {40: 3} | {each: each + 2 for each in range(2, 20)} | dict.fromkeys(range(20, 29), 2)
        assert gates(write, [*EVERY, 40]) == kept
        others = {(2, each): 7 for each in EVERY}
        assert all_gates(write) == {(1, each): count for each, count in kept.items()} | others

    store.write(1, 1, job)


def test_rows_that_say_the_same_and_rows_that_do_not_become_versions_alike(store: Store) -> None:
    ids = list(plant_nodes(store, [new_node(f"n:{n}") for n in range(20)]))
    planted = store.clock(1, 1)
    rows: list[Row] = [{"id": each, "validity": 3, "pin_reason": None} for each in ids[:12]]
    rows += [{"id": each, "validity": 2, "pin_reason": f"why {each}"} for each in ids[12:15]]
    store.write(1, 1, lambda write: open_next(write.snapshot, node_state, rows))

    now = store.clock(1, 1)
    expected = [(3, None, now)] * 12 + [(2, f"why {each}", now) for each in ids[12:15]]
    states, closed = node_state.current.c, node_state.history.c
    with store.read(1, 1) as s:
        found = select(states.validity, states.pin_reason, states.valid_from)
        told = found.where(states.tenant_id == 1).order_by(states.id)
        answer = [(*row,) for row in s.connection.execute(told)]
        assert answer == [*expected, *[(1, None, planted)] * 5]
        past = select(closed.id, closed.valid_to).where(closed.tenant_id == 1).order_by(closed.id)
        assert [(*row,) for row in s.connection.execute(past)] == [(each, now) for each in ids[:15]]


@pytest.mark.parametrize("ended", [1, 12])
def test_rows_end_by_their_list(store: Store, ended: int) -> None:
    ids = list(plant_nodes(store, [new_node(f"n:{n}") for n in range(20)]))
    store.write(1, 1, lambda write: end(write.snapshot, node_state, ids[:ended]))
    with store.read(1, 1) as s:
        assert list(states_by_id(s, ids)) == ids[ended:]


def test_rows_of_another_fleet_are_no_ones_to_change(store: Store) -> None:
    ids = list(plant_nodes(store, [new_node("a")]))
    store.write_all(1, [2], lambda _: None)

    def job(write: Write) -> None:
        update_named(write.snapshot, node_state.current.c.id, ids, {"validity": 4})

    store.write(1, 2, job)
    with store.read(1, 1) as s:
        assert states_by_id(s, ids) == {ids[0]: (1, 1, 0)}
