"""Why a node is not healthy."""

from __future__ import annotations

import strawberry

from retrograph.schema import node, run
from retrograph.schema.arguments import PathLimit
from retrograph.schema.context import Info
from retrograph.schema.links import NodeLink, RunLink
from retrograph.storage.records import StalenessRecord


@strawberry.type(description="Why a node is not healthy: the run that felled it, and its chain.")
class Staleness:
    record: strawberry.Private[StalenessRecord]
    depth: int = strawberry.field(
        description="How many edges the chain of causes has, from the root to the node."
    )

    @strawberry.field(description="The run that gave the node its state.")
    def run(self) -> RunLink:
        return run.InvalidationRun.of(self.record.run)

    @strawberry.field(
        description="The first nodes of the chain of causes, from the root; `depth` tells how long."
    )
    async def path(self, info: Info, limit: PathLimit = 100) -> list[NodeLink]:
        cause = self.record.run
        ids = await info.context.loaders.impact_paths.load(
            (cause.id, self.record.ordinal), cause.fleet_id, cause.as_of, limit
        )
        return await node.load_nodes(info.context, cause.fleet_id, cause.as_of, ids)

    @classmethod
    def of(cls, record: StalenessRecord) -> Staleness:
        """What a record tells."""
        return cls(record=record, depth=record.depth)
