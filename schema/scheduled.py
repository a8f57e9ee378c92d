"""Invalidations that wait for their hour."""

from __future__ import annotations

import strawberry

from retrograph.schema import node, run
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import ScheduleStatus, Validity
from retrograph.schema.links import NodeLink, RunLink
from retrograph.schema.scalars import DateTime
from retrograph.storage.records import Page
from retrograph.storage.scheduled import ScheduledRecord


@strawberry.type(description="An invalidation that waits for its hour, and what became of it.")
class ScheduledInvalidation:
    record: strawberry.Private[ScheduledRecord]
    id: strawberry.ID = strawberry.field(description="A 64-bit number, for ever this request's.")
    status: ScheduleStatus = strawberry.field(description="What became of it, as of `asOf`.")
    effect: Validity = strawberry.field(description="What its root is to be given.")
    reason: str = strawberry.field(description="Why, in the words of who asked.")
    effective_at: DateTime = strawberry.field(description="Its hour.")
    requested_at: DateTime = strawberry.field(description="The instant at which it was asked for.")
    settled_at: DateTime | None = strawberry.field(
        description="The instant at which it was run, refused or cancelled; null: not by `asOf`."
    )
    failure_code: str | None = strawberry.field(
        description="Why it was refused at its hour: the code that the request would have got."
    )
    failure: str | None = strawberry.field(description="The same, for people.")
    as_of: DateTime = strawberry.field(
        description="The instant this object was read at; its fields inherit it."
    )

    @strawberry.field(description="The node it starts from.")
    async def root(self, info: Info) -> NodeLink:
        record = self.record
        return await node.load_node(
            info.context, record.fleet_id, record.as_of, record.order.node_id
        )

    @strawberry.field(description="The run that executed it, if one has by `asOf`.")
    async def run(self, info: Info) -> RunLink | None:
        record = self.record
        run_id = record.settlement.run_id
        if run_id is None:
            return None
        found = await info.context.loaders.runs.find(run_id, record.fleet_id, record.as_of)
        return None if found is None else run.InvalidationRun.of(found)

    @classmethod
    def of(cls, record: ScheduledRecord) -> ScheduledInvalidation:
        """What a record tells."""
        order, settlement, settled_at = record.order, record.settlement, record.settled_at
        return cls(
            record=record,
            id=strawberry.ID(str(record.id)),
            status=settlement.status,
            effect=order.effect,
            reason=order.reason,
            effective_at=DateTime(order.effective_at),
            requested_at=DateTime(record.requested_at),
            settled_at=None if settled_at is None else DateTime(settled_at),
            failure_code=settlement.failure_code,
            failure=settlement.failure,
            as_of=DateTime(record.as_of),
        )


def scheduled_connection(
    page: Page[ScheduledRecord], cursors: ListCursors, after: str | None
) -> Connection[ScheduledInvalidation]:
    """A page of scheduled invalidations, by id."""
    return connect(
        page,
        [ScheduledInvalidation.of(row) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.id),
        has_previous=after is not None,
    )
