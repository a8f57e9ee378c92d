"""The edges at nodes, each node at its instant: what it brings along or takes with it.

Broken edges are among them, but no loops.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Executable, FromClause, Select, bindparam, select, union_all

from retrograph.storage.aside import aside
from retrograph.storage.driven import drive
from retrograph.storage.id_set import Place, instant_rows
from retrograph.storage.prepared import Frame, fetch, prepared, scoped
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import edge


def edges_beside(
    s: Snapshot, nodes: Collection[Place], after: int, rows: int
) -> list[tuple[int, int, int]]:
    """(instant, node, edge) for each edge at a node, in this order; one statement.

    Of every node only those with an id behind `after`. No instant may be later than the snapshot's.
    """
    if not nodes:
        return []
    found = fetch(s, _beside, since=nodes, after=after, rows=rows)
    return [(at, node, id) for at, node, id in found]


@prepared
def _beside(frame: Frame) -> Executable:  # noqa: ARG001 (the same in every frame)
    since, now, closed = instant_rows(), edge.current, edge.history
    then = since.c.period
    selects = [
        _at(since, table, end).where(*visible)
        for table, visible in (
            (now, [aside(now.c.valid_from) <= then]),
            (closed, [closed.c.valid_from <= then, closed.c.valid_to > then]),
        )
        for end in (table.c.source_id, table.c.target_id)
    ]
    return union_all(*selects).order_by("at", "near", "id").limit(bindparam("rows"))


def _at(since: FromClause, table: FromClause, end: ColumnElement[int]) -> Select[Any]:
    return (
        select(since.c.moment.label("at"), since.c.id.label("near"), table.c.id.label("id"))
        .select_from(drive(since, (table, end == since.c.id)))
        .where(*scoped(table), table.c.source_id != table.c.target_id)
        .where(aside(table.c.id) > bindparam("after"))
    )
