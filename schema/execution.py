"""An execution, which its checkpoints and steps are of."""

from __future__ import annotations

import strawberry

from retrograph.schema.connection import Connection, connect
from retrograph.schema.cursors import ListCursors
from retrograph.schema.scalars import DateTime, Long
from retrograph.storage.checkpoint_records import ExecutionRecord
from retrograph.storage.records import Page


@strawberry.type(description="One run of an agent's plan, as of an instant.")
class Execution:
    execution_id: str = strawberry.field(description="Its name, as its makers call it.")
    sequence: Long = strawberry.field(description="The sequence of its head; 0: no checkpoint.")
    created_at: DateTime = strawberry.field(
        description="The instant of its first checkpoint or step."
    )
    as_of: DateTime = strawberry.field(description="The instant this object was read at.")

    @classmethod
    def of(cls, record: ExecutionRecord) -> Execution:
        """The execution that a record tells of."""
        return cls(
            execution_id=record.key,
            sequence=Long(record.sequence),
            created_at=DateTime(record.created_at),
            as_of=DateTime(record.as_of),
        )


def execution_connection(
    page: Page[ExecutionRecord], cursors: ListCursors, after: str | None
) -> Connection[Execution]:
    """A page of executions, in the order of their beginnings."""
    return connect(
        page,
        [Execution.of(row) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.id),
        has_previous=after is not None,
    )
