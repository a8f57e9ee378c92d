"""How versions of rows are opened and closed: one law for every versioned table.

A row that is written again at the instant at which its version began is overwritten: a version
of no length is never kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, bindparam, delete, insert, literal, select, update

from retrograph.storage.bulk import insert_rows
from retrograph.storage.id_set import id_set
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Versioned

Row = dict[str, Any]


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

    All rows name the same columns; what they leave out stays.
    """
    if not rows:
        return
    snapshot.profile.keep_history(snapshot, versioned, [row["id"] for row in rows])
    table = versioned.current
    statement = (
        update(table)
        .where(
            table.c.id == bindparam("the_id"),
            table.c.tenant_id == snapshot.tenant_id,
            table.c.fleet_id == snapshot.fleet_id,
        )
        .values({name: bindparam(name) for name in rows[0] if name != "id"})
    )
    if not snapshot.profile.fills_periods:
        statement = statement.values(valid_from=snapshot.instant)
    values = [{**row, "the_id": row["id"]} for row in rows]
    for row in values:
        del row["id"]
    snapshot.connection.execute(statement, values)


def end(snapshot: Snapshot, versioned: Versioned, ids: list[int]) -> None:
    """Closes the open versions of `ids` and opens none."""
    snapshot.profile.keep_history(snapshot, versioned, ids)
    table = versioned.current
    snapshot.connection.execute(
        delete(table).where(
            table.c.id.in_(id_set(ids)),
            table.c.tenant_id == snapshot.tenant_id,
            table.c.fleet_id == snapshot.fleet_id,
        )
    )


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
