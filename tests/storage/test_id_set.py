"""Sets of ids travel as one parameter, whatever their number and size."""

from __future__ import annotations

from sqlalchemy import select

from retrograph.resolvers.scope import Scope
from retrograph.rules.limits import MAX_ID, MIN_ID
from retrograph.storage.id_set import id_rows, id_set, instant_rows, key_rows, pair_rows
from retrograph.storage.store import Store
from retrograph.storage.tables import fleet, node_state
from tests.memory import Memory

IDS = [3, 1, 1, 0, -7, MAX_ID, MIN_ID, 2**53 + 1]


def test_ids_arrive_as_they_are(store: Store) -> None:
    rows = id_rows("given")
    with store.read(1, 1) as s:
        found = s.connection.execute(select(rows.c.value), {"given": IDS}).scalars()
        assert sorted(found) == sorted(IDS)


def test_a_set_of_ids_is_a_condition(store: Store) -> None:
    rows = id_rows()
    wanted = select(rows.c.value).where(rows.c.value.in_(id_set({MAX_ID, 0, 5})))
    with store.read(1, 1) as s:
        assert set(s.connection.execute(wanted, {"ids": IDS}).scalars()) == {MAX_ID, 0}


def test_many_ids_are_one_parameter(store: Store) -> None:
    rows = id_rows()
    with store.read(1, 1) as s:
        found = s.connection.execute(select(rows.c.value), {"ids": range(200_000)}).scalars()
        assert list(found) == list(range(200_000))


def test_keys_arrive_character_by_character(store: Store) -> None:
    keys = ["", "a", "A", " a ", "ä", "a\u0308", '"\\', "\U0010ffff", "1"]
    rows = key_rows()
    with store.read(1, 1) as s:
        assert list(s.connection.execute(select(rows.c.value), {"keys": keys}).scalars()) == keys


def test_pairs_arrive_as_they_are(store: Store) -> None:
    pairs = [(1, 2), (MAX_ID, MIN_ID), (1, 2)]
    rows = pair_rows()
    with store.read(1, 1) as s:
        found = s.connection.execute(select(rows.c.first, rows.c.second), {"pairs": pairs})
        assert [tuple(row) for row in found] == pairs


def test_instants_are_compared_with_what_statements_and_engines_gave(
    store: Store, scope: Scope
) -> None:
    node_id = Memory(scope).plant("a")[0]
    rows, states = instant_rows(), node_state.current
    with store.read(1, 1) as s:
        later = [(node_id, s.instant + 1), (MAX_ID, s.instant - 1), (7, s.instant)]
        for column, given in ((fleet.c.clock, rows.c.moment), (states.c.valid_from, rows.c.period)):
            found = select(rows.c.id, given).where(column >= given, column.table.c.tenant_id == 1)
            answer = s.connection.execute(found, {"since": later}).all()
            assert sorted((*row,) for row in answer) == [(7, s.instant), (MAX_ID, s.instant - 1)]
