"""What the mutations of work answer."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers import complete_revalidation, repair_node
from retrograph.rules.limits import check_first
from retrograph.schema import node
from retrograph.schema.context import Info
from retrograph.schema.errors import (
    InvalidInput,
    LeaseLost,
    NotDeadLettered,
    NotFound,
    Overtaken,
    RequirementDead,
    RunTooLarge,
    TaskCancelled,
    TaskClosed,
    VersionConflict,
)
from retrograph.schema.node import MemoryNode
from retrograph.schema.results import FirstNodes
from retrograph.schema.run import InvalidationRun
from retrograph.schema.scalars import DateTime
from retrograph.schema.task import RevalidationTask, tasks_of
from retrograph.storage.task_records import TaskRecord


@strawberry.type(description="The tasks are the worker's while their leases last.")
class RevalidationsClaimed:
    tasks: list[RevalidationTask] = strawberry.field(
        description="The tasks, those first on which most others wait; empty if none is ready."
    )

    @classmethod
    def of(cls, records: list[TaskRecord]) -> RevalidationsClaimed:
        """What the use case has done."""
        return cls(tasks=[RevalidationTask.of(each, to_holder=True) for each in records])


@strawberry.type(description="The lease lasts longer.")
class LeaseExtended:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    task: RevalidationTask = strawberry.field(description="The task, with its `leaseExpiresAt`.")

    @classmethod
    def of(cls, record: TaskRecord) -> LeaseExtended:
        """What the use case has done."""
        task = RevalidationTask.of(record, to_holder=True)
        return cls(instant=DateTime(record.as_of), task=task)


@strawberry.type(description="The task is in the queue again, with all its attempts before it.")
class RevalidationRequeued:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    task: RevalidationTask = strawberry.field(description="The task.")

    @classmethod
    def of(cls, record: TaskRecord) -> RevalidationRequeued:
        """What the use case has done."""
        return cls(instant=DateTime(record.as_of), task=RevalidationTask.of(record))


@strawberry.type(description="The judgement is recorded, and what follows from it is done.")
class RevalidationCompleted:
    outcome: strawberry.Private[complete_revalidation.Completed]
    instant: DateTime = strawberry.field(description="The instant of the write.")
    task: RevalidationTask = strawberry.field(description="The task.")
    node: MemoryNode = strawberry.field(description="The node that was judged.")
    run: InvalidationRun | None = strawberry.field(description="The run of a refutation.")
    restored_count: int = strawberry.field(
        description="How many nodes were restored without a judgement."
    )

    @strawberry.field(description="The first nodes that were restored without a judgement, by id.")
    async def restored(self, info: Info, first: FirstNodes = 100) -> list[MemoryNode]:
        done = self.outcome
        shown = done.restored[: check_first(first)]
        return await node.load_nodes(info.context, done.node.fleet_id, done.instant, shown)

    @classmethod
    def of(cls, outcome: complete_revalidation.Completed) -> RevalidationCompleted:
        """What the use case has done."""
        return cls(
            outcome=outcome,
            instant=DateTime(outcome.instant),
            task=RevalidationTask.of(outcome.task),
            node=MemoryNode.of(outcome.node),
            run=None if outcome.run is None else InvalidationRun.of(outcome.run),
            restored_count=len(outcome.restored),
        )


@strawberry.type(description="The node may be relied on again; what rests on it is to be judged.")
class NodeRepaired:
    outcome: strawberry.Private[repair_node.NodeRepaired]
    instant: DateTime = strawberry.field(description="The instant of the write.")
    node: MemoryNode = strawberry.field(description="The node.")
    task_count: int = strawberry.field(
        description="How many unhealthy nodes that rest on it have an open task."
    )
    restored_count: int = strawberry.field(
        description="How many nodes were restored without a judgement."
    )

    @strawberry.field(description="The first of these tasks, by node id.")
    def tasks(
        self,
        first: Annotated[
            int, strawberry.argument(description="How many tasks to give at most: 1 to 1,000.")
        ] = 100,
    ) -> list[RevalidationTask]:
        return tasks_of(self.outcome.tasks[: check_first(first)])

    @strawberry.field(description="The first nodes that were restored without a judgement, by id.")
    async def restored(self, info: Info, first: FirstNodes = 100) -> list[MemoryNode]:
        done = self.outcome
        shown = done.restored[: check_first(first)]
        return await node.load_nodes(info.context, done.node.fleet_id, done.instant, shown)

    @classmethod
    def of(cls, outcome: repair_node.NodeRepaired) -> NodeRepaired:
        """What the use case has done."""
        return cls(
            outcome=outcome,
            instant=DateTime(outcome.instant),
            node=MemoryNode.of(outcome.node),
            task_count=len(outcome.tasks),
            restored_count=len(outcome.restored),
        )


ClaimRevalidationsResult = Annotated[
    RevalidationsClaimed | NotFound | InvalidInput,
    strawberry.union("ClaimRevalidationsResult", description="What `claimRevalidations` answers."),
]
ExtendLeaseResult = Annotated[
    LeaseExtended | NotFound | InvalidInput | TaskClosed | TaskCancelled | LeaseLost,
    strawberry.union("ExtendLeaseResult", description="What `extendLease` answers."),
]
CompleteRevalidationResult = Annotated[
    RevalidationCompleted
    | NotFound
    | InvalidInput
    | TaskClosed
    | TaskCancelled
    | LeaseLost
    | Overtaken
    | RequirementDead
    | RunTooLarge,
    strawberry.union(
        "CompleteRevalidationResult", description="What `completeRevalidation` answers."
    ),
]
RequeueRevalidationResult = Annotated[
    RevalidationRequeued | NotFound | InvalidInput | NotDeadLettered,
    strawberry.union(
        "RequeueRevalidationResult", description="What `requeueRevalidation` answers."
    ),
]
RepairNodeResult = Annotated[
    NodeRepaired | NotFound | InvalidInput | VersionConflict,
    strawberry.union("RepairNodeResult", description="What `repairNode` answers."),
]
