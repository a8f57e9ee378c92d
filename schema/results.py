"""What mutations answer: what was done, or a failure that the caller can act on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import strawberry

from retrograph.resolvers import outcomes
from retrograph.rules.limits import check_first
from retrograph.schema import node
from retrograph.schema.context import Info
from retrograph.schema.edge import MemoryEdge
from retrograph.schema.errors import (
    IdempotencyKeyReused,
    InvalidInput,
    NotFound,
    PlanChanged,
    RunNotRevertible,
    RunTooLarge,
    ScheduleSettled,
    VersionConflict,
)
from retrograph.schema.evidence import Evidence
from retrograph.schema.node import MemoryNode
from retrograph.schema.run import InvalidationRun
from retrograph.schema.scalars import DateTime
from retrograph.schema.scheduled import ScheduledInvalidation
from retrograph.storage.records import RunRecord

FirstNodes = Annotated[
    int, strawberry.argument(description="How many nodes to give at most: 1 to 1,000.")
]


@strawberry.type(description="The nodes were made or updated.")
class NodesPut:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    nodes: list[MemoryNode] = strawberry.field(description="The nodes, in the order of the input.")
    runs: list[InvalidationRun] = strawberry.field(
        description="A run for each node whose content changed, unless that was kept quiet."
    )

    @classmethod
    def of(cls, outcome: outcomes.NodesPut) -> NodesPut:
        """What the use case has done."""
        return cls(
            instant=DateTime(outcome.instant),
            nodes=[MemoryNode.of(record) for record in outcome.nodes],
            runs=[InvalidationRun.of(record) for record in outcome.runs],
        )


@strawberry.type(description="The edges are there.")
class NodesLinked:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    edges: list[MemoryEdge] = strawberry.field(description="The edges, in the order of the input.")
    run: InvalidationRun | None = strawberry.field(
        description="The run that new edges from unhealthy sources have started."
    )

    @classmethod
    def of(cls, outcome: outcomes.NodesLinked) -> NodesLinked:
        """What the use case has done."""
        return cls(
            instant=DateTime(outcome.instant),
            edges=[MemoryEdge.of(record) for record in outcome.edges],
            run=_run(outcome.run),
        )


@strawberry.type(description="The edges are gone from the present.")
class NodesUnlinked:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    edge_ids: list[strawberry.ID] = strawberry.field(description="The ids of the edges.")

    @classmethod
    def of(cls, outcome: outcomes.NodesUnlinked) -> NodesUnlinked:
        """What the use case has done."""
        return cls(instant=DateTime(outcome.instant), edge_ids=_ids(outcome.edge_ids))


@strawberry.type(description="The node is pinned, or not, as was asked.")
class NodePinned:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    node: MemoryNode = strawberry.field(description="The node.")
    run: InvalidationRun | None = strawberry.field(
        description="The run in which an unpinned node took what cascades had left on it."
    )

    @classmethod
    def of(cls, outcome: outcomes.NodePinned) -> NodePinned:
        """What the use case has done."""
        return cls(
            instant=DateTime(outcome.instant),
            node=MemoryNode.of(outcome.node),
            run=_run(outcome.run),
        )


@strawberry.type(description="The evidence hangs on the node.")
class EvidenceAdded:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    node: MemoryNode = strawberry.field(description="The node.")
    evidence: Evidence = strawberry.field(description="The evidence.")

    @classmethod
    def of(cls, outcome: outcomes.EvidenceAdded) -> EvidenceAdded:
        """What the use case has done."""
        return cls(
            instant=DateTime(outcome.instant),
            node=MemoryNode.of(outcome.node),
            evidence=Evidence.of(outcome.evidence),
        )


@strawberry.type(description="The run was undone where nothing newer has touched its nodes.")
class RunReverted:
    outcome: strawberry.Private[outcomes.RunReverted]
    instant: DateTime = strawberry.field(description="The instant of the write.")
    run: InvalidationRun = strawberry.field(description="The run that undid the other.")
    restored_ids: list[strawberry.ID] = strawberry.field(
        description="The ids of all nodes that have their former states again."
    )
    left_alone_ids: list[strawberry.ID] = strawberry.field(
        description="The ids of all nodes of the old run that something newer has touched."
    )

    @strawberry.field(
        description="The first nodes that have their former states again; `restoredIds` names all."
    )
    async def restored(self, info: Info, first: FirstNodes = 100) -> list[MemoryNode]:
        return await self._nodes(info, self.outcome.restored, first)

    @strawberry.field(description="The first nodes that were left alone; `leftAloneIds` names all.")
    async def left_alone(self, info: Info, first: FirstNodes = 100) -> list[MemoryNode]:
        return await self._nodes(info, self.outcome.left_alone, first)

    @classmethod
    def of(cls, outcome: outcomes.RunReverted) -> RunReverted:
        """What the use case has done."""
        return cls(
            outcome=outcome,
            instant=DateTime(outcome.instant),
            run=InvalidationRun.of(outcome.run),
            restored_ids=_ids(outcome.restored),
            left_alone_ids=_ids(outcome.left_alone),
        )

    async def _nodes(self, info: Info, ids: list[int], first: int) -> list[MemoryNode]:
        shown = ids[: check_first(first)]
        fleet_id = self.outcome.run.fleet_id
        return await node.load_nodes(info.context, fleet_id, self.outcome.instant, shown)


@strawberry.type(description="How many rows a rewind moves, or would move.")
class RowsRewound:
    removed: int = strawberry.field(description="Made since: they leave the present.")
    restored: int = strawberry.field(description="Changed since: they are again what they were.")
    returned: int = strawberry.field(description="Gone since: they come back.")


@strawberry.type(description="The fleet was set back, or, on a dry run, could be.")
class FleetRewound:
    instant: DateTime = strawberry.field(
        description="The instant of the write; of a dry run, that at which it looked."
    )
    to: DateTime = strawberry.field(description="The instant whose present came back.")
    dry_run: bool = strawberry.field(description="Whether nothing was written.")
    confirmation: str = strawberry.field(
        description="What to pass as `confirm`, to the letter, so that it is done."
    )
    nodes: RowsRewound = strawberry.field(description="States of nodes, pins included.")
    contents: RowsRewound = strawberry.field(description="Contents of nodes.")
    edges: RowsRewound = strawberry.field(description="Edges.")
    evidence: RowsRewound = strawberry.field(description="Evidence.")
    tasks_cancelled: int = strawberry.field(description="How many open tasks are cancelled.")
    tasks_opened: int = strawberry.field(description="How many tasks are opened for the present.")

    @classmethod
    def of(cls, outcome: outcomes.FleetRewound) -> FleetRewound:
        """What the use case has done, or told."""
        rows = {name: RowsRewound(**asdict(each)) for name, each in outcome.rows.items()}
        return cls(
            instant=DateTime(outcome.instant),
            to=DateTime(outcome.to),
            dry_run=outcome.dry_run,
            confirmation=outcome.confirmation,
            tasks_cancelled=outcome.tasks_cancelled,
            tasks_opened=outcome.tasks_opened,
            **rows,
        )


PutNodesResult = Annotated[
    NodesPut | NotFound | InvalidInput | VersionConflict | RunTooLarge,
    strawberry.union("PutNodesResult", description="What `putNodes` answers."),
]
LinkNodesResult = Annotated[
    NodesLinked | NotFound | InvalidInput | RunTooLarge,
    strawberry.union("LinkNodesResult", description="What `linkNodes` answers."),
]
UnlinkNodesResult = Annotated[
    NodesUnlinked | NotFound | InvalidInput,
    strawberry.union("UnlinkNodesResult", description="What `unlinkNodes` answers."),
]
PinNodeResult = Annotated[
    NodePinned | NotFound | InvalidInput | VersionConflict,
    strawberry.union("PinNodeResult", description="What `pinNode` answers."),
]
AddEvidenceResult = Annotated[
    EvidenceAdded | NotFound | InvalidInput,
    strawberry.union("AddEvidenceResult", description="What `addEvidence` answers."),
]
InvalidateResult = Annotated[
    InvalidationRun
    | ScheduledInvalidation
    | NotFound
    | PlanChanged
    | RunTooLarge
    | InvalidInput
    | VersionConflict
    | IdempotencyKeyReused,
    strawberry.union("InvalidateResult", description="What `invalidate` and `supersede` answer."),
]
CancelScheduledInvalidationResult = Annotated[
    ScheduledInvalidation | NotFound | InvalidInput | ScheduleSettled,
    strawberry.union(
        "CancelScheduledInvalidationResult",
        description="What `cancelScheduledInvalidation` answers.",
    ),
]
RewindFleetResult = Annotated[
    FleetRewound | NotFound | InvalidInput,
    strawberry.union("RewindFleetResult", description="What `rewindFleet` answers."),
]
RevertRunResult = Annotated[
    RunReverted | NotFound | InvalidInput | RunNotRevertible,
    strawberry.union("RevertRunResult", description="What `revertRun` answers."),
]


def _run(record: RunRecord | None) -> InvalidationRun | None:
    return None if record is None else InvalidationRun.of(record)


def _ids(ids: list[int]) -> list[strawberry.ID]:
    return [strawberry.ID(str(each)) for each in ids]
