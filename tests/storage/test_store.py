"""The front door: instants, fleets, snapshots, listeners and polls."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import DatabaseUnavailable, InstantInFuture, NotFound
from retrograph.storage.filters import NodeFilter
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.store import Store, open_store
from retrograph.storage.tables import node
from tests.clock import START, ManualClock
from tests.dump import dump
from tests.planting import new_node, plant_nodes


def tick(store: Store, *fleets: int, tenant: int = 1) -> int:
    """An empty write; returns its instant."""
    wanted = fleets or (1,)
    return store.write_all(tenant, wanted, lambda writes: writes[wanted[0]].instant)


@given(steps=st.lists(st.integers(-5, 5), max_size=20))
def test_instants_strictly_increase_whatever_the_machines_clock_does(
    store: Store, clock: ManualClock, steps: list[int]
) -> None:
    last = store.clock(1, 1)
    for step in steps:
        now = clock.advance(step)
        instant = tick(store)
        assert instant == max(last + 1, now) == store.clock(1, 1)
        last = instant


def test_fleets_written_together_share_an_instant_later_than_all_their_clocks(
    store: Store, clock: ManualClock
) -> None:
    clock.advance(100)
    tick(store, 2)
    clock.advance(-50)
    instant = tick(store, 1, 2, 3)
    assert instant == START + 101
    assert [store.clock(1, fleet) for fleet in (1, 2, 3)] == [instant] * 3


def test_a_fleet_began_with_its_first_write(store: Store, clock: ManualClock) -> None:
    began = clock.advance(100)
    tick(store, 2)
    clock.advance(100)
    last = tick(store, 1, 2)
    for at, blank in ((None, False), (last, False), (began, False), (began - 1, True)):
        with store.read(1, 2, at) as snapshot:
            assert (snapshot.clock, snapshot.began, snapshot.blank) == (last, began, blank)
    seen = store.write_all(1, [3, 2], lambda writes: {k: w.snapshot for k, w in writes.items()})
    assert {fleet: each.began for fleet, each in seen.items()} == {2: began, 3: last + 1}
    assert all(each.current and not each.blank for each in seen.values())


def test_a_fleet_keeps_its_own_time(store: Store, clock: ManualClock) -> None:
    before = store.clock(1, 1)
    clock.advance(100)
    tick(store, 2)
    assert store.clock(1, 1) == before


@pytest.mark.parametrize("known", [(1, 9), (9, 1)])
def test_an_unknown_fleet_or_tenant(store: Store, known: tuple[int, int]) -> None:
    tenant, fleet = known
    before = dump(store)
    for ask in (
        lambda: store.clock(tenant, fleet),
        lambda: store.write(tenant, fleet, lambda _: None),
        lambda: store.read(tenant, fleet).__enter__(),
    ):
        with pytest.raises(NotFound) as caught:
            ask()
        assert caught.value.path == ("fleetId",)
    assert dump(store) == before


def test_a_fleet_that_is_not_held_looks_like_one_that_does_not_exist(store: Store) -> None:
    tick(store, 2)
    caller = Scope(store, 1, frozenset({1}), frozenset(Role))
    stranger = Scope(store, 7, None, frozenset(Role))
    messages = {refusal(asked, act) for asked in (caller, stranger) for act in range(3)}
    assert messages == {(NotFound.fleet(2).message, ("fleetId",))}
    assert caller.held_fleets() == [1]


def refusal(caller: Scope, act: int) -> tuple[str, tuple[str, ...]]:
    acts: list[Callable[[], object]] = [
        lambda: caller.clock(2),
        lambda: caller.write(2, lambda _: None),
        lambda: caller.snapshot(2).__enter__(),
    ]
    with pytest.raises(NotFound) as caught:
        acts[act]()
    return caught.value.message, caught.value.path


def test_a_read_is_as_of_the_asked_or_the_last_commit(store: Store, clock: ManualClock) -> None:
    first = store.clock(1, 1)
    clock.advance(10)
    last = tick(store)
    clock.advance(10)
    for asked, instant in [
        (None, last),
        (last + 10, last),
        (last, last),
        (last - 1, last - 1),
        (first, first),
        (0, 0),
    ]:
        with store.read(1, 1, asked) as snapshot:
            assert (snapshot.instant, snapshot.current) == (instant, instant == last)


def test_an_instant_later_than_both_clocks_is_refused(store: Store, clock: ManualClock) -> None:
    last = store.clock(1, 1)
    clock.now = last - 1_000
    with store.read(1, 1, last) as snapshot:
        assert snapshot.instant == last
    with pytest.raises(InstantInFuture) as caught, store.read(1, 1, last + 1):
        pass
    assert caught.value.path == ("asOf",)
    clock.now = last + 1
    with store.read(1, 1, last + 1) as snapshot:
        assert snapshot.instant == last


def test_before_all_history_there_is_nothing(store: Store) -> None:
    plant_nodes(store, [new_node("a")])
    with store.read(1, 1, 0) as snapshot:
        assert page_nodes(snapshot, NodeFilter(), 10, None).rows == []
        assert store.graph(snapshot).node_count == 0


def test_listeners_hear_of_this_stores_commits_and_polls_of_everybodys(database: str) -> None:
    told: list[tuple[int, int, int]] = []
    one, other = open_store(database), open_store(database)
    one.write_all(1, [1], lambda _: None)
    one.listen(lambda *what: told.append(what))
    one.poll()
    assert not one.poll()

    instant = tick(other)
    assert one.poll()
    assert not one.poll()
    assert told == []

    mine = tick(one, 1, 2)
    assert told == [(1, 1, mine), (1, 2, mine)]
    assert mine > instant
    assert one.poll()
    one.close()
    other.close()


def test_a_closed_store_says_so(store: Store) -> None:
    store.poll()
    store.close()
    acts: list[Callable[[], object]] = [lambda: tick(store), lambda: store.clock(1, 1), store.poll]
    for act in acts:
        with pytest.raises(DatabaseUnavailable, match="closed"):
            act()


def test_ids_ascend_over_fleets_and_tenants(store: Store) -> None:
    assert plant_nodes(store, [new_node(), new_node()]) == range(1, 3)
    assert plant_nodes(store, [new_node()], tenant=2, fleet=5) == range(3, 4)
    assert plant_nodes(store, [new_node()], fleet=2) == range(4, 5)


def test_busy_connections_are_told_and_not_waited_for_ever(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(tenant_id: int) -> None:
        raise PoolTimeout("QueuePool limit reached")

    monkeypatch.setattr(store._profile, "reading", busy)
    with pytest.raises(DatabaseUnavailable, match="busy"):
        store.clock(1, 1)


def test_the_text_of_an_error_holds_no_value_that_was_passed(store: Store) -> None:
    lacking = insert(node).values(id=9, tenant_id=1, key="a secret")
    with pytest.raises(DBAPIError) as failed:
        store.write(1, 1, lambda write: write.snapshot.connection.execute(lacking))
    assert "INSERT INTO" in str(failed.value)
    assert "a secret" not in str(failed.value)
