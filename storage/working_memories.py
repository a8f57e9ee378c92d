"""Working memories as of an instant, and how their versions are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Executable, Select, bindparam, select

from retrograph.rules.budget import Eviction, Updated
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.memory_document import (
    evictions_from_document,
    evictions_to_document,
    from_document,
    to_document,
)
from retrograph.rules.working_memory import MAX_STATE_BYTES, WorkingMemory
from retrograph.storage.as_of import Arm, over_arms
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows
from retrograph.storage.memory_tables import working_memory
from retrograph.storage.prepared import Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.versions import open_new, open_next
from retrograph.storage.write import Write, take_ids


@dataclass(frozen=True, slots=True)
class WorkingMemoryRecord:
    """A session's working memory as of an instant, and what its last update took out of it.

    `tokens` is what the rendered text came to when the version was written.
    """

    tenant_id: int
    fleet_id: int
    id: int
    session_id: str
    memory: WorkingMemory
    evictions: tuple[Eviction, ...]
    tokens: int
    valid_from: int
    as_of: int


_COLUMNS = ("id", "session", "state", "evictions", "tokens", "valid_from")
_HASH: ColumnElement[str] = bindparam("session_hash")


def find_working_memory(s: Snapshot, session_id: str) -> WorkingMemoryRecord | None:
    """The memory of a session, None where it has none at the instant."""
    named = sha256(session_id.encode()).hexdigest()
    if s.current:
        rows = fetch(s, _now, session_hash=named)
    else:
        ids = [id for (id,) in fetch(s, _ids, session_hash=named)]
        rows = fetch(s, _then, ids=ids) if ids else []
    return _record(s, rows[0]) if rows else None


def put_working_memory(
    write: Write, session_id: str, former: WorkingMemoryRecord | None, updated: Updated
) -> WorkingMemoryRecord:
    """Writes the next version of a session's memory, or its first."""
    s = write.snapshot
    state = canonical_json(to_document(updated.memory), field=("input",), most=MAX_STATE_BYTES)
    values = {
        "version": updated.memory.version,
        "state": state,
        "evictions": orjson.dumps(evictions_to_document(updated.evictions)).decode(),
        "tokens": updated.tokens,
    }
    if former is None:
        id = take_ids(write, "working_memory", 1)[0]
        named = sha256(session_id.encode()).hexdigest()
        row = {"id": id, "session_hash": named, "session": session_id, **values}
        open_new(s, working_memory, [row])
    else:
        id = former.id
        open_next(s, working_memory, [{"id": id, **values}])
    return WorkingMemoryRecord(
        s.tenant_id,
        s.fleet_id,
        id,
        session_id,
        from_document(orjson.loads(state)),
        updated.evictions,
        updated.tokens,
        s.instant,
        s.instant,
    )


def _record(s: Snapshot, row: Sequence[Any]) -> WorkingMemoryRecord:
    id, session_id, state, evictions, tokens, valid_from = row
    return WorkingMemoryRecord(
        s.tenant_id,
        s.fleet_id,
        id,
        session_id,
        from_document(orjson.loads(state)),
        evictions_from_document(orjson.loads(evictions)),
        tokens,
        valid_from,
        s.instant,
    )


@prepared
def _now(frame: Frame) -> Executable:  # noqa: ARG001 (the present)
    table = working_memory.current
    columns = (table.c[name] for name in _COLUMNS)
    return select(*columns).where(*scoped(table), table.c.session_hash == _HASH)


@prepared
def _ids(frame: Frame) -> Executable:  # noqa: ARG001 (a session that was begun is there for ever)
    table = working_memory.current
    return select(table.c.id).where(*scoped(table), table.c.session_hash == _HASH)


@prepared
def _then(frame: Frame) -> Executable:
    ids = id_rows()

    def build(arm: Arm) -> Select[Any]:
        joined = drive(ids, (arm.table, arm.c.id == ids.c.value))
        columns = (arm.c[name] for name in _COLUMNS)
        return select(*columns).select_from(joined).where(*within_scope(arm))

    return over_arms(frame.keyed_arms(working_memory, ids.c.value), build)
