"""The subscription: the outbox from a cursor on, then live; nothing lost, nothing twice."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import strawberry

from retrograph.resolvers.events import check_reached, list_events
from retrograph.rules.cursor import decode_event_cursor
from retrograph.rules.limits import MAX_ID
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
        fleet = read_fleet(fleet_id)
        start = None if after is None else decode_event_cursor(after)
        clock = await info.context.at(fleet)
        check_reached(start, clock)
        position = (clock, MAX_ID) if start is None else start
        return _follow(info.context, fleet, read_event_types(types), position)


async def _follow(
    context: Context,
    fleet_id: int,
    types: frozenset[EventType] | None,
    position: tuple[int, int],
) -> AsyncGenerator[Event, None]:
    caller = context.caller
    with (
        caller.opens("subscriptions"),
        caller.bell.waiter(caller.scope.tenant_id, fleet_id, caller.expires_at) as waiter,
    ):
        while not waiter.stopped():
            waiter.clear()
            caller.check_proof()
            page = await context.call(list_events, fleet_id, types, position, PAGE)
            context.forget()
            for event in events_ahead(page.rows):
                caller.check_proof()
                context.instants.settle(fleet_id, event.at)
                yield event
                if waiter.stopped():
                    return
            if page.has_next:
                position = page.rows[-1].at, page.rows[-1].ordinal
                continue
            # Whatever is committed later has a later instant.
            position = page.as_of, MAX_ID
            await waiter.wait()
