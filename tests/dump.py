"""All rows of a store, so that a test can say: nothing at all has changed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table, select

from retrograph.storage.store import Store
from retrograph.storage.tables import metadata

Rows = list[tuple[Any, ...]]


def rows_of(connection: Connection, table: Table) -> Rows:
    """Every row of a table, in the order of its columns."""
    return sorted((tuple(row) for row in connection.execute(select(table))), key=repr)


def dump(store: Store, tenant: int = 1, fleet: int = 1) -> dict[str, Rows]:
    """Every row of every table as it is committed, the clocks and the id sequences included."""
    with store.read(tenant, fleet) as snapshot:
        return {
            table.name: rows_of(snapshot.connection, table) for table in metadata.tables.values()
        }
