"""Reads the outbox."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import InvalidCursor
from retrograph.rules.limits import check_first
from retrograph.storage.outbox import page_events
from retrograph.storage.records import EventRecord, EventType, Page


def list_events(
    scope: Scope,
    fleet_id: int,
    types: Collection[EventType] | None,
    after: tuple[int, int] | None,
    first: int,
    at: int | None = None,
) -> Page[EventRecord]:
    """A page of the events up to the instant, after the (instant, ordinal) `after`.

    Raises `InvalidCursor` where `after` lies in the future.
    """
    check_first(first)
    kinds = None if types is None else frozenset(types)
    with scope.snapshot(fleet_id, at) as snapshot:
        check_reached(after, snapshot.clock)
        return page_events(snapshot, kinds, after, first)


def check_reached(after: tuple[int, int] | None, clock: int) -> None:
    """Raises `InvalidCursor` for a position later than the fleet's last commit, at `clock`.

    No event gave it: whoever went on behind it would miss all that happens until then.
    """
    if after is not None and after[0] > clock:
        raise InvalidCursor(
            "The cursor lies in the future: no event of this fleet gave it. Pass one that this "
            "fleet gave, 0-0 for the beginning, or none.",
            path=("after",),
        )
