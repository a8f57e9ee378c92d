"""What the mutations of executions answer."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers import (
    commit_checkpoint,
    erase_checkpoints,
    record_step,
    retain_checkpoints,
)
from retrograph.schema.chain import CheckpointAnchor
from retrograph.schema.checkpoint import Checkpoint
from retrograph.schema.errors import (
    CheckpointConflict,
    InvalidInput,
    NotFound,
    StepKeyReused,
    TokenReused,
)
from retrograph.schema.scalars import DateTime, Long
from retrograph.schema.step import Step


@strawberry.type(description="The checkpoint is the head of its execution, or was once.")
class CheckpointCommitted:
    checkpoint: Checkpoint = strawberry.field(description="The checkpoint, as it is stored.")
    replayed: bool = strawberry.field(
        description="Whether the same commit had made it before; nothing was written then."
    )

    @classmethod
    def of(cls, outcome: commit_checkpoint.Committed) -> CheckpointCommitted:
        """What the use case has done."""
        return cls(checkpoint=Checkpoint.of(outcome.checkpoint), replayed=outcome.replayed)


CommitCheckpointResult = Annotated[
    CheckpointCommitted | CheckpointConflict | TokenReused | NotFound | InvalidInput,
    strawberry.union(
        "CommitCheckpointResult", description="What `commitCheckpoint` and `rollbackExecution` say."
    ),
]


@strawberry.type(description="The step is in the ledger.")
class StepRecorded:
    step: Step = strawberry.field(description="The step, as it is now.")
    replayed: bool = strawberry.field(
        description="Whether this was known already: what a step has come to is not done again."
    )

    @classmethod
    def of(cls, outcome: record_step.Recorded) -> StepRecorded:
        """What the use case has done."""
        return cls(step=Step.of(outcome.step), replayed=outcome.replayed)


@strawberry.type(description="Old checkpoints went, and an anchor stands for them.")
class CheckpointsRetained:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    removed: Long = strawberry.field(description="How many went, or would.")
    anchor: CheckpointAnchor | None = strawberry.field(
        description="What stands for all that ever went; null if none did."
    )

    @classmethod
    def of(cls, outcome: retain_checkpoints.Retained) -> CheckpointsRetained:
        """What the use case has done."""
        return cls(
            instant=DateTime(outcome.instant),
            removed=Long(outcome.removed),
            anchor=CheckpointAnchor.of(outcome.anchor, outcome.anchor_hash),
        )


@strawberry.type(description="Payloads and results were erased; what proves them stays.")
class CheckpointsErased:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    checkpoints: Long = strawberry.field(description="How many payloads went.")
    steps: Long = strawberry.field(description="How many results went.")

    @classmethod
    def of(cls, outcome: erase_checkpoints.Erased) -> CheckpointsErased:
        """What the use case has done."""
        return cls(
            instant=DateTime(outcome.instant),
            checkpoints=Long(outcome.checkpoints),
            steps=Long(outcome.steps),
        )


@strawberry.type(description="The execution has left the present; its name is free.")
class ExecutionDeleted:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    head: Checkpoint | None = strawberry.field(
        description="Its last checkpoint; null if it had none, or it is damaged."
    )

    @classmethod
    def of(cls, outcome: retain_checkpoints.Deleted) -> ExecutionDeleted:
        """What the use case has done."""
        head = None if outcome.head is None else Checkpoint.of(outcome.head)
        return cls(instant=DateTime(outcome.instant), head=head)


RecordStepResult = Annotated[
    StepRecorded | StepKeyReused | NotFound | InvalidInput,
    strawberry.union("RecordStepResult", description="What `recordStep` answers."),
]
RetainCheckpointsResult = Annotated[
    CheckpointsRetained | NotFound | InvalidInput,
    strawberry.union("RetainCheckpointsResult", description="What `retainCheckpoints` answers."),
]
EraseCheckpointsResult = Annotated[
    CheckpointsErased | NotFound | InvalidInput,
    strawberry.union("EraseCheckpointsResult", description="What `eraseCheckpoints` answers."),
]
DeleteExecutionResult = Annotated[
    ExecutionDeleted | NotFound | InvalidInput,
    strawberry.union("DeleteExecutionResult", description="What `deleteExecution` answers."),
]
