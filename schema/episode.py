"""What an agent has learned, as of an instant, and how it is recalled."""

from __future__ import annotations

import strawberry

from retrograph.resolvers import recall
from retrograph.rules.entity import name_of
from retrograph.rules.utility import utility
from retrograph.schema import node
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors
from retrograph.schema.enums import EntityKind, EpisodeStatus, RelationType, TerminalStatus
from retrograph.schema.links import NodeLink
from retrograph.schema.scalars import JSON, DateTime
from retrograph.storage import episode_records
from retrograph.storage.episode_records import EpisodeRecord, RelationRecord
from retrograph.storage.records import Page


@strawberry.type(description="What an episode is about.")
class Entity:
    urn: str = strawberry.field(description="Its name for all fleets of the tenant.")
    name: str = strawberry.field(description="Its name, folded: case makes no difference.")
    kind: EntityKind = strawberry.field(description="What it is to the agent.")

    @classmethod
    def of(cls, held: episode_records.Entity) -> Entity:
        """An entity as storage knows it."""
        return cls(urn=held.urn, name=name_of(held.urn), kind=held.kind)


@strawberry.type(description="How one entity relates to another.")
class EntityRelation:
    source: str = strawberry.field(description="The URN of the one.")
    target: str = strawberry.field(description="The URN of the other.")
    type: RelationType = strawberry.field(description="How the one relates to the other.")
    related_at: DateTime = strawberry.field(description="When that was told first.")

    @classmethod
    def of(cls, record: RelationRecord) -> EntityRelation:
        """A relation as storage knows it."""
        return cls(
            source=record.source,
            target=record.target,
            type=record.type,
            related_at=DateTime(record.related_at),
        )


@strawberry.type(description="What an agent has learned from a task. What it says never changes.")
class Episode:
    record: strawberry.Private[EpisodeRecord]
    id: strawberry.ID = strawberry.field(description="A 64-bit number, for ever this episode's.")
    domain: str = strawberry.field(description="What it belongs to.")
    status: EpisodeStatus = strawberry.field(description="What has become of it.")
    stored_at: DateTime = strawberry.field(description="When it was stored.")
    reflection: JSON = strawberry.field(description="Trigger, resolution, context.")
    schema_version: str = strawberry.field(description="The version of the reflection's schema.")
    metadata: JSON = strawberry.field(description="What else was told of it.")
    entities: list[Entity] = strawberry.field(description="What it is about.")
    execution: str | None = strawberry.field(description="The execution that it came from.")
    agent: str | None = strawberry.field(description="The agent that it came from.")
    decided_by: str | None = strawberry.field(description="Who gave it its status.")
    proof: TerminalStatus | None = strawberry.field(
        description="The verified end of its task that it was promoted on; null: a sign-off."
    )
    note: str | None = strawberry.field(description="Why it has its status.")
    axiom_id: strawberry.ID | None = strawberry.field(
        description="The axiom that it was merged into."
    )
    member_ids: list[strawberry.ID] = strawberry.field(
        description="The episodes that it has merged, if it is an axiom."
    )
    uses: int = strawberry.field(description="How often it was recalled; told with some delay.")
    last_used_at: DateTime | None = strawberry.field(description="When it was recalled last.")
    utility: float = strawberry.field(
        description="What it is worth at `asOf`: it halves in 30 days, and each use adds 0.1."
    )
    status_from: DateTime = strawberry.field(description="Since when it has its status.")
    as_of: DateTime = strawberry.field(description="The instant this object was read at.")

    @strawberry.field(description="The nodes that it is based on.")
    async def based_on(self, info: Info) -> list[NodeLink]:
        record = self.record
        ids = record.content.based_on
        return list(await node.load_nodes(info.context, record.fleet_id, record.as_of, ids))

    @strawberry.field(
        description=(
            "Those of them that aren't healthy at `asOf`, or have left the present, each with what "
            "felled it (`staleness`). With any, the episode is not recalled."
        )
    )
    async def fallen(self, info: Info) -> list[NodeLink]:
        record = self.record
        ids = record.content.based_on
        return list(await node.load_fallen(info.context, record.fleet_id, record.as_of, ids))

    @strawberry.field(description="The node of the graph that says what it says.")
    async def node(self, info: Info) -> NodeLink | None:
        record = self.record
        if record.content.node_id is None:
            return None
        return await node.load_node(
            info.context, record.fleet_id, record.as_of, record.content.node_id
        )

    @classmethod
    def of(cls, record: EpisodeRecord) -> Episode:
        """A record as a client sees it."""
        content, state, last = record.content, record.state, record.last_used_at
        return cls(
            record=record,
            id=strawberry.ID(str(record.id)),
            domain=record.domain,
            status=state.status,
            stored_at=DateTime(record.stored_at),
            reflection=JSON(content.reflection),
            schema_version=content.schema_version,
            metadata=JSON(content.metadata),
            entities=[Entity.of(each) for each in content.entities],
            execution=content.execution,
            agent=content.agent,
            decided_by=state.decided_by,
            proof=state.proof,
            note=state.note,
            axiom_id=None if state.axiom_id is None else strawberry.ID(str(state.axiom_id)),
            member_ids=[strawberry.ID(str(each)) for each in content.members],
            uses=record.uses,
            last_used_at=None if last is None else DateTime(last),
            utility=utility(record.stored_at, record.uses, record.as_of),
            status_from=DateTime(record.valid_from),
            as_of=DateTime(record.as_of),
        )


@strawberry.type(description="An episode that was recalled, and what it was recalled for.")
class Recollection:
    episode: Episode = strawberry.field(description="The episode.")
    score: float = strawberry.field(
        description="1 / (60 + rank), summed over the two lists that it stands in."
    )
    cosine: float = strawberry.field(description="Of its embedding and the one that was given.")
    graph: float = strawberry.field(
        description=(
            "Matching entities / (entities + 1); 0 where it isn't among the best by entities."
        )
    )

    @classmethod
    def of(cls, found: recall.Recollection) -> Recollection:
        """What a recall has found."""
        scores = found.scores
        return cls(
            episode=Episode.of(found.episode),
            score=scores.combined,
            cosine=scores.cosine,
            graph=scores.graph,
        )


def episode_connection(
    page: Page[EpisodeRecord], cursors: ListCursors, after: str | None
) -> Connection[Episode]:
    """A page of episodes, by id."""
    return connect(
        page,
        [Episode.of(row) for row in page.rows],
        lambda row: cursors.encode(page.as_of, row.id),
        has_previous=after is not None,
    )
