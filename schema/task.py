"""Work to be done: a node that is to be judged again."""

from __future__ import annotations

from collections.abc import Sequence

import strawberry

from retrograph.rules.limits import check_first
from retrograph.schema import evidence, node, run
from retrograph.schema.arguments import PathLimit
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Context, Info
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import TaskStatus
from retrograph.schema.links import EvidenceLink, NodeLink, RunLink, TaskLink
from retrograph.schema.scalars import DateTime
from retrograph.storage.records import Page
from retrograph.storage.task_records import TaskRecord


@strawberry.type(description="A node that is to be judged again, or was, as of an instant.")
class RevalidationTask:
    record: strawberry.Private[TaskRecord]
    id: strawberry.ID = strawberry.field(description="A 64-bit number, for ever this task's.")
    status: TaskStatus = strawberry.field(description="Where it stands, as of `asOf`.")
    attempt: int = strawberry.field(description="How many judgements of it have failed.")
    priority: int = strawberry.field(
        description=(
            "How many open tasks waited on it, directly or not, when it was opened; an estimate "
            "where they are many. Claims hand out the highest first."
        )
    )
    opened_at: DateTime = strawberry.field(description="When it was opened.")
    not_before: DateTime | None = strawberry.field(
        description="When it is tried again, while it is BACKING_OFF."
    )
    claimed_at: DateTime | None = strawberry.field(description="When it was claimed, while LEASED.")
    leased_by: str | None = strawberry.field(description="The worker that holds it, while LEASED.")
    lease_expires_at: DateTime | None = strawberry.field(
        description="When the lease is lost unless it is extended, while LEASED."
    )
    lease_token: str | None = strawberry.field(
        description="What completes it; told only to whoever claims it or extends its lease."
    )
    as_of: DateTime = strawberry.field(
        description="The instant this object was read at; its fields inherit it."
    )

    @strawberry.field(description="The node to judge.")
    async def node(self, info: Info) -> NodeLink:
        record = self.record
        return await node.load_node(info.context, record.fleet_id, record.as_of, record.node_id)

    @strawberry.field(
        description="The run that asks for it; null where an import or a repair does."
    )
    async def run(self, info: Info) -> RunLink | None:
        record = self.record
        if record.run_id is None:
            return None
        found = await info.context.loaders.runs.load(record.run_id, record.fleet_id, record.as_of)
        return run.InvalidationRun.of(found)

    @strawberry.field(
        description="The first nodes of the chain of causes, from the run's root to the node."
    )
    async def path(self, info: Info, limit: PathLimit = 100) -> list[NodeLink]:
        record, most = self.record, check_first(limit, field=("limit",))
        if record.run_id is None or record.run_ordinal is None:
            return []
        cause = (record.run_id, record.run_ordinal)
        ids = await info.context.loaders.impact_paths.load(
            cause, record.fleet_id, record.as_of, most
        )
        return await node.load_nodes(info.context, record.fleet_id, record.as_of, ids)

    @strawberry.field(
        description="The open tasks that it waits for directly; empty unless it is WAITING."
    )
    async def blocked_by(self, info: Info) -> list[TaskLink]:
        return await load_blockers(info.context, self.record)

    @strawberry.field(description="The supporters of the node that stand, by id.")
    async def standing_supporters(self, info: Info) -> list[NodeLink]:
        record = self.record
        ids = await info.context.loaders.standing_supporters.load(
            record.node_id, record.fleet_id, record.as_of
        )
        return await node.load_nodes(info.context, record.fleet_id, record.as_of, ids)

    @strawberry.field(description="What was brought forward for the node.")
    async def evidence(self, info: Info) -> list[EvidenceLink]:
        record = self.record
        found = await info.context.loaders.evidence.find(
            record.node_id, record.fleet_id, record.as_of
        )
        return [evidence.Evidence.of(each) for each in found or ()]

    @classmethod
    def of(cls, record: TaskRecord, *, to_holder: bool = False) -> RevalidationTask:
        """The task that a record tells of; its token is for the holder alone."""
        due = None if record.due_at is None else DateTime(record.due_at)
        return cls(
            record=record,
            id=strawberry.ID(str(record.id)),
            status=record.status,
            attempt=record.attempt,
            priority=record.priority,
            opened_at=DateTime(record.opened_at),
            not_before=due if record.status is TaskStatus.BACKING_OFF else None,
            claimed_at=None if record.claimed_at is None else DateTime(record.claimed_at),
            leased_by=record.leased_by,
            lease_expires_at=due if record.status is TaskStatus.LEASED else None,
            lease_token=record.lease_token if to_holder else None,
            as_of=DateTime(record.as_of),
        )


def tasks_of(records: Sequence[TaskRecord]) -> list[RevalidationTask]:
    """The tasks that records tell of."""
    return [RevalidationTask.of(each) for each in records]


def task_connection(
    page: Page[TaskRecord], cursors: ListCursors, after: str | None
) -> Connection[RevalidationTask]:
    """A page of tasks, by id."""
    return connect(
        page,
        tasks_of(page.rows),
        lambda row: cursors.encode(page.as_of, row.id),
        has_previous=after is not None,
    )


async def load_blockers(context: Context, waiting: TaskRecord) -> list[RevalidationTask]:
    """The open tasks that a task waits for directly."""
    found = await context.loaders.blockers.load(waiting, waiting.fleet_id, waiting.as_of)
    return tasks_of(found)


async def find_task(
    context: Context, fleet_id: int, at: int, task_id: int | None
) -> RevalidationTask | None:
    """The task with this id as of an instant, fetched with what else a page asks for."""
    if task_id is None:
        return None
    record = await context.loaders.tasks.find(task_id, fleet_id, at)
    return None if record is None else RevalidationTask.of(record)


async def find_open_task(
    context: Context, fleet_id: int, at: int, node_id: int
) -> RevalidationTask | None:
    """The open task of a node as of an instant."""
    record = await context.loaders.open_tasks.find(node_id, fleet_id, at)
    return None if record is None else RevalidationTask.of(record)
