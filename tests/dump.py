"""All rows of a store, so that a test can say: nothing at all has changed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table, select

from retrograph.storage.rewinds import REWOUND
from retrograph.storage.store import Store
from retrograph.storage.tables import id_sequence, metadata

TENANTS = (1, 2, 7, 9)
Rows = list[tuple[Any, ...]]


def rows_of(connection: Connection, table: Table, scope: tuple[int, int] | None = None) -> Rows:
    """Every row of a table, or of one tenant's fleet, in the order of its columns."""
    wanted = select(table)
    if scope is not None:
        wanted = wanted.where(table.c.tenant_id == scope[0], table.c.fleet_id == scope[1])
    return sorted((tuple(row) for row in connection.execute(wanted)), key=repr)


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
            columns = [each for each in table.columns if each.name != "valid_from"]
            wanted = select(*columns).where(table.c.tenant_id == tenant, table.c.fleet_id == fleet)
            rows = s.connection.execute(wanted.order_by(table.c.id))
            found[name] = [tuple(row) for row in rows]
        return found
