"""A node that a walk has reached."""

from __future__ import annotations

import strawberry

from retrograph.schema import node
from retrograph.schema.context import Info
from retrograph.schema.links import NodeLink
from retrograph.storage.records import ReachedRecord


@strawberry.type(description="A node reached by a walk, at its least distance from the start.")
class Reached:
    fleet_id: strawberry.Private[int]
    at: strawberry.Private[int]
    record: strawberry.Private[ReachedRecord]
    depth: int = strawberry.field(description="How many edges away from the start it lies.")
    path: list[strawberry.ID] = strawberry.field(
        description="The ids of the nodes from the start to this one, both included."
    )

    @strawberry.field(description="The node, read at the instant of the walk.")
    async def node(self, info: Info) -> NodeLink:
        return await node.load_node(info.context, self.fleet_id, self.at, self.record.node_id)

    @classmethod
    def of(cls, record: ReachedRecord, fleet_id: int, at: int) -> Reached:
        """What a walk through a fleet, read at an instant, has reached."""
        return cls(
            fleet_id=fleet_id,
            at=at,
            record=record,
            depth=record.depth,
            path=[strawberry.ID(str(each)) for each in record.path],
        )
