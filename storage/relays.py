"""How far relays have come: for each fleet the last event that they were told has arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, and_, delete, insert, or_, select, update

from retrograph.storage.id_set import id_set
from retrograph.storage.outbox import page_events
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import fleet, relay_cursor

Position = tuple[int, int]
"""The instant and the ordinal of an event: it has arrived, and all before."""
BEGINNING: Position = (0, 0)


class Batch(NamedTuple):
    """Events of one fleet in their order: their places, and each as a JSON object."""

    tenant_id: int
    fleet_id: int
    positions: list[Position]
    objects: list[bytes]


class Arrived(NamedTuple):
    """All of a fleet up to a position has arrived, so many events for the first time."""

    tenant_id: int
    fleet_id: int
    position: Position
    events: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """When the oldest event was that waits for a relay, and how many it has dispatched."""

    oldest: int | None
    dispatched: int

    def __add__(self, other: Waiting) -> Waiting:
        oldest = (at for at in (self.oldest, other.oldest) if at is not None)
        return Waiting(min(oldest, default=None), self.dispatched + other.dispatched)


NOTHING = Waiting(None, 0)


class Progress(NamedTuple):
    """A fleet, its last committed instant, and how far a relay has come in it: None, not yet."""

    fleet_id: int
    clock: int
    position: Position | None


def progress_of(connection: Connection, tenant_id: int, name: str) -> list[Progress]:
    """How far a relay has come in each of a tenant's fleets, by id; two statements."""
    clocks = connection.execute(
        select(fleet.c.fleet_id, fleet.c.clock)
        .where(fleet.c.tenant_id == tenant_id)
        .order_by(fleet.c.fleet_id)
    ).all()
    cursor = relay_cursor.c
    marked = connection.execute(
        select(cursor.fleet_id, cursor.at, cursor.ordinal).where(
            cursor.tenant_id == tenant_id,
            cursor.fleet_id.in_(id_set([fleet_id for fleet_id, _ in clocks])),
            cursor.name == name,
        )
    )
    positions = {fleet_id: (at, ordinal) for fleet_id, at, ordinal in marked}
    return [Progress(fleet_id, clock, positions.get(fleet_id)) for fleet_id, clock in clocks]


def waiting(s: Snapshot) -> dict[str, Waiting]:
    """What each relay that has begun with a fleet has dispatched of it, and not yet."""
    cursor = relay_cursor.c
    marked = s.connection.execute(
        select(cursor.name, cursor.at, cursor.ordinal, cursor.dispatched).where(
            cursor.tenant_id == s.tenant_id, cursor.fleet_id == s.fleet_id
        )
    ).all()
    return {
        name: Waiting(oldest_behind(s, (at, ordinal)), dispatched)
        for name, at, ordinal, dispatched in marked
    }


def oldest_behind(s: Snapshot, position: Position) -> int | None:
    """When the first event of a fleet behind a position was; None: there is none."""
    rows = page_events(s, None, position, 1).rows
    return rows[0].at if rows else None


def begin(
    connection: Connection, tenant_id: int, name: str, fleet_ids: Sequence[int], at: Position
) -> None:
    """Notes where a relay begins in fleets that it is new to."""
    place = {"at": at[0], "ordinal": at[1], "dispatched": 0}
    row = {"tenant_id": tenant_id, "name": name, **place}
    connection.execute(insert(relay_cursor), [row | {"fleet_id": each} for each in fleet_ids])


def mark(connection: Connection, arrived: Arrived, name: str) -> None:
    """Notes that all up to an event has arrived; a position that was passed stays as it is."""
    cursor, (at, ordinal) = relay_cursor.c, arrived.position
    connection.execute(
        update(relay_cursor)
        .where(
            cursor.tenant_id == arrived.tenant_id,
            cursor.fleet_id == arrived.fleet_id,
            cursor.name == name,
            or_(cursor.at < at, and_(cursor.at == at, cursor.ordinal < ordinal)),
        )
        .values(at=at, ordinal=ordinal, dispatched=cursor.dispatched + arrived.events)
    )


def forget(connection: Connection, tenant_id: int, name: str, fleet_ids: Sequence[int]) -> None:
    """Forgets how far a relay has come in some fleets."""
    cursor = relay_cursor.c
    connection.execute(
        delete(relay_cursor).where(
            cursor.tenant_id == tenant_id,
            cursor.fleet_id.in_(id_set(fleet_ids)),
            cursor.name == name,
        )
    )
