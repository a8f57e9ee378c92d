"""The whole chain of an execution as it is stored, sound or not; and what retention takes off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, Executable, bindparam, delete, func, insert, select

from retrograph.rules.anchor import Anchor, anchor_hash
from retrograph.rules.chain import ChainCheck, Stored
from retrograph.rules.limits import MAX_ID
from retrograph.storage.checkpoints import NAMES, link_of
from retrograph.storage.executions import execution_called, sequence_by
from retrograph.storage.prepared import Frame, fetch, prepared, within_scope
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.stored_text import stored_text
from retrograph.storage.tables import Moment, checkpoint, checkpoint_anchor
from retrograph.storage.write import Write

ROWS = 32
"""Rows read at a time: a payload may take 1 MB."""
Signed = tuple[Anchor, str]
"""An anchor and its stored hash."""

_TEXTS = frozenset(
    {
        "session",
        "state_node",
        "schema_version",
        "token",
        "based_on",
        "previous_hash",
        "hash",
        "erasure",
    }
)  # fmt: skip
_ANCHOR = (
    "sequence", "checkpoint_hash", "began_at", "committed_at", "removed_at", "removed_by",
    "reason", "previous_hash",
)  # fmt: skip


def chain_rows(s: Snapshot, execution: int, key: str, after: int, rows: int) -> list[Stored]:
    """The next rows of the chain of an execution, called `key`, behind a sequence."""
    found = fetch(s, _rows, execution=execution, after=after, rows=rows)
    return [_stored(s, key, row) for row in found]


def walk_chain(
    s: Snapshot, execution: int, key: str, check: ChainCheck, last: int = MAX_ID
) -> None:
    """Lets `check` take in the chain of an execution, called `key`, from its head on to `last`."""
    while check.fault is None and check.head.sequence < last:
        rows = chain_rows(
            s, execution, key, check.head.sequence, min(ROWS, last - check.head.sequence)
        )
        check.take(rows)
        if len(rows) < ROWS:
            return


def anchors_of(s: Snapshot, execution: int, key: str) -> list[Signed]:
    """The anchors of an execution, called `key`, oldest first."""
    return [_signed(s, key, row) for row in fetch(s, _anchors, execution=execution)]


def last_anchor(s: Snapshot, key: str) -> Signed | None:
    """The last anchor of the execution called `key` at the instant, whenever it was made."""
    rows = fetch(s, _last_anchor, key=key)
    return _signed(s, key, rows[0]) if rows else None


def last_older(s: Snapshot, execution: int, instant: int) -> int:
    """The last sequence of an execution that was committed before an instant; 0 for none."""
    rows = fetch(s, _last_older, execution=execution, by=instant - 1)
    return rows[0][0] if rows else 0


def count_up_to(s: Snapshot, execution: int, sequence: int) -> int:
    """How many checkpoints of an execution are there up to a sequence."""
    count: int = fetch(s, _count, execution=execution, sequence=sequence)[0][0]
    return count


def cast_anchor(write: Write, execution: int, anchor: Anchor) -> str:
    """Removes the checkpoints up to the anchor, which stays for them; returns its hash."""
    s, made = write.snapshot, anchor_hash(anchor)
    row = {name: getattr(anchor, name) for name in _ANCHOR}
    scope = {"execution_id": execution, "tenant_id": s.tenant_id, "fleet_id": s.fleet_id}
    s.connection.execute(insert(checkpoint_anchor), row | scope | {"hash": made})
    s.connection.execute(
        delete(checkpoint).where(
            checkpoint.c.execution_id == execution,
            checkpoint.c.sequence <= anchor.sequence,
            checkpoint.c.tenant_id == s.tenant_id,
            checkpoint.c.fleet_id == s.fleet_id,
        )
    )
    return made


def _stored(s: Snapshot, key: str, row: Sequence[Any]) -> Stored:
    sequence, stored, erasure = row[0], row[NAMES.index("hash")], row[NAMES.index("erasure")]
    try:
        link, _ = link_of(s, key, row)
    except ValueError:
        return Stored(sequence, stored, None, erasure)
    return Stored(sequence, stored, link, erasure)


def _signed(s: Snapshot, key: str, row: Sequence[Any]) -> Signed:
    *values, stored = row
    fields = dict(zip(_ANCHOR, values, strict=True))
    return Anchor(tenant_id=s.tenant_id, fleet_id=s.fleet_id, execution_id=key, **fields), stored


def _anchor_columns() -> list[Any]:
    texts = {"checkpoint_hash", "removed_by", "reason", "previous_hash", "hash"}
    columns = [checkpoint_anchor.c[name] for name in (*_ANCHOR, "hash")]
    return [stored_text(each) if each.name in texts else each for each in columns]


@prepared
def _rows(frame: Frame) -> Executable:  # noqa: ARG001 (of the present)
    columns = [checkpoint.c[name] for name in NAMES]
    return (
        select(*(stored_text(each) if each.name in _TEXTS else each for each in columns))
        .where(
            checkpoint.c.execution_id == bindparam("execution"),
            checkpoint.c.sequence > bindparam("after"),
            *within_scope(checkpoint),
        )
        .order_by(checkpoint.c.sequence)
        .limit(bindparam("rows"))
    )


@prepared
def _anchors(frame: Frame) -> Executable:  # noqa: ARG001
    return (
        select(*_anchor_columns())
        .where(
            checkpoint_anchor.c.execution_id == bindparam("execution"),
            *within_scope(checkpoint_anchor),
        )
        .order_by(checkpoint_anchor.c.sequence)
    )


@prepared
def _last_anchor(frame: Frame) -> Executable:  # noqa: ARG001
    return (
        select(*_anchor_columns())
        .where(
            checkpoint_anchor.c.execution_id == execution_called(),
            *within_scope(checkpoint_anchor),
        )
        .order_by(checkpoint_anchor.c.sequence.desc())
        .limit(1)
    )


@prepared
def _last_older(frame: Frame) -> Executable:  # noqa: ARG001
    by = bindparam("by", type_=Moment)
    return sequence_by(by, bindparam("execution", type_=BigInteger))


@prepared
def _count(frame: Frame) -> Executable:  # noqa: ARG001
    return select(func.count()).where(
        checkpoint.c.execution_id == bindparam("execution"),
        checkpoint.c.sequence <= bindparam("sequence"),
        *within_scope(checkpoint),
    )
