"""Fleets and their clocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from retrograph.storage.tables import fleet


class Times(NamedTuple):
    """A fleet's last committed instant, and that of its first write."""

    clock: int
    began: int


def read_times(
    connection: Connection, tenant_id: int, fleet_ids: Sequence[int]
) -> dict[int, Times]:
    """The times of each of the fleets that exist."""
    rows = connection.execute(
        select(fleet.c.fleet_id, fleet.c.clock, fleet.c.created_at)
        .where(fleet.c.tenant_id == tenant_id, fleet.c.fleet_id.in_(fleet_ids))
        .order_by(fleet.c.fleet_id)
    )
    return {row.fleet_id: Times(row.clock, row.created_at) for row in rows}


def fleet_ids_of(connection: Connection, tenant_id: int) -> list[int]:
    """The ids of a tenant's fleets, ascending."""
    rows = connection.execute(
        select(fleet.c.fleet_id).where(fleet.c.tenant_id == tenant_id).order_by(fleet.c.fleet_id)
    )
    return list(rows.scalars())


def create_fleets(
    connection: Connection, tenant_id: int, fleet_ids: Sequence[int], instant: int
) -> None:
    """Makes fleets whose clock stands one microsecond before `instant`, their first write."""
    for fleet_id in fleet_ids:
        connection.execute(
            insert(fleet).values(
                tenant_id=tenant_id, fleet_id=fleet_id, clock=instant - 1, created_at=instant
            )
        )


def set_clocks(
    connection: Connection, tenant_id: int, fleet_ids: Sequence[int], instant: int
) -> None:
    """Moves the clocks to the instant of the write that is going on."""
    connection.execute(
        update(fleet)
        .where(fleet.c.tenant_id == tenant_id, fleet.c.fleet_id.in_(fleet_ids))
        .values(clock=instant)
    )
