"""Updates and deletes of rows that a list names: one statement, however long the list.

The list drives: planners must not read a fleet's rows and look each of them up in the list.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Column, ColumnElement, Table, delete, update

from retrograph.storage.aside import aside
from retrograph.storage.id_set import id_rows, id_set, pair_rows
from retrograph.storage.snapshot import Snapshot


def update_named(
    s: Snapshot, key: Column[int], ids: Collection[int], values: Mapping[str, Any]
) -> None:
    """Gives the same values to all rows of the fleet whose `key` is one of `ids`."""
    rows = id_rows("the_ids")
    statement = update(key.table).where(key == rows.c.value, *_of_fleet(s, key.table))
    s.connection.execute(statement.values(dict(values)), {"the_ids": list(ids)})


def update_paired(
    s: Snapshot, key: Column[int], column: Column[int], by: Mapping[int, int]
) -> None:
    """Gives each row of the fleet whose `key` is one of `by` the number that stands there."""
    rows = pair_rows("the_pairs")
    statement = update(key.table).where(key == rows.c.first, *_of_fleet(s, key.table))
    s.connection.execute(
        statement.values({column.name: rows.c.second}), {"the_pairs": list(by.items())}
    )


def delete_named(s: Snapshot, key: Column[int], ids: Collection[int]) -> None:
    """Deletes the rows of the fleet whose `key` is one of `ids`."""
    table = key.table
    # MariaDB turns a list into a join only where a DELETE could have several tables.
    statement = delete(table).prefix_with(table.name, dialect="mariadb")
    s.connection.execute(statement.where(key.in_(id_set(ids)), *_of_fleet(s, table)))


def _of_fleet(s: Snapshot, table: Table) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return aside(table.c.tenant_id) == s.tenant_id, aside(table.c.fleet_id) == s.fleet_id
