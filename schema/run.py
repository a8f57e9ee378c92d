"""A cascade that was run."""

from __future__ import annotations

import strawberry

from retrograph.schema import decision, impact, node
from retrograph.schema.arguments import After, First, ImpactKindFilter
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Context, Info
from retrograph.schema.cursors import ListCursors, position_of, same_instant
from retrograph.schema.enums import RunStatus, Validity
from retrograph.schema.links import DecisionLink, ImpactLink, NodeLink, RunLink
from retrograph.schema.scalars import DateTime
from retrograph.storage.records import ImpactRecord, Page, RunRecord


@strawberry.type(description="A cascade that was run: what started it, and what fell.")
class InvalidationRun:
    record: strawberry.Private[RunRecord]
    id: strawberry.ID = strawberry.field(description="A 64-bit number, for ever this run's.")
    status: RunStatus = strawberry.field(description="What became of it, as of `asOf`.")
    effect: Validity = strawberry.field(description="What its root was given.")
    reason: str = strawberry.field(
        description=(
            "Why, in the words of who asked, or what started it: LINKED, CONTENT_CHANGED, "
            "UNPINNED, REFUTED, or REVERTED and the id of a run."
        )
    )
    effective_at: DateTime = strawberry.field(description="Since when the reason holds.")
    executed_at: DateTime = strawberry.field(description="The instant at which it was run.")
    reverted_at: DateTime | None = strawberry.field(
        description="The instant at which it was undone; null: not by `asOf`."
    )
    impact_count: int = strawberry.field(description="How many nodes it reached.")
    as_of: DateTime = strawberry.field(
        description="The instant this object was read at; its fields inherit it."
    )

    @strawberry.field(description="The node it started from.")
    async def root(self, info: Info) -> NodeLink:
        record = self.record
        return await node.load_node(info.context, record.fleet_id, record.as_of, record.root_id)

    @strawberry.field(description="The run that this one undid, if it was made to undo one.")
    async def reverts(self, info: Info) -> RunLink | None:
        return await load_run(info.context, self.record, self.record.reverts_run_id)

    @strawberry.field(description="The run that undid this one, if one has by `asOf`.")
    async def reverted_by(self, info: Info) -> RunLink | None:
        return await load_run(info.context, self.record, self.record.reverted_by_run_id)

    @strawberry.field(description="The judgement that started it: that of a refutation.")
    async def decision(self, info: Info) -> DecisionLink | None:
        record = self.record
        found = await info.context.loaders.decisions.find(record, record.fleet_id, record.as_of)
        return None if found is None else decision.Decision.of(found)

    @strawberry.field(
        description="What it did to each node: nearest to the root first, then by id."
    )
    async def impacts(
        self,
        info: Info,
        kind: ImpactKindFilter = None,
        first: First = 100,
        after: After = None,
    ) -> Connection[ImpactLink]:
        record = self.record
        cursors = ListCursors("impacts", (int,), record.fleet_id, record.id, kind)
        keyset = cursors.decode(after)
        same_instant(keyset, record.as_of)
        page = await info.context.loaders.impacts.load(
            record.id, record.fleet_id, record.as_of, kind, first, position_of(keyset)
        )
        return _impact_connection(page, record, cursors, after)

    @classmethod
    def of(cls, record: RunRecord) -> InvalidationRun:
        """The run that a record tells of."""
        return cls(
            record=record,
            id=strawberry.ID(str(record.id)),
            status=record.status,
            effect=record.effect,
            reason=record.reason,
            effective_at=DateTime(record.effective_at),
            executed_at=DateTime(record.executed_at),
            reverted_at=None if record.reverted_at is None else DateTime(record.reverted_at),
            impact_count=record.impact_count,
            as_of=DateTime(record.as_of),
        )


def run_connection(
    page: Page[RunRecord], cursors: ListCursors, after: str | None
) -> Connection[InvalidationRun]:
    """A page of runs, newest first."""
    return connect(
        page,
        [InvalidationRun.of(row) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.id),
        has_previous=after is not None,
    )


async def load_run(
    context: Context, beside: RunRecord, run_id: int | None
) -> InvalidationRun | None:
    """Another run of the fleet, as of the same instant as the one `beside` it."""
    if run_id is None:
        return None
    record = await context.loaders.runs.find(run_id, beside.fleet_id, beside.as_of)
    return None if record is None else InvalidationRun.of(record)


def _impact_connection(
    page: Page[ImpactRecord], run: RunRecord, cursors: ListCursors, after: str | None
) -> Connection[impact.Impact]:
    return connect(
        page,
        [_impact(row, run) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.ordinal),
        has_previous=after is not None,
    )


def _impact(record: ImpactRecord, run: RunRecord) -> impact.Impact:
    async def find_path(context: Context, limit: int) -> list[int]:
        return await context.loaders.impact_paths.load(
            (record.run_id, record.ordinal), run.fleet_id, run.as_of, limit
        )

    return impact.Impact(
        fleet_id=run.fleet_id,
        at=run.as_of,
        node_id=record.node_id,
        find_path=find_path,
        kind=record.kind,
        before=record.before,
        after=record.after,
        depth=record.depth,
    )
