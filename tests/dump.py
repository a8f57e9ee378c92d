"""All rows of a store, so that a test can say: nothing at all has changed."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Table

from retrograph.storage.rewinds import REWOUND
from retrograph.storage.store import Store
from retrograph.storage.tables import id_sequence, metadata
from tests.rows import rows

TENANTS = (1, 2, 7, 9)
Rows = list[tuple[Any, ...]]


def rows_of(connection: Connection, table: Table, scope: tuple[int, int] | None = None) -> Rows:
    """Every row of a table, or of one tenant's fleet, in the order of its columns."""
    return sorted((tuple(row) for row in rows(connection, table, scope)), key=repr)


def dump(store: Store) -> dict[str, Rows]:
    """Every row of every table as it is committed, the clocks included.

    Not the id sequences: an engine may lose the ids that a refused write has drawn.  Where no
    session sees the rows of all tenants, every fleet of the tenants that tests know.
    """
    if store._profile.name == "mssql":
        fleets = [(tenant, fleet) for tenant in TENANTS for fleet in store.fleet_ids(tenant)]
        return {str(each): [tuple(dump_fleet(store, *each).items())] for each in fleets}
    with store.read(1, 1) as snapshot:
        return {
            table.name: rows_of(snapshot.connection, table)
            for table in metadata.tables.values()
            if table is not id_sequence
        }


def dump_fleet(store: Store, tenant: int, fleet: int) -> dict[str, Rows]:
    """Every row of one fleet, its clock included."""
    with store.read(tenant, fleet) as snapshot:
        return {
            table.name: rows_of(snapshot.connection, table, (tenant, fleet))
            for table in metadata.tables.values()
            if "fleet_id" in table.c
        }


def present_of(store: Store, tenant: int, fleet: int) -> dict[str, Rows]:
    """What a rewind sets back, as it is now, without the instants at which the versions began."""
    with store.read(tenant, fleet) as s:
        found: dict[str, Rows] = {}
        for name, versioned in REWOUND.items():
            table = versioned.current
            found[name] = [
                tuple(value for key, value in row._asdict().items() if key != "valid_from")
                for row in sorted(rows(s.connection, table, (tenant, fleet)), key=attrgetter("id"))
            ]
        return found
