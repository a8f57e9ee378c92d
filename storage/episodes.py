"""Episodes as of an instant: found by id, listed, and what an index of a domain is made of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Executable, Select, bindparam, select

from retrograph.rules.domain_index import Indexed, metadata_terms
from retrograph.rules.entity import EntityKind
from retrograph.rules.limits import MIN_ID
from retrograph.rules.reflection import EpisodeStatus, TerminalStatus
from retrograph.storage.as_of import Arm, over_arms
from retrograph.storage.driven import drive
from retrograph.storage.episode_records import (
    Domain,
    Entity,
    EpisodeContent,
    EpisodeFilter,
    EpisodeRecord,
    EpisodeState,
    hashed,
)
from retrograph.storage.id_set import id_rows
from retrograph.storage.memory_tables import (
    episode,
    episode_domain,
    episode_embedding,
    episode_entity,
    episode_state,
    episode_use,
)
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import (
    INSTANT,
    Frame,
    fetch,
    lasted,
    prepared,
    scoped,
    within_scope,
)
from retrograph.storage.records import Page
from retrograph.storage.snapshot import Snapshot

_CONTENT = (
    *("reflection", "schema_version", "metadata", "entities", "based_on", "members"),
    *("node_id", "execution_key", "agent"),
)
_DECIDED = ("status", "decided_by", "proof", "note", "axiom_id")
_DOMAIN: ColumnElement[int] = bindparam("domain_id")


def find_domain(s: Snapshot, name: str) -> Domain | None:
    """The domain of that name, once an episode was stored in it."""
    rows = fetch(s, _domain_of_name, name_hash=hashed(name))
    return Domain(*rows[0]) if rows else None


def domains_of(s: Snapshot) -> list[Domain]:
    """The domains of the fleet, by id."""
    return [Domain(*row) for row in fetch(s, _domains)]


def episodes_by_id(s: Snapshot, ids: Collection[int]) -> dict[int, EpisodeRecord]:
    """Those of `ids` that are episodes at the instant, by three statements."""
    if not ids:
        return {}
    uses = uses_of(s, ids)
    rows = fetch(s, _by_id, ids=ids)
    names = _domain_names(s, {row[1] for row in rows})
    return {row[0]: _record(s, row, names[row[1]], uses.get(row[0])) for row in rows}


def former_states(s: Snapshot, ids: Collection[int]) -> dict[int, EpisodeState]:
    """What episodes were until their present state began; none where that isn't kept any more."""
    return {id: _state(*state) for id, *state in fetch(s, _former, ids=ids)} if ids else {}


def uses_of(s: Snapshot, ids: Collection[int]) -> dict[int, tuple[int, int]]:
    """How often episodes were used, and when last; of those that were."""
    return {id: (count, last) for id, count, last in fetch(s, _uses, ids=ids)}


def page_episodes(
    s: Snapshot, filter: EpisodeFilter, first: int, after: int | None
) -> Page[EpisodeRecord]:
    """The episodes that pass the filter, by ascending id, after the id `after`."""
    rows = fetch(
        s,
        _page,
        filter.domain_id is not None,
        filter.status is not None,
        filter.execution is not None,
        filter.agent is not None,
        filter.entity is not None,
        domain_id=filter.domain_id,
        status=sorted(map(int, filter.status or ())),
        execution_hash=hashed(filter.execution or ""),
        agent_hash=hashed(filter.agent or ""),
        entity_hash=hashed(filter.entity or ""),
        after=MIN_ID if after is None else after,
        rows=first + 1,
    )
    found = episodes_by_id(s, [id for (id,) in rows])
    return page_of(s, [found[id] for (id,) in rows], first)


def active_in(s: Snapshot, domain_id: int) -> list[int]:
    """The ids of a domain's active episodes."""
    rows = fetch(s, _active, domain_id=domain_id, active=int(EpisodeStatus.ACTIVE))
    return [id for (id,) in rows]


