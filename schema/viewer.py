"""Who asks."""

from __future__ import annotations

import strawberry

from retrograph.resolvers.scope import Scope
from retrograph.schema.enums import Role


@strawberry.type(description="Who asks: your tenant, the fleets you hold, and what you may do.")
class Viewer:
    tenant_id: strawberry.ID = strawberry.field(description="Your tenant.")
    fleet_ids: list[strawberry.ID] = strawberry.field(
        description="The fleets that exist and that you hold, ascending."
    )
    roles: list[Role] = strawberry.field(description="What you may do.")

    @classmethod
    def of(cls, scope: Scope, fleet_ids: list[int]) -> Viewer:
        """The caller that a scope stands for, with the fleets it holds."""
        return cls(
            tenant_id=strawberry.ID(str(scope.tenant_id)),
            fleet_ids=[strawberry.ID(str(each)) for each in fleet_ids],
            roles=sorted(scope.roles),
        )
