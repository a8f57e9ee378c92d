"""Databases of MariaDB that tests hand on, emptied: to make one takes ten times as long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from retrograph.storage.store import open_store
from tests.clock import ManualClock
from tests.missing import driver_manager
from tests.servers import MariaDBServer


class Reuse:
    """Migrated databases without a row that a use case wrote."""

    def __init__(self, server: MariaDBServer) -> None:
        self._server = server
        self._free: list[str] = []
        self._model = self._made()
        self._emptying = self._written()

    @contextmanager
    def database(self) -> Iterator[str]:
        """Lends one, as `open_store` takes it. One that can't be emptied is left to itself."""
        name = self._free.pop() if self._free else self._made()
        yield self._server.url(name)
        with suppress(driver_manager().Error), closing(self._server.connect(name)) as connection:
            connection.execute(self._emptying)
            self._free.append(name)

    def _made(self) -> str:
        name = self._server.fresh_database()
        open_store(self._server.url(name), clock=ManualClock()).close()
        return name

    def _written(self) -> str:
        """The text that empties a database: in one trip, by what the model has."""
        with closing(self._server.connect(self._model)) as connection:
            tables = connection.execute(
                "SELECT table_name, table_type FROM information_schema.tables "
                "WHERE table_schema = DATABASE() AND table_type <> 'VIEW'"
            ).fetchall()
            steps = []
            for table, kind in tables:
                steps.append(f"DELETE FROM {table}")
                if kind == "SYSTEM VERSIONED":
                    steps.append(f"DELETE HISTORY FROM {table}")
                if connection.execute(f"SELECT EXISTS (SELECT * FROM {table})").fetchval():
                    steps.append(f"INSERT INTO {table} SELECT * FROM {self._model}.{table}")
        return (
            "BEGIN NOT ATOMIC SET SESSION foreign_key_checks = 0, innodb_lock_wait_timeout = 1; "
            f"START TRANSACTION; {'; '.join(steps)}; COMMIT; END"
        )
