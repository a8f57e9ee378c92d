"""The mutations of work: who claims it, what was judged, what is put right."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.claim_revalidations import (
    claim_revalidations,
    extend_lease,
    requeue_revalidation,
)
from retrograph.resolvers.complete_revalidation import complete_revalidation
from retrograph.resolvers.repair_node import repair_node
from retrograph.rules.limits import check_id
from retrograph.schema import work_inputs as inputs
from retrograph.schema import work_results as results
from retrograph.schema.arguments import WHAT, read_fleet
from retrograph.schema.context import Info
from retrograph.schema.inputs import MUTATION

_TASK = (*MUTATION, "taskId")


@strawberry.type(description="What becomes of work.")
class WorkMutation:
    @strawberry.mutation(
        description=(
            "Leases ready tasks to a worker, those first on which most others wait. No two workers "
            "ever hold one task; what is not completed in time is ready again."
        )
    )
    async def claim_revalidations(
        self, info: Info, input: Annotated[inputs.ClaimRevalidationsInput, WHAT]
    ) -> results.ClaimRevalidationsResult:
        fleet_id = read_fleet(input.fleet_id)
        found = await info.context.act(
            fleet_id, claim_revalidations, input.worker, input.limit, input.lease_seconds
        )
        if found:
            info.context.instants.settle(fleet_id, found[0].as_of)
        return results.RevalidationsClaimed.of(found)

    @strawberry.mutation(description="Lets a lease last longer, while a judgement takes its time.")
    async def extend_lease(
        self, info: Info, input: Annotated[inputs.ExtendLeaseInput, WHAT]
    ) -> results.ExtendLeaseResult:
        fleet_id = read_fleet(input.fleet_id)
        task_id = check_id(input.task_id, _TASK)
        record = await info.context.act(
            fleet_id, extend_lease, task_id, input.lease_token, input.lease_seconds
        )
        info.context.instants.settle(fleet_id, record.as_of)
        return results.LeaseExtended.of(record)

    @strawberry.mutation(
        description=(
            "Records what was judged of a node, and does what follows: VERIFIED makes it "
            "REVALIDATED, REFUTED fells it with all that rests on it, ERROR tries again later."
        )
    )
    async def complete_revalidation(
        self, info: Info, input: Annotated[inputs.CompleteRevalidationInput, WHAT]
    ) -> results.CompleteRevalidationResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, complete_revalidation, input.read())
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.RevalidationCompleted.of(outcome)

    @strawberry.mutation(description="Puts a dead letter back into the queue.")
    async def requeue_revalidation(
        self, info: Info, input: Annotated[inputs.RequeueRevalidationInput, WHAT]
    ) -> results.RequeueRevalidationResult:
        fleet_id = read_fleet(input.fleet_id)
        task_id = check_id(input.task_id, _TASK)
        record = await info.context.act(fleet_id, requeue_revalidation, task_id)
        info.context.instants.settle(fleet_id, record.as_of)
        return results.RevalidationRequeued.of(record)

    @strawberry.mutation(
        description=(
            "Makes a node REVALIDATED, and opens a task for all that is unhealthy and rests on it."
        )
    )
    async def repair_node(
        self, info: Info, input: Annotated[inputs.RepairNodeInput, WHAT]
    ) -> results.RepairNodeResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(
            fleet_id,
            repair_node,
            input.node.read((*MUTATION, "node")),
            input.reason,
            unchanged=input.unchanged,
            expected_version=input.expected_version,
        )
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.NodeRepaired.of(outcome)
