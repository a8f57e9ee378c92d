"""Writes episodes, what becomes of them, how often they are used, and domains."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import orjson
from sqlalchemy import insert

from retrograph.rules.reflection import EpisodeStatus
from retrograph.storage.bulk import insert_rows
from retrograph.storage.episode_records import Domain, EpisodeContent, EpisodeState, hashed
from retrograph.storage.episodes import find_domain, uses_of
from retrograph.storage.memory_tables import episode_domain, episode_state, episode_use
from retrograph.storage.records import EventType
from retrograph.storage.versions import Row, open_new, open_next
from retrograph.storage.write import Write, take_ids

_TOLD = 1_000
_COLUMNS = (
    *("id", "tenant_id", "fleet_id", "domain_id", "stored_at", "reflection", "schema_version"),
    *("metadata", "entities", "based_on", "members", "node_id"),
    *("execution_key", "execution_hash", "agent", "agent_hash"),
)


def find_or_make_domain(write: Write, name: str, dimension: int) -> Domain:
    """The domain of that name; one that is new has the dimension."""
    known = find_domain(write.snapshot, name)
    if known is not None:
        return known
    s, id = write.snapshot, take_ids(write, "domain", 1)[0]
    s.connection.execute(
        insert(episode_domain).values(
            id=id,
            tenant_id=s.tenant_id,
            fleet_id=s.fleet_id,
            name_hash=hashed(name),
            name=name,
            dimension=dimension,
        )
    )
    return Domain(id, name, dimension)


def create_episodes(
    write: Write,
    domain: Domain,
    episodes: Sequence[tuple[EpisodeContent, bytes]],
    state: EpisodeState,
) -> list[int]:
    """Makes episodes of contents and vectors, all in one state; returns their ids, in order."""
    s, ids = write.snapshot, list(take_ids(write, "episode", len(episodes)))
    scope = (s.tenant_id, s.fleet_id)
    rows = [
        (id, *scope, domain.id, s.instant, *_content_row(content))
        for id, (content, _) in zip(ids, episodes, strict=True)
    ]
    insert_rows(s.connection, s.profile, "episode", _COLUMNS, rows)
    vectors = [(id, *scope, vector) for id, (_, vector) in zip(ids, episodes, strict=True)]
    columns: tuple[str, ...] = ("episode_id", "tenant_id", "fleet_id", "vector")
    insert_rows(s.connection, s.profile, "episode_embedding", columns, vectors)
    about = [
        (*scope, hashed(each.urn), id)
        for id, (content, _) in zip(ids, episodes, strict=True)
        for each in content.entities
    ]
    columns = ("tenant_id", "fleet_id", "entity_hash", "episode_id")
    insert_rows(s.connection, s.profile, "episode_entity", columns, about)
    values = {"domain_id": domain.id, **_state_row(state)}
    open_new(s, episode_state, [{"id": id, **values} for id in ids])
    return ids


def set_state(write: Write, ids: Collection[int], state: EpisodeState) -> None:
    """Gives episodes a state from this instant on."""
    set_states(write, dict.fromkeys(ids, state))


def set_states(write: Write, states: Mapping[int, EpisodeState]) -> None:
    """The same, each a state of its own."""
    rows = [{"id": id, **_state_row(state)} for id, state in states.items()]
    open_next(write.snapshot, episode_state, rows)


def retire(write: Write, ids: Sequence[int], by: str | None, note: str) -> None:
    """Retires episodes, and tells of it in events of at most 1,000 ids."""
    set_state(write, ids, EpisodeState(EpisodeStatus.RETIRED, by, note=note))
    for start in range(0, len(ids), _TOLD):
        told = [str(id) for id in ids[start : start + _TOLD]]
        write.emit(EventType.EPISODES_RETIRED, episodeIds=told, by=by, note=note)


def add_uses(write: Write, used: Mapping[int, tuple[int, int]]) -> None:
    """Adds to how often episodes were used: a number and the instant of the last, by id."""
    s = write.snapshot

    known = uses_of(s, list(used))
    fresh: list[Row] = []
    more: list[Row] = []
    for id, (count, last) in sorted(used.items()):
        before, before_last = known.get(id, (0, last))
        row = {"id": id, "uses": before + count, "last_used_at": max(last, before_last)}
        (more if id in known else fresh).append(row)
    open_new(s, episode_use, fresh)
    open_next(s, episode_use, more)


def _content_row(content: EpisodeContent) -> tuple[object, ...]:
    listed = (
        [(each.urn, int(each.kind)) for each in content.entities],
        content.based_on,
        content.members,
    )
    sources = ((each, None if each is None else hashed(each)) for each in _sources(content))
    return (
        content.reflection,
        content.schema_version,
        content.metadata,
        *(orjson.dumps(each).decode() for each in listed),
        content.node_id,
        *(part for source in sources for part in source),
    )


def _sources(content: EpisodeContent) -> tuple[str | None, str | None]:
    return content.execution, content.agent


def _state_row(state: EpisodeState) -> dict[str, object]:
    return {
        "status": int(state.status),
        "decided_by": state.decided_by,
        "proof": None if state.proof is None else int(state.proof),
        "note": state.note,
        "axiom_id": state.axiom_id,
    }
