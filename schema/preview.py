"""The cascade that an invalidation would run, written nowhere."""

from __future__ import annotations

import strawberry

from retrograph.resolvers.previews import Preview
from retrograph.rules.limits import check_first
from retrograph.schema.arguments import After, First, ImpactKindFilter
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Context
from retrograph.schema.cursors import ListCursors, position_of, same_instant
from retrograph.schema.enums import ImpactKind, Validity
from retrograph.schema.impact import Impact
from retrograph.schema.scalars import DateTime
from retrograph.storage.records import Page


@strawberry.type(
    description=(
        "The cascade that `invalidate` would run, written nowhere. `planHash` names exactly this "
        "cascade: `invalidate(expectedPlan:)` is refused if it would now fell anything else."
    )
)
class InvalidationPreview:
    fleet_id: strawberry.Private[int]
    preview: strawberry.Private[Preview]
    as_of: DateTime = strawberry.field(description="The instant it was computed at.")
    plan_hash: str = strawberry.field(
        description="A hash over every node it would reach, with its validity before and after."
    )
    impact_count: int = strawberry.field(description="How many nodes it would reach.")

    @strawberry.field(
        description="What it would do to each node: nearest to the root first, then by id."
    )
    def impacts(
        self, kind: ImpactKindFilter = None, first: First = 100, after: After = None
    ) -> Connection[Impact]:
        root = self.preview.cascade.nodes[:1]  # two roots of a circle have the same plan
        cursors = ListCursors("preview", (int,), self.fleet_id, self.plan_hash, root, kind)
        keyset = cursors.decode(after)
        same_instant(keyset, self.as_of)
        page = _page(self.preview, kind, check_first(first), position_of(keyset))
        return connect(
            page,
            [_impact(self.fleet_id, self.preview, row) for row in page.rows],
            lambda row: cursors.encode(page.as_of, row),
            has_previous=after is not None,
        )

    @classmethod
    def of(cls, preview: Preview, fleet_id: int) -> InvalidationPreview:
        """What the preview of a fleet's cascade tells."""
        return cls(
            fleet_id=fleet_id,
            preview=preview,
            as_of=DateTime(preview.as_of),
            plan_hash=preview.plan_hash,
            impact_count=len(preview.cascade),
        )


def _page(preview: Preview, kind: ImpactKind | None, first: int, after: int | None) -> Page[int]:
    """A page of ordinals: the places of impacts in the cascade's columns."""
    start = 0 if after is None else max(after + 1, 0)
    kinds = preview.cascade.kinds
    ordinals = [
        ordinal for ordinal in range(start, len(kinds)) if kind is None or kinds[ordinal] == kind
    ]
    return Page(ordinals[:first], len(ordinals) > first, preview.as_of)


def _impact(fleet_id: int, preview: Preview, ordinal: int) -> Impact:
    cascade = preview.cascade

    async def find_path(context: Context, limit: int) -> list[int]:
        return cascade.path(ordinal, limit)

    return Impact(
        fleet_id=fleet_id,
        at=preview.as_of,
        node_id=cascade.nodes[ordinal],
        find_path=find_path,
        kind=ImpactKind(cascade.kinds[ordinal]),
        before=Validity(cascade.before[ordinal]),
        after=Validity(cascade.after[ordinal]),
        depth=cascade.depths[ordinal],
    )
