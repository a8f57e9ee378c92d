"""Leases: what may be claimed now, and who holds it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Executable, Select, bindparam, or_, select

from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage.gates import gates
from retrograph.storage.open_work import is_in, is_open, open_tasks
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import edge, node_content, node_state, task
from retrograph.storage.task_records import TaskRecord, TaskStatus
from retrograph.storage.versions import open_next
from retrograph.storage.write import Write

_table = task.current
_SKIP_LOCKED = "WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)"
"""What `FOR UPDATE SKIP LOCKED` is called in T-SQL."""


def claimable(write: Write, limit: int) -> list[int]:
    """The ids of the ready tasks of the highest priority; among equals the oldest first."""
    s = write.snapshot
    due = fetch(s, _due, rows=limit)
    shut = {row[0] for row in due if row[3] is not None and _is_shut(write, row[2], row[3])}
    for row in due:
        if row[0] in shut:
            put_back(write, row[0], TaskStatus.WAITING, attempt=row[4])
    rows = [*fetch(s, _ready, rows=limit), *(row for row in due if row[0] not in shut)]
    return [row[0] for row in sorted(rows, key=lambda row: (-row[1], row[0]))[:limit]]


def _is_shut(write: Write, node_id: int, since: int) -> bool:
    """Whether a node must wait since what it rests on fell anew after its task was claimed.

    That is: a task has opened before it, and something blocks its component.
    """
    s = write.snapshot
    if not fetch(s, _opened_before, node_id=node_id, since=since):
        return False
    return bool(gates(write, [open_tasks(s, [node_id])[node_id].component_id]))


def release_lease(write: Write, held: TaskRecord, attempt: int) -> bool:
    """Takes a lease away; returns whether the task is ready, or waits again for what fell anew."""
    ready = not _is_shut(write, held.node_id, held.claimed_at or write.instant)
    put_back(write, held.id, TaskStatus.READY if ready else TaskStatus.WAITING, attempt=attempt)
    return ready


def lease(write: Write, tokens: dict[int, str], worker: str, microseconds: int) -> None:
    """Leases tasks to a worker, each under its token."""
    rows = [
        {
            "id": task_id,
            "status": int(TaskStatus.LEASED),
            "due_at": write.instant + microseconds,
            "leased_by": worker,
            "lease_token": token,
            "claimed_at": write.instant,
        }
        for task_id, token in tokens.items()
    ]
    open_next(write.snapshot, task, rows)


def extend(write: Write, task_id: int, microseconds: int) -> None:
    """Lets a lease end later, counted from now."""
    open_next(write.snapshot, task, [{"id": task_id, "due_at": write.instant + microseconds}])


def put_back(
    write: Write,
    task_id: int,
    status: TaskStatus,
    *,
    attempt: int,
    due_at: int | None = None,
) -> None:
    """Takes a lease away; the task is then ready, backing off until `due_at`, or a dead letter."""
    row = {
        "id": task_id,
        "status": int(status),
        "attempt": attempt,
        "due_at": due_at,
        "leased_by": None,
        "lease_token": None,
        "claimed_at": None,
    }
    open_next(write.snapshot, task, [row])


def is_overtaken(s: Snapshot, node_id: int, since: int) -> bool:
    """Whether what the node rests on has changed after an instant: a source, or which these are."""
    return bool(fetch(s, _changed_sources, node_id=node_id, since=since)) or bool(
        fetch(s, _changed_edges, node_id=node_id, since=since)
    )


def dead_requirements(s: Snapshot, node_id: int) -> list[int]:
    """The sources that the node requires and that are dead, ascending."""
    return sorted(row[0] for row in fetch(s, _dead, node_id=node_id))


@prepared
def _ready(frame: Frame) -> Executable:  # noqa: ARG001 (writers read the present, here and below)
    chosen = _claim().where(is_in(_table, TaskStatus.READY))
    return chosen.order_by(_table.c.priority.desc(), _table.c.id).limit(bindparam("rows"))


@prepared
def _due(frame: Frame) -> Executable:  # noqa: ARG001
    passing = (int(TaskStatus.LEASED), int(TaskStatus.BACKING_OFF))
    chosen = _claim().where(_table.c.status.in_(passing), _table.c.due_at <= INSTANT)
    return chosen.order_by(_table.c.priority.desc(), _table.c.id).limit(bindparam("rows"))


def _claim() -> Select[Any]:
    return (
        select(
            _table.c.id,
            _table.c.priority,
            _table.c.node_id,
            _table.c.claimed_at,
            _table.c.attempt,
        )
        .where(*scoped(_table))
        .with_for_update(skip_locked=True)
        .with_hint(_table, _SKIP_LOCKED, "mssql")
    )


@prepared
def _opened_before(frame: Frame) -> Executable:  # noqa: ARG001
    edges = edge.current
    behind = (_table.c.node_id == edges.c.source_id) & is_open(_table)
    tenant, fleet = scoped(_table)
    return (
        select(edges.c.source_id)
        .select_from(edges.join(_table, behind & tenant & fleet))
        .where(*_into(), _table.c.opened_at > bindparam("since"))
        .limit(1)
    )


@prepared
def _changed_sources(frame: Frame) -> Executable:  # noqa: ARG001
    edges, states, contents = edge.current, node_state.current, node_content.current
    return (
        select(edges.c.source_id)
        .select_from(
            edges.join(states, states.c.id == edges.c.source_id).join(
                contents, contents.c.id == edges.c.source_id
            )
        )
        .where(*_into(), *within_scope(states), *within_scope(contents))
        .where(
            or_(
                edges.c.valid_from > bindparam("since"),
                states.c.valid_from > bindparam("since"),
                contents.c.valid_from > bindparam("since"),
            )
        )
        .limit(1)
    )


@prepared
def _changed_edges(frame: Frame) -> Executable:  # noqa: ARG001
    closed = edge.history
    return (
        select(closed.c.id)
        .where(
            *scoped(closed),
            closed.c.target_id == bindparam("node_id"),
            closed.c.type.in_(_numbers(PROPAGATING)),
            closed.c.valid_to > bindparam("since"),
            closed.c.valid_from <= bindparam("since"),
        )
        .limit(1)
    )


@prepared
def _dead(frame: Frame) -> Executable:  # noqa: ARG001
    edges, states = edge.current, node_state.current
    required = (EdgeType.REQUIRES, EdgeType.VALID_ONLY_WHEN)
    dead = (Validity.INVALID, Validity.SUPERSEDED)
    return (
        select(edges.c.source_id)
        .distinct()
        .select_from(edges.join(states, states.c.id == edges.c.source_id))
        .where(*_into(), edges.c.type.in_(_numbers(required)), *within_scope(states))
        .where(states.c.projected.in_(_numbers(dead)))
    )


def _into() -> Sequence[ColumnElement[bool]]:
    edges = edge.current
    return (
        *scoped(edges),
        edges.c.target_id == bindparam("node_id"),
        edges.c.source_id != edges.c.target_id,
        edges.c.type.in_(_numbers(PROPAGATING)),
    )


def _numbers(kinds: Collection[int]) -> list[int]:
    return [int(kind) for kind in kinds]
