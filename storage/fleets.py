"""Fleets and their clocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from retrograph.rules.errors import NotFound
from retrograph.storage.insert_missing import insert_missing
from retrograph.storage.tables import fleet, tenant

if TYPE_CHECKING:
    from retrograph.storage.profile import Profile


_TIMES = select(fleet.c.clock, fleet.c.created_at).where(
    fleet.c.tenant_id == bindparam("tenant_id"), fleet.c.fleet_id == bindparam("fleet_id")
)
_TIMES_LOCKED = _TIMES.with_for_update()
_SET_CLOCK = (
    update(fleet)
    .where(fleet.c.tenant_id == bindparam("in_tenant"), fleet.c.fleet_id == bindparam("in_fleet"))
    .values(clock=bindparam("instant"))
)


class Times(NamedTuple):
    """A fleet's last committed instant, and that of its first write."""

    clock: int
    began: int


def read_times(
    profile: Profile,
    connection: Connection,
    tenant_id: int,
    fleet_ids: Sequence[int],
    *,
    lock: bool = False,
) -> dict[int, Times]:
    """The times of each of the fleets that exist.

    With `lock`, other writers of these fleets wait until the transaction ends (an engine with a
    single writer has that anyway).
    """
    if len(fleet_ids) == 1:  # nearly always, and before nearly everything
        one = {"tenant_id": tenant_id, "fleet_id": fleet_ids[0]}
        rows = profile.fetch(connection, _TIMES_LOCKED if lock else _TIMES, one)
        return dict(zip(fleet_ids, (Times(*times) for times in rows), strict=False))
    asked = (
        select(fleet.c.fleet_id, fleet.c.clock, fleet.c.created_at)
        .where(fleet.c.tenant_id == tenant_id, fleet.c.fleet_id.in_(fleet_ids))
        .order_by(fleet.c.fleet_id)
    )
    found = connection.execute(asked.with_for_update() if lock else asked)
    return {row.fleet_id: Times(row.clock, row.created_at) for row in found}


def take_clocks(
    profile: Profile,
    connection: Connection,
    tenant_id: int,
    fleet_ids: Sequence[int],
    now: int,
    *,
    create: bool,
) -> tuple[int, dict[int, Times]]:
    """Gives a write its instant; the first thing that its transaction does.

    The instant is later than every clock of its fleets, whatever `now` is.  Returns it and the
    times before.  Raises `NotFound` for an unknown fleet, unless it is to be made.
    """
    times = read_times(profile, connection, tenant_id, fleet_ids, lock=True)
    missing = [fleet_id for fleet_id in fleet_ids if fleet_id not in times]
    if missing and not create:
        raise NotFound.fleet(missing[0])
    instant = max([now, *(clock + 1 for clock, _ in times.values())])
    create_fleets(connection, tenant_id, missing, instant)
    _set_clocks(profile, connection, tenant_id, fleet_ids, instant)
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


def _set_clocks(
    profile: Profile,
    connection: Connection,
    tenant_id: int,
    fleet_ids: Sequence[int],
    instant: int,
) -> None:
    """Moves the clocks to the instant of the write that is going on."""
    if len(fleet_ids) == 1:
        one = {"in_tenant": tenant_id, "in_fleet": fleet_ids[0], "instant": instant}
        profile.send(connection, _SET_CLOCK, one)
        return
    connection.execute(
        update(fleet)
        .where(fleet.c.tenant_id == tenant_id, fleet.c.fleet_id.in_(fleet_ids))
        .values(clock=instant)
    )
