"""The outbox as an audience is told of it: events about nodes that match at the event's instant."""

from __future__ import annotations

from collections.abc import Sequence

from retrograph.storage.audience import Audience
from retrograph.storage.nodes import seen_then
from retrograph.storage.outbox import page_events
from retrograph.storage.records import EventRecord, EventType
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.update_records import Part


def matching_events(
    s: Snapshot,
    audience: Audience,
    types: frozenset[EventType] | None,
    after: tuple[int, int] | None,
    first: int,
) -> Part:
    """Of a page of the outbox what is about nodes that match at its instant; `last` is a place."""
    page = page_events(s, types, after, first)
    last = (page.rows[-1].at, page.rows[-1].ordinal) if page.rows else after
    rows = page.rows if audience.open else _heard(s, audience, page.rows)
    return Part(rows, last, page.has_next, page.as_of)


def _heard(s: Snapshot, audience: Audience, rows: Sequence[EventRecord]) -> list[EventRecord]:
    about = [each for each in rows if each.node_id is not None]
    if not about:
        return []
    audience.prepare(s, about[0].at, about[-1].at)
    seen = seen_then(s, {(each.node_id or 0, each.at) for each in about})
    return [
        each for each in about if audience.hears(seen.get((each.node_id or 0, each.at)), each.at)
    ]
