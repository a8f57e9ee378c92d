"""Executions: found by the names that callers gave them, as of an instant.

A name may be used again once its execution was deleted, so at any instant it means one at most.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlalchemy import (
    ColumnElement,
    Executable,
    ScalarSelect,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import Text

from retrograph.rules.checkpoint_errors import CheckpointDamaged
from retrograph.rules.limits import MIN_ID
from retrograph.storage.aside import aside, out_of_order
from retrograph.storage.checkpoint_records import ExecutionRecord, Life, Span, Standing
from retrograph.storage.driven import drive
from retrograph.storage.filters import after_prefix
from retrograph.storage.has_key import has_key
from retrograph.storage.id_set import key_rows
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.records import Page
from retrograph.storage.same_text import key_has_prefix
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.stored_text import stored_text
from retrograph.storage.tables import checkpoint, execution, execution_step
from retrograph.storage.write import Write, take_ids

KEY = "key"
"""The parameter of `execution_called`: the execution's name."""


def execution_called() -> ScalarSelect[int]:
    """The number of the execution that the parameter `KEY` names at the instant."""
    return (
        select(execution.c.id)
        .where(
            *scoped(execution),
            has_key(execution.c.key, bindparam(KEY, type_=Text)),
            execution.c.created_at <= INSTANT,
            _not_gone(),
        )
        .order_by(execution.c.created_at.desc())
        .limit(1)
        .scalar_subquery()
    )


def sequence_by(
    instant: ColumnElement[int], number: ColumnElement[int] | ScalarSelect[int]
) -> Select[tuple[int]]:
    """The sequence of the last checkpoint of an execution that was committed by an instant.

    By one seek: within an execution sequences and instants grow together.
    """
    last = checkpoint.alias("last")
    return (
        select(last.c.sequence)
        .where(last.c.execution_id == number, last.c.committed_at <= instant, *within_scope(last))
        .order_by(last.c.committed_at.desc())
        .limit(1)
    )


def lives_of(s: Snapshot, keys: Collection[str]) -> list[Life]:
    """All executions that ever had one of these names, each with its number."""
    rows = fetch(s, _lives, keys=keys)
    return [Life(*row) for row in rows]


def execution_names(s: Snapshot, rows: int, after: int | None) -> list[tuple[int, str]]:
    """The numbers and names of the executions of the present, by number, behind a number."""
    found = fetch(s, _names, after=MIN_ID if after is None else after, rows=rows)
    return [(number, name) for number, name in found]


def execution_spans(s: Snapshot, rows: int, after: int | None) -> list[Span]:
    """What is left of the chains of the present, by their executions' numbers, behind a number.

    Where there is no checkpoint, both sequences are 0.
    """
    found = fetch(s, _spans, after=MIN_ID if after is None else after, rows=rows)
    return [Span(number, name, first or 0, last or 0) for number, name, first, last in found]


def page_executions(
    s: Snapshot, prefix: str | None, first: int, after: int | None
) -> Page[ExecutionRecord]:
    """The executions that were there at the instant, by number, behind a number.

    Those whose names begin with `prefix`, or all.
    """
    following = None if prefix is None else after_prefix(prefix)
    values = {"least_key": prefix or None, "next_key": following}
    given = {name: value for name, value in values.items() if value is not None}
    behind = MIN_ID if after is None else after
    rows = fetch(s, _list, frozenset(given), **given, after=behind, rows=first + 1)
    return page_of(s, [_execution(s, *row) for row in rows], first)


def find_standing(s: Snapshot, key: str) -> Standing | None:
    """Where the execution of that name stands at present."""
    rows = fetch(s, _standing, key=key)
    return Standing(rows[0][0], rows[0][1] or 0, rows[0][2]) if rows else None


def when_begun(s: Snapshot, number: int) -> int | None:
    """When an execution of the present began, by its own row.

    None where that row tells of a deletion that is none.
    """
    ((began, *ended),) = fetch(s, _own_row, execution=number)
    return None if any(each is not None for each in ended) else began


def open_execution(write: Write, key: str) -> Standing:
    """Begins an execution, whose name must be free.

    Raises `CheckpointDamaged` where one of that name is stored that can't be found: no clock of
    this program gave it the instant that it is said to begin at.
    """
    s, number = write.snapshot, take_ids(write, "execution", 1)[0]
    row = {
        "id": number,
        "tenant_id": s.tenant_id,
        "fleet_id": s.fleet_id,
        "key": key,
        "created_at": write.instant,
    }
    try:
        s.connection.execute(insert(execution), row)
    except IntegrityError as error:
        raise CheckpointDamaged(
            f"An execution {key!r} is stored that begins in the future: somebody has changed it. "
            "Bring the database back from a copy, or take another name."
        ) from error
    return Standing(number)


