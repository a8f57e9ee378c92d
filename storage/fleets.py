"""Fleets and their clocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from retrograph.rules.errors import NotFound
from retrograph.storage.insert_missing import insert_missing
from retrograph.storage.tables import fleet, tenant


class Times(NamedTuple):
    """A fleet's last committed instant, and that of its first write."""

    clock: int
    began: int


def read_times(
    connection: Connection, tenant_id: int, fleet_ids: Sequence[int], *, lock: bool = False
) -> dict[int, Times]:
    """The times of each of the fleets that exist.

    With `lock`, other writers of these fleets wait until the transaction ends (an engine with a
    single writer has that anyway).
    """
    times = (
        select(fleet.c.fleet_id, fleet.c.clock, fleet.c.created_at)
        .where(fleet.c.tenant_id == tenant_id, fleet.c.fleet_id.in_(fleet_ids))
        .order_by(fleet.c.fleet_id)
    )
    rows = connection.execute(times.with_for_update() if lock else times)
    return {row.fleet_id: Times(row.clock, row.created_at) for row in rows}


def take_clocks(
    connection: Connection, tenant_id: int, fleet_ids: Sequence[int], now: int, *, create: bool
) -> tuple[int, dict[int, Times]]:
    """Gives a write its instant; the first thing that its transaction does.

    The instant is later than every clock of its fleets, whatever `now` is.  Returns it and the
    times before.  Raises `NotFound` for an unknown fleet, unless it is to be made.
    """
    times = read_times(connection, tenant_id, fleet_ids, lock=True)
    missing = [fleet_id for fleet_id in fleet_ids if fleet_id not in times]
    if missing and not create:
        raise NotFound.fleet(missing[0])
    instant = max([now, *(clock + 1 for clock, _ in times.values())])
    create_fleets(connection, tenant_id, missing, instant)
    set_clocks(connection, tenant_id, fleet_ids, instant)
    return instant, times | dict.fromkeys(missing, Times(instant - 1, instant))


def fleet_ids_of(connection: Connection, tenant_id: int) -> list[int]:
    """The ids of a tenant's fleets, ascending."""
    rows = connection.execute(
        select(fleet.c.fleet_id).where(fleet.c.tenant_id == tenant_id).order_by(fleet.c.fleet_id)
    )
    return list(rows.scalars())


def tenant_ids_of(connection: Connection) -> list[int]:
    """The ids of all tenants that have a fleet, ascending."""
    return list(
        connection.execute(select(tenant.c.tenant_id).order_by(tenant.c.tenant_id)).scalars()
    )


def create_fleets(
    connection: Connection, tenant_id: int, fleet_ids: Sequence[int], instant: int
) -> None:
    """Makes fleets whose clock stands one microsecond before `instant`, their first write."""
    if fleet_ids:
        note_tenant(connection, tenant_id)
    for fleet_id in fleet_ids:
        connection.execute(
            insert(fleet).values(
                tenant_id=tenant_id, fleet_id=fleet_id, clock=instant - 1, created_at=instant
            )
        )


def note_tenant(connection: Connection, tenant_id: int) -> None:
    """Enters a tenant into the directory, unless it is there."""
    connection.execute(insert_missing(tenant).values(tenant_id=tenant_id))


def set_clocks(
    connection: Connection, tenant_id: int, fleet_ids: Sequence[int], instant: int
) -> None:
    """Moves the clocks to the instant of the write that is going on."""
    connection.execute(
        update(fleet)
        .where(fleet.c.tenant_id == tenant_id, fleet.c.fleet_id.in_(fleet_ids))
        .values(clock=instant)
    )
