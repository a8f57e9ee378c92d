"""An edge of the memory graph as of an instant."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import cast

import strawberry

from retrograph.schema import node
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Context, Info
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import EdgeType
from retrograph.schema.links import NodeLink
from retrograph.schema.scalars import DateTime
from retrograph.schema.together import together
from retrograph.storage.records import EdgeRecord, Page


@strawberry.type(description="A dependency as of an instant: the target depends on the source.")
class MemoryEdge:
    id: strawberry.ID = strawberry.field(description="A 64-bit number, for ever this edge's.")
    type: EdgeType = strawberry.field(description="How the target depends on the source.")
    valid_from: DateTime = strawberry.field(description="When the edge was made.")
    valid_to: DateTime | None = strawberry.field(
        description="When the edge was taken away; null: still there at `asOf`."
    )
    as_of: DateTime = strawberry.field(description="The instant this object was read at.")

    @strawberry.field(
        description="The node that is depended upon.",
        metadata=together(lambda context, edges: _ends(context, edges, "source_id")),
    )
    async def source(self, info: Info) -> NodeLink:
        record = _record(self)
        return await node.load_node(info.context, record.fleet_id, record.as_of, record.source_id)

    @strawberry.field(
        description="The node that depends.",
        metadata=together(lambda context, edges: _ends(context, edges, "target_id")),
    )
    async def target(self, info: Info) -> NodeLink:
        record = _record(self)
        return await node.load_node(info.context, record.fleet_id, record.as_of, record.target_id)

    @staticmethod
    def of(record: EdgeRecord) -> MemoryEdge:
        """The edge that a record tells of: the record itself, whose attributes are the fields."""
        return cast("MemoryEdge", record)


async def _ends(context: Context, edges: Sequence[MemoryEdge], which: str) -> Sequence[object]:
    """A node of each edge, as of the instant the edge was read at; one call for each instant."""
    places = [(getattr(each, which), each.as_of, _record(each).fleet_id) for each in edges]
    then: dict[tuple[int, int], set[int]] = {}
    for id, at, fleet_id in places:
        then.setdefault((fleet_id, at), set()).add(id)
    known = context.loaders.known_nodes
    loaded = await asyncio.gather(*(known.find_all(ids, *each) for each, ids in then.items()))
    found = dict(zip(then, loaded, strict=True))
    return [node.MemoryNode.of(found[fleet_id, at][id]) for id, at, fleet_id in places]


def _record(shown: MemoryEdge) -> EdgeRecord:
    return cast("EdgeRecord", shown)


def edge_connection(
    page: Page[EdgeRecord], cursors: ListCursors, after: str | None
) -> Connection[MemoryEdge]:
    """A page of edges in the order of their ids."""
    return connect(
        page,
        [MemoryEdge.of(row) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.id),
        has_previous=after is not None,
    )


def read_types(types: Iterable[EdgeType] | None) -> frozenset[EdgeType] | None:
    """The types that an argument names; None for every type."""
    return None if types is None else frozenset(types)
