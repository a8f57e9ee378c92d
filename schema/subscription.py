"""The subscriptions: the outbox, and what becomes of nodes that match; nothing lost or twice."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated

import strawberry

from retrograph.resolvers.events import check_reached
from retrograph.resolvers.updates import check_readable, find_audience
from retrograph.rules.cursor import decode_event_cursor
from retrograph.rules.limits import MAX_ID, MIN_ID
from retrograph.schema import inputs
from retrograph.schema.arguments import (
    EventCursor,
    EventTypes,
    FleetId,
    read_event_types,
    read_fleet,
)
from retrograph.schema.context import Info
from retrograph.schema.event import Event
from retrograph.schema.feed import Reading
from retrograph.schema.feeds import Question
from retrograph.schema.follow import follow_alone, follow_together
from retrograph.schema.sources import Item, Outbox, Source, Updates
from retrograph.schema.update import SNAPSHOT, Update, end_of, update_cursors
from retrograph.storage.update_records import NODE, Place


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
        filter: Annotated[
            inputs.FeedFilter | None,
            strawberry.argument(
                description="Only events about nodes that pass it at the event's instant."
            ),
        ] = None,
        after: EventCursor = None,
    ) -> AsyncGenerator[Event, None]:
        context, caller, fleet = info.context, info.context.caller, read_fleet(fleet_id)
        wanted = (filter or inputs.FeedFilter()).read_feed()
        audience = await context.call(find_audience, fleet, *wanted)
        outbox = Outbox(context, fleet, audience, read_event_types(types))
        if caller.reading is not None:
            return _follow(info, outbox, caller.reading)
        start = None if after is None else decode_event_cursor(after)
        clock = await context.at(fleet)
        check_reached(start, clock)
        return _follow(info, outbox, Reading((clock, MAX_ID) if start is None else start))

    @strawberry.subscription(
        description=(
            "First the nodes that pass the filter, by id, and the edges that touch one, as of one "
            "instant; then SNAPSHOT_END; then each change of such nodes and edges in the order of "
            "instants: no gap and no overlap. A node that enters brings its edges, those that were "
            "there before too, and takes them when it leaves, unless they touch another. Behind "
            "the cursor `after` it goes on where it was."
        )
    )
    async def snapshot_then_changes(
        self,
        info: Info,
        fleet_id: FleetId,
        filter: Annotated[
            inputs.FeedFilter | None,
            strawberry.argument(description="Only such nodes, and edges that touch one."),
        ] = None,
        after: Annotated[
            str | None,
            strawberry.argument(description="The cursor of an update: go on behind it."),
        ] = None,
    ) -> AsyncGenerator[Update, None]:
        context, caller, fleet = info.context, info.context.caller, read_fleet(fleet_id)
        wanted = (filter or inputs.FeedFilter()).read_feed()
        audience = await context.call(find_audience, fleet, *wanted)
        cursors = update_cursors(fleet, *wanted)
        if caller.reading is not None:
            return _follow(info, Updates(context, fleet, audience, cursors, None), caller.reading)
        keyset = cursors.decode(after)
        told: Place | None = None
        if keyset is None:
            place = end_of(await context.at(fleet))
            told = Place(place.at, NODE, MIN_ID)
        else:
            await context.call(check_readable, fleet, keyset.at)
            phase, *rest = keyset.position
            place = Place(keyset.at, *rest)
            if phase == SNAPSHOT:
                told, place = place, end_of(keyset.at)
        return _follow(info, Updates(context, fleet, audience, cursors, told), Reading(place))


def _follow(info: Info, source: Source[Item], reading: Reading) -> AsyncGenerator[Item, None]:
    """What is told; a batch and a way along a feed stand for the items in them."""
    context, caller = info.context, info.context.caller
    if caller.feeds is None or context.asked is None:
        batched = caller.reading is not None
        return follow_alone(source, reading, batched=batched)  # type: ignore[return-value]
    raw = info._raw_info  # noqa: SLF001 (of the document Strawberry shows less)
    question = Question.of(caller.scope.tenant_id, source.fleet_id, context.asked, raw)
    return follow_together(source, reading, caller.feeds, question)  # type: ignore[return-value]