def changed_in(s: Snapshot, domain_id: int, since: int) -> dict[int, bool]:
    """The episodes of a domain whose state changed after `since`: whether they are active now."""
    rows = fetch(s, _changed, domain_id=domain_id, since=since)
    return {id: status == EpisodeStatus.ACTIVE for id, status in rows}


def indexed(s: Snapshot, ids: Collection[int]) -> Iterator[tuple[Indexed, tuple[int, ...]]]:
    """What an index takes of episodes, each with the nodes that it is based on."""
    for id, entities, metadata, based_on, vector in fetch(s, _indexed, ids=ids):
        urns = [urn for urn, _ in orjson.loads(entities)]
        terms = metadata_terms(orjson.loads(metadata))
        yield Indexed(id, vector, urns, terms), tuple(orjson.loads(based_on))


def vectors_of(s: Snapshot, ids: Collection[int]) -> dict[int, bytes]:
    """The stored vectors of episodes."""
    return {row[0]: row[4] for row in fetch(s, _indexed, ids=ids)}


def _domain_names(s: Snapshot, ids: Collection[int]) -> dict[int, str]:
    return {id: name for id, name, _ in fetch(s, _domain_of_id, ids=ids)} if ids else {}


def _record(
    s: Snapshot, row: Sequence[Any], domain: str, used: tuple[int, int] | None
) -> EpisodeRecord:
    id, _, stored_at, *rest = row
    content, state = rest[: len(_CONTENT)], rest[len(_CONTENT) :]
    return EpisodeRecord(
        tenant_id=s.tenant_id,
        fleet_id=s.fleet_id,
        id=id,
        domain=domain,
        stored_at=stored_at,
        content=_content(*content),
        state=_state(*state[:-1]),
        uses=0 if used is None else used[0],
        last_used_at=None if used is None else used[1],
        valid_from=state[-1],
        as_of=s.instant,
    )


def _content(
    reflection: str, version: str, metadata: str, entities: str, based_on: str, *rest: Any
) -> EpisodeContent:
    members, node_id, execution, agent = rest
    return EpisodeContent(
        reflection,
        version,
        metadata,
        tuple(Entity(urn, EntityKind(kind)) for urn, kind in orjson.loads(entities)),
        tuple(orjson.loads(based_on)),
        tuple(orjson.loads(members)),
        node_id,
        execution,
        agent,
    )


def _state(
    status: int, decided_by: str | None, proof: int | None, note: str | None, axiom_id: int | None
) -> EpisodeState:
    proven = None if proof is None else TerminalStatus(proof)
    return EpisodeState(EpisodeStatus(status), decided_by, proven, note, axiom_id)


@prepared
def _domain_of_name(frame: Frame) -> Executable:  # noqa: ARG001 (a domain is there for ever)
    table = episode_domain
    columns = (table.c.id, table.c.name, table.c.dimension)
    return select(*columns).where(*scoped(table), table.c.name_hash == bindparam("name_hash"))


@prepared
def _domains(frame: Frame) -> Executable:  # noqa: ARG001 (a domain is there for ever)
    table = episode_domain
    columns = (table.c.id, table.c.name, table.c.dimension)
    return select(*columns).where(*scoped(table)).order_by(table.c.id)


@prepared
def _domain_of_id(frame: Frame) -> Executable:  # noqa: ARG001 (a domain is there for ever)
    ids, table = id_rows(), episode_domain
    joined = drive(ids, (table, table.c.id == ids.c.value))
    columns = (table.c.id, table.c.name, table.c.dimension)
    return select(*columns).select_from(joined).where(*within_scope(table))


