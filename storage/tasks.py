"""Tasks as of an instant: found by id or by node, listed, and what blocks them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Executable, FromClause, Select, bindparam, case, select

from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.limits import MIN_ID
from retrograph.storage.as_of import Arm, over_arms, paired_keyed_arms
from retrograph.storage.driven import drive
from retrograph.storage.edges import neighbours
from retrograph.storage.filters import TaskFilter
from retrograph.storage.id_set import Place, id_rows, instant_rows
from retrograph.storage.open_work import is_open
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.records import Direction, Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import task
from retrograph.storage.task_records import TaskRecord, TaskStatus

_COLUMNS = (
    "id",
    "node_id",
    "run_id",
    "run_ordinal",
    "opened_at",
    "component_id",
    "priority",
    "status",
    "attempt",
    "due_at",
    "leased_by",
    "lease_token",
    "claimed_at",
    "valid_from",
)
_PASSING = (TaskStatus.LEASED, TaskStatus.BACKING_OFF)
"""Until `due_at`; from then on such a task is ready."""


def tasks_by_id(s: Snapshot, ids: Collection[int]) -> dict[int, TaskRecord]:
    """Those of `ids` that are tasks of the fleet and were opened by the instant."""
    return {row[0]: _record(s, row) for row in fetch(s, _by_id, ids=ids)} if ids else {}


def tasks_then(s: Snapshot, places: Collection[Place]) -> dict[Place, TaskRecord]:
    """Those of `places` where there was a task, each as of its own instant, by one statement.

    No instant may be later than the snapshot's.
    """
    if not places:
        return {}
    rows = fetch(s, _by_id_then, since=places)
    return {(row[1], row[0]): _record(replace(s, instant=row[0]), row[1:]) for row in rows}


def open_tasks_at(s: Snapshot, node_ids: Collection[int]) -> dict[int, TaskRecord]:
    """The open tasks of those nodes that have one at the instant, by node."""
    if not node_ids:
        return {}
    return {row[1]: _record(s, row) for row in fetch(s, _open_of, ids=node_ids)}


def page_tasks(s: Snapshot, filter: TaskFilter, first: int, after: int | None) -> Page[TaskRecord]:
    """The tasks that pass the filter, by ascending id, after the id `after`."""
    rows = fetch(
        s,
        _page,
        filter.status is not None,
        filter.node_id is not None,
        status=None if filter.status is None else sorted(map(int, filter.status)),
        node_id=filter.node_id,
        after=MIN_ID if after is None else after,
        rows=first + 1,
    )
    return page_of(s, [_record(s, row) for row in rows], first)


def blocking(s: Snapshot, tasks: Collection[TaskRecord]) -> dict[int, list[TaskRecord]]:
    """The open tasks that each task waits for directly, by its id; three statements for all.

    A circle of tasks becomes ready as one: what is in the same circle doesn't count.
    """
    waiting = {each.node_id for each in tasks if each.status is TaskStatus.WAITING}
    near = neighbours(s, waiting, Direction.DEPENDENCIES, PROPAGATING)
    found = open_tasks_at(s, {far for pairs in near.values() for _, far in pairs})
    return {each.id: _outside(each, near.get(each.node_id, ()), found) for each in tasks}


def _outside(
    waiting: TaskRecord, near: Sequence[tuple[int, int]], found: Mapping[int, TaskRecord]
) -> list[TaskRecord]:
    sources = {far for _, far in near if far in found}
    others = (found[each] for each in sources)
    return sorted(
        (each for each in others if each.component_id != waiting.component_id),
        key=lambda each: each.id,
    )


def _record(s: Snapshot, row: Sequence[Any]) -> TaskRecord:
    values = dict(zip(_COLUMNS, row, strict=True))
    status, due_at = TaskStatus(values.pop("status")), values.pop("due_at")
    if status in _PASSING and due_at is not None and due_at <= s.instant:
        status = TaskStatus.READY
        values |= {"leased_by": None, "lease_token": None, "claimed_at": None}
        due_at = None
    return TaskRecord(
        tenant_id=s.tenant_id,
        fleet_id=s.fleet_id,
        status=status,
        due_at=due_at,
        as_of=s.instant,
        **values,
    )


@prepared
def _by_id(frame: Frame) -> Executable:
    ids = id_rows()
    return _of_ids(ids, ids.c.value, frame.keyed_arms(task, ids.c.value))


@prepared
def _by_id_then(frame: Frame) -> Executable:  # noqa: ARG001 (the same in every frame)
    since = instant_rows()
    found = paired_keyed_arms(task, since.c.period, since.c.id, current=False)
    return _of_ids(since, since.c.id, found, since.c.moment)


def _of_ids(
    source: FromClause, id: ColumnElement[int], found: list[Arm], *before: ColumnElement[Any]
) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        joined = drive(source, (arm.table, arm.c.id == id))
        return select(*before, *_columns(arm)).select_from(joined).where(*within_scope(arm))

    return over_arms(found, build)


@prepared
def _open_of(frame: Frame) -> Executable:
    ids = id_rows()

    def build(arm: Arm) -> Select[Any]:
        joined = drive(ids, (arm.table, arm.c.node_id == ids.c.value))
        chosen = select(*_columns(arm)).select_from(joined)
        return chosen.where(*scoped(arm), is_open(arm.table))

    return over_arms(frame.arms(task), build)


@prepared
def _page(frame: Frame, by_status: bool, by_node: bool) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        chosen = select(*_columns(arm)).where(*scoped(arm), arm.c.id > bindparam("after"))
        return chosen.where(*_conditions(arm, by_status, by_node))

    return over_arms(frame.arms(task), build).order_by("id").limit(bindparam("rows"))


def _conditions(arm: Arm, by_status: bool, by_node: bool) -> Iterator[ColumnElement[bool]]:
    if by_status:
        passing = arm.c.status.in_([int(each) for each in _PASSING])
        over = passing & (arm.c.due_at <= INSTANT)
        shown = case((over, int(TaskStatus.READY)), else_=arm.c.status)
        yield shown.in_(bindparam("status", expanding=True))
    if by_node:
        yield arm.c.node_id == bindparam("node_id")


def _columns(arm: Arm) -> list[ColumnElement[Any]]:
    return [arm.c[name] for name in _COLUMNS]
