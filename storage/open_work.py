"""Open tasks in the present of a write, and the edges between their nodes.

A few statements that begin at given nodes: what they cost doesn't grow with the number of tasks.
Only edges that propagate count, and only between two open tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Executable, FromClause, SmallInteger, literal_column, select

from retrograph.rules.edge_type import PROPAGATING
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows
from retrograph.storage.prepared import Frame, fetch, prepared, scoped
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import edge, task
from retrograph.storage.task_records import LAST_OPEN, TaskStatus

Pair = tuple[int, int]

_table = task.current
_TYPES = [int(kind) for kind in PROPAGATING]


@dataclass(frozen=True, slots=True)
class OpenTask:
    """An open task: its id and node, its component, its stored status and its priority."""

    id: int
    node_id: int
    component_id: int
    status: TaskStatus
    priority: int
    awaiting: bool


def any_open(s: Snapshot) -> bool:
    """Whether the fleet has an open task at all."""
    return bool(fetch(s, _any))


def all_open(s: Snapshot) -> dict[int, OpenTask]:
    """Every open task of the fleet, by node: for what touches all of them anyway."""
    return _by_node(fetch(s, _all))


def open_tasks(s: Snapshot, node_ids: Collection[int]) -> dict[int, OpenTask]:
    """The open tasks of those nodes that have one, by node."""
    return _by_node(fetch(s, _of_nodes, ids=node_ids)) if node_ids else {}


def members(s: Snapshot, components: Collection[int]) -> dict[int, OpenTask]:
    """The open tasks of components, by node."""
    return _by_node(fetch(s, _of_components, ids=components)) if components else {}


def edges_out(s: Snapshot, node_ids: Collection[int]) -> list[Pair]:
    """The (source, target) of every propagating edge out of the nodes, whatever its target."""
    return [(*row,) for row in fetch(s, _out, ids=node_ids)] if node_ids else []


def open_sources(s: Snapshot, node_ids: Collection[int]) -> list[Pair]:
    """The (source, target) of every edge into the nodes from one with an open task."""
    return [(*row,) for row in fetch(s, _from_open, ids=node_ids)] if node_ids else []


def open_targets(s: Snapshot, node_ids: Collection[int]) -> list[Pair]:
    """The (source, target) of every edge out of the nodes to one with an open task."""
    return [(*row,) for row in fetch(s, _to_open, ids=node_ids)] if node_ids else []


def _by_node(rows: Iterable[tuple[Any, ...]]) -> dict[int, OpenTask]:
    return {
        row[1]: OpenTask(row[0], row[1], row[2], TaskStatus(row[3]), row[4], bool(row[5]))
        for row in rows
    }


def is_open(tasks: FromClause) -> ColumnElement[bool]:
    """Whether a task is open; not bound, since partial indexes are chosen by these very words."""
    opened: ColumnElement[bool] = tasks.c.status <= literal_column(str(LAST_OPEN), SmallInteger)
    return opened


def is_in(tasks: FromClause, status: TaskStatus) -> ColumnElement[bool]:
    """Whether a task is stored in this status; not bound, for the same reason."""
    chosen: ColumnElement[bool] = tasks.c.status == literal_column(str(int(status)), SmallInteger)
    return chosen


_COLUMNS = (
    _table.c.id,
    _table.c.node_id,
    _table.c.component_id,
    _table.c.status,
    _table.c.priority,
    _table.c.awaiting,
)


@prepared
def _any(frame: Frame) -> Executable:  # noqa: ARG001 (writers read the present, here and below)
    return select(_table.c.id).where(*scoped(_table), is_open(_table)).limit(1)


@prepared
def _all(frame: Frame) -> Executable:  # noqa: ARG001
    return select(*_COLUMNS).where(*scoped(_table), is_open(_table))


@prepared
def _of_nodes(frame: Frame) -> Executable:  # noqa: ARG001
    ids = id_rows()
    tenant, fleet = scoped(_table)
    found = (_table.c.node_id == ids.c.value) & tenant & fleet & is_open(_table)
    return select(*_COLUMNS).select_from(drive(ids, (_table, found)))


@prepared
def _of_components(frame: Frame) -> Executable:  # noqa: ARG001
    ids = id_rows()
    tenant, fleet = scoped(_table)
    found = (_table.c.component_id == ids.c.value) & tenant & fleet & is_open(_table)
    return select(*_COLUMNS).select_from(drive(ids, (_table, found)))


@prepared
def _out(frame: Frame) -> Executable:  # noqa: ARG001
    ids, edges = id_rows(), edge.current
    tenant, fleet = scoped(edges)
    found = (edges.c.source_id == ids.c.value) & tenant & fleet
    return (
        select(edges.c.source_id, edges.c.target_id)
        .select_from(drive(ids, (edges, found)))
        .where(edges.c.type.in_(_TYPES), edges.c.target_id != edges.c.source_id)
    )


@prepared
def _from_open(frame: Frame) -> Executable:  # noqa: ARG001
    return _between(edge.current.c.target_id, edge.current.c.source_id)


@prepared
def _to_open(frame: Frame) -> Executable:  # noqa: ARG001
    return _between(edge.current.c.source_id, edge.current.c.target_id)


def _between(near: ColumnElement[int], far: ColumnElement[int]) -> Executable:
    ids, edges = id_rows(), edge.current
    tenant, fleet = scoped(edges)
    task_tenant, task_fleet = scoped(_table)
    return (
        select(edges.c.source_id, edges.c.target_id)
        .select_from(
            drive(
                ids,
                (edges, (near == ids.c.value) & tenant & fleet),
                (_table, (_table.c.node_id == far) & task_tenant & task_fleet & is_open(_table)),
            )
        )
        .where(edges.c.type.in_(_TYPES), edges.c.target_id != edges.c.source_id)
    )
