"""Stores, promotes and lists episodes, and relates entities."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import orjson

from retrograph.resolvers.episode_inputs import (
    INPUT,
    Listing,
    NewEpisode,
    check_episode,
    named_nodes,
)
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.targets import require_nodes
from retrograph.rules.embedding import check_dimension, dimension_of
from retrograph.rules.entity import RelationType, entity_urn, relation_ends
from retrograph.rules.errors import Forbidden, NotFound
from retrograph.rules.limits import check_batch, check_first, check_text
from retrograph.rules.names import check_name
from retrograph.rules.reflection import EpisodeStatus, Proof, check_promotion
from retrograph.rules.validity import Validity, severity
from retrograph.storage.entity_relations import relate
from retrograph.storage.episode_records import (
    EpisodeFilter,
    EpisodeRecord,
    EpisodeState,
    RelationRecord,
)
from retrograph.storage.episode_writes import create_episodes, find_or_make_domain, set_state
from retrograph.storage.episodes import episodes_by_id, find_domain, page_episodes
from retrograph.storage.nodes import states_by_id
from retrograph.storage.records import Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.write import Write


@dataclass(frozen=True, slots=True)
class EntitiesRelated:
    """The relations in the order of the input."""

    instant: int
    relations: list[RelationRecord]


def store_episode(scope: Scope, fleet_id: int, given: NewEpisode) -> EpisodeRecord:
    """Stores an episode in quarantine; a domain's first fixes the dimension of all.

    Raises `InvalidInput`, and `NotFound` for a node that it names.
    """
    content, vector = check_episode(scope.tenant_id, given)

    def job(write: Write) -> EpisodeRecord:
        nodes = require_nodes(write.snapshot, named_nodes(given))
        domain = find_or_make_domain(write, given.domain, dimension_of(vector))
        check_dimension(vector, domain.dimension, (*INPUT, "embedding"))
        whole = replace(
            content,
            based_on=tuple(sorted({nodes[ref] for ref in given.based_on})),
            node_id=None if given.node is None else nodes[given.node],
        )
        state = EpisodeState(EpisodeStatus.QUARANTINED)
        (id,) = create_episodes(write, domain, [(whole, vector)], state)
        return episodes_by_id(write.snapshot, [id])[id]

    return scope.write(fleet_id, job)


def promote_episode(scope: Scope, fleet_id: int, episode_id: int, proof: Proof) -> EpisodeRecord:
    """Lets an episode out of quarantine, so that it is recalled.

    Raises `NotFound`, `PromotionRefused`, and `Forbidden` for a sign-off by who is no ADMIN.
    """
    if proof.signed_off and Role.ADMIN not in scope.roles:
        raise Forbidden("Signing an episode off takes the role ADMIN.")
    if proof.note is not None:
        check_text(proof.note, (*INPUT, "note"))

    def job(write: Write) -> EpisodeRecord:
        found = require_episodes(write.snapshot, [episode_id], (*INPUT, "id"))[0]
        reflection = orjson.loads(found.content.reflection)
        check_promotion(found.state.status, reflection, found.content.schema_version, proof)
        state = EpisodeState(EpisodeStatus.ACTIVE, proof.by, proof.status, proof.note)
        set_state(write, [episode_id], state)
        return episodes_by_id(write.snapshot, [episode_id])[episode_id]

    return scope.write(fleet_id, job)


def list_episodes(
    scope: Scope,
    fleet_id: int,
    listing: Listing,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[EpisodeRecord]:
    """A page of episodes by id, after the id `after`; a domain that is unknown has none."""
    check_first(first)
    source, path = listing.source, ("filter", "source")
    for name, value in (
        (("filter", "domain"), listing.domain),
        ((*path, "execution"), source.execution),
        ((*path, "agent"), source.agent),
    ):
        if value is not None:
            check_name(value, name)
    entity = None
    if listing.entity is not None:
        entity = entity_urn(scope.tenant_id, listing.entity, ("filter", "entity"))
    with scope.snapshot(fleet_id, at) as snapshot:
        known = None if listing.domain is None else find_domain(snapshot, listing.domain)
        if listing.domain is not None and known is None:
            return Page([], has_next=False, as_of=snapshot.instant)
        id = None if known is None else known.id
        wanted = EpisodeFilter(id, listing.status, source.execution, source.agent, entity)
        return page_episodes(snapshot, wanted, first, after)


def load_episodes(
    scope: Scope, fleet_id: int, at: int | None, ids: Collection[int]
) -> dict[int, EpisodeRecord]:
    """Those of `ids` that were stored by the instant."""
    with scope.snapshot(fleet_id, at) as snapshot:
        return episodes_by_id(snapshot, ids)


def relate_entities(
    scope: Scope, fleet_id: int, given: Sequence[tuple[str, str, RelationType]]
) -> EntitiesRelated:
    """Relates entities; a relation that is there already is returned.

    Raises `InvalidInput`, also for an entity and itself.
    """
    path = (*INPUT, "relations")
    check_batch(len(given), field=path)
    wanted = [
        (*relation_ends(scope.tenant_id, source, target, (*path, str(place))), kind)
        for place, (source, target, kind) in enumerate(given)
    ]

    def job(write: Write) -> EntitiesRelated:
        return EntitiesRelated(write.instant, relate(write, wanted))

    return scope.write(fleet_id, job)


def require_episodes(
    snapshot: Snapshot, ids: Sequence[int], path: tuple[str, ...]
) -> list[EpisodeRecord]:
    """The episodes of these ids; raises `NotFound` for the first that isn't there."""
    found = episodes_by_id(snapshot, ids)
    for id in ids:
        if id not in found:
            raise NotFound(f"There is no episode {id} in this fleet.", path=path)
    return [found[id] for id in ids]


def fallen_nodes(snapshot: Snapshot, node_ids: Collection[int]) -> set[int]:
    """Those that aren't healthy, or have left the present."""
    states = states_by_id(snapshot, node_ids)
    healthy = {id for id, state in states.items() if severity(Validity(state[0])) == 0}
    return set(node_ids) - healthy
