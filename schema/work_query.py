"""The queries about work: what is to be judged again, and what was decided."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.tasks import list_decisions, list_tasks
from retrograph.schema import inputs, work_inputs
from retrograph.schema.arguments import After, AsOf, First, FleetId, read_fleet
from retrograph.schema.connection import Connection
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors, position_of, same_instant
from retrograph.schema.decision import Decision, decision_connection
from retrograph.schema.task import RevalidationTask, task_connection


@strawberry.type(description="What is to be judged, and what was.")
class WorkQuery:
    @strawberry.field(description="The revalidation tasks of a fleet, open and closed, by id.")
    async def revalidation_tasks(
        self,
        info: Info,
        fleet_id: FleetId,
        filter: Annotated[
            work_inputs.TaskFilter | None, strawberry.argument(description="Only such tasks.")
        ] = None,
        first: First = 50,
        after: After = None,
        as_of: AsOf = None,
    ) -> Connection[RevalidationTask]:
        fleet = read_fleet(fleet_id)
        wanted = (filter or work_inputs.TaskFilter()).read()
        cursors = ListCursors("tasks", (int,), fleet, *wanted)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        page = await info.context.call(list_tasks, fleet, *wanted, first, position_of(keyset), at)
        same_instant(keyset, page.as_of)
        return task_connection(page, cursors, after)

    @strawberry.field(description="What was decided of the nodes of a fleet, newest first.")
    async def decisions(
        self,
        info: Info,
        fleet_id: FleetId,
        node: Annotated[
            inputs.NodeRef | None, strawberry.argument(description="Only those of this node.")
        ] = None,
        first: First = 50,
        after: After = None,
        as_of: AsOf = None,
    ) -> Connection[Decision]:
        fleet = read_fleet(fleet_id)
        ref = None if node is None else node.read(("node",))
        cursors = ListCursors("decisions", (int,), fleet, ref)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        page = await info.context.call(list_decisions, fleet, ref, first, position_of(keyset), at)
        same_instant(keyset, page.as_of)
        return decision_connection(page, cursors, after)
