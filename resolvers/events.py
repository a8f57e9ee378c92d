"""Reads the outbox."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.resolvers.scope import Scope
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
    """A page of the events up to the instant, after the (instant, ordinal) `after`."""
    check_first(first)
    kinds = None if types is None else frozenset(types)
    with scope.snapshot(fleet_id, at) as snapshot:
        return page_events(snapshot, kinds, after, first)
