"""The queries about what has happened: changes, events and runs."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.changes import list_changes
from retrograph.resolvers.events import list_events
from retrograph.resolvers.runs import get_run, list_runs
from retrograph.resolvers.schedule_invalidation import list_scheduled
from retrograph.rules.cursor import decode_event_cursor
from retrograph.rules.limits import check_id
from retrograph.schema import inputs
from retrograph.schema.arguments import (
    After,
    AsOf,
    EventCursor,
    EventTypes,
    First,
    FleetId,
    read_event_types,
    read_fleet,
)
from retrograph.schema.change import Change, change_connection, change_cursors
from retrograph.schema.connection import Connection
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors, position_of, same_instant
from retrograph.schema.enums import ScheduleStatus
from retrograph.schema.event import Event, event_connection
from retrograph.schema.run import InvalidationRun, run_connection
from retrograph.schema.scalars import DateTime
from retrograph.schema.scheduled import ScheduledInvalidation, scheduled_connection


@strawberry.type(description="What has happened.")
class PastQuery:
    @strawberry.field(
        description=(
            "What changed after `from` and up to `to`: one row a changed node or edge, in order of "
            "time."
        )
    )
    async def changes(
        self,
        info: Info,
        fleet_id: FleetId,
        from_: Annotated[
            DateTime,
            strawberry.argument(name="from", description="Changes after this instant."),
        ],
        to: Annotated[
            DateTime | None,
            strawberry.argument(
                description="Changes up to this instant; left out, up to the last write."
            ),
        ] = None,
        first: First = 50,
        after: After = None,
    ) -> Connection[Change]:
        fleet = read_fleet(fleet_id)
        cursors = change_cursors(fleet, from_)
        keyset = cursors.decode(after)
        until: int | None = await info.context.at(fleet, to, keyset)
        if to is None and until is not None and from_ > until:
            until = None  # nothing has been written since
        page = await info.context.call(
            list_changes, fleet, from_, until, first, position_of(keyset)
        )
        same_instant(keyset, page.as_of)
        return change_connection(page, fleet, cursors, after)

    @strawberry.field(description="The outbox in commit order, page by page.")
    async def events(
        self,
        info: Info,
        fleet_id: FleetId,
        types: EventTypes = None,
        after: EventCursor = None,
        first: First = 100,
    ) -> Connection[Event]:
        fleet = read_fleet(fleet_id)
        position = None if after is None else decode_event_cursor(after)
        at = await info.context.at(fleet)
        page = await info.context.call(
            list_events, fleet, read_event_types(types), position, first, at
        )
        return event_connection(page, after)

    @strawberry.field(description="A run; null if there is none with this id.")
    async def invalidation_run(
        self,
        info: Info,
        fleet_id: FleetId,
        id: Annotated[strawberry.ID, strawberry.argument(description="The run's id.")],
    ) -> InvalidationRun | None:
        fleet, run_id = read_fleet(fleet_id), check_id(id)
        at = await info.context.at(fleet)
        record = await info.context.call(get_run, fleet, run_id, at)
        return None if record is None else InvalidationRun.of(record)

    @strawberry.field(description="The runs of a fleet, newest first.")
    async def invalidation_runs(
        self,
        info: Info,
        fleet_id: FleetId,
        filter: Annotated[
            inputs.RunFilter | None, strawberry.argument(description="Only such runs.")
        ] = None,
        first: First = 50,
        after: After = None,
    ) -> Connection[InvalidationRun]:
        fleet = read_fleet(fleet_id)
        wanted = (filter or inputs.RunFilter()).read()
        cursors = ListCursors("runs", (int,), fleet, wanted)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, None, keyset)
        page = await info.context.call(list_runs, fleet, wanted, first, position_of(keyset), at)
        same_instant(keyset, page.as_of)
        return run_connection(page, cursors, after)

    @strawberry.field(
        description="Invalidations that wait for their hour, and what became of them; by id."
    )
    async def scheduled_invalidations(
        self,
        info: Info,
        fleet_id: FleetId,
        status: Annotated[
            list[ScheduleStatus] | None,
            strawberry.argument(description="Only of one of these, as of the instant of reading."),
        ] = None,
        first: First = 50,
        after: After = None,
        as_of: AsOf = None,
    ) -> Connection[ScheduledInvalidation]:
        fleet = read_fleet(fleet_id)
        wanted = None if status is None else frozenset(status)
        cursors = ListCursors("scheduled", (int,), fleet, wanted)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        page = await info.context.call(
            list_scheduled, fleet, wanted, first, position_of(keyset), at
        )
        same_instant(keyset, page.as_of)
        return scheduled_connection(page, cursors, after)
