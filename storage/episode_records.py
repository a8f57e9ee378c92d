"""Episodes, domains and relations of entities, as storage knows them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from retrograph.rules.entity import EntityKind, RelationType
from retrograph.rules.reflection import EpisodeStatus, TerminalStatus


@dataclass(frozen=True, slots=True)
class Domain:
    """What a fleet's episodes of one kind belong to; all their vectors have one dimension."""

    id: int
    name: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Entity:
    """What an episode is about."""

    urn: str
    kind: EntityKind


@dataclass(frozen=True, slots=True)
class EpisodeContent:
    """What an episode says, for ever.

    `reflection` and `metadata` are JSON texts, `based_on` ids of nodes, `members` those of the
    episodes that an axiom has merged; `node_id` is the node of the graph that says the same.
    `execution` and `agent` tell where it came from.
    """

    reflection: str
    schema_version: str
    metadata: str
    entities: tuple[Entity, ...]
    based_on: tuple[int, ...] = ()
    members: tuple[int, ...] = ()
    node_id: int | None = None
    execution: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class EpisodeState:
    """What has become of an episode: by whom, on which proof, and why; `axiom_id` merged it."""

    status: EpisodeStatus
    decided_by: str | None = None
    proof: TerminalStatus | None = None
    note: str | None = None
    axiom_id: int | None = None


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """An episode as of an instant; `valid_from` is when its state began."""

    tenant_id: int
    fleet_id: int
    id: int
    domain: str
    stored_at: int
    content: EpisodeContent
    state: EpisodeState
    uses: int
    last_used_at: int | None
    valid_from: int
    as_of: int


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """Narrows a list of episodes down: all that is given must hold."""

    domain_id: int | None = None
    status: frozenset[EpisodeStatus] | None = None
    execution: str | None = None
    agent: str | None = None
    entity: str | None = None
    """A URN that they name."""


@dataclass(frozen=True, slots=True)
class RelationRecord:
    """How one entity relates to another."""

    id: int
    source: str
    target: str
    type: RelationType
    related_at: int


def hashed(name: str) -> str:
    """How a name is found that is longer than an entry of an index: the hex of its SHA-256."""
    return sha256(name.encode()).hexdigest()
