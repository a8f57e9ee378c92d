"""The queries: each reads at one instant, runs one use case, and shows what it has found."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.previews import preview_invalidation
from retrograph.resolvers.scope import Scope
from retrograph.schema import inputs
from retrograph.schema.arguments import AsOf, FleetId, read_fleet
from retrograph.schema.checkpoint_query import CheckpointQuery
from retrograph.schema.context import Info
from retrograph.schema.enums import Validity
from retrograph.schema.graph_query import GraphQuery
from retrograph.schema.memory_query import MemoryQuery
from retrograph.schema.past_query import PastQuery
from retrograph.schema.preview import InvalidationPreview
from retrograph.schema.viewer import Viewer
from retrograph.schema.work_query import WorkQuery


@strawberry.type(
    description=(
        "Every field reads one fleet at one instant. Those that give no `asOf` agree on one for "
        "each fleet, which the response's `extensions.asOf` names."
    )
)
class Query(GraphQuery, PastQuery, WorkQuery, CheckpointQuery, MemoryQuery):
    @strawberry.field(
        description="The cascade that `invalidate` would run, at any instant, written nowhere."
    )
    async def preview_invalidation(
        self,
        info: Info,
        fleet_id: FleetId,
        root_: Annotated[
            inputs.NodeRef,
            strawberry.argument(name="root", description="The node to start from."),
        ],
        effect: Annotated[
            Validity,
            strawberry.argument(description="What the root would become: a validity not healthy."),
        ] = Validity.INVALID,
        as_of: AsOf = None,
    ) -> InvalidationPreview:
        fleet = read_fleet(fleet_id)
        ref = root_.read(("root",))
        at = await info.context.at(fleet, as_of)
        preview = await info.context.call(preview_invalidation, fleet, ref, effect, at)
        return InvalidationPreview.of(preview, fleet)

    @strawberry.field(description="Who you are to this server.")
    async def viewer(self, info: Info) -> Viewer:
        fleet_ids = await info.context.call(Scope.held_fleets)
        return Viewer.of(info.context.caller, fleet_ids)
