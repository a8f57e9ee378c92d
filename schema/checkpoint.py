"""A state of an execution, committed to its chain."""

from __future__ import annotations

import strawberry

from retrograph.schema import node
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors
from retrograph.schema.links import NodeLink
from retrograph.schema.scalars import JSON, DateTime, Long
from retrograph.storage.checkpoint_records import CheckpointRecord
from retrograph.storage.records import Page


@strawberry.type(
    description="A state of an execution. It never changes; its hash binds it to all before it."
)
class Checkpoint:
    record: strawberry.Private[CheckpointRecord]
    execution_id: str = strawberry.field(description="The execution, by its makers' name for it.")
    session_id: str = strawberry.field(description="The session that committed it.")
    sequence: Long = strawberry.field(description="Its place in its execution, from 1 on.")
    state_node: str = strawberry.field(description="Where the execution stands.")
    payload: JSON = strawberry.field(description="The state, in the version `schemaVersion`.")
    schema_version: str = strawberry.field(description="The version of the payload's schema.")
    stored_schema_version: str = strawberry.field(
        description="The version it was committed in; another one: it was upcast when it was read."
    )
    idempotency_token: str = strawberry.field(description="The token of its commit.")
    hash: str = strawberry.field(
        description="The hex SHA-256 of all of it as it was committed, `previousHash` included."
    )
    previous_hash: str | None = strawberry.field(
        description="The hash of the checkpoint before; null for the first."
    )
    committed_at: DateTime = strawberry.field(description="The instant of its commit.")
    as_of: DateTime = strawberry.field(
        description="The instant this object was read at; its fields inherit it."
    )

    @strawberry.field(description="The nodes that it was based on, by id.")
    async def based_on(self, info: Info) -> list[NodeLink]:
        record = self.record
        return await node.load_nodes(info.context, record.fleet_id, record.as_of, record.based_on)

    @strawberry.field(
        description=(
            "Those of `basedOn` that are not healthy at `asOf`, or have left the present, by id; "
            "`staleness` tells what felled each."
        )
    )
    async def stale_reads(self, info: Info) -> list[NodeLink]:
        record = self.record
        ids = record.based_on
        return list(await node.load_fallen(info.context, record.fleet_id, record.as_of, ids))

    @classmethod
    def of(cls, record: CheckpointRecord) -> Checkpoint:
        """The checkpoint that a record tells of."""
        return cls(
            record=record,
            execution_id=record.execution_id,
            session_id=record.session_id,
            sequence=Long(record.sequence),
            state_node=record.state_node,
            payload=JSON(record.payload),
            schema_version=record.schema_version,
            stored_schema_version=record.stored_schema_version,
            idempotency_token=record.idempotency_token,
            hash=record.hash,
            previous_hash=record.previous_hash,
            committed_at=DateTime(record.committed_at),
            as_of=DateTime(record.as_of),
        )


def checkpoint_connection(
    page: Page[CheckpointRecord], cursors: ListCursors, after: str | None
) -> Connection[Checkpoint]:
    """A page of checkpoints, newest first."""
    return connect(
        page,
        [Checkpoint.of(row) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.sequence),
        has_previous=after is not None,
    )
