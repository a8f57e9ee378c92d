"""What becomes of the nodes and edges that a subscriber watches."""

from __future__ import annotations

from collections.abc import Sequence

import strawberry

from retrograph.rules.limits import MAX_ID
from retrograph.schema import edge, node
from retrograph.schema.context import Context
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import UpdateKind
from retrograph.schema.links import EdgeLink, NodeLink
from retrograph.schema.scalars import DateTime
from retrograph.schema.together import together
from retrograph.storage.filters import NodeFilter
from retrograph.storage.records import NodeRef
from retrograph.storage.update_records import EDGE, Place, UpdateRecord

SNAPSHOT, CHANGES = 0, 1
"""The two phases of such a stream, as its cursors name them."""


def _node_of(record: UpdateRecord) -> node.MemoryNode | None:
    return None if record.node is None else node.MemoryNode.of(record.node)


def _edge_of(record: UpdateRecord) -> edge.MemoryEdge | None:
    return None if record.edge is None else edge.MemoryEdge.of(record.edge)


async def _nodes(_: Context, updates: Sequence[Update]) -> Sequence[object]:
    return [_node_of(each.record) for each in updates]


async def _edges(_: Context, updates: Sequence[Update]) -> Sequence[object]:
    return [_edge_of(each.record) for each in updates]


@strawberry.type(
    description=(
        "A node or edge that is watched, or what became of it. One of `node` and `edge` is "
        "given, but for SNAPSHOT_END."
    )
)
class Update:
    record: strawberry.Private[UpdateRecord]
    cursor: str = strawberry.field(description="To go on behind it, as `after`.")
    kind: UpdateKind = strawberry.field(description="What became of it.")
    at: DateTime = strawberry.field(
        description="The instant of the change; that of the snapshot for what is in it."
    )

    @strawberry.field(
        description="The node as of `at`; one that is gone, as it was just before.",
        metadata=together(_nodes),
    )
    def node(self) -> NodeLink | None:
        return _node_of(self.record)

    @strawberry.field(
        description="The edge as of `at`; one that is gone, as it was just before.",
        metadata=together(_edges),
    )
    def edge(self) -> EdgeLink | None:
        return _edge_of(self.record)

    @classmethod
    def of(cls, record: UpdateRecord, cursor: str) -> Update:
        """The update that a record tells of."""
        return cls(record=record, cursor=cursor, kind=record.kind, at=DateTime(record.place.at))

    @classmethod
    def snapshot_end(cls, at: int, cursor: str) -> Update:
        """Says that the snapshot has been told."""
        return cls.of(UpdateRecord(end_of(at), UpdateKind.SNAPSHOT_END), cursor)


def end_of(at: int) -> Place:
    """The place behind all that changed up to an instant."""
    return Place(at, EDGE, MAX_ID)


def update_cursors(fleet_id: int, filter: NodeFilter, subtree_of: NodeRef | None) -> ListCursors:
    """The cursors of such a stream: the instant, the phase, and the rest of a place."""
    return ListCursors("updates", (int, int, int, int), fleet_id, filter, subtree_of)
