"""The mutations: each reads its input, runs one use case, and shows what it has done."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.link_nodes import link_nodes
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.rewind_fleet import rewind_fleet
from retrograph.resolvers.schedule_invalidation import cancel_scheduled, request_invalidation
from retrograph.resolvers.supersede import supersede
from retrograph.resolvers.unlink_nodes import unlink_nodes
from retrograph.rules.limits import check_id
from retrograph.schema import inputs, results
from retrograph.schema.arguments import WHAT, read_fleet
from retrograph.schema.checkpoint_mutation import CheckpointMutation
from retrograph.schema.context import Info
from retrograph.schema.memory_mutation import MemoryMutation
from retrograph.schema.run import InvalidationRun
from retrograph.schema.scheduled import ScheduledInvalidation
from retrograph.schema.work_mutation import WorkMutation
from retrograph.storage.scheduled import ScheduledRecord


@strawberry.type(description="Every mutation is one transaction: all of it is done, or nothing.")
class Mutation(WorkMutation, CheckpointMutation, MemoryMutation):
    @strawberry.mutation(
        description="Makes nodes and updates those that exist, up to 1,000 at once."
    )
    async def put_nodes(
        self, info: Info, input: Annotated[inputs.PutNodesInput, WHAT]
    ) -> results.PutNodesResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, put_nodes, input.read(), input.on_change)
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.NodesPut.of(outcome)

    @strawberry.mutation(
        description="Makes edges, and passes on over them what their sources have suffered."
    )
    async def link_nodes(
        self, info: Info, input: Annotated[inputs.LinkNodesInput, WHAT]
    ) -> results.LinkNodesResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, link_nodes, input.read())
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.NodesLinked.of(outcome)

    @strawberry.mutation(description="Takes edges away; it never changes a node.")
    async def unlink_nodes(
        self, info: Info, input: Annotated[inputs.UnlinkNodesInput, WHAT]
    ) -> results.UnlinkNodesResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, unlink_nodes, input.read())
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.NodesUnlinked.of(outcome)

    @strawberry.mutation(description="Keeps a node's validity against cascades, or lets it go.")
    async def pin_node(
        self, info: Info, input: Annotated[inputs.PinNodeInput, WHAT]
    ) -> results.PinNodeResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(
            fleet_id,
            pin_node,
            input.node.read((*inputs.MUTATION, "node")),
            pinned=input.pinned,
            reason=input.reason,
            expected_version=input.expected_version,
        )
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.NodePinned.of(outcome)

    @strawberry.mutation(description="Hangs a URI with a note on a node.")
    async def add_evidence(
        self, info: Info, input: Annotated[inputs.AddEvidenceInput, WHAT]
    ) -> results.AddEvidenceResult:
        fleet_id = read_fleet(input.fleet_id)
        ref = input.node.read((*inputs.MUTATION, "node"))
        outcome = await info.context.act(fleet_id, add_evidence, ref, input.uri, input.note)
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.EvidenceAdded.of(outcome)

    @strawberry.mutation(
        description=(
            "Knocks out one belief and all that falls with it. One that lowers nothing is recorded "
            "as NO_CHANGE. With an `effectiveAt` in the future it waits for its hour."
        )
    )
    async def invalidate(
        self, info: Info, input: Annotated[inputs.InvalidateInput, WHAT]
    ) -> results.InvalidateResult:
        fleet_id = read_fleet(input.fleet_id)
        done = await info.context.act(fleet_id, request_invalidation, input.read())
        info.context.instants.settle(fleet_id, done.as_of)
        if isinstance(done, ScheduledRecord):
            return ScheduledInvalidation.of(done)
        return InvalidationRun.of(done)

    @strawberry.mutation(description="Cancels an invalidation that waits for its hour.")
    async def cancel_scheduled_invalidation(
        self, info: Info, input: Annotated[inputs.CancelScheduledInvalidationInput, WHAT]
    ) -> results.CancelScheduledInvalidationResult:
        fleet_id = read_fleet(input.fleet_id)
        scheduled_id = check_id(input.id, (*inputs.MUTATION, "id"))
        done = await info.context.act(fleet_id, cancel_scheduled, scheduled_id)
        info.context.instants.settle(fleet_id, done.as_of)
        return ScheduledInvalidation.of(done)

    @strawberry.mutation(
        description="Replaces a node by another, and fells what rested on the old one."
    )
    async def supersede(
        self, info: Info, input: Annotated[inputs.SupersedeInput, WHAT]
    ) -> results.InvalidateResult:
        fleet_id = read_fleet(input.fleet_id)
        run = await info.context.act(fleet_id, supersede, input.read())
        info.context.instants.settle(fleet_id, run.as_of)
        return InvalidationRun.of(run)

    @strawberry.mutation(
        description=(
            "Undoes one run where nothing newer has touched its nodes; names the nodes it left "
            "alone."
        )
    )
    async def revert_run(
        self, info: Info, input: Annotated[inputs.RevertRunInput, WHAT]
    ) -> results.RevertRunResult:
        fleet_id = read_fleet(input.fleet_id)
        run_id = check_id(input.run_id, (*inputs.MUTATION, "runId"))
        outcome = await info.context.act(fleet_id, revert_run, run_id, input.reason)
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.RunReverted.of(outcome)

    @strawberry.mutation(
        description=(
            "Disaster recovery: the fleet's nodes, edges and evidence as they were at an instant "
            "become the present. Runs and events stay, and the disaster stays in history."
        )
    )
    async def rewind_fleet(
        self, info: Info, input: Annotated[inputs.RewindFleetInput, WHAT]
    ) -> results.RewindFleetResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, rewind_fleet, input.read())
        info.context.instants.settle(fleet_id, outcome.instant)
        return results.FleetRewound.of(outcome)
