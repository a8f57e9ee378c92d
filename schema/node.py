"""A node of the memory graph as of an instant, and what hangs on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import strawberry

from retrograph.rules.validity import is_healthy
from retrograph.schema import edge, reached, staleness, task
from retrograph.schema.arguments import After, EdgeTypes, First, WalkDepth
from retrograph.schema.connection import Connection, SearchConnection, connect, connect_search
from retrograph.schema.context import Context, Info
from retrograph.schema.cursors import ListCursors, position_of, same_instant
from retrograph.schema.enums import Direction, EdgeType, NodeKind, Validity
from retrograph.schema.evidence import Evidence
from retrograph.schema.links import EdgeLink, ReachedLink, StalenessLink, TaskLink
from retrograph.schema.scalars import JSON, DateTime
from retrograph.storage.records import NodeRecord, Page


@strawberry.type(
    description="A belief or a rule as of an instant; what it leads to is read at that instant too."
)
class MemoryNode:
    id: strawberry.ID = strawberry.field(description="A 64-bit number, for ever this node's.")
    key: str | None = strawberry.field(
        description="The name that its makers gave it, unique in its fleet."
    )
    kind: NodeKind = strawberry.field(description="An assertion or a rule, for ever.")
    validity: Validity = strawberry.field(description="How far it can be relied on.")
    projected: Validity = strawberry.field(
        name="projectedValidity",
        description=(
            "What cascades have left on it: differs from `validity` only under a pin, and becomes "
            "it when the pin goes."
        ),
    )
    confidence: float = strawberry.field(
        description="From 0 to 1: the base confidence, weakened where supporters fell away."
    )
    base_confidence: float = strawberry.field(
        description="From 0 to 1: the confidence that its makers gave it."
    )
    pinned: bool = strawberry.field(description="Whether a pin keeps its validity.")
    pin_reason: str | None = strawberry.field(description="Why it is pinned, if that was said.")
    payload: JSON | None = strawberry.field(description="What it says.")
    contract_hash: str | None = strawberry.field(description="The contract that a rule stands for.")
    expires_at: DateTime | None = strawberry.field(
        description="When it is to be invalidated by the passage of time."
    )
    created_at: DateTime = strawberry.field(description="When it was made.")
    valid_from: DateTime = strawberry.field(
        description="The instant from which on this version holds: its state and its content."
    )
    valid_to: DateTime | None = strawberry.field(
        description="The instant at which this version ended; null: still current at `asOf`."
    )
    as_of: DateTime = strawberry.field(
        description="The instant this object was read at; its fields inherit it."
    )
    version_id: strawberry.ID = strawberry.field(
        description="Id and `validFrom`: a cache key that no other version shares."
    )

    @strawberry.field(description="Edges to what depends on this node, by edge id.")
    async def outgoing(
        self, info: Info, types: EdgeTypes = None, first: First = 50, after: After = None
    ) -> Connection[EdgeLink]:
        return await _edges(info.context, _record(self), "outgoing", types, first, after)

    @strawberry.field(description="Edges from what this node depends upon, by edge id.")
    async def incoming(
        self, info: Info, types: EdgeTypes = None, first: First = 50, after: After = None
    ) -> Connection[EdgeLink]:
        return await _edges(info.context, _record(self), "incoming", types, first, after)

    @strawberry.field(
        description="What depends on this node, directly or not: nearest first, then by id."
    )
    async def dependents(
        self, info: Info, max_depth: WalkDepth = 3, first: First = 100, after: After = None
    ) -> SearchConnection[ReachedLink]:
        way = Direction.DEPENDENTS
        return await _walk(info.context, _record(self), way, max_depth, first, after)

    @strawberry.field(
        description="What this node depends upon, directly or not: nearest first, then by id."
    )
    async def dependencies(
        self, info: Info, max_depth: WalkDepth = 3, first: First = 100, after: After = None
    ) -> SearchConnection[ReachedLink]:
        way = Direction.DEPENDENCIES
        return await _walk(info.context, _record(self), way, max_depth, first, after)

    @strawberry.field(description="What was brought forward for this node.")
    async def evidence(self, info: Info) -> list[Evidence]:
        record = _record(self)
        found = await info.context.loaders.evidence.find(record.id, record.fleet_id, record.as_of)
        return [Evidence.of(each) for each in found or ()]

    @strawberry.field(
        description=(
            "Its versions up to `asOf`, newest first. The scalar fields of each are as they were; "
            "what is nested in it (`evidence`, edges, walks, `task`, what is in `staleness`) "
            "is read at the instant of the query, `asOf`."
        )
    )
    async def history(
        self, info: Info, first: First = 50, after: After = None
    ) -> Connection[MemoryNode]:
        record = _record(self)
        cursors = ListCursors("history", (int,), record.fleet_id, record.id)
        keyset = cursors.decode(after)
        same_instant(keyset, record.as_of)
        page = await info.context.loaders.history.load(
            record.id, record.fleet_id, record.as_of, first, position_of(keyset)
        )
        return node_connection(page, cursors, lambda row: row.valid_from, after)

    @strawberry.field(
        description=(
            "Why it is not healthy: the run, its reason, the path from the run's root. Null when "
            "it is healthy, or when no run gave it its state."
        )
    )
    async def staleness(self, info: Info) -> StalenessLink | None:
        record = _record(self)
        found = await info.context.loaders.staleness.find(record, record.fleet_id, record.as_of)
        return None if found is None else staleness.Staleness.of(found, record.id)

    @strawberry.field(description="The open task to judge it again; null where there is none.")
    async def task(self, info: Info) -> TaskLink | None:
        record = _record(self)
        return await task.find_open_task(info.context, record.fleet_id, record.as_of, record.id)

    @staticmethod
    def of(record: NodeRecord) -> MemoryNode:
        """The node that a record tells of: the record itself, whose attributes are the fields."""
        return cast("MemoryNode", record)


def _record(shown: MemoryNode) -> NodeRecord:
    return cast("NodeRecord", shown)


def node_connection(
    page: Page[NodeRecord],
    cursors: ListCursors,
    position: Callable[[NodeRecord], int],
    after: str | None,
) -> Connection[MemoryNode]:
    """A page of nodes; `position` gives the place of a row in its list."""
    return connect(
        page,
        [MemoryNode.of(row) for row in page.rows],
        lambda row: cursors.encode(page.as_of, position(row)),
        has_previous=after is not None,
    )


async def load_node(context: Context, fleet_id: int, at: int, node_id: int) -> MemoryNode:
    """The node with this id as of an instant, fetched with what else a page asks for.

    One that has left the present is given as it last was.
    """
    return MemoryNode.of(await context.loaders.known_nodes.load(node_id, fleet_id, at))


async def load_nodes(
    context: Context, fleet_id: int, at: int, ids: Sequence[int]
) -> list[MemoryNode]:
    """The nodes with these ids, as `load_node` gives them, in that order, by one call."""
    records = await context.loaders.known_nodes.load_all(ids, fleet_id, at)
    return [MemoryNode.of(record) for record in records]


async def load_fallen(
    context: Context, fleet_id: int, at: int, ids: Sequence[int]
) -> list[MemoryNode]:
    """Those of these nodes that nothing may rest on: not healthy, or no longer in the present.

    One that has left is known by having been read at the last instant at which it was there.
    """
    found = await load_nodes(context, fleet_id, at, ids)
    return [each for each in found if not is_healthy(each.validity) or each.as_of < at]


async def _edges(
    context: Context,
    record: NodeRecord,
    side: str,
    types: list[EdgeType] | None,
    first: int,
    after: str | None,
) -> Connection[edge.MemoryEdge]:
    wanted = edge.read_types(types)
    cursors = ListCursors(side, (int,), record.fleet_id, record.id, wanted)
    keyset = cursors.decode(after)
    same_instant(keyset, record.as_of)
    page = await context.loaders.edges_around.load(
        record.id,
        record.fleet_id,
        record.as_of,
        side == "outgoing",
        wanted,
        first,
        position_of(keyset),
    )
    return edge.edge_connection(page, cursors, after)


async def _walk(
    context: Context,
    record: NodeRecord,
    direction: Direction,
    max_depth: int,
    first: int,
    after: str | None,
) -> SearchConnection[reached.Reached]:
    cursors = ListCursors(direction.name, (int, int), record.fleet_id, record.id, max_depth)
    keyset = cursors.decode(after)
    same_instant(keyset, record.as_of)
    page = await context.loaders.reached.load(
        record.id,
        record.fleet_id,
        record.as_of,
        direction,
        max_depth,
        first,
        position_of(keyset),
    )
    return connect_search(
        page,
        [reached.Reached.of(row, record.fleet_id, record.as_of) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.depth, row.node_id),
        has_previous=after is not None,
    )
