"""The clock recipe of SQL Server: locks before the transaction, the instant read back in it.

The server stamps versions with the time at which their transaction began.  So a writer holds its
fleets' locks, waits until the present is past their clocks, begins, and moves the clocks first:
what they then say is the instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection

from retrograph.rules.errors import ClockBehind, DatabaseLocked, NotFound
from retrograph.rules.instant import format_instant
from retrograph.storage.fleets import Times
from retrograph.storage.mssql.session import ENGINE, discarding
from retrograph.storage.named import execute_named
from retrograph.storage.periods import micros_of

LOCK_TIMEOUT_MS = 10_000
"""How long a writer waits for another one of its fleet."""
WAIT_STEPS = 1_000
"""How many steps, of a millisecond or more, the present may take to get past a fleet's clock."""


@contextmanager
def held(connection: Connection, tenant_id: int, fleet_ids: Sequence[int]) -> Iterator[None]:
    """Keeps other writers of these fleets out; they are locked in the order given."""
    taken: list[int] = []
    try:
        for fleet_id in fleet_ids:
            _lock(connection, tenant_id, fleet_id)
            taken.append(fleet_id)
        yield
    finally:
        for fleet_id in reversed(taken):
            _unlock(connection, tenant_id, fleet_id)


def wait_for_clock(connection: Connection, tenant_id: int, fleet_ids: Sequence[int]) -> None:
    """Waits until the server's present is past the fleets' clocks; raises `ClockBehind`."""
    waited = execute_named(
        connection,
        ENGINE,
        "wait_for_clock",
        tenant_id=tenant_id,
        fleet_ids=fleet_ids,
        steps=WAIT_STEPS,
    ).one()
    if not waited.Passed:
        raise clock_behind(micros_of(waited.Clock))


def take_clocks(
    connection: Connection, tenant_id: int, fleet_ids: Sequence[int], now: int, *, create: bool
) -> tuple[int, dict[int, Times]]:
    """Gives a write its instant, that of its transaction; `now` counts where there is no fleet.

    See `retrograph.storage.fleets.take_clocks`.  Raises `ClockBehind` where the transaction began
    too early.
    """
    moved = execute_named(
        connection, ENGINE, "move_clocks", tenant_id=tenant_id, fleet_ids=fleet_ids
    ).all()
    instants = {micros_of(row.Instant) for row in moved}
    times = {row.FleetId: Times(micros_of(row.Previous), micros_of(row.Began)) for row in moved}
    missing = [fleet_id for fleet_id in fleet_ids if fleet_id not in times]
    if missing and not create:
        raise NotFound.fleet(missing[0])
    if missing:
        made = execute_named(
            connection, ENGINE, "create_fleets", tenant_id=tenant_id, fleet_ids=missing
        )
        instants |= {micros_of(row.Instant) for row in made}
    instant = max(instants, default=now)
    latest = max((clock for clock, _ in times.values()), default=instant - 1)
    if instant <= latest:
        raise clock_behind(latest)
    return instant, times | dict.fromkeys(missing, Times(instant - 1, instant))


def clock_behind(clock: int) -> ClockBehind:
    """The server's clock is not past that of a fleet."""
    return ClockBehind(
        f"The server's clock has not passed {format_instant(clock)}, the fleet's last write; set "
        "the server's clock right, or try again when it has."
    )


def _lock(connection: Connection, tenant_id: int, fleet_id: int) -> None:
    scope = {"tenant_id": tenant_id, "fleet_id": fleet_id}
    try:
        granted = execute_named(
            connection, ENGINE, "lock_fleet", **scope, timeout_ms=LOCK_TIMEOUT_MS
        ).scalar_one()
    except BaseException:
        connection.invalidate()  # nobody knows whether it was granted
        raise
    if granted < 0:
        raise DatabaseLocked(f"Another writer held fleet {fleet_id} for too long; try again.")


def _unlock(connection: Connection, tenant_id: int, fleet_id: int) -> None:
    if connection.invalidated:
        return
    scope = {"tenant_id": tenant_id, "fleet_id": fleet_id}
    with discarding(connection):
        released = execute_named(connection, ENGINE, "unlock_fleet", **scope).scalar_one()
        if released != 0:
            raise DatabaseLocked(f"Fleet {fleet_id} was not released: {released}.")