def end_execution(write: Write, number: int, by: str, reason: str, *, purge: bool) -> None:
    """Takes an execution out of the present; with `purge` its rows go for good."""
    s = write.snapshot
    ended = {"deleted_at": write.instant, "deleted_by": by, "deletion_reason": reason}
    s.connection.execute(
        update(execution)
        .where(
            execution.c.id == number,
            execution.c.tenant_id == s.tenant_id,
            execution.c.fleet_id == s.fleet_id,
        )
        .values(ended | {"purged_at": write.instant if purge else None})
    )
    for table in (checkpoint, execution_step) if purge else ():
        s.connection.execute(
            delete(table).where(
                table.c.execution_id == number,
                table.c.tenant_id == s.tenant_id,
                table.c.fleet_id == s.fleet_id,
            )
        )


def is_purged(s: Snapshot, key: str) -> bool:
    """Whether the rows of the execution called `key` at the instant have gone for good since."""
    return bool(fetch(s, _purged, key=key))


def _execution(s: Snapshot, id: int, key: str, began: int, head: int | None) -> ExecutionRecord:
    return ExecutionRecord(id, key, began, head or 0, s.instant)


def _not_gone() -> ColumnElement[bool]:
    gone = execution.c.deleted_at
    return or_(gone.is_(None), gone > INSTANT)


@prepared
def _list(frame: Frame, given: frozenset[str]) -> Executable:
    """Driven by the range of names where one is given: it leads to fewer than the order does."""
    least, following = (bindparam(name, type_=Text) for name in ("least_key", "next_key"))
    prefixed = key_has_prefix(execution.c.key, least, following if "next_key" in given else None)
    named = "least_key" in given
    number = out_of_order(execution.c.id) if named else execution.c.id
    current = _sequence(func.max)
    newest = current if frame.current else sequence_by(INSTANT, execution.c.id).scalar_subquery()
    return (
        select(execution.c.id, execution.c.key, execution.c.created_at, newest)
        .where(*scoped(execution), number > bindparam("after"), *([prefixed] if named else []))
        .where(aside(execution.c.created_at) <= INSTANT, _not_gone())
        .order_by(number)
        .limit(bindparam("rows"))
    )


def _sequence(
    which: Callable[[ColumnElement[int]], ColumnElement[int]],
) -> ScalarSelect[int]:
    """The first or last sequence of an execution's checkpoints."""
    return (
        select(which(checkpoint.c.sequence))
        .where(checkpoint.c.execution_id == execution.c.id, *within_scope(checkpoint))
        .correlate(execution)
        .scalar_subquery()
    )


@prepared
def _spans(frame: Frame) -> Executable:  # noqa: ARG001 (of the present)
    key = stored_text(execution.c.key)
    return (
        select(execution.c.id, key, _sequence(func.min), _sequence(func.max))
        .where(
            *scoped(execution),
            execution.c.id > bindparam("after"),
            execution.c.deleted_at.is_(None),
        )
        .order_by(execution.c.id)
        .limit(bindparam("rows"))
    )


@prepared
def _names(frame: Frame) -> Executable:  # noqa: ARG001 (of the present)
    return (
        select(execution.c.id, stored_text(execution.c.key))
        .where(
            *scoped(execution),
            execution.c.id > bindparam("after"),
            execution.c.deleted_at.is_(None),
        )
        .order_by(execution.c.id)
        .limit(bindparam("rows"))
    )


@prepared
def _lives(frame: Frame) -> Executable:  # noqa: ARG001 (of all times)
    keys = key_rows()
    named = and_(*scoped(execution), has_key(execution.c.key, keys.c.value))
    told = (execution.c.id, execution.c.key, execution.c.created_at, execution.c.deleted_at)
    return select(*told).select_from(drive(keys, (execution, named)))


@prepared
def _own_row(frame: Frame) -> Executable:  # noqa: ARG001 (of the present)
    told = (execution.c.deleted_by, execution.c.deletion_reason)
    return select(
        execution.c.created_at,
        execution.c.deleted_at,
        execution.c.purged_at,
        *(stored_text(each) for each in told),
    ).where(execution.c.id == bindparam("execution"), *within_scope(execution))


@prepared
def _purged(frame: Frame) -> Executable:  # noqa: ARG001 (the same in every frame)
    return select(execution.c.id).where(
        *scoped(execution),
        execution.c.id == execution_called(),
        execution.c.purged_at.is_not(None),
    )


@prepared
def _standing(frame: Frame) -> Executable:  # noqa: ARG001 (of the present)
    newest = checkpoint.alias("newest")
    last = (
        select(func.max(newest.c.sequence))
        .where(newest.c.execution_id == execution.c.id, *within_scope(newest))
        .correlate(execution)
        .scalar_subquery()
    )
    head = and_(
        checkpoint.c.execution_id == execution.c.id,
        checkpoint.c.sequence == last,
        *within_scope(checkpoint),
    )
    return (
        select(execution.c.id, checkpoint.c.sequence, stored_text(checkpoint.c.hash))
        .select_from(execution.outerjoin(checkpoint, head))
        .where(*scoped(execution), execution.c.id == execution_called())
    )
