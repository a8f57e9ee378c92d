"""How much is open of a fleet's revalidation: what a monitor watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Executable, bindparam, case, func, select

from retrograph.storage.prepared import Frame, fetch, prepared, scoped
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import task
from retrograph.storage.task_records import LAST_OPEN, TaskStatus

_NOW: ColumnElement[int] = bindparam("now")


@dataclass(frozen=True, slots=True)
class Queue:
    """The open tasks of one status: how many, and when the oldest was opened (UTC microseconds)."""

    depth: int = 0
    oldest: int | None = None

    def __add__(self, other: Queue) -> Queue:
        opened = [each.oldest for each in (self, other) if each.oldest is not None]
        return Queue(self.depth + other.depth, min(opened, default=None))


def open_queues(s: Snapshot, now: int) -> Mapping[TaskStatus, Queue]:
    """The queues of the present, by status; what was leased or put off until `now` is ready.

    `now` is the machine's: a fleet's own clock stands still while nothing is written.
    """
    found = dict.fromkeys(TaskStatus, Queue())
    for status, depth, oldest, late, oldest_late in fetch(s, _by_status, now=now):
        found[TaskStatus.READY] += Queue(late, oldest_late)
        if depth > late:
            found[TaskStatus(status)] += Queue(depth - late, oldest)
    return {status: queue for status, queue in found.items() if status <= LAST_OPEN}


@prepared
def _by_status(frame: Frame) -> Executable:  # noqa: ARG001 (the present alone)
    row = task.current.c
    late = row.due_at <= _NOW
    return (
        select(
            row.status,
            func.count(),
            func.min(case((late, None), else_=row.opened_at)),
            func.coalesce(func.sum(case((late, 1), else_=0)), 0),
            func.min(case((late, row.opened_at), else_=None)),
        )
        .where(*scoped(task.current), row.status <= LAST_OPEN)
        .group_by(row.status)
    )
