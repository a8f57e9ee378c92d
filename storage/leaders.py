"""One leader among many processes: a lease in the database, which another takes when it ends."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, or_, select, update

from retrograph.storage.insert_missing import insert_missing
from retrograph.storage.tables import leadership


class Lease(NamedTuple):
    """A job, whoever asks to lead it, and for how long (microseconds)."""

    name: str
    holder: str
    micros: int


def take_lead(connection: Connection, name: str, holder: str, now: int, until: int) -> bool:
    """Makes `holder` the leader of a job until an instant, or tells that somebody else is.

    A leader that asks again goes on leading.
    """
    free = or_(leadership.c.holder == holder, leadership.c.expires_at <= now)
    connection.execute(
        update(leadership)
        .where(leadership.c.name == name, free)
        .values(holder=holder, expires_at=until)
    )
    connection.execute(
        insert_missing(leadership).values(name=name, holder=holder, expires_at=until)
    )
    leads = select(leadership.c.holder).where(leadership.c.name == name)
    return bool(connection.execute(leads).scalar_one() == holder)
