"""What a run did, or a preview would do, to one node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import strawberry

from retrograph.rules.limits import check_first
from retrograph.schema import node
from retrograph.schema.arguments import PathLimit
from retrograph.schema.context import Context, Info
from retrograph.schema.enums import ImpactKind, Validity
from retrograph.schema.links import NodeLink

FindPath = Callable[[Context, int], Awaitable[list[int]]]


@strawberry.type(description="What a run did to one node, or what a preview says it would do.")
class Impact:
    fleet_id: strawberry.Private[int]
    at: strawberry.Private[int]
    node_id: strawberry.Private[int]
    find_path: strawberry.Private[FindPath]
    kind: ImpactKind = strawberry.field(
        description="Whether it fell, was kept by its pin, or is to be judged again."
    )
    before: Validity = strawberry.field(name="from", description="What cascades had left on it.")
    after: Validity = strawberry.field(name="to", description="What the run has left on it.")
    depth: int = strawberry.field(description="How many edges the chain of causes has.")

    @strawberry.field(description="The node, read at the instant of the run or the preview.")
    async def node(self, info: Info) -> NodeLink:
        return await node.load_node(info.context, self.fleet_id, self.at, self.node_id)

    @strawberry.field(
        description=(
            "The ids of the first nodes of the chain of causes, from the root; `depth` tells how "
            "long it is."
        )
    )
    async def path(self, info: Info, limit: PathLimit = 100) -> list[strawberry.ID]:
        most = check_first(limit, field=("limit",))
        return [strawberry.ID(str(each)) for each in await self.find_path(info.context, most)]
