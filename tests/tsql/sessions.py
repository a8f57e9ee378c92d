"""Connections to one database of the stand-in, for the tests of the stand-in itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from retrograph.sql.loader import queries
from tests.clock import ManualClock
from tests.missing import driver_manager
from tests.tsql.connection import Connection, Row
from tests.tsql.database import Database
from tests.tsql.driver import Driver, Server
from tests.tsql.texts import batches, migration_texts

if TYPE_CHECKING:
    import pyodbc

FLEETS = "SELECT f.FleetId FROM Memory.Fleets AS f WHERE f.TenantId = ?"
FLEET = "INSERT INTO Memory.Fleets (TenantId, FleetId, CreatedAt) VALUES (?, 1, '2026-03-01')"
NODE = (
    "INSERT INTO Memory.NodeIdentities (Id, TenantId, FleetId, [Key], Kind, CreatedAt)"
    " VALUES (?, 1, 1, ?, 1, '2026-03-01')"
)
_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")


class Sessions:
    """Opens connections, and closes them at the end; `clock` is the server's."""

    def __init__(self, server: Server, database: Database, clock: ManualClock) -> None:
        self.server = server
        self.driver = Driver()
        self.driver.add("stand-in", server)
        self.database = database
        self.clock = clock
        self._opened: list[Connection] = []

    def open(self, tenant: int | None = None, *, autocommit: bool = True) -> Connection:
        """A new connection, which has named its tenant if one is given."""
        string = f"Driver={{any}};Server={{tcp:stand-in,1433}};Database={self.database.name}"
        connection: Connection = self.driver.connect(string, autocommit=autocommit)
        self._opened.append(connection)
        if tenant is not None:
            named(connection, "set_tenant", tenant_id=tenant)
        return connection

    def migrate(self) -> None:
        """Makes the schema, and allows snapshots."""
        connection = self.open()
        for migration in migration_texts():
            for batch in batches(migration):
                connection.execute(batch.text)
        named(connection, "allow_snapshot_isolation")

    def close(self) -> None:
        """Closes what is open."""
        for connection in self._opened:
            if not connection.closed:
                connection.close()


def named(connection: Connection, query: str, **values: Any) -> list[Row]:
    """The rows of a named query of the project, if it has any."""
    text = queries("mssql")[query]
    names = _PARAMETER.findall(text)
    cursor = connection.execute(_PARAMETER.sub("?", text), *(values[name] for name in names))
    return [] if cursor.description is None else cursor.fetchall()


def rows(connection: Connection, text: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a text, as plain tuples."""
    return [tuple(row) for row in connection.execute(text, *values).fetchall()]


def number(caught: pytest.ExceptionInfo[pyodbc.Error]) -> str:
    """The server's number in a driver's error."""
    return str(caught.value.args[1]).rsplit("(", 2)[1].rstrip(") ")


def refused(expected: int, connection: Connection, text: str, *values: Any) -> pyodbc.Error:
    with pytest.raises(driver_manager().Error) as caught:
        connection.execute(text, *values)
    assert number(caught) == str(expected)
    return caught.value


def begin(sessions: Sessions, tenant: int = 1, *fleets: int) -> Connection:
    """A session in a transaction in which fleets were made."""
    connection = sessions.open(tenant)
    named(connection, "begin")
    named(connection, "create_fleets", tenant_id=tenant, fleet_ids=str([*(fleets or (1,))]))
    return connection
