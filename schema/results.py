"""What mutations answer: what was done, or a failure that the caller can act on."""

from __future__ import annotations

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
    VersionConflict,
)
from retrograph.schema.evidence import Evidence
from retrograph.schema.node import MemoryNode
from retrograph.schema.run import InvalidationRun
from retrograph.schema.scalars import DateTime
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
    | NotFound
    | PlanChanged
    | RunTooLarge
    | InvalidInput
    | VersionConflict
    | IdempotencyKeyReused,
    strawberry.union("InvalidateResult", description="What `invalidate` and `supersede` answer."),
]
RevertRunResult = Annotated[
    RunReverted | NotFound | InvalidInput | RunNotRevertible,
    strawberry.union("RevertRunResult", description="What `revertRun` answers."),
]


def _run(record: RunRecord | None) -> InvalidationRun | None:
    return None if record is None else InvalidationRun.of(record)


def _ids(ids: list[int]) -> list[strawberry.ID]:
    return [strawberry.ID(str(each)) for each in ids]
