"""What a picture needs: the neighbourhood of some nodes as flat lists."""

from __future__ import annotations

import strawberry

from retrograph.schema import edge, node
from retrograph.schema.context import Info
from retrograph.schema.links import EdgeLink, NodeLink
from retrograph.schema.scalars import DateTime
from retrograph.storage.records import Neighbourhood as Found


@strawberry.type(description="The nodes around some roots, and the edges between them.")
class Neighbourhood:
    fleet_id: strawberry.Private[int]
    found: strawberry.Private[Found]
    as_of: DateTime = strawberry.field(description="The instant it was read at.")
    truncated: bool = strawberry.field(
        description="Whether nodes within reach were left out, since there are more than `first`."
    )

    @strawberry.field(description="The roots, then what lies around them, nearest first.")
    async def nodes(self, info: Info) -> list[NodeLink]:
        found = self.found
        return await node.load_nodes(info.context, self.fleet_id, found.as_of, found.node_ids)

    @strawberry.field(description="Every edge between two of the nodes.")
    def edges(self) -> list[EdgeLink]:
        return [edge.MemoryEdge.of(record) for record in self.found.edges]

    @classmethod
    def of(cls, found: Found, fleet_id: int) -> Neighbourhood:
        """What a walk through a fleet has found."""
        return cls(
            fleet_id=fleet_id,
            found=found,
            as_of=DateTime(found.as_of),
            truncated=found.truncated,
        )
