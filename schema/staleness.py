"""Why a node is not healthy."""

from __future__ import annotations

import strawberry

from retrograph.schema import node, run, task
from retrograph.schema.arguments import PathLimit
from retrograph.schema.context import Info
from retrograph.schema.links import NodeLink, RunLink, TaskLink
from retrograph.storage.records import StalenessRecord


@strawberry.type(description="Why a node is not healthy: the run that felled it, and its chain.")
class Staleness:
    record: strawberry.Private[StalenessRecord]
    node_id: strawberry.Private[int]
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

    @strawberry.field(description="The open tasks that its judgement waits for directly, by id.")
    async def blocked_by(self, info: Info) -> list[TaskLink]:
        cause = self.record.run
        found = await info.context.loaders.open_tasks.find(
            self.node_id, cause.fleet_id, cause.as_of
        )
        return [] if found is None else await task.load_blockers(info.context, found)

    @classmethod
    def of(cls, record: StalenessRecord, node_id: int) -> Staleness:
        """What a record tells of a node."""
        return cls(record=record, node_id=node_id, depth=record.depth)
