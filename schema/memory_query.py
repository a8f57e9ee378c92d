"""The queries about what agents have in mind, and what they have learned."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.episodes import list_episodes
from retrograph.resolvers.recall import recall
from retrograph.resolvers.working_memory import get_working_memory
from retrograph.schema import episode_inputs as inputs
from retrograph.schema.arguments import After, AsOf, First, FleetId, read_fleet
from retrograph.schema.connection import Connection
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors, position_of, same_instant
from retrograph.schema.episode import Episode, Recollection, episode_connection
from retrograph.schema.working_memory import WorkingMemory


@strawberry.type(description="What agents have in mind, and what they have learned.")
class MemoryQuery:
    @strawberry.field(
        description="The working memory of a session; null where it has none at the instant."
    )
    async def working_memory(
        self,
        info: Info,
        fleet_id: FleetId,
        session_id: Annotated[str, strawberry.argument(description="The session.")],
        as_of: AsOf = None,
    ) -> WorkingMemory | None:
        fleet = read_fleet(fleet_id)
        at = await info.context.at(fleet, as_of)
        record = await info.context.call(get_working_memory, fleet, session_id, at)
        return None if record is None else WorkingMemory.of(record)

    @strawberry.field(description="The episodes of a fleet in whatever state, by id.")
    async def episodes(
        self,
        info: Info,
        fleet_id: FleetId,
        filter: Annotated[
            inputs.EpisodeFilter | None, strawberry.argument(description="Only such episodes.")
        ] = None,
        first: First = 50,
        after: After = None,
        as_of: AsOf = None,
    ) -> Connection[Episode]:
        fleet = read_fleet(fleet_id)
        asked = (filter or inputs.EpisodeFilter()).read()
        cursors = ListCursors("episodes", (int,), fleet, asked)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        page = await info.context.call(list_episodes, fleet, asked, first, position_of(keyset), at)
        same_instant(keyset, page.as_of)
        return episode_connection(page, cursors, after)

    @strawberry.field(
        description=(
            "What was learned from situations like this one: the best active episodes of a "
            "domain, by nearness and by entities. None that rests on a fallen node. Without "
            "`asOf`, what is recalled counts as used."
        )
    )
    async def recall(
        self,
        info: Info,
        fleet_id: FleetId,
        input: Annotated[inputs.RecallInput, strawberry.argument(description="What to recall.")],
        as_of: AsOf = None,
    ) -> list[Recollection]:
        fleet = read_fleet(fleet_id)
        at = await info.context.at(fleet, as_of)
        outcome = await info.context.call(recall, fleet, input.read(), at, is_use=as_of is None)
        return [Recollection.of(each) for each in outcome.found]
