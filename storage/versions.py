"""How versions of rows are opened and closed: one law for every versioned table.

A row that is written again at the instant at which its version began is overwritten: a version
of no length is never kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Select, Table, bindparam, insert, literal, select, update

from retrograph.storage.bulk import insert_rows
from retrograph.storage.set_writes import delete_named, update_named
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Versioned

Row = dict[str, Any]

_MANY = 8
"""From so many rows alike on, one statement for all is faster than one for each."""


def open_new(snapshot: Snapshot, versioned: Versioned, rows: Sequence[Row]) -> None:
    """Opens first versions at the instant; `rows` hold ids and the table's own columns."""
    if not rows:
        return
    names = list(rows[0])
    columns = ["tenant_id", "fleet_id", "valid_from", *names]
    scope = (snapshot.tenant_id, snapshot.fleet_id, snapshot.instant)
    values = ((*scope, *(row[name] for name in names)) for row in rows)
    insert_rows(snapshot.connection, snapshot.profile, versioned.current.name, columns, values)


def open_next(snapshot: Snapshot, versioned: Versioned, rows: Sequence[Row]) -> None:
    """Closes the open versions of `rows` (by id) and opens the given ones at the instant.

    All rows name the same columns, in one order; what they leave out stays.
    """
    if not rows:
        return
    snapshot.profile.keep_history(snapshot, versioned, [row["id"] for row in rows])
    stamp = {} if snapshot.profile.fills_periods else {"valid_from": snapshot.instant}
    few: list[Row] = []
    for alike in _alike(rows):
        if len(alike) < _MANY:
            few += alike
        else:
            ids = [row["id"] for row in alike]
            told = {name: value for name, value in alike[0].items() if name != "id"}
            update_named(snapshot, versioned.current.c.id, ids, told | stamp)
    if few:
        _one_by_one(snapshot, versioned.current, few, stamp)


def _alike(rows: Sequence[Row]) -> Iterable[list[Row]]:
    """Rows that differ in nothing but their ids, together."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in row if name != "id"), []).append(row)
    return groups.values()


def _one_by_one(snapshot: Snapshot, table: Table, rows: list[Row], stamp: Row) -> None:
    names = [name for name in rows[0] if name != "id"]
    statement = (
        update(table)
        .where(
            table.c.id == bindparam("the_id"),
            table.c.tenant_id == snapshot.tenant_id,
            table.c.fleet_id == snapshot.fleet_id,
        )
        .values({name: bindparam(name) for name in names} | stamp)
    )
    values = [{"the_id": row["id"]} | {name: row[name] for name in names} for row in rows]
    snapshot.connection.execute(statement, values)


def end(snapshot: Snapshot, versioned: Versioned, ids: list[int]) -> None:
    """Closes the open versions of `ids` and opens none."""
    snapshot.profile.keep_history(snapshot, versioned, ids)
    delete_named(snapshot, versioned.current.c.id, ids)


def copy_to_history(snapshot: Snapshot, versioned: Versioned, ids: Select[Any]) -> None:
    """Copies the open versions of `ids` to the history, closed at the snapshot's instant."""
    table, closed = versioned.current, versioned.history
    names = [column.name for column in table.columns]
    source = select(*table.columns, literal(snapshot.instant)).where(
        table.c.id.in_(ids),
        table.c.tenant_id == snapshot.tenant_id,
        table.c.fleet_id == snapshot.fleet_id,
        table.c.valid_from < snapshot.instant,
    )
    snapshot.connection.execute(insert(closed).from_select([*names, "valid_to"], source))
