"""Connections of SQL Server: whose rows they show, and transactions on them.

The driver commits every statement by itself; a transaction is what stands between the words for it,
for the server stamps versions with the time of its beginning.  A connection that can't be brought
back to showing nothing and holding nothing is thrown away.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine

from retrograph.sql.loader import queries
from retrograph.storage.named import execute_named

ENGINE = "mssql"

_log = logging.getLogger(__name__)


@contextmanager
def session(engine: Engine, tenant_id: int) -> Iterator[Connection]:
    """A connection that has named its tenant, and shows no other's rows; see `leave`."""
    with engine.connect() as connection:
        try:
            execute_named(connection, ENGINE, "set_tenant", tenant_id=tenant_id)
        except BaseException:
            connection.invalidate()
            raise
        yield connection


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Commits what is done in it, all or nothing."""
    execute_named(connection, ENGINE, "begin")
    try:
        yield
        execute_named(connection, ENGINE, "commit")
    except BaseException:
        if not connection.invalidated:
            with discarding(connection):
                execute_named(connection, ENGINE, "rollback")
        raise


@contextmanager
def discarding(connection: Connection) -> Iterator[None]:
    """Throws the connection away, with all that it holds, if what is done in it fails."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 (what went before it counts, not this)
        _log.warning("a connection was thrown away: %s", type(error).__name__)
        connection.invalidate()


def settle(connection: Any, isolation: str) -> None:
    """Makes a new connection of the driver's ready; `isolation` names the query that says how."""
    _tell(connection, "settle_session", isolation)


def leave(connection: Any, record: object, state: object) -> None:  # noqa: ARG001
    """Ends what was left open and forgets the tenant, whenever a connection goes back to the pool.

    The pool throws a connection away for which this fails.
    """
    _tell(connection, "clear_tenant")


def _tell(connection: Any, *names: str) -> None:
    cursor = connection.cursor()
    try:
        for name in names:
            cursor.execute(queries(ENGINE)[name])
    finally:
        cursor.close()
