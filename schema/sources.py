"""What subscriptions read: the outbox, or the changes of what is watched, page by page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable
from typing import Generic, NamedTuple, TypeVar

from retrograph.resolvers.updates import list_matching_events, list_present, list_updates
from retrograph.rules.cursor import encode_event_cursor
from retrograph.rules.limits import MAX_ID
from retrograph.schema.batch import Batch
from retrograph.schema.context import Context
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import EventType
from retrograph.schema.event import Event, events_ahead
from retrograph.schema.feed import Position, Reading
from retrograph.schema.update import CHANGES, SNAPSHOT, Update, end_of
from retrograph.storage.audience import Audience
from retrograph.storage.update_records import Place

PAGE = 500
"""What is read at once; a slow subscriber holds no more than that."""

Item = TypeVar("Item", Event, Update)


class _Part(NamedTuple, Generic[Item]):
    """A page: items and their positions, and the position that it ends at."""

    items: Iterable[tuple[Position, Item]]
    end: Position


class Source(ABC, Generic[Item]):
    """What one operation reads of a fleet, page by page, behind a position that goes on.

    When a page has been read, `at_end` says whether there is no more behind it for now.
    """

    def __init__(self, context: Context, fleet_id: int, audience: Audience) -> None:
        self.context = context
        self.fleet_id = fleet_id
        self.at_end = False
        self._audience = audience

    @abstractmethod
    def before(self, reading: Reading) -> AsyncGenerator[Item, None]:
        """What comes before that, for this subscriber alone."""

    async def page(self, reading: Reading) -> AsyncGenerator[Item, None]:
        """The next page; the reading goes on with each item."""
        part = await self._read(reading.position)
        for position, item in part.items:
            reading.position = self._settled(position, item)
            yield item
        reading.position = part.end

    async def page_together(self, reading: Reading) -> AsyncGenerator[Item | Batch[Item], None]:
        """The next page as a batch, and then each item, if the batch can't be executed."""
        part = await self._read(reading.position)
        items = list(part.items)
        start = self.cursor(reading.position)
        batch = Batch(self.context, self.fleet_id, items, start)
        if items:
            yield batch
        for position, item in items if batch.rows is None else ():
            reading.position = self._settled(position, item)
            yield item
        reading.position = part.end

    @abstractmethod
    async def _read(self, position: Position) -> _Part[Item]:
        """The next page behind a position; says whether it is `at_end`."""

    @abstractmethod
    def cursor(self, position: Position) -> str:
        """The cursor of a position."""

    def _settled(self, position: Position, item: Item) -> Position:
        """The position of the item that comes next; it is read at its instant."""
        self._settle(item.at)
        return position

    def _settle(self, at: int) -> None:
        """What comes next is read at this instant."""
        self.context.caller.check_proof()
        self.context.instants.settle(self.fleet_id, at)


class Outbox(Source[Event]):
    """The events of a fleet, of some types or all."""

    def __init__(
        self,
        context: Context,
        fleet_id: int,
        audience: Audience,
        types: frozenset[EventType] | None,
    ) -> None:
        super().__init__(context, fleet_id, audience)
        self._types = types

    async def before(self, reading: Reading) -> AsyncGenerator[Event, None]:
        """Nothing."""
        return
        yield  # what makes it a generator

    async def _read(self, position: Position) -> _Part[Event]:
        """The next page of events."""
        context = self.context
        context.caller.check_proof()
        at, ordinal = position
        asked = self.fleet_id, self._audience, self._types, (at, ordinal), PAGE
        part = await context.call(list_matching_events, *asked)
        context.forget()
        self.at_end = not part.has_next
        events = events_ahead(part.rows)
        items = (((each.record.at, each.record.ordinal), each) for each in events)
        # Whatever is committed later has a later instant.
        return _Part(items, (part.as_of, MAX_ID) if self.at_end else part.last)

    def cursor(self, position: Position) -> str:
        """An event's cursor."""
        at, ordinal = position
        return encode_event_cursor(at, ordinal)


class Updates(Source[Update]):
    """What is watched: what is there, nodes by id with their edges, then what changes.

    `after` is the place that the snapshot goes on behind; None: it has been told.
    """

    def __init__(
        self,
        context: Context,
        fleet_id: int,
        audience: Audience,
        cursors: ListCursors,
        after: Place | None,
    ) -> None:
        super().__init__(context, fleet_id, audience)
        self._cursors = cursors
        self._after = after

    async def before(self, reading: Reading) -> AsyncGenerator[Update, None]:
        """What is in the snapshot; at last, that it has been told."""
        context = self.context
        while self._after is not None:
            context.caller.check_proof()
            at = self._after.at
            part = await context.call(
                list_present, self.fleet_id, self._audience, self._after, PAGE
            )
            context.forget()
            for record in part.rows:
                self._settle(at)
                yield Update.of(record, self._cursors.encode(at, SNAPSHOT, *record.place[1:]))
            self._after = part.last if part.has_next else None
            if self._after is None:
                yield Update.snapshot_end(at, self.cursor(end_of(at)))

    async def _read(self, position: Position) -> _Part[Update]:
        """The next page of changes."""
        context = self.context
        context.caller.check_proof()
        place = Place(*position)
        part = await context.call(list_updates, self.fleet_id, self._audience, place, PAGE)
        context.forget()
        self.at_end = not part.has_next
        items = (
            (record.place, Update.of(record, self.cursor(record.place))) for record in part.rows
        )
        return _Part(items, end_of(part.as_of) if self.at_end else part.last)

    def cursor(self, position: Position) -> str:
        """The cursor of a change."""
        at, *place = position
        return self._cursors.encode(at, CHANGES, *place)
