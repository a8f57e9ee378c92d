"""The mutations of executions: what is committed, taken back, recorded and removed."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.commit_checkpoint import commit_checkpoint
from retrograph.resolvers.erase_checkpoints import erase_checkpoints
from retrograph.resolvers.record_step import record_step
from retrograph.resolvers.retain_checkpoints import delete_execution, retain_checkpoints
from retrograph.resolvers.rollback_execution import rollback_execution
from retrograph.schema import checkpoint_inputs as inputs
from retrograph.schema import checkpoint_results as results
from retrograph.schema.arguments import WHAT, read_fleet
from retrograph.schema.context import Info


@strawberry.type(description="What becomes of executions.")
class CheckpointMutation:
    @strawberry.mutation(
        description=(
            "Commits a state as the next checkpoint of its execution, if the head is the one that "
            "you expect. The same commit with the same token is done once."
        )
    )
    async def commit_checkpoint(
        self, info: Info, input: Annotated[inputs.CommitCheckpointInput, WHAT]
    ) -> results.CommitCheckpointResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, commit_checkpoint, input.read())
        info.context.instants.settle(fleet_id, outcome.checkpoint.as_of)
        return results.CheckpointCommitted.of(outcome)

    @strawberry.mutation(
        description="Commits an old state of an execution as its new head: chains only grow."
    )
    async def rollback_execution(
        self, info: Info, input: Annotated[inputs.RollbackExecutionInput, WHAT]
    ) -> results.CommitCheckpointResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, rollback_execution, input.read())
        info.context.instants.settle(fleet_id, outcome.checkpoint.as_of)
        return results.CheckpointCommitted.of(outcome)

    @strawberry.mutation(
        description=(
            "Enters a step of an execution, or its outcome. A key that is known gets what is "
            "known: a worker that resumes asks before it repeats a side effect."
        )
    )
    async def record_step(
        self, info: Info, input: Annotated[inputs.RecordStepInput, WHAT]
    ) -> results.RecordStepResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, record_step, input.read())
        info.context.instants.settle(fleet_id, outcome.step.as_of)
        return results.StepRecorded.of(outcome)

    @strawberry.mutation(
        description=(
            "Removes old checkpoints of an execution for good, and leaves a signed-off anchor, "
            "from which its chain still verifies. The head always stays."
        )
    )
    async def retain_checkpoints(
        self, info: Info, input: Annotated[inputs.RetainCheckpointsInput, WHAT]
    ) -> results.RetainCheckpointsResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, retain_checkpoints, input.read())
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.CheckpointsRetained.of(outcome)

    @strawberry.mutation(
        description=(
            "Erases the payloads of checkpoints and the results of steps for good. Their hashes "
            "stay, so that chain and ledger still verify. The head always stays."
        )
    )
    async def erase_checkpoints(
        self, info: Info, input: Annotated[inputs.EraseCheckpointsInput, WHAT]
    ) -> results.EraseCheckpointsResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, erase_checkpoints, input.read())
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.CheckpointsErased.of(outcome)

    @strawberry.mutation(
        description=(
            "Takes an execution out of the present. Its past stays readable by `asOf`, unless it "
            "is purged."
        )
    )
    async def delete_execution(
        self, info: Info, input: Annotated[inputs.DeleteExecutionInput, WHAT]
    ) -> results.DeleteExecutionResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(
            fleet_id,
            delete_execution,
            input.execution_id,
            input.by,
            input.reason,
            purge=input.purge,
        )
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.ExecutionDeleted.of(outcome)
