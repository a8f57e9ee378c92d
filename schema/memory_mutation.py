"""The mutations of what agents have in mind, and what they have learned."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.episodes import promote_episode, relate_entities, store_episode
from retrograph.resolvers.retire_episodes import retire_episodes
from retrograph.resolvers.working_memory import update_working_memory
from retrograph.rules.limits import check_id
from retrograph.schema import episode_inputs, episode_results
from retrograph.schema import memory_inputs as inputs
from retrograph.schema import memory_results as results
from retrograph.schema.arguments import WHAT, read_fleet
from retrograph.schema.context import Info
from retrograph.schema.inputs import MUTATION


@strawberry.type(description="What becomes of what agents have in mind and have learned.")
class MemoryMutation:
    @strawberry.mutation(
        description=(
            "Writes to the working memory of a session. What its budget has no room for goes, in "
            "a settled order; what is pinned, and what is written here, stays."
        )
    )
    async def update_working_memory(
        self, info: Info, input: Annotated[inputs.UpdateWorkingMemoryInput, WHAT]
    ) -> results.UpdateWorkingMemoryResult:
        fleet_id = read_fleet(input.fleet_id)
        record = await info.context.act(
            fleet_id,
            update_working_memory,
            input.session_id,
            input.read(),
            input.expected_version,
        )
        info.context.instants.settle(fleet_id, record.as_of)
        return results.WorkingMemoryUpdated.of(record)

    @strawberry.mutation(
        description="Stores what was learned from a task, in quarantine: it isn't recalled yet."
    )
    async def store_episode(
        self, info: Info, input: Annotated[episode_inputs.StoreEpisodeInput, WHAT]
    ) -> episode_results.StoreEpisodeResult:
        fleet_id = read_fleet(input.fleet_id)
        record = await info.context.act(fleet_id, store_episode, input.read())
        info.context.instants.settle(fleet_id, record.as_of)
        return episode_results.EpisodeStored.of(record)

    @strawberry.mutation(
        description=(
            "Lets an episode out of quarantine: its task has verifiably succeeded, or a person "
            "signs it off (an ADMIN), and its reflection is as its schema asks."
        )
    )
    async def promote_episode(
        self, info: Info, input: Annotated[episode_inputs.PromoteEpisodeInput, WHAT]
    ) -> episode_results.PromoteEpisodeResult:
        fleet_id = read_fleet(input.fleet_id)
        episode_id = check_id(input.id, (*MUTATION, "id"))
        record = await info.context.act(fleet_id, promote_episode, episode_id, input.read())
        info.context.instants.settle(fleet_id, record.as_of)
        return episode_results.EpisodePromoted.of(record)

    @strawberry.mutation(
        description=(
            "Takes episodes out of recall, and fells what was derived from them in the graph, in "
            "one transaction: those that are named, or all that one source gave."
        )
    )
    async def retire_episodes(
        self, info: Info, input: Annotated[episode_inputs.RetireEpisodesInput, WHAT]
    ) -> episode_results.RetireEpisodesResult:
        fleet_id = read_fleet(input.fleet_id)
        outcome = await info.context.act(fleet_id, retire_episodes, input.read())
        info.context.instants.settle(fleet_id, outcome.instant)
        return episode_results.EpisodesRetired.of(outcome)

    @strawberry.mutation(
        description="Tells how entities relate; `recall(hops:)` follows it in both directions."
    )
    async def relate_entities(
        self, info: Info, input: Annotated[episode_inputs.RelateEntitiesInput, WHAT]
    ) -> episode_results.RelateEntitiesResult:
        fleet_id = read_fleet(input.fleet_id)
        given = [(each.source, each.target, each.type) for each in input.relations]
        outcome = await info.context.act(fleet_id, relate_entities, given)
        info.context.instants.settle(fleet_id, outcome.instant)
        return episode_results.EntitiesRelated.of(outcome)
