"""What the mutations of episodes answer."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers import episodes, retire_episodes
from retrograph.rules.limits import check_first
from retrograph.schema.episode import EntityRelation, Episode
from retrograph.schema.errors import InvalidInput, NotFound, PromotionRefused, RunTooLarge
from retrograph.schema.run import InvalidationRun
from retrograph.schema.scalars import DateTime
from retrograph.storage.episode_records import EpisodeRecord

FirstEpisodes = Annotated[
    int, strawberry.argument(description="How many to give at most: 1 to 1,000.")
]


@strawberry.type(description="The episode is stored, in quarantine.")
class EpisodeStored:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    episode: Episode = strawberry.field(description="The episode.")

    @classmethod
    def of(cls, record: EpisodeRecord) -> EpisodeStored:
        """What the use case has done."""
        return cls(instant=DateTime(record.as_of), episode=Episode.of(record))


@strawberry.type(description="The episode is active: it is recalled from now on.")
class EpisodePromoted:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    episode: Episode = strawberry.field(description="The episode.")

    @classmethod
    def of(cls, record: EpisodeRecord) -> EpisodePromoted:
        """What the use case has done."""
        return cls(instant=DateTime(record.as_of), episode=Episode.of(record))


@strawberry.type(description="The episodes are retired, or would be: see `dryRun`.")
class EpisodesRetired:
    outcome: strawberry.Private[retire_episodes.EpisodesRetired]
    instant: DateTime = strawberry.field(
        description="The instant of the write; on a dry run, that at which it was computed."
    )
    dry_run: bool = strawberry.field(description="Whether nothing was done.")
    retired_count: int = strawberry.field(description="How many episodes are retired.")
    restored_count: int = strawberry.field(
        description="How many are active again that an axiom, active until then, had merged with "
        "one of them, on the sign-off that they had."
    )
    fallen_count: int = strawberry.field(description="How many nodes of the graph fall with them.")
    runs: list[InvalidationRun] = strawberry.field(
        description="The cascades; none on a dry run, which computes all as one."
    )

    @strawberry.field(description="The first of the retired, by id.")
    def retired(self, first: FirstEpisodes = 100) -> list[Episode]:
        return [Episode.of(each) for each in self.outcome.retired[: check_first(first)]]

    @strawberry.field(description="The first of those that are active again, by id.")
    def restored(self, first: FirstEpisodes = 100) -> list[Episode]:
        return [Episode.of(each) for each in self.outcome.restored[: check_first(first)]]

    @classmethod
    def of(cls, outcome: retire_episodes.EpisodesRetired) -> EpisodesRetired:
        """What the use case has done."""
        return cls(
            outcome=outcome,
            instant=DateTime(outcome.instant),
            dry_run=outcome.dry_run,
            retired_count=len(outcome.retired),
            restored_count=len(outcome.restored),
            fallen_count=outcome.fallen,
            runs=[InvalidationRun.of(each) for each in outcome.runs],
        )


@strawberry.type(description="The entities are related.")
class EntitiesRelated:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    relations: list[EntityRelation] = strawberry.field(
        description="The relations, in the order of the input."
    )

    @classmethod
    def of(cls, outcome: episodes.EntitiesRelated) -> EntitiesRelated:
        """What the use case has done."""
        return cls(
            instant=DateTime(outcome.instant),
            relations=[EntityRelation.of(each) for each in outcome.relations],
        )


StoreEpisodeResult = Annotated[
    EpisodeStored | NotFound | InvalidInput,
    strawberry.union("StoreEpisodeResult", description="What `storeEpisode` answers."),
]
PromoteEpisodeResult = Annotated[
    EpisodePromoted | PromotionRefused | NotFound | InvalidInput,
    strawberry.union("PromoteEpisodeResult", description="What `promoteEpisode` answers."),
]
RetireEpisodesResult = Annotated[
    EpisodesRetired | NotFound | InvalidInput | RunTooLarge,
    strawberry.union("RetireEpisodesResult", description="What `retireEpisodes` answers."),
]
RelateEntitiesResult = Annotated[
    EntitiesRelated | NotFound | InvalidInput,
    strawberry.union("RelateEntitiesResult", description="What `relateEntities` answers."),
]
