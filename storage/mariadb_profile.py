"""MariaDB over ODBC: system-versioned tables, native `FOR SYSTEM_TIME AS OF`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Engine,
    QueuePool,
    create_engine,
    event,
    func,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError

from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import ConfigurationError, DriverMissing, StorageError
from retrograph.rules.graph import Graph
from retrograph.storage.as_of import Arm, Instant, native_arms, native_keyed_arms
from retrograph.storage.graphs import load_graph_by_columns
from retrograph.storage.mariadb_cascade import call_cascade
from retrograph.storage.mariadb_errors import is_deadlock, meaning_of
from retrograph.storage.mariadb_migrations import migrate_database
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Versioned, fleet
from retrograph.storage.verdicts import Verdict
from retrograph.storage.write import Write
from retrograph.storage.writer import DirectWriter, Group, Writer

DRIVER = "MariaDB Unicode"
"""The name under which Debian's package registers the driver."""
READERS = 16
WRITERS = 16
_SESSION = (
    "SET SESSION time_zone = '+00:00', group_concat_max_len = 1073741824, "
    "innodb_lock_wait_timeout = 10, "
    "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'"
)


class MariadbProfile:
    """See `retrograph.storage.profile.Profile`."""

    name = "mariadb"
    rows_per_insert = 500
    fills_periods = True

    def __init__(self, database: str) -> None:
        self._url = _parsed(database)
        self._reader = self._engine(READERS, autocommit=False)
        self._writer = self._engine(WRITERS, autocommit=False, isolation="READ COMMITTED")
        self._apart = self._engine(WRITERS, autocommit=True)
        self._seen: object = None

    def reader(self) -> Engine:
        """`REPEATABLE READ`: the clock and the data are read in one view."""
        return self._reader

    def writer(self) -> Engine:
        """Its transactions begin by locking the clocks of their fleets.

        `READ COMMITTED`: what a fleet's lock guards needs no locks of its own, and
        `REPEATABLE READ` would lock every row that an INSERT … SELECT reads.
        """
        return self._writer

    def make_writer(self, make_group: Callable[[], Group]) -> Writer:
        """Writers of different fleets don't wait for each other."""
        return DirectWriter(self, make_group)

    def pin(self, connection: Connection, instant: int) -> None:
        """The session's timestamp, exact to the microsecond as a decimal literal."""
        seconds, micros = divmod(instant, 1_000_000)
        connection.exec_driver_sql(f"SET @@timestamp = {seconds}.{micros:06}")

    def take_ids(self, connection: Connection, name: str, count: int) -> int:  # noqa: ARG002
        """Apart from the transaction, so that no fleet waits for another's commit."""
        with self._apart.connect() as apart:
            apart.execute(
                text(
                    "UPDATE id_sequence SET next_id = LAST_INSERT_ID(next_id) + :count "
                    "WHERE name = :name"
                ),
                {"count": count, "name": name},
            )
            return int(apart.execute(text("SELECT LAST_INSERT_ID()")).scalar_one())

    def cascade(self, write: Write, seeds: Seeds) -> Verdict:
        """By stored procedures, so that no round needs a trip."""
        return call_cascade(write, seeds)

    def prepare(self, *, migrate: bool) -> None:
        """Brings the schema up to date; the database itself must exist."""
        with self._apart.connect() as connection:
            migrate_database(connection, str(self._url.database), migrate=migrate)

    def arms(self, versioned: Versioned, instant: Instant, *, current: bool) -> list[Arm]:
        """One arm: the engine itself knows what was visible."""
        return native_arms(versioned, instant, current=current)

    def keyed_arms(
        self, versioned: Versioned, instant: Instant, key: ColumnElement[int], *, current: bool
    ) -> list[Arm]:
        """The same by id."""
        return native_keyed_arms(versioned, instant, key, current=current)

    def load_graph(self, snapshot: Snapshot) -> Graph:
        """By whole columns."""
        return load_graph_by_columns(snapshot)

    def keep_history(self, snapshot: Snapshot, versioned: Versioned, ids: list[int]) -> None:
        """Nothing: the engine does."""

    def translate(self, error: Exception) -> StorageError | None:
        """By the server's error numbers."""
        return meaning_of(error, self._url)

    def is_passing(self, error: Exception) -> bool:
        """A deadlock; the engine has rolled the transaction back."""
        return is_deadlock(error)

    def changed_outside(self) -> bool:
        """By the sum of all clocks, which every commit moves."""
        with self._apart.connect() as connection:
            present = connection.execute(select(func.sum(fleet.c.clock))).scalar_one()
        seen, self._seen = self._seen, present
        return bool(seen != present)

    def in_transaction(self, connection: Connection) -> bool:
        """Every job has a transaction of its own, so nobody needs to know."""
        return connection.in_transaction()

    def tidy(self) -> None:
        """Nothing: the server looks after its own log."""

    def close(self) -> None:
        """Gives back every connection."""
        for engine in (self._reader, self._writer, self._apart):
            engine.dispose()

    def _engine(self, size: int, *, autocommit: bool, isolation: str = "REPEATABLE READ") -> Engine:
        engine = create_engine(
            "mariadb+pyodbc://",
            creator=lambda: self._connect(autocommit, isolation),
            poolclass=QueuePool,
            pool_size=size,
            max_overflow=0,
            pool_timeout=60,
            pool_pre_ping=True,
        )
        event.listen(engine, "reset", _unpin)
        return engine

    def _connect(self, autocommit: bool, isolation: str) -> Any:
        try:
            import pyodbc  # noqa: PLC0415 (the embedded default runs without an ODBC manager)
        except ImportError as error:
            raise DriverMissing(
                "The ODBC driver manager is missing; install unixodbc and odbc-mariadb."
            ) from error
        connection = pyodbc.connect(_connection_string(self._url), autocommit=autocommit)
        # Without, the driver takes the bytes of a text for wide characters.
        connection.setencoding("utf-8")
        connection.execute(_SESSION)
        connection.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        return connection


def _parsed(database: str) -> URL:
    try:
        url = make_url(database)
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError(
            "Give the database as mariadb+pyodbc://user:password@host:port/name."
        ) from error
    if not url.database:
        raise ConfigurationError("Name the database: mariadb+pyodbc://user:password@host/name.")
    return url


def _connection_string(url: URL) -> str:
    options = dict(url.query)
    parts = {
        "Driver": str(options.pop("driver", DRIVER)),
        "Server": url.host or "127.0.0.1",
        "Port": str(url.port or 3306),
        "Database": url.database or "",
        "User": url.username or "",
        "Password": url.password or "",
        "Charset": "utf8mb4",
        **{name: str(value) for name, value in options.items()},
    }
    return ";".join(f"{name}={{{value.replace('}', '}}')}}}" for name, value in parts.items())


def _unpin(connection: Any, record: object, state: object) -> None:  # noqa: ARG001
    """A pinned timestamp must not outlive its transaction."""
    connection.rollback()
    connection.execute("SET @@timestamp = DEFAULT")
