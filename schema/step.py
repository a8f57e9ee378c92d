"""A step of an execution, from the ledger of what was done."""

from __future__ import annotations

import strawberry

from retrograph.schema.connection import Connection, connect
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import StepStatus
from retrograph.schema.scalars import JSON, DateTime, Long
from retrograph.storage.checkpoint_records import StepRecord
from retrograph.storage.records import Page


@strawberry.type(description="A step of an execution as of an instant; what has finished is final.")
class Step:
    execution_id: str = strawberry.field(description="The execution, by its makers' name for it.")
    key: str = strawberry.field(description="Its idempotency key, unique in the execution.")
    sequence: Long = strawberry.field(
        description="The checkpoint that it belongs to; 0: before the first."
    )
    name: str | None = strawberry.field(description="What it does.")
    worker: str | None = strawberry.field(description="Who began it.")
    status: StepStatus = strawberry.field(description="Where it stands.")
    result: JSON | None = strawberry.field(description="What came of it.")
    started_at: DateTime = strawberry.field(description="The instant at which it was entered.")
    finished_at: DateTime | None = strawberry.field(description="When its outcome was told.")
    as_of: DateTime = strawberry.field(description="The instant this object was read at.")
    erased: bool = strawberry.field(description="Whether it had a result, which was erased.")

    @classmethod
    def of(cls, record: StepRecord) -> Step:
        """The step that a record tells of."""
        return cls(
            execution_id=record.execution_id,
            key=record.key,
            sequence=Long(record.sequence),
            name=record.name,
            worker=record.worker,
            status=record.status,
            result=None if record.result is None else JSON(record.result),
            started_at=DateTime(record.started_at),
            finished_at=None if record.finished_at is None else DateTime(record.finished_at),
            as_of=DateTime(record.as_of),
            erased=record.erased,
        )


def step_connection(
    page: Page[StepRecord], cursors: ListCursors, after: str | None
) -> Connection[Step]:
    """A page of steps, in the order of their starts."""
    return connect(
        page,
        [Step.of(row) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.ordinal),
        has_previous=after is not None,
    )
