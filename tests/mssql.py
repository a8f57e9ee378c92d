"""Databases of SQL Server for the exam: on the stand-in, and on a real server that is named."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import make_url

from retrograph.storage.mssql import profile as mssql_profile
from retrograph.storage.mssql.driver import connection_string, driver_for
from retrograph.storage.store import open_store
from tests.clock import ManualClock
from tests.missing import driver_manager
from tests.tsql import runtime
from tests.tsql.database import SteadyClock
from tests.tsql.driver import Driver, Server
from tests.tsql.gate import read_schema
from tests.tsql.recorder import Recorder
from tests.tsql.texts import migration_texts

VARIABLE = "RETROGRAPH_TEST_MSSQL_URL"
"""Names a server, and a user who may make databases there: `mssql+pyodbc://…/master`."""
HOST = "stand-in.invalid"
"""Where the profile finds the stand-in."""
CREATE = "CREATE DATABASE [{}] COLLATE Latin1_General_100_BIN2"
ALONE = "ALTER DATABASE [{}] SET SINGLE_USER WITH ROLLBACK IMMEDIATE"
DROP = "DROP DATABASE [{}]"


@dataclass
class StandIn:
    """The stand-in server, and what was sent to it."""

    server: Server
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _model: str | None = None

    @property
    def recorder(self) -> Recorder:
        """What every test has sent so far."""
        return self.server.recorder

    def fresh_url(self, clock: ManualClock, like: str | None = None) -> str:
        """The address of a new database; the server's time is `clock`."""
        name = f"exam_{next(self._numbers)}"
        self.server.create(name, SteadyClock(clock, story=lambda: clock.story), like)
        return f"mssql+pyodbc://{HOST}/{name}?driver=stand-in"

    def migrated_url(self, clock: ManualClock) -> str:
        """The same with its tables, and nothing in these."""
        if self._model is None:
            url = self.fresh_url(clock)
            open_store(url, clock=clock).close()
            self._model = make_url(url).database
        return self.fresh_url(clock, self._model)


@contextmanager
def standing_in(folder: Path) -> Iterator[StandIn]:
    """Lets the profile reach a stand-in; skips aloud without what it needs, but fails under CI."""
    driver_manager()
    runtime.need_parser()
    server, driver = Server(folder, Recorder(read_schema(migration_texts()))), Driver()
    driver.add(HOST, server)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mssql_profile, "loaded_manager", lambda packages: driver)
        yield StandIn(server)


@dataclass
class SqlServer:
    """A real server; databases are made there, and dropped at the end."""

    url: str
    _made: list[str] = field(default_factory=list)

    def fresh_url(self) -> str:
        """The address of a new database."""
        name = f"retrograph_exam_{os.getpid()}_{len(self._made)}"
        self._execute(CREATE.format(name))
        self._made.append(name)
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def drop_all(self) -> None:
        """Drops what was made."""
        for name in self._made:
            self._execute(ALONE.format(name), DROP.format(name))

    def _execute(self, *statements: str) -> None:
        url, odbc = make_url(self.url), driver_manager()
        connection = odbc.connect(connection_string(url, driver_for(url, odbc)), autocommit=True)
        try:
            for statement in statements:
                connection.execute(statement)
        finally:
            connection.close()
