"""A simple path of dependencies between two nodes."""

from __future__ import annotations

import strawberry

from retrograph.rules.cursor import Keyset
from retrograph.rules.errors import InvalidCursor
from retrograph.schema import edge, node
from retrograph.schema.connection import SearchConnection, connect_search
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors
from retrograph.schema.links import EdgeLink, NodeLink
from retrograph.storage.records import Page, PathRecord


@strawberry.type(
    description="A path from a dependency to what depends on it, on which no node occurs twice."
)
class DependencyPath:
    fleet_id: strawberry.Private[int]
    at: strawberry.Private[int]
    record: strawberry.Private[PathRecord]
    length: int = strawberry.field(description="How many edges it has.")

    @strawberry.field(description="Its nodes, from the dependency to the dependent, both included.")
    async def nodes(self, info: Info) -> list[NodeLink]:
        return await node.load_nodes(info.context, self.fleet_id, self.at, self.record.nodes)

    @strawberry.field(description="Its edges, from the dependency to the dependent.")
    async def edges(self, info: Info) -> list[EdgeLink]:
        found = await info.context.loaders.edges.load_all(self.record.edges, self.fleet_id, self.at)
        return [edge.MemoryEdge.of(record) for record in found]

    @classmethod
    def of(cls, record: PathRecord, fleet_id: int, at: int) -> DependencyPath:
        """The path that a search through a fleet, read at an instant, has found."""
        return cls(fleet_id=fleet_id, at=at, record=record, length=len(record.edges))


def path_position(after: Keyset | None) -> PathRecord | None:
    """The path that a cursor names by the ids of its nodes, then those of its edges.

    Raises `InvalidCursor` where they make none.
    """
    if after is None:
        return None
    count = len(after.position) // 2
    if len(after.position) != 2 * count + 1 or not count:
        raise InvalidCursor("The cursor is no cursor of a path; begin anew.", path=("after",))
    return PathRecord(after.position[: count + 1], after.position[count + 1 :])


def path_connection(
    page: Page[PathRecord], fleet_id: int, cursors: ListCursors, after: str | None
) -> SearchConnection[DependencyPath]:
    """A page of paths, shortest first."""
    return connect_search(
        page,
        [DependencyPath.of(row, fleet_id, page.as_of) for row in page.rows],
        lambda row: cursors.encode(page.as_of, *row.nodes, *row.edges),
        has_previous=after is not None,
    )
