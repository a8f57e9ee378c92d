"""The subscription: the outbox from a cursor on, then live; nothing lost, nothing twice.

Whoever lives on the news of a process follows a feed, which works out each event once for all who
ask alike. Who has not caught up with it reads the database, as the feed itself does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from math import inf
from time import monotonic

import strawberry

from retrograph.resolvers.events import check_reached, list_events
from retrograph.rules.cursor import decode_event_cursor
from retrograph.rules.limits import MAX_ID
from retrograph.rules.stream_errors import Lagged
from retrograph.schema.arguments import (
    EventCursor,
    EventTypes,
    FleetId,
    read_event_types,
    read_fleet,
)
from retrograph.schema.context import Context, Info
from retrograph.schema.enums import EventType
from retrograph.schema.event import Event, events_ahead
from retrograph.schema.feed import Following, Reading
from retrograph.schema.feeds import Feeds, Question

PAGE = 500
"""Events read at once; a slow subscriber holds no more than these."""


@strawberry.type(description="What happens, as it happens.")
class Subscription:
    @strawberry.subscription(
        description=(
            "Every event behind `after` (left out: from now on) in commit order, none missing, "
            "none twice, then live."
        )
    )
    async def events(
        self,
        info: Info,
        fleet_id: FleetId,
        types: EventTypes = None,
        after: EventCursor = None,
    ) -> AsyncGenerator[Event, None]:
        context, caller, fleet = info.context, info.context.caller, read_fleet(fleet_id)
        outbox = _Outbox(context, fleet, read_event_types(types))
        if caller.reading is not None:
            return _follow_alone(outbox, caller.reading)
        start = None if after is None else decode_event_cursor(after)
        clock = await context.at(fleet)
        check_reached(start, clock)
        reading = Reading((clock, MAX_ID) if start is None else start)
        if caller.feeds is None or context.asked is None:
            return _follow_alone(outbox, reading)
        raw = info._raw_info  # noqa: SLF001 (of the document Strawberry shows less)
        question = Question.of(caller.scope.tenant_id, fleet, context.asked, raw)
        # A way along a feed stands for the events on it.
        return _follow_together(outbox, reading, caller.feeds, question)  # type: ignore[return-value]


class _Outbox:
    """The outbox of a fleet as one operation reads it, page by page.

    When a page has been told, `at_end` says whether there is no more for now.
    """

    def __init__(self, context: Context, fleet_id: int, types: frozenset[EventType] | None) -> None:
        self.context = context
        self.fleet_id = fleet_id
        self.at_end = False
        self._types = types

    async def events(self, reading: Reading) -> AsyncGenerator[Event, None]:
        """The next page of events; the reading goes on with each."""
        context = self.context
        context.caller.check_proof()
        page = await context.call(list_events, self.fleet_id, self._types, reading.position, PAGE)
        context.forget()
        for event in events_ahead(page.rows):
            context.caller.check_proof()
            context.instants.settle(self.fleet_id, event.at)
            reading.position = event.record.at, event.record.ordinal
            yield event
        self.at_end = not page.has_next
        if self.at_end:
            # Whatever is committed later has a later instant.
            reading.position = page.as_of, MAX_ID


async def _follow_alone(outbox: _Outbox, reading: Reading) -> AsyncGenerator[Event, None]:
    caller, fleet_id = outbox.context.caller, outbox.fleet_id
    with (
        caller.opens("subscriptions"),
        caller.bell.waiter(caller.scope.tenant_id, fleet_id, caller.expires_at) as waiter,
    ):
        while not waiter.stopped():
            waiter.clear()
            async for event in outbox.events(reading):
                yield event
                if waiter.stopped():
                    return
            if outbox.at_end:
                reading.rest()
                await waiter.wait()


async def _follow_together(
    outbox: _Outbox, reading: Reading, feeds: Feeds, question: Question
) -> AsyncGenerator[Event | Following, None]:
    """Follows the feed from when it has caught up with it; raises `Lagged` if it can't any more."""
    caller, deadline = outbox.context.caller, inf
    with caller.opens("subscriptions"), caller.bell.follower(caller.expires_at) as ear:
        async with feeds.seat(question, caller) as seat:
            while not ear.stopped():
                ear.clear()
                way = seat.follow(reading.position, ear)
                if way is not None:
                    with way:
                        yield way
                    reading.position, deadline = way.position, monotonic() + feeds.patience
                    caller.check_proof()
                    continue
                async for event in outbox.events(reading):
                    yield event
                    if ear.stopped():
                        return
                    if monotonic() > deadline:
                        raise Lagged(event.cursor)
                if outbox.at_end:
                    seat.open(reading.position)
