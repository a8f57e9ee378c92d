"""MariaDB over ODBC: system-versioned tables, native `FOR SYSTEM_TIME AS OF`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from math import ceil
from typing import Any

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Engine,
    ExceptionContext,
    Executable,
    QueuePool,
    create_engine,
    event,
    func,
    select,
    text,
)

from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import ConfigurationError, StorageError
from retrograph.rules.graph import Graph
from retrograph.rules.instant import SECOND
from retrograph.storage.as_of import Arm, Instant, native_arms, native_keyed_arms
from retrograph.storage.deadline import seconds_left, timed_out
from retrograph.storage.fleets import Times, take_clocks
from retrograph.storage.graphs import load_graph_by_columns
from retrograph.storage.mariadb.cascade import call_cascade
from retrograph.storage.mariadb.errors import is_deadlock, is_gone, meaning_of
from retrograph.storage.mariadb.migrations import migrate_database
from retrograph.storage.odbc import joined, loaded_manager, parsed
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Versioned, fleet
from retrograph.storage.verdicts import Verdict
from retrograph.storage.write import Write
from retrograph.storage.writer import DirectWriter, Group, Writer

DRIVER = "MariaDB Unicode"
"""The name under which Debian's package registers the driver."""
READERS = 16
WRITERS = 16
LEAST_PACKET = 16 * 1024 * 1024
"""What the server must take in one text; its default, too."""
LOCK_WAIT_SECONDS = 10
"""How long a writer waits for another transaction, and a migration for a table."""
_STATEMENT_TIME = "max_statement_time"
_SESSION = (
    "SET SESSION time_zone = '+00:00', group_concat_max_len = 1073741824, "
    "innodb_lock_wait_timeout = {wait}, lock_wait_timeout = {wait}, "
    # A node that must exist is looked for by its id; turned into IN, all history would be read.
    "optimizer_switch = 'exists_to_in=off', "
    "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'"
)


class MariadbProfile:
    """See `retrograph.storage.profile.Profile`."""

    name = "mariadb"
    rows_per_insert = 500
    fills_periods = True
    history_kept: int | None = None

    def __init__(self, database: str, lock_wait_seconds: int = LOCK_WAIT_SECONDS) -> None:
        self._url = parsed(database, "mariadb+pyodbc")
        self._lock_wait_seconds = lock_wait_seconds
        self._driver = loaded_manager("unixodbc and odbc-mariadb")
        self._reader = self._engine(READERS, autocommit=False)
        event.listen(self._reader, "begin", _give_up_when_late)
        self._writer = self._engine(WRITERS, autocommit=False, isolation="READ COMMITTED")
        self._apart = self._engine(WRITERS, autocommit=True)
        self._seen: object = None

    def reading(self, tenant_id: int) -> AbstractContextManager[Connection]:  # noqa: ARG002
        """`REPEATABLE READ`: the clock and the data are read in one view."""
        return self._reader.begin()

    def writer(self) -> Engine:
        """Its transactions begin by locking the clocks of their fleets.

        `READ COMMITTED`: what a fleet's lock guards needs no locks of its own, and
        `REPEATABLE READ` would lock every row that an INSERT … SELECT reads.
        """
        return self._writer

    def fetch(
        self, connection: Connection, statement: Executable, values: Mapping[str, object]
    ) -> Sequence[tuple[Any, ...]]:
        """By SQLAlchemy: a trip to the server costs more."""
        return connection.execute(statement, values).all()

    def send(
        self, connection: Connection, statement: Executable, values: Mapping[str, object]
    ) -> None:
        """The same way."""
        connection.execute(statement, values)

    def make_writer(self, make_group: Callable[[], Group]) -> Writer:
        """Writers of different fleets don't wait for each other."""
        return DirectWriter(self, make_group)

    def take_clocks(
        self,
        connection: Connection,
        tenant_id: int,
        fleet_ids: Sequence[int],
        now: int,
        *,
        create: bool,
    ) -> tuple[int, dict[int, Times]]:
        """The session's timestamp is pinned to the instant."""
        instant, times = take_clocks(self, connection, tenant_id, fleet_ids, now, create=create)
        self.pin(connection, instant)
        return instant, times

    def pin(self, connection: Connection, instant: int) -> None:
        """The session's timestamp, exact to the microsecond.

        The server keeps it as a binary fraction and cuts it off: without the half of a microsecond
        at its end, one in a hundred instants would become the one before.
        """
        seconds, micros = divmod(instant, SECOND)
        connection.exec_driver_sql(f"SET @@timestamp = {seconds}.{micros:06}5")

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

    def cascade(self, write: Write, seeds: Seeds, limit: int) -> Verdict:
        """By stored procedures, so that no round needs a trip."""
        return call_cascade(write, seeds, limit)

    def prepare(self, *, migrate: bool) -> list[str]:
        """Brings the schema up to date; the database itself must exist."""
        with self._apart.connect() as connection:
            _check_packet(connection)
            return migrate_database(connection, str(self._url.database), migrate=migrate)

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
            hide_parameters=True,  # what goes wrong is logged
            pool_pre_ping=True,
        )
        event.listen(engine, "handle_error", _tell_lost)
        event.listen(engine, "reset", _unpin)
        return engine

    def _connect(self, autocommit: bool, isolation: str) -> Any:
        connection = self._driver.connect(_connection_string(self._url), autocommit=autocommit)
        # Without, the driver takes the bytes of a text for wide characters.
        connection.setencoding("utf-8")
        connection.execute(_SESSION.format(wait=self._lock_wait_seconds))
        connection.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        return connection


def _check_packet(connection: Connection) -> None:
    packet = connection.exec_driver_sql("SELECT @@max_allowed_packet").scalar_one()
    if packet < LEAST_PACKET:
        raise ConfigurationError(
            f"The server takes texts of {packet:,} bytes at most; set max_allowed_packet = 16M."
        )


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
    return joined(parts)


def _unpin(connection: Any, record: object, state: object) -> None:  # noqa: ARG001
    """A pinned timestamp must not outlive its transaction."""
    connection.rollback()
    connection.execute("SET @@timestamp = DEFAULT")


def _give_up_when_late(connection: Connection) -> None:
    """Has the server end a statement that nobody waits for any more, to the second."""
    left = seconds_left()
    if left is not None and left <= 0:
        raise timed_out()
    seconds = 0 if left is None else ceil(left)
    if connection.info.get(_STATEMENT_TIME, 0) != seconds:
        connection.exec_driver_sql(f"SET SESSION max_statement_time = {seconds}")
        connection.info[_STATEMENT_TIME] = seconds


def _tell_lost(context: ExceptionContext) -> None:
    """SQLAlchemy knows no lost connection of this driver; told of one, it makes the pool anew."""
    context.is_disconnect = context.is_disconnect or is_gone(context.original_exception)
