"""How versions of rows are opened and closed: one law for every versioned table.

A row that is written again at the instant at which its version began is overwritten: a version
of no length is never kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import BigInteger, Insert, Table, Update, bindparam, insert, select, update

from retrograph.storage.bulk import insert_rows
from retrograph.storage.id_set import id_rows
from retrograph.storage.prepared import scoped
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
    names = tuple(name for name in [*rows[0], *stamp] if name != "id")
    scope = {"the_tenant": snapshot.tenant_id, "the_fleet": snapshot.fleet_id}
    values = [{name: (row | stamp)[name] for name in names} | scope for row in rows]
    for row, told in zip(rows, values, strict=True):
        told["the_id"] = row["id"]
    if len(values) == 1:
        snapshot.profile.send(snapshot.connection, _updating(table, names), values[0])
    else:
        snapshot.connection.execute(_updating(table, names), values)


@lru_cache(maxsize=256)
def _updating(table: Table, names: tuple[str, ...]) -> Update:
    """Sets some columns of a row that is named by `the_id`."""
    return (
        update(table)
        .where(
            table.c.id == bindparam("the_id"),
            table.c.tenant_id == bindparam("the_tenant"),
            table.c.fleet_id == bindparam("the_fleet"),
        )
        .values({name: bindparam(name) for name in names})
    )


def end(snapshot: Snapshot, versioned: Versioned, ids: list[int]) -> None:
    """Closes the open versions of `ids` and opens none."""
    snapshot.profile.keep_history(snapshot, versioned, ids)
    delete_named(snapshot, versioned.current.c.id, ids)


def copy_to_history(snapshot: Snapshot, versioned: Versioned, ids: list[int]) -> None:
    """Copies the open versions of `ids` to the history, closed at the snapshot's instant."""
    scope = {"tenant_id": snapshot.tenant_id, "fleet_id": snapshot.fleet_id}
    values = {"ids": ids, "instant": snapshot.instant, **scope}
    snapshot.profile.send(snapshot.connection, _copying(versioned), values)


@lru_cache(maxsize=64)
def _copying(versioned: Versioned) -> Insert:
    table, closed = versioned.current, versioned.history
    names = [column.name for column in table.columns]
    instant = bindparam("instant", type_=BigInteger)
    source = select(*table.columns, instant).where(
        table.c.id.in_(select(id_rows().c.value)),
        *scoped(table),
        table.c.valid_from < instant,
    )
    return insert(closed).from_select([*names, "valid_to"], source)
