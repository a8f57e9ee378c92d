"""Who asks."""

from __future__ import annotations

import strawberry

from retrograph.schema.context import Caller
from retrograph.schema.enums import Role
from retrograph.schema.scalars import DateTime


@strawberry.type(description="Who asks: your tenant, the fleets you hold, and what you may do.")
class Viewer:
    tenant_id: strawberry.ID = strawberry.field(description="Your tenant.")
    fleet_ids: list[strawberry.ID] = strawberry.field(
        description="The fleets that exist and that you hold, ascending."
    )
    roles: list[Role] = strawberry.field(description="What you may do.")
    expires_at: DateTime | None = strawberry.field(
        description="From when on your token counts no more; null: you need none."
    )

    @classmethod
    def of(cls, caller: Caller, fleet_ids: list[int]) -> Viewer:
        """A caller, with the fleets that it holds."""
        until = caller.expires_at
        return cls(
            tenant_id=strawberry.ID(str(caller.scope.tenant_id)),
            fleet_ids=[strawberry.ID(str(each)) for each in fleet_ids],
            roles=sorted(caller.scope.roles),
            expires_at=None if until is None else DateTime(until),
        )
