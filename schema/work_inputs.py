"""What callers give about work: tasks to list, to claim, to complete, and nodes to repair."""

from __future__ import annotations

import strawberry

from retrograph.resolvers.complete_revalidation import Completion
from retrograph.rules.limits import check_id
from retrograph.schema.enums import Outcome, TaskStatus
from retrograph.schema.inputs import MUTATION, NodeRef
from retrograph.storage import records


@strawberry.input(description="Narrows a list of tasks down: all that is given must hold.")
class TaskFilter:
    status: list[TaskStatus] | None = strawberry.field(
        default=None, description="In one of these states, as of the instant of reading."
    )
    node: NodeRef | None = strawberry.field(default=None, description="To judge this node.")

    def read(self) -> tuple[frozenset[TaskStatus] | None, records.NodeRef | None]:
        """The states and the node as the use case takes them."""
        return (
            None if self.status is None else frozenset(self.status),
            None if self.node is None else self.node.read(("filter", "node")),
        )


@strawberry.input(description="Tasks to work on.")
class ClaimRevalidationsInput:
    fleet_id: strawberry.ID = strawberry.field(description="Their fleet.")
    worker: str = strawberry.field(
        description="Who claims them, for people to read; at most 200 characters."
    )
    limit: int = strawberry.field(default=10, description="How many at most: 1 to 100.")
    lease_seconds: int = strawberry.field(
        default=60, description="How long they are held unless extended: 1 to 3,600."
    )


@strawberry.input(description="A lease that is to last longer.")
class ExtendLeaseInput:
    fleet_id: strawberry.ID = strawberry.field(description="The task's fleet.")
    task_id: strawberry.ID = strawberry.field(description="The task.")
    lease_token: str = strawberry.field(description="The token that its claim gave.")
    lease_seconds: int = strawberry.field(
        default=60, description="How long it is held from now on: 1 to 3,600."
    )


@strawberry.input(description="What was judged of the node of a task.")
class CompleteRevalidationInput:
    fleet_id: strawberry.ID = strawberry.field(description="The task's fleet.")
    task_id: strawberry.ID = strawberry.field(description="The task.")
    lease_token: str = strawberry.field(description="The token that its claim gave.")
    outcome: Outcome = strawberry.field(description="What the judgement came to.")
    unchanged: bool = strawberry.field(
        default=False,
        description=(
            "Whether the verified node still says what it said: then what fell only because of it "
            "is restored without a judgement."
        ),
    )
    confidence: float | None = strawberry.field(
        default=None,
        description=(
            "Takes the place of the base confidence of a verified node, from 0 to 1; supporters "
            "that fell weaken it all the same."
        ),
    )
    evidence: list[str] | None = strawberry.field(
        default=None, description="On which evidence: up to 1,000 URIs or other texts."
    )
    note: str | None = strawberry.field(
        default=None, description="What is to be said about it; the reason of a refutation's run."
    )
    by: str | None = strawberry.field(default=None, description="Who judged: a model, a person.")

    def read(self) -> Completion:
        """The judgement as the use case takes it."""
        return Completion(
            task_id=check_id(self.task_id, (*MUTATION, "taskId")),
            lease_token=self.lease_token,
            outcome=self.outcome,
            unchanged=self.unchanged,
            confidence=self.confidence,
            evidence=self.evidence or (),
            note=self.note,
            by=self.by,
        )


@strawberry.input(description="A dead letter to put back into the queue.")
class RequeueRevalidationInput:
    fleet_id: strawberry.ID = strawberry.field(description="The task's fleet.")
    task_id: strawberry.ID = strawberry.field(description="The task.")


@strawberry.input(description="A node that may be relied on again.")
class RepairNodeInput:
    fleet_id: strawberry.ID = strawberry.field(description="The node's fleet.")
    node: NodeRef = strawberry.field(description="The node.")
    reason: str = strawberry.field(description="Why; not empty.")
    unchanged: bool = strawberry.field(
        default=False,
        description=(
            "Whether it still says what it said: then what fell only because of it is restored "
            "without a judgement."
        ),
    )
    expected_version: strawberry.ID | None = strawberry.field(
        default=None, description="The `versionId` that it must have; else nothing is changed."
    )
