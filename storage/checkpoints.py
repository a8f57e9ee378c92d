"""Checkpoints: appended to the chain of their execution, read as of an instant, never changed.

What a row holds is checked by its hash whenever it is read: a damaged one is never handed out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Executable, ScalarSelect, and_, bindparam, select
from sqlalchemy.types import Text

from retrograph.rules.chain import Stored, is_whole
from retrograph.rules.checkpoint import Link, checkpoint_hash
from retrograph.rules.checkpoint_errors import CheckpointDamaged, CheckpointRemoved
from retrograph.rules.errors import FieldPath
from retrograph.rules.limits import MAX_ID
from retrograph.storage.aside import aside
from retrograph.storage.checkpoint_records import CheckpointRecord, NewCheckpoint, Standing
from retrograph.storage.driven import drive
from retrograph.storage.executions import execution_called, lives_of, sequence_by
from retrograph.storage.has_key import has_key
from retrograph.storage.id_set import instant_rows
from retrograph.storage.pages import page_of
from retrograph.storage.payload_codec import pack, unpack
from retrograph.storage.prepared import INSTANT, Frame, enter, fetch, prepared, within_scope
from retrograph.storage.records import Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import checkpoint
from retrograph.storage.write import Write

NAMES = (
    "sequence", "committed_at", "session", "state_node", "schema_version", "token", "based_on",
    "previous_hash", "hash", "erasure", "codec", "payload",
)  # fmt: skip
"""The columns of a row, as `link_of` takes them."""
_BY_SEQUENCE, _ERASURE = "sequence", NAMES.index("erasure")

NamedPlace = tuple[tuple[str, int], int]
"""A checkpoint by its execution's name and its sequence, and the instant of its commit."""


def append_checkpoint(
    write: Write, key: str, head: Standing, new: NewCheckpoint
) -> CheckpointRecord:
    """Commits a checkpoint behind the head of the execution called `key`."""
    s = write.snapshot
    if head.sequence >= MAX_ID:  # no chain of commits has come so far
        raise damaged(key, head.sequence)
    link = Link(
        s.tenant_id, s.fleet_id, key, new.session_id, head.sequence + 1, new.state_node,
        new.schema_version, new.payload, new.idempotency_token, new.based_on, write.instant,
        head.hash,
    )  # fmt: skip
    try:
        made = checkpoint_hash(link)
    except ValueError as error:  # what the commit brings was checked
        raise damaged(key, head.sequence) from error
    codec, stored = pack(new.payload)
    row = {
        "execution_id": head.id,
        "sequence": link.sequence,
        "tenant_id": s.tenant_id,
        "fleet_id": s.fleet_id,
        "committed_at": write.instant,
        "session": new.session_id,
        "state_node": new.state_node,
        "schema_version": new.schema_version,
        "token": new.idempotency_token,
        "based_on": orjson.dumps(new.based_on).decode(),
        "previous_hash": head.hash,
        "hash": made,
        "erasure": None,
        "codec": int(codec),
        "payload": stored,
    }
    enter(s, checkpoint, row)
    return _record(s, link, made)


def checkpoint_at(s: Snapshot, key: str, sequence: int | None = None) -> CheckpointRecord | None:
    """The head of the execution called `key` at the instant, or its checkpoint of a sequence.

    Raises `CheckpointDamaged`, as all reads of checkpoints do, and `CheckpointRemoved` for one that
    was erased.
    """
    rows = fetch(s, _one, sequence is not None, key=key, sequence=sequence)
    return _checked(s, key, rows[0]) if rows else None


def committed_with(
    s: Snapshot, execution: int, key: str, token: str, payload: bytes = b""
) -> CheckpointRecord | None:
    """The checkpoint of an execution, called `key`, that was committed with a token.

    One whose payload was erased has it again if it is the one given, as its hash proves; else it is
    told with an empty payload.
    """
    rows = fetch(s, _with_token, execution=execution, token=token)
    if not rows or rows[0][_ERASURE] is None:
        return _checked(s, key, rows[0]) if rows else None
    return _proven(s, key, rows[0], payload)


def committed_by_then(s: Snapshot, key: str, token: str) -> CheckpointRecord | None:
    """The same of the execution called `key` at the instant, if it was committed by then."""
    rows = fetch(s, _with_token_then, key=key, token=token)
    return _checked(s, key, rows[0], ("idempotencyToken",)) if rows else None


def checkpoints_then(
    s: Snapshot, places: Collection[NamedPlace]
) -> dict[NamedPlace, CheckpointRecord]:
    """Those of `places` that were committed at their instants, none later than the snapshot's.

    But for those that were erased.  Each is read as of its own instant; two statements for all.
    """
    if not places:
        return {}
    lives = lives_of(s, {key for (key, _), _ in places})
    since = {
        (life.number, at): life.key
        for (key, _), at in places
        for life in lives
        if life.key == key and life.spans(at)
    }
    rows = fetch(s, _committed_then, since=since)
    found = {((since[number, row[1]], row[0]), row[1]): row for number, *row in rows}
    return {
        place: _checked(replace(s, instant=place[1]), place[0][0], found[place])
        for place in places
        if place in found
    }


