"""What the use cases of episodes are given, and the checks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrograph.resolvers.targets import check_ref
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.domain_index import metadata_term
from retrograph.rules.embedding import read_vector
from retrograph.rules.entity import MAX_ENTITIES, EntityKind, check_hops, entity_urn
from retrograph.rules.errors import FieldPath, InvalidInput
from retrograph.rules.limits import check_batch
from retrograph.rules.names import check_name
from retrograph.rules.reflection import (
    DEFAULT_VERSION,
    MAX_METADATA_BYTES,
    MAX_REFLECTION_BYTES,
    EpisodeStatus,
    check_version,
)
from retrograph.rules.search import DEFAULT_K, DEFAULT_THRESHOLD, MAX_K
from retrograph.storage.episode_records import Entity, EpisodeContent
from retrograph.storage.records import NodeRef

INPUT: FieldPath = ("input",)


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """An episode to store; `embedding` is base64 of float32 numbers, or a list of numbers."""

    domain: str
    embedding: object
    reflection: object
    schema_version: str = DEFAULT_VERSION
    entities: Sequence[tuple[str, EntityKind]] = ()
    metadata: object = None
    based_on: Sequence[NodeRef] = ()
    node: NodeRef | None = None
    execution: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What is looked for; `about` and `metadata` narrow down who may be found."""

    domain: str
    embedding: object
    entities: Sequence[str] = ()
    hops: int = 0
    threshold: float = DEFAULT_THRESHOLD
    top_k: int = DEFAULT_K
    about: Sequence[str] = ()
    metadata: object = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where episodes came from: one execution, or one agent."""

    execution: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Which episodes to list: all that is given must hold; `entity` is a name or a URN."""

    domain: str | None = None
    status: frozenset[EpisodeStatus] | None = None
    source: Source = Source()
    entity: str | None = None


def check_episode(tenant_id: int, given: NewEpisode) -> tuple[EpisodeContent, bytes]:
    """The content without its nodes, and the vector; raises `InvalidInput`."""
    check_name(given.domain, (*INPUT, "domain"))
    check_version(given.schema_version)
    for name, source in (("execution", given.execution), ("agent", given.agent)):
        if source is not None:
            check_name(source, (*INPUT, name))
    for ref, path in named_nodes(given):
        check_ref(ref, path)
    check_batch(max(1, len(given.based_on)), field=(*INPUT, "basedOn"))
    content = EpisodeContent(
        reflection=canonical_json(
            given.reflection, field=(*INPUT, "reflection"), most=MAX_REFLECTION_BYTES
        ),
        schema_version=given.schema_version,
        metadata=_metadata(given.metadata),
        entities=_entities(tenant_id, given.entities),
        execution=given.execution,
        agent=given.agent,
    )
    return content, read_vector(given.embedding, (*INPUT, "embedding"))


def named_nodes(given: NewEpisode) -> list[tuple[NodeRef, FieldPath]]:
    """The nodes that an episode names, each with the path of its field."""
    based_on = [(ref, (*INPUT, "basedOn", str(place))) for place, ref in enumerate(given.based_on)]
    return based_on if given.node is None else [*based_on, (given.node, (*INPUT, "node"))]


def check_recall(request: RecallRequest) -> bytes:
    """The vector that is looked for; raises `InvalidInput`."""
    check_name(request.domain, (*INPUT, "domain"))
    check_hops(request.hops, (*INPUT, "hops"))
    if not -1 <= request.threshold <= 1:
        raise InvalidInput("Give a cosine: -1 to 1.", path=(*INPUT, "threshold"))
    if not 1 <= request.top_k <= MAX_K:
        raise InvalidInput(f"Give a number from 1 to {MAX_K}.", path=(*INPUT, "topK"))
    return read_vector(request.embedding, (*INPUT, "embedding"))


def read_urns(
    tenant_id: int, names: Sequence[str], field: FieldPath, member: FieldPath = ()
) -> list[str]:
    """The URNs of at most 100 names: the items of a list, or `member` of each item."""
    check_batch(max(1, len(names)), MAX_ENTITIES, field=field)
    return [
        entity_urn(tenant_id, name, (*field, str(place), *member))
        for place, name in enumerate(names)
    ]


def read_terms(metadata: object) -> list[str]:
    """What an index finds metadata by, of members to be equal to."""
    if metadata is None:
        return []
    path = (*INPUT, "metadata")
    canonical_json(metadata, field=path, most=MAX_METADATA_BYTES)
    if not isinstance(metadata, Mapping) or not all(map(_is_plain, metadata.values())):
        raise InvalidInput("Give an object of texts, numbers, true and false.", path=path)
    return [metadata_term(name, value) for name, value in metadata.items()]


def _metadata(metadata: object) -> str:
    path = (*INPUT, "metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput("Give an object.", path=path)
    return canonical_json(metadata or {}, field=path, most=MAX_METADATA_BYTES)


def _entities(tenant_id: int, given: Sequence[tuple[str, EntityKind]]) -> tuple[Entity, ...]:
    """Each once; one that is given twice must be of one kind."""
    path = (*INPUT, "entities")
    urns = read_urns(tenant_id, [name for name, _ in given], path, ("name",))
    kinds: dict[str, EntityKind] = {}
    for place, (urn, (name, kind)) in enumerate(zip(urns, given, strict=True)):
        if kinds.setdefault(urn, kind) != kind:
            raise InvalidInput(
                f"{name} is {kinds[urn].name} already; give it one kind.",
                path=(*path, str(place), "kind"),
            )
    return tuple(Entity(urn, kind) for urn, kind in kinds.items())


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float)
