"""The outbox gives every event once, in order, up to the instant."""

from __future__ import annotations

from random import Random

import pytest

from retrograph.storage.outbox import page_events
from retrograph.storage.records import EventRecord, EventType
from retrograph.storage.store import Store
from tests.storage.counting import count
from tests.storage.ledger import add_events, add_impacts, add_run

STALE, REVIEW = EventType.NODE_STALE, EventType.PINNED_NODE_REVIEW
Place = tuple[int, int]


@pytest.fixture
def places(store: Store) -> list[tuple[int, int, EventType]]:
    """Some instants with some events each, and the events of another fleet between them."""
    random, planted = Random(4), list[tuple[int, int, EventType]]()
    for _ in range(8):
        types = random.choices([STALE, REVIEW, EventType.RUN_REVERTED], k=random.randint(0, 5))
        at = add_events(store, [{"type": int(each), "node_id": 3} for each in types])
        planted += [(at, ordinal, each) for ordinal, each in enumerate(types)]
        add_events(store, [{"type": int(STALE)}], fleet=2)
    return planted


def _places(events: list[EventRecord]) -> list[tuple[int, int, EventType]]:
    return [(event.at, event.ordinal, event.type) for event in events]


def test_events_come_in_order_up_to_the_instant(
    store: Store, places: list[tuple[int, int, EventType]]
) -> None:
    for at in {place[0] for place in places}:
        with store.read(1, 1, at) as s:
            page = page_events(s, None, None, 1_000)
        assert _places(page.rows) == [place for place in places if place[0] <= at]
        assert page.as_of == at


@pytest.mark.parametrize("types", [None, frozenset({REVIEW}), frozenset({STALE, REVIEW})])
@pytest.mark.parametrize("first", [1, 2, 3, 1_000])
def test_pages_follow_each_other_without_gap_or_overlap(
    store: Store,
    places: list[tuple[int, int, EventType]],
    types: frozenset[EventType] | None,
    first: int,
) -> None:
    expected = [place for place in places if types is None or place[2] in types]
    found: list[EventRecord] = []
    after: Place | None = None
    with store.read(1, 1) as s:
        while (page := page_events(s, types, after, first)).rows:
            assert count(s, lambda: page_events(s, types, after, first)) == 1  # noqa: B023
            found += page.rows
            after = (found[-1].at, found[-1].ordinal)
            assert page.has_next == (len(found) < len(expected))
    assert _places(found) == expected


def test_an_event_of_an_impact_tells_the_impact(store: Store) -> None:
    run_id = add_run(store)
    add_impacts(store, run_id, [(1, None, None), (2, 0, None)])
    told = [{"type": int(STALE), "run_id": run_id, "run_ordinal": n} for n in (0, 1)]
    add_events(store, [*told, {"type": int(EventType.RUN_REVERTED), "run_id": run_id}])
    add_events(store, [{"type": int(STALE), "detail": '{"kept":true}'}])
    with store.read(1, 1) as s:
        details = [event.detail for event in page_events(s, None, None, 10).rows]
    assert details == [
        '{"depth":0,"from":"CURRENTLY_VALID","to":"INVALID"}',
        '{"depth":1,"from":"CURRENTLY_VALID","to":"INVALID"}',
        None,
        '{"kept":true}',
    ]
