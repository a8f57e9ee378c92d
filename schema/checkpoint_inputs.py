"""What callers give about executions."""

from __future__ import annotations

import strawberry

from retrograph.resolvers.commit_checkpoint import Commit
from retrograph.resolvers.erase_checkpoints import Erasing
from retrograph.resolvers.record_step import Step
from retrograph.resolvers.retain_checkpoints import Retention
from retrograph.resolvers.rollback_execution import Rollback
from retrograph.schema.enums import StepStatus
from retrograph.schema.inputs import MUTATION, NodeRef
from retrograph.schema.scalars import JSON, DateTime, Long


@strawberry.input(description="A state to commit as the next checkpoint of an execution.")
class CommitCheckpointInput:
    fleet_id: strawberry.ID = strawberry.field(description="The execution's fleet.")
    execution_id: str = strawberry.field(
        description="The execution; it begins with its first checkpoint. At most 1,000 characters."
    )
    session_id: str = strawberry.field(description="The session that commits.")
    expected_sequence: Long = strawberry.field(
        description="The sequence of the head that it goes on from; 0 for the first."
    )
    state_node: str = strawberry.field(description="Where the execution stands now.")
    payload: JSON = strawberry.field(
        description="The state: at most 1 MB of canonical JSON, numbers up to 2^53 - 1."
    )
    schema_version: str = strawberry.field(description="The version of the payload's schema.")
    idempotency_token: str = strawberry.field(
        description="The same commit with the same token gets the first answer; one a commit."
    )
    expected_hash: str | None = strawberry.field(
        default=None, description="The hash that the head must have; else nothing is committed."
    )
    based_on: list[NodeRef] | None = strawberry.field(
        default=None, description="The nodes that it was based on; at most 1,000."
    )

    def read(self) -> Commit:
        """The commit as the use case takes it."""
        refs = enumerate(self.based_on or ())
        return Commit(
            execution_id=self.execution_id,
            session_id=self.session_id,
            expected_sequence=self.expected_sequence,
            state_node=self.state_node,
            payload=self.payload,
            schema_version=self.schema_version,
            idempotency_token=self.idempotency_token,
            expected_hash=self.expected_hash,
            based_on=[each.read((*MUTATION, "basedOn", str(place))) for place, each in refs],
        )


@strawberry.input(description="An execution to set back: an old state becomes its new head.")
class RollbackExecutionInput:
    fleet_id: strawberry.ID = strawberry.field(description="The execution's fleet.")
    execution_id: str = strawberry.field(description="The execution.")
    to_sequence: Long = strawberry.field(description="The checkpoint whose state is to come back.")
    idempotency_token: str = strawberry.field(
        description="The same request with the same token gets the first answer."
    )
    expected_sequence: Long | None = strawberry.field(
        default=None, description="The sequence that the head must have; left out, any."
    )

    def read(self) -> Rollback:
        """The request as the use case takes it."""
        return Rollback(
            self.execution_id, self.to_sequence, self.idempotency_token, self.expected_sequence
        )


@strawberry.input(description="What is to be told of a step: that it starts, or its outcome.")
class RecordStepInput:
    fleet_id: strawberry.ID = strawberry.field(description="The execution's fleet.")
    execution_id: str = strawberry.field(description="The execution; its first step begins it.")
    key: str = strawberry.field(description="The step's key, unique in its execution.")
    status: StepStatus = strawberry.field(
        description="STARTED before the side effect, the outcome after it."
    )
    sequence: Long | None = strawberry.field(
        default=None, description="The checkpoint that it belongs to; left out, the head."
    )
    name: str | None = strawberry.field(default=None, description="What it does.")
    worker: str | None = strawberry.field(default=None, description="Who does it.")
    result: JSON | None = strawberry.field(
        default=None, description="What came of it, at most 1 MB; not of one that only starts."
    )

    def read(self) -> Step:
        """The report as the use case takes it."""
        return Step(
            execution_id=self.execution_id,
            key=self.key,
            status=self.status,
            sequence=self.sequence,
            name=self.name,
            worker=self.worker,
            result=self.result,
        )


@strawberry.input(description="Which checkpoints of an execution are to go for good.")
class RetainCheckpointsInput:
    fleet_id: strawberry.ID = strawberry.field(description="The execution's fleet.")
    execution_id: str = strawberry.field(description="The execution.")
    by: str = strawberry.field(description="Who signs it off.")
    reason: str = strawberry.field(description="Why; not empty.")
    keep_last: Long = strawberry.field(
        default=Long(1),
        description="How many of the last ones stay, whatever their age; 1 or more.",
    )
    older_than: DateTime | None = strawberry.field(
        default=None, description="Only those that were committed before this instant go."
    )
    dry_run: bool = strawberry.field(
        default=False, description="Whether it is only told how many would go."
    )

    def read(self) -> Retention:
        """The request as the use case takes it."""
        return Retention(
            self.execution_id,
            self.by,
            self.reason,
            self.keep_last,
            self.older_than,
            self.dry_run,
        )


@strawberry.input(description="Whose content is to go for good, while what proves it stays.")
class EraseCheckpointsInput:
    fleet_id: strawberry.ID = strawberry.field(description="The execution's fleet.")
    execution_id: str = strawberry.field(description="The execution.")
    by: str = strawberry.field(description="Who signs it off.")
    reason: str = strawberry.field(description="Why; not empty.")
    sequences: list[Long] | None = strawberry.field(
        default=None,
        description="The checkpoints whose payloads go; not the head, and at most 1,000.",
    )
    step_keys: list[str] | None = strawberry.field(
        default=None, description="The keys of the steps whose results go; at most 1,000."
    )

    def read(self) -> Erasing:
        """The request as the use case takes it."""
        return Erasing(
            self.execution_id, self.by, self.reason, self.sequences or (), self.step_keys or ()
        )


@strawberry.input(description="An execution that is to leave the present.")
class DeleteExecutionInput:
    fleet_id: strawberry.ID = strawberry.field(description="The execution's fleet.")
    execution_id: str = strawberry.field(description="The execution.")
    by: str = strawberry.field(description="Who deletes it.")
    reason: str = strawberry.field(description="Why; not empty.")
    purge: bool = strawberry.field(
        default=False,
        description=(
            "Whether its checkpoints and steps go for good: then its past can't be read any more."
        ),
    )
