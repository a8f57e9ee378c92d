"""What became of a node or an edge between two instants."""

from __future__ import annotations

import strawberry

from retrograph.schema import edge, node
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import ChangeKind
from retrograph.schema.links import EdgeLink, NodeLink
from retrograph.schema.scalars import DateTime
from retrograph.storage.records import ChangeRecord, Page


@strawberry.type(
    description=(
        "What became of one node or edge after `from` and up to `to`. Exactly one of `node` and "
        "`edge` is given: as of `to`, or, where it was removed, as it was last."
    )
)
class Change:
    fleet_id: strawberry.Private[int]
    to: strawberry.Private[int]
    record: strawberry.Private[ChangeRecord]
    at: DateTime = strawberry.field(description="The instant of its last change.")
    kind: ChangeKind = strawberry.field(description="Whether it came, changed or went.")

    @strawberry.field(description="The node, if it is one that has changed.")
    async def node(self, info: Info) -> NodeLink | None:
        record = self.record
        if record.node_id is None:
            return None
        if record.kind is not ChangeKind.REMOVED:
            return await node.load_node(info.context, self.fleet_id, self.to, record.node_id)
        last = record.node_id, record.at - 1
        then = info.context.loaders.nodes_then
        return node.MemoryNode.of(await then.load(last, self.fleet_id))

    @strawberry.field(description="The edge, if it is one that has changed.")
    def edge(self) -> EdgeLink | None:
        return None if self.record.edge is None else edge.MemoryEdge.of(self.record.edge)

    @classmethod
    def of(cls, record: ChangeRecord, fleet_id: int, to: int) -> Change:
        """The change that a record of a fleet's feed up to an instant tells of."""
        return cls(
            fleet_id=fleet_id, to=to, record=record, at=DateTime(record.at), kind=record.kind
        )


def change_cursors(fleet_id: int, since: int) -> ListCursors:
    """The cursors of a feed: the instant of a change, 0 for a node or 1 for an edge, and its id."""
    return ListCursors("changes", (int, int, int), fleet_id, since)


def change_connection(
    page: Page[ChangeRecord], fleet_id: int, cursors: ListCursors, after: str | None
) -> Connection[Change]:
    """A page of changes in the order of time."""
    return connect(
        page,
        [Change.of(row, fleet_id, page.as_of) for row in page.rows],
        lambda row: cursors.encode(page.as_of, *_position(row)),
        has_previous=after is not None,
    )


def _position(record: ChangeRecord) -> tuple[int, int, int]:
    if record.edge is not None:
        return record.at, 1, record.edge.id
    assert record.node_id is not None  # noqa: S101 (a change is one of a node or of an edge)
    return record.at, 0, record.node_id
