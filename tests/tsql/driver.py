"""The stand-in for SQL Server: a driver like pyodbc, whose servers live in this process.

It shows what the project's statements do to tables, under rules that are written down here.  It
can't show what SQL Server makes of them; `docs/sql-server.md` says what is like it and what isn't.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

from tests.missing import driver_manager
from tests.tsql.connection import Connection
from tests.tsql.database import Database, ServerClock
from tests.tsql.errors import ServerError, told
from tests.tsql.recorder import Recorder
from tests.tsql.session import Session

_PART = re.compile(r"\s*(\w[\w ]*?)\s*=\s*(\{(?:[^}]|\}\})*\}|[^;]*)\s*(?:;|$)")
_REFUSED = (
    "[08001] [Microsoft][ODBC Driver 18 for SQL Server]TCP Provider: Error code 0x2749 (10061)"
)


class Server:
    """A server with databases in files of a folder; it can be stopped and started."""

    def __init__(self, folder: Path, recorder: Recorder) -> None:
        self.running = True
        self.recorder = recorder
        self._folder = folder
        self._databases: dict[str, Database] = {}
        self._numbers = itertools.count(51)

    def create(self, name: str, clock: ServerClock, like: str | None = None) -> Database:
        """Makes an empty database, or one like another."""
        file = self._folder / f"{name}.db"
        database = (
            Database(name, file, clock)
            if like is None
            else self._databases[like].copy(name, file, clock)
        )
        self._databases[name.lower()] = database
        return database

    def connect(self, name: str, *, autocommit: bool) -> Connection:
        """A connection to a database; raises 4060 where there is none of that name."""
        database = self._databases.get(name.lower())
        if database is None:
            raise told(ServerError(4060, f'Cannot open database "{name}" requested by the login.'))
        session = Session(database, next(self._numbers), implicit=not autocommit)
        return Connection(session, self.recorder, lambda: self.running, autocommit=autocommit)


class Driver:
    """What `import pyodbc` gives, but that it connects to servers of this process."""

    def __init__(self) -> None:
        self._servers: dict[str, Server] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(driver_manager(), name)

    def add(self, host: str, server: Server) -> None:
        """Lets connections to `host` reach a server."""
        self._servers[host] = server

    def connect(self, connection_string: str, *, autocommit: bool = False) -> Any:
        """Connects by Server and Database; what is no stand-in's is left to pyodbc."""
        parts = parts_of(connection_string)
        server = self._servers.get(re.split(r"[,:]", parts["server"].removeprefix("tcp:"))[0])
        if server is None:
            return driver_manager().connect(connection_string, autocommit=autocommit)
        if not server.running:
            raise driver_manager().OperationalError("08001", f"{_REFUSED} (SQLDriverConnect)")
        return server.connect(parts.get("database", "master"), autocommit=autocommit)


def parts_of(connection_string: str) -> dict[str, str]:
    """The parts of an ODBC connection string, by lower-case name."""
    return {
        name.lower(): value[1:-1].replace("}}", "}") if value.startswith("{") else value
        for name, value in _PART.findall(connection_string)
    }
