"""What subscriptions read: the outbox, or the changes of what is watched, page by page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import Generic, TypeVar

from retrograph.resolvers.updates import list_matching_events, list_matching_nodes, list_updates
from retrograph.rules.cursor import encode_event_cursor
from retrograph.rules.limits import MAX_ID
from retrograph.schema.context import Context
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import EventType
from retrograph.schema.event import Event, events_ahead
from retrograph.schema.feed import Position, Reading
from retrograph.schema.update import CHANGES, SNAPSHOT, Update, end_of
from retrograph.storage.update_records import Place
from retrograph.storage.updates import Audience

PAGE = 500
"""What is read at once; a slow subscriber holds no more than that."""

Item = TypeVar("Item", Event, Update)


class Source(ABC, Generic[Item]):
    """What one operation reads of a fleet, page by page, behind a position that goes on.

    When a page has been told, `at_end` says whether there is no more for now.
    """

    def __init__(self, context: Context, fleet_id: int, audience: Audience) -> None:
        self.context = context
        self.fleet_id = fleet_id
        self.at_end = False
        self._audience = audience

    @abstractmethod
    def before(self, reading: Reading) -> AsyncGenerator[Item, None]:
        """What comes before that, for this subscriber alone."""

    @abstractmethod
    def page(self, reading: Reading) -> AsyncGenerator[Item, None]:
        """The next page; the reading goes on with each item."""

    @abstractmethod
    def cursor(self, position: Position) -> str:
        """The cursor of a position."""

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

    async def page(self, reading: Reading) -> AsyncGenerator[Event, None]:
        """The next page of events."""
        context = self.context
        context.caller.check_proof()
        at, ordinal = reading.position
        asked = self.fleet_id, self._audience, self._types, (at, ordinal), PAGE
        part = await context.call(list_matching_events, *asked)
        context.forget()
        for event in events_ahead(part.rows):
            self._settle(event.at)
            reading.position = event.record.at, event.record.ordinal
            yield event
        self.at_end = not part.has_next
        # Whatever is committed later has a later instant.
        reading.position = (part.as_of, MAX_ID) if self.at_end else part.last

    def cursor(self, position: Position) -> str:
        """An event's cursor."""
        at, ordinal = position
        return encode_event_cursor(at, ordinal)


class Updates(Source[Update]):
    """What is watched: the nodes that match, by id, then what changes.

    `after` is the id of the node that the snapshot goes on behind; None: it has been told.
    """

    def __init__(
        self,
        context: Context,
        fleet_id: int,
        audience: Audience,
        cursors: ListCursors,
        after: int | None,
    ) -> None:
        super().__init__(context, fleet_id, audience)
        self._cursors = cursors
        self._after = after

    async def before(self, reading: Reading) -> AsyncGenerator[Update, None]:
        """The nodes of the snapshot; at last, that it has been told."""
        context, at = self.context, reading.position[0]
        while self._after is not None:
            context.caller.check_proof()
            asked = self.fleet_id, self._audience, at, self._after, PAGE
            part = await context.call(list_matching_nodes, *asked)
            context.forget()
            for record in part.rows:
                self._settle(at)
                yield Update.present(record, at, self._cursors.encode(at, SNAPSHOT, 0, record.id))
            self._after = part.last if part.has_next else None
            if self._after is None:
                yield Update.snapshot_end(at, self.cursor(end_of(at)))

    async def page(self, reading: Reading) -> AsyncGenerator[Update, None]:
        """The next page of changes."""
        context = self.context
        context.caller.check_proof()
        place = Place(*reading.position)
        part = await context.call(list_updates, self.fleet_id, self._audience, place, PAGE)
        context.forget()
        for record in part.rows:
            self._settle(record.place.at)
            reading.position = record.place
            yield Update.of(record, self.cursor(record.place))
        self.at_end = not part.has_next
        reading.position = end_of(part.as_of) if self.at_end else part.last

    def cursor(self, position: Position) -> str:
        """The cursor of a change."""
        at, *place = position
        return self._cursors.encode(at, CHANGES, *place)