@prepared
def _by_id(frame: Frame) -> Executable:
    ids = id_rows()

    def build(arm: Arm) -> Select[Any]:
        joined = drive(
            ids, (episode, episode.c.id == ids.c.value), (arm.table, arm.c.id == episode.c.id)
        )
        columns = (episode.c[name] for name in ("id", "domain_id", "stored_at", *_CONTENT))
        chosen = select(*columns, *(arm.c[name] for name in (*_DECIDED, "valid_from")))
        chosen = chosen.select_from(joined)
        return chosen.where(*within_scope(episode), *within_scope(arm))

    return over_arms(frame.keyed_arms(episode_state, episode.c.id), build)


@prepared
def _former(frame: Frame) -> Executable:  # noqa: ARG001 (the present, and what it followed)
    ids, now, closed = id_rows(), episode_state.current, episode_state.history
    until_now = (closed.c.id == now.c.id) & (closed.c.valid_to == now.c.valid_from)
    joined = drive(ids, (now, now.c.id == ids.c.value), (closed, until_now))
    chosen = select(closed.c.id, *(closed.c[name] for name in _DECIDED)).select_from(joined)
    return chosen.where(*within_scope(now), *within_scope(closed), lasted(closed))


@prepared
def _uses(frame: Frame) -> Executable:
    ids = id_rows()

    def build(arm: Arm) -> Select[Any]:
        joined = drive(ids, (arm.table, arm.c.id == ids.c.value))
        columns = (arm.c.id, arm.c.uses, arm.c.last_used_at)
        return select(*columns).select_from(joined).where(*within_scope(arm))

    return over_arms(frame.keyed_arms(episode_use, ids.c.value), build)


@prepared
def _page(
    frame: Frame,
    by_domain: bool,
    by_status: bool,
    by_execution: bool,
    by_agent: bool,
    by_entity: bool,
) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        joined = drive(episode, (arm.table, arm.c.id == episode.c.id))
        chosen = select(episode.c.id.label("found")).select_from(joined)
        chosen = chosen.where(
            *scoped(episode),
            *within_scope(arm),
            episode.c.stored_at <= INSTANT,
            episode.c.id > bindparam("after"),
        )
        if by_domain:
            chosen = chosen.where(episode.c.domain_id == _DOMAIN)
        if by_status:
            chosen = chosen.where(arm.c.status.in_(bindparam("status", expanding=True)))
        for asked, name in ((by_execution, "execution_hash"), (by_agent, "agent_hash")):
            if asked:
                chosen = chosen.where(episode.c[name] == bindparam(name))
        return chosen.where(episode.c.id.in_(_about())) if by_entity else chosen

    found = over_arms(frame.keyed_arms(episode_state, episode.c.id), build)
    return found.order_by("found").limit(bindparam("rows"))


def _about() -> Select[Any]:
    """The episodes that name an entity."""
    named = episode_entity.c.entity_hash == bindparam("entity_hash")
    return select(episode_entity.c.episode_id).where(*scoped(episode_entity), named)


@prepared
def _active(frame: Frame) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        is_active = arm.c.status == bindparam("active")
        return select(arm.c.id).where(*scoped(arm), arm.c.domain_id == _DOMAIN, is_active)

    return over_arms(frame.arms(episode_state), build)


@prepared
def _changed(frame: Frame) -> Executable:  # noqa: ARG001 (the present)
    table = episode_state.current
    later = table.c.valid_from > bindparam("since")
    chosen = select(table.c.id, table.c.status)
    return chosen.where(*scoped(table), table.c.domain_id == _DOMAIN, later)


@prepared
def _indexed(frame: Frame) -> Executable:  # noqa: ARG001 (an episode never changes)
    ids, vectors = id_rows(), episode_embedding
    joined = drive(
        ids, (episode, episode.c.id == ids.c.value), (vectors, vectors.c.episode_id == episode.c.id)
    )
    columns = (episode.c[name] for name in ("id", "entities", "metadata", "based_on"))
    chosen = select(*columns, vectors.c.vector).select_from(joined)
    return chosen.where(*within_scope(episode), *within_scope(vectors))
