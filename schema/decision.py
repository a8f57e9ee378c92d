"""What was decided of a node."""

from __future__ import annotations

import strawberry

from retrograph.schema import node, run, task
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import DecisionKind
from retrograph.schema.links import NodeLink, RunLink, TaskLink
from retrograph.schema.scalars import DateTime
from retrograph.storage.records import Page
from retrograph.storage.task_records import DecisionRecord


@strawberry.type(
    description="What was decided of a node: by whom, when, on which evidence. It never changes."
)
class Decision:
    record: strawberry.Private[DecisionRecord]
    id: strawberry.ID = strawberry.field(description="A 64-bit number, for ever this decision's.")
    at: DateTime = strawberry.field(description="The instant at which it was recorded.")
    kind: DecisionKind = strawberry.field(description="What was decided.")
    unchanged: bool = strawberry.field(description="Whether the node still says what it said.")
    confidence: float | None = strawberry.field(
        description="The confidence that the node was given, from 0 to 1."
    )
    evidence: list[str] = strawberry.field(description="On which evidence: URIs or other texts.")
    note: str | None = strawberry.field(description="What was said about it; a repair's reason.")
    by: str | None = strawberry.field(description="Who judged, if that was said.")
    worker: str | None = strawberry.field(description="The worker that held the task.")
    attempt: int = strawberry.field(description="How many judgements of the task failed before.")
    as_of: DateTime = strawberry.field(
        description="The instant this object was read at; its fields inherit it."
    )

    @strawberry.field(description="The node that was judged.")
    async def node(self, info: Info) -> NodeLink:
        record = self.record
        return await node.load_node(info.context, record.fleet_id, record.as_of, record.node_id)

    @strawberry.field(description="The task that it was about; null where a repair had none.")
    async def task(self, info: Info) -> TaskLink | None:
        record = self.record
        return await task.find_task(info.context, record.fleet_id, record.as_of, record.task_id)

    @strawberry.field(description="The run that it started: that of a refutation.")
    async def run(self, info: Info) -> RunLink | None:
        record = self.record
        if record.run_id is None:
            return None
        found = await info.context.loaders.runs.load(record.run_id, record.fleet_id, record.as_of)
        return run.InvalidationRun.of(found)

    @classmethod
    def of(cls, record: DecisionRecord) -> Decision:
        """The decision that a record tells of."""
        return cls(
            record=record,
            id=strawberry.ID(str(record.id)),
            at=DateTime(record.at),
            kind=record.kind,
            unchanged=record.unchanged,
            confidence=record.confidence,
            evidence=list(record.evidence),
            note=record.note,
            by=record.decided_by,
            worker=record.worker,
            attempt=record.attempt,
            as_of=DateTime(record.as_of),
        )


def decision_connection(
    page: Page[DecisionRecord], cursors: ListCursors, after: str | None
) -> Connection[Decision]:
    """A page of decisions, newest first."""
    return connect(
        page,
        [Decision.of(row) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.id),
        has_previous=after is not None,
    )
