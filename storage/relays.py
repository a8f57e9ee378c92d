"""How far relays have come: for each fleet the last event that they were told has arrived."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, and_, insert, or_, select, update

from retrograph.storage.id_set import id_set
from retrograph.storage.outbox import page_events
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import fleet, relay_cursor

Position = tuple[int, int]
"""The instant and the ordinal of an event: it has arrived, and all before."""


class Batch(NamedTuple):
    """Events of one fleet in their order: their places, and each as a JSON object."""

    tenant_id: int
    fleet_id: int
    positions: list[Position]
    objects: list[bytes]


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


def oldest_waiting(s: Snapshot) -> dict[str, int | None]:
    """By relay: when the oldest event of a fleet was that it has yet to dispatch, if there is one.

    Only relays that have dispatched something of the fleet are known.
    """
    cursor = relay_cursor.c
    marked = s.connection.execute(
        select(cursor.name, cursor.at, cursor.ordinal).where(
            cursor.tenant_id == s.tenant_id, cursor.fleet_id == s.fleet_id
        )
    ).all()
    pages = {name: page_events(s, None, (at, ordinal), 1) for name, at, ordinal in marked}
    return {name: page.rows[0].at if page.rows else None for name, page in pages.items()}


def mark(
    connection: Connection, tenant_id: int, fleet_id: int, name: str, position: Position
) -> None:
    """Notes that all up to an event has arrived; a position that was passed stays as it is."""
    cursor, (at, ordinal) = relay_cursor.c, position
    mine = cursor.tenant_id == tenant_id, cursor.fleet_id == fleet_id, cursor.name == name
    earlier = or_(cursor.at < at, and_(cursor.at == at, cursor.ordinal < ordinal))
    known = select(cursor.at).where(*mine)
    if connection.execute(known).first() is None:
        connection.execute(
            insert(relay_cursor).values(
                tenant_id=tenant_id, fleet_id=fleet_id, name=name, at=at, ordinal=ordinal
            )
        )
    else:
        statement = update(relay_cursor).where(*mine, earlier)
        connection.execute(statement.values(at=at, ordinal=ordinal))