def page_checkpoints(
    s: Snapshot, key: str, first: int, before: int | None
) -> Page[CheckpointRecord]:
    """The checkpoints of the execution called `key`, newest first, below a sequence.

    Those that were erased are left out.
    """
    rows = fetch(s, _page, key=key, before=MAX_ID if before is None else before, rows=first + 1)
    return page_of(s, [_checked(s, key, row) for row in rows], first)


def link_of(s: Snapshot, key: str, row: Sequence[Any]) -> tuple[Link, str]:
    """The link that a row of `NAMES` is, and its stored hash; `ValueError` where it is none."""
    sequence, at, session, state, version, token, based_on, previous, stored, _, *packed = row
    ids = orjson.loads(based_on)
    if not isinstance(ids, list) or not all(type(each) is int for each in ids):
        raise ValueError("no list of node ids")
    text = unpack(*packed)
    return Link(
        s.tenant_id, s.fleet_id, key, session, sequence, state, version, text, token, tuple(ids),
        at, previous,
    ), stored  # fmt: skip


def _proven(s: Snapshot, key: str, row: Sequence[Any], payload: bytes) -> CheckpointRecord:
    """An erased checkpoint, with the payload if it had this one."""
    try:
        left, made = link_of(s, key, row)
        whole = left._replace(payload=payload)
        if checkpoint_hash(whole) == made:
            return _record(s, whole, made)
        if is_whole(Stored(left.sequence, made, left, row[_ERASURE])):
            return _record(s, left, made)
    except ValueError as error:
        raise damaged(key, row[0]) from error
    raise damaged(key, row[0])


def _checked(
    s: Snapshot, key: str, row: Sequence[Any], path: FieldPath = ("sequence",)
) -> CheckpointRecord:
    if row[_ERASURE] is not None:
        raise CheckpointRemoved(
            f"The payload of checkpoint {row[0]} of the execution {key!r} was erased; ask for a "
            "later one.",
            path=path,
        )
    try:
        link, stored = link_of(s, key, row)
        if checkpoint_hash(link) == stored:
            return _record(s, link, stored)
    except ValueError as error:
        raise damaged(key, row[0]) from error
    raise damaged(key, row[0])


def damaged(key: str, sequence: int) -> CheckpointDamaged:
    """The error for a checkpoint that isn't what was committed."""
    return CheckpointDamaged(
        f"Checkpoint {sequence} of the execution {key!r} isn't what was committed: its hash "
        "differs. Ask verifyCheckpoints, and restore the database from a copy."
    )


def _record(s: Snapshot, link: Link, made: str) -> CheckpointRecord:
    return CheckpointRecord(
        s.tenant_id, s.fleet_id, link.execution_id, link.session_id, link.sequence,
        link.state_node, link.payload.decode(), link.schema_version, link.schema_version,
        link.idempotency_token, link.based_on, link.committed_at, link.previous_hash, made,
        s.instant,
    )  # fmt: skip


def _last_then() -> ScalarSelect[int]:
    return sequence_by(INSTANT, execution_called()).scalar_subquery()


_COLUMNS = tuple(checkpoint.c[name] for name in NAMES)


@prepared
def _one(frame: Frame, named: bool) -> Executable:
    found = select(*_COLUMNS).where(
        checkpoint.c.execution_id == execution_called(),
        *within_scope(checkpoint),
        checkpoint.c.committed_at <= INSTANT,
    )
    if named:
        return found.where(checkpoint.c.sequence == bindparam(_BY_SEQUENCE))
    if not frame.current:
        return found.where(checkpoint.c.sequence == _last_then())
    return found.order_by(checkpoint.c.sequence.desc()).limit(1)


@prepared
def _committed_then(frame: Frame) -> Executable:  # noqa: ARG001
    since = instant_rows()
    found = and_(
        checkpoint.c.execution_id == since.c.id,
        checkpoint.c.committed_at == since.c.moment,
        checkpoint.c.erasure.is_(None),
        *within_scope(checkpoint),
    )
    return select(since.c.id, *_COLUMNS).select_from(drive(since, (checkpoint, found)))


@prepared
def _with_token(frame: Frame) -> Executable:  # noqa: ARG001 (of the present)
    return select(*_COLUMNS).where(
        checkpoint.c.execution_id == bindparam("execution"),
        has_key(checkpoint.c.token, bindparam("token", type_=Text)),
        *within_scope(checkpoint),
    )


@prepared
def _with_token_then(frame: Frame) -> Executable:  # noqa: ARG001 (the same in every frame)
    return select(*_COLUMNS).where(
        checkpoint.c.execution_id == execution_called(),
        has_key(checkpoint.c.token, bindparam("token", type_=Text)),
        *within_scope(checkpoint),
        aside(checkpoint.c.committed_at) <= INSTANT,
    )


@prepared
def _page(frame: Frame) -> Executable:
    found = select(*_COLUMNS).where(
        checkpoint.c.execution_id == execution_called(),
        *within_scope(checkpoint),
        checkpoint.c.committed_at <= INSTANT,
        checkpoint.c.sequence < bindparam("before"),
        checkpoint.c.erasure.is_(None),
    )
    if not frame.current:
        found = found.where(checkpoint.c.sequence <= _last_then())
    return found.order_by(checkpoint.c.sequence.desc()).limit(bindparam("rows"))
