"""What callers give about episodes and entities."""

from __future__ import annotations

import strawberry

from retrograph.resolvers import episode_inputs, retire_episodes
from retrograph.rules.limits import check_id
from retrograph.rules.reflection import DEFAULT_VERSION, Proof
from retrograph.rules.search import DEFAULT_K, DEFAULT_THRESHOLD
from retrograph.schema.enums import EntityKind, EpisodeStatus, RelationType, TerminalStatus
from retrograph.schema.inputs import MUTATION, NodeRef
from retrograph.schema.scalars import JSON, Vector


@strawberry.input(description="What an episode is about.")
class EntityInput:
    name: str = strawberry.field(
        description=(
            "Its name, at most 200 characters, or its URN; case, and white space around it, make "
            "no difference."
        )
    )
    kind: EntityKind = strawberry.field(
        default=EntityKind.ENTITY, description="What it is to the agent."
    )


@strawberry.input(description="An episode to store; it is recalled once it is promoted.")
class StoreEpisodeInput:
    fleet_id: strawberry.ID = strawberry.field(description="Its fleet.")
    domain: str = strawberry.field(
        description="What it belongs to, at most 200 characters; one that is new is made."
    )
    embedding: Vector = strawberry.field(
        description="Its vector, of the dimension of the domain's first: 1 to 4,096."
    )
    reflection: JSON = strawberry.field(
        description="What was learned: `trigger`, `resolution`, `context`; at most 65,536 bytes."
    )
    schema_version: str = strawberry.field(
        default=DEFAULT_VERSION, description="The version of the reflection's schema."
    )
    entities: list[EntityInput] | None = strawberry.field(
        default=None, description="What it is about; at most 100, and each of one kind."
    )
    metadata: JSON | None = strawberry.field(
        default=None, description="What else is to be told: an object of at most 16,384 bytes."
    )
    based_on: list[NodeRef] | None = strawberry.field(
        default=None, description="Nodes that must be healthy for it to be recalled."
    )
    node: NodeRef | None = strawberry.field(
        default=None,
        description="The node of the graph that says what it says: it falls when this is retired.",
    )
    execution: str | None = strawberry.field(
        default=None, description="The execution that it comes from."
    )
    agent: str | None = strawberry.field(default=None, description="The agent that it comes from.")

    def read(self) -> episode_inputs.NewEpisode:
        """The episode as the use case takes it."""
        return episode_inputs.NewEpisode(
            domain=self.domain,
            embedding=self.embedding,
            reflection=self.reflection,
            schema_version=self.schema_version,
            entities=[(each.name, each.kind) for each in self.entities or ()],
            metadata=self.metadata,
            based_on=[
                each.read((*MUTATION, "basedOn", str(place)))
                for place, each in enumerate(self.based_on or ())
            ],
            node=None if self.node is None else self.node.read((*MUTATION, "node")),
            execution=self.execution,
            agent=self.agent,
        )


@strawberry.input(
    description="An episode to promote, on a verified end of its task or a person's sign-off."
)
class PromoteEpisodeInput:
    fleet_id: strawberry.ID = strawberry.field(description="The episode's fleet.")
    id: strawberry.ID = strawberry.field(description="The episode.")
    by: str = strawberry.field(description="Who verified the end of the task, or signs it off.")
    terminal_status: TerminalStatus | None = strawberry.field(
        default=None,
        description="How the task was verified to have ended; left out, this is a sign-off.",
    )
    note: str | None = strawberry.field(default=None, description="Why.")

    def read(self) -> Proof:
        """Why it may be believed."""
        return Proof(self.by, self.terminal_status, self.note)


@strawberry.input(description="Where episodes came from: all that is given must hold.")
class SourceInput:
    execution: str | None = strawberry.field(default=None, description="An execution.")
    agent: str | None = strawberry.field(default=None, description="An agent.")

    def read(self) -> episode_inputs.Source:
        """The source as the use case takes it."""
        return episode_inputs.Source(self.execution, self.agent)


@strawberry.input(description="Episodes to retire: by their ids, or all that one source gave.")
class RetireEpisodesInput:
    fleet_id: strawberry.ID = strawberry.field(description="The episodes' fleet.")
    reason: str = strawberry.field(description="Why; not empty.")
    ids: list[strawberry.ID] | None = strawberry.field(
        default=None, description="The episodes; at most 1,000."
    )
    source: SourceInput | None = strawberry.field(default=None, description="Where they came from.")
    by: str | None = strawberry.field(default=None, description="Who retires them.")
    dry_run: bool = strawberry.field(
        default=False, description="Only tells what would be done; nothing is."
    )

    def read(self) -> retire_episodes.Retirement:
        """The retirement as the use case takes it."""
        return retire_episodes.Retirement(
            reason=self.reason,
            ids=[
                check_id(each, (*MUTATION, "ids", str(place)))
                for place, each in enumerate(self.ids or ())
            ],
            source=None if self.source is None else self.source.read(),
            by=self.by,
            dry_run=self.dry_run,
        )


@strawberry.input(description="How one entity relates to another.")
class RelationInput:
    source: str = strawberry.field(description="The one, by name or URN.")
    target: str = strawberry.field(description="The other, by name or URN; not the same.")
    type: RelationType = strawberry.field(description="How the one relates to the other.")


@strawberry.input(description="Entities to relate.")
class RelateEntitiesInput:
    fleet_id: strawberry.ID = strawberry.field(description="Their fleet.")
    relations: list[RelationInput] = strawberry.field(description="The relations; 1 to 1,000.")


@strawberry.input(description="Narrows a list of episodes down: all that is given must hold.")
class EpisodeFilter:
    domain: str | None = strawberry.field(default=None, description="Of this domain.")
    status: list[EpisodeStatus] | None = strawberry.field(
        default=None, description="In one of these states, as of the instant of reading."
    )
    source: SourceInput | None = strawberry.field(default=None, description="From this source.")
    entity: str | None = strawberry.field(
        default=None, description="Naming this entity, which is given by name or URN."
    )

    def read(self) -> episode_inputs.Listing:
        """The filter as the use case takes it."""
        return episode_inputs.Listing(
            domain=self.domain,
            status=None if self.status is None else frozenset(self.status),
            source=episode_inputs.Source() if self.source is None else self.source.read(),
            entity=self.entity,
        )


@strawberry.input(description="What is to be recalled.")
class RecallInput:
    domain: str = strawberry.field(description="The domain to look in.")
    embedding: Vector = strawberry.field(description="What the episodes should be near to.")
    entities: list[str] | None = strawberry.field(
        default=None, description="What they should be about, by name or URN; at most 100."
    )
    hops: int = strawberry.field(
        default=0, description="Over how many relations these are expanded: 0 to 5."
    )
    threshold: float = strawberry.field(
        default=DEFAULT_THRESHOLD, description="The least cosine of what is near."
    )
    top_k: int = strawberry.field(
        default=DEFAULT_K, description="How many to recall at most: 1 to 100."
    )
    about: list[str] | None = strawberry.field(
        default=None, description="Only episodes that name every one of these entities."
    )
    metadata: JSON | None = strawberry.field(
        default=None,
        description="Only episodes whose metadata have these members, texts, numbers or truths.",
    )

    def read(self) -> episode_inputs.RecallRequest:
        """The request as the use case takes it."""
        return episode_inputs.RecallRequest(
            domain=self.domain,
            embedding=self.embedding,
            entities=self.entities or (),
            hops=self.hops,
            threshold=self.threshold,
            top_k=self.top_k,
            about=self.about or (),
            metadata=self.metadata,
        )
