"""How a subscriber goes through a source: what it has missed, then live; nothing lost or twice.

Whoever lives on the news of a process follows a feed, which works out each item once for all who
ask alike. Who has not caught up with it reads the database, as the feed itself does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from math import inf
from time import monotonic

from retrograph.rules.stream_errors import Lagged
from retrograph.schema.batch import Batch
from retrograph.schema.bell import Waiter
from retrograph.schema.context import Caller
from retrograph.schema.feed import Following, Reading
from retrograph.schema.feeds import Feeds, Question
from retrograph.schema.sources import Item, Source


async def follow_alone(
    source: Source[Item], reading: Reading, *, batched: bool = False
) -> AsyncGenerator[Item | Batch[Item], None]:
    """Reads the database, and again whenever something is committed; in batches for a feed."""
    caller, fleet_id = source.context.caller, source.fleet_id
    page = source.page_together if batched else source.page
    with (
        caller.opens("subscriptions"),
        caller.bell.waiter(caller.scope.tenant_id, fleet_id, caller.expires_at) as waiter,
    ):
        async for item in source.before(reading):
            yield item
            if waiter.stopped():
                return
        while not waiter.stopped():
            waiter.clear()
            async for told in page(reading):
                yield told
                if waiter.stopped():
                    return
            if source.at_end:
                reading.rest()
                await waiter.wait()


async def follow_together(
    source: Source[Item], reading: Reading, feeds: Feeds, question: Question
) -> AsyncGenerator[Item | Batch[Item] | Following, None]:
    """Follows the feed from when it has caught up with it; raises `Lagged` if it can't any more."""
    caller, deadline = source.context.caller, inf
    with caller.opens("subscriptions"), caller.bell.follower(caller.expires_at) as ear:
        async with feeds.seat(question, caller) as seat:
            async for item in source.before(reading):
                yield item
                if ear.stopped():
                    return
            while not ear.stopped():
                ear.clear()
                way = seat.follow(reading.position, ear, source.cursor)
                if way is not None:
                    with way:
                        yield way
                    reading.position, deadline = way.position, monotonic() + feeds.patience
                    caller.check_proof()
                    continue
                async for told in source.page_together(reading):
                    late = partial(_is_past, deadline)
                    if isinstance(told, Batch):
                        told.is_over, told.is_late = partial(_is_over, ear, caller), late
                    yield told
                    if ear.stopped():
                        return
                    caller.check_proof()
                    if late() and not (isinstance(told, Batch) and told.rows is None):
                        raise Lagged(told.cursor)
                if source.at_end:
                    seat.open(reading.position)


def _is_over(ear: Waiter, caller: Caller) -> bool:
    return ear.stopped() or caller.is_expired()


def _is_past(deadline: float) -> bool:
    return monotonic() > deadline
