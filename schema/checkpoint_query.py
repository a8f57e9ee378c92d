"""The queries about executions: their checkpoints, and what speaks for these."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.checkpoints import (
    get_checkpoint,
    get_committed,
    list_checkpoints,
    list_executions,
)
from retrograph.resolvers.record_step import list_steps
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.rules.errors import InvalidInput
from retrograph.schema.arguments import After, AsOf, First, FleetId, read_fleet
from retrograph.schema.chain import ChainHeadInput, ChainVerification
from retrograph.schema.checkpoint import Checkpoint, checkpoint_connection
from retrograph.schema.connection import Connection
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors, position_of, same_instant
from retrograph.schema.execution import Execution, execution_connection
from retrograph.schema.scalars import Long
from retrograph.schema.step import Step, step_connection
from retrograph.storage.filters import StepFilter

ExecutionId = Annotated[
    str, strawberry.argument(description="The execution, by its makers' name for it.")
]


@strawberry.type(description="What executions have done, and where they stand.")
class CheckpointQuery:
    @strawberry.field(
        description=(
            "The head of an execution, or its checkpoint of that sequence, or the one that a token "
            "committed; null if there was none. "
            "What retention has removed is an error, never null."
        )
    )
    async def checkpoint(
        self,
        info: Info,
        fleet_id: FleetId,
        execution_id: ExecutionId,
        sequence: Annotated[
            Long | None, strawberry.argument(description="Its sequence; left out, the head's.")
        ] = None,
        as_of: AsOf = None,
        idempotency_token: Annotated[
            str | None, strawberry.argument(description="The token of its commit.")
        ] = None,
    ) -> Checkpoint | None:
        fleet = read_fleet(fleet_id)
        at = await info.context.at(fleet, as_of)
        if idempotency_token is None:
            ask = info.context.call(get_checkpoint, fleet, execution_id, sequence, at)
        elif sequence is None:
            ask = info.context.call(get_committed, fleet, execution_id, idempotency_token, at)
        else:
            raise InvalidInput("Give a sequence or a token, not both.", path=("idempotencyToken",))
        record = await ask
        return None if record is None else Checkpoint.of(record)

    @strawberry.field(description="The executions of a fleet, in the order of their beginnings.")
    async def executions(
        self,
        info: Info,
        fleet_id: FleetId,
        key_prefix: Annotated[
            str | None, strawberry.argument(description="Only those whose names begin so.")
        ] = None,
        first: First = 50,
        after: After = None,
        as_of: AsOf = None,
    ) -> Connection[Execution]:
        fleet = read_fleet(fleet_id)
        cursors = ListCursors("executions", (int,), fleet, key_prefix)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        page = await info.context.call(
            list_executions, fleet, key_prefix, first, position_of(keyset), at
        )
        same_instant(keyset, page.as_of)
        return execution_connection(page, cursors, after)

    @strawberry.field(description="The checkpoints of an execution, newest first.")
    async def checkpoints(
        self,
        info: Info,
        fleet_id: FleetId,
        execution_id: ExecutionId,
        first: First = 50,
        after: After = None,
        as_of: AsOf = None,
        before: Annotated[
            Long | None, strawberry.argument(description="Only those below this sequence.")
        ] = None,
    ) -> Connection[Checkpoint]:
        fleet = read_fleet(fleet_id)
        cursors = ListCursors("checkpoints", (int,), fleet, execution_id, before)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        below = before if keyset is None else position_of(keyset)
        page = await info.context.call(list_checkpoints, fleet, execution_id, first, below, at)
        same_instant(keyset, page.as_of)
        return checkpoint_connection(page, cursors, after)

    @strawberry.field(
        description=(
            "Walks the whole chain of an execution as it is stored now, and its ledger of steps, "
            "and names the first broken link; against a head that was kept, a lost tail too."
        )
    )
    async def verify_checkpoints(
        self,
        info: Info,
        fleet_id: FleetId,
        execution_id: ExecutionId,
        expected_head: Annotated[
            ChainHeadInput | None,
            strawberry.argument(description="A head that was kept, from when the chain was sound."),
        ] = None,
        expected_ledger: Annotated[
            ChainHeadInput | None,
            strawberry.argument(description="The ledger's head, kept in the same way."),
        ] = None,
    ) -> ChainVerification:
        fleet = read_fleet(fleet_id)
        heads = expected_head, expected_ledger
        kept = [None if each is None else each.read() for each in heads]
        found = await info.context.call(verify_checkpoints, fleet, execution_id, *kept)
        return ChainVerification.of(found)

    @strawberry.field(description="The steps of an execution, in the order of their starts.")
    async def steps(
        self,
        info: Info,
        fleet_id: FleetId,
        execution_id: ExecutionId,
        sequence: Annotated[
            Long | None,
            strawberry.argument(description="Only those that belong to this checkpoint."),
        ] = None,
        first: First = 50,
        after: After = None,
        as_of: AsOf = None,
        key_prefix: Annotated[
            str | None, strawberry.argument(description="Only those whose keys begin so.")
        ] = None,
    ) -> Connection[Step]:
        fleet = read_fleet(fleet_id)
        cursors = ListCursors("steps", (int,), fleet, execution_id, sequence, key_prefix)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        page = await info.context.call(
            list_steps,
            fleet,
            execution_id,
            StepFilter(sequence, key_prefix),
            first,
            position_of(keyset),
            at,
        )
        same_instant(keyset, page.as_of)
        return step_connection(page, cursors, after)
