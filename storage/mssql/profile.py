"""SQL Server over ODBC: system-versioned tables, row-level security, time travel of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    ExceptionContext,
    Executable,
    QueuePool,
    create_engine,
    event,
)

from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import StorageError
from retrograph.rules.graph import Graph
from retrograph.rules.instant import SECOND
from retrograph.storage.as_of import Arm, Instant, native_arms, native_keyed_arms
from retrograph.storage.deadline import seconds_left, timed_out
from retrograph.storage.fleets import Times
from retrograph.storage.graphs import load_graph_by_columns
from retrograph.storage.mssql.cascade import call_cascade
from retrograph.storage.mssql.clock import take_clocks
from retrograph.storage.mssql.dialect import URL
from retrograph.storage.mssql.driver import connection_string, driver_for
from retrograph.storage.mssql.errors import is_gone, is_passing, meaning_of
from retrograph.storage.mssql.migrations import migrate_database
from retrograph.storage.mssql.session import ENGINE, leave, session, settle, transaction
from retrograph.storage.mssql.writer import LockingWriter
from retrograph.storage.named import execute_named
from retrograph.storage.odbc import loaded_manager, parsed
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Versioned
from retrograph.storage.verdicts import Verdict
from retrograph.storage.write import Write
from retrograph.storage.writer import Group, Writer

READERS = 16
WRITERS = 16
_SEQUENCES = {
    "node": "Memory.NodeIds",
    "edge": "Memory.EdgeIds",
    "evidence": "Memory.EvidenceIds",
    "run": "Memory.RunIds",
    "task": "Memory.TaskIds",
    "decision": "Memory.DecisionIds",
    "scheduled": "Memory.ScheduledIds",
    "execution": "Memory.ExecutionIds",
    "working_memory": "Memory.WorkingMemoryIds",
    "domain": "Memory.DomainIds",
    "episode": "Memory.EpisodeIds",
    "relation": "Memory.RelationIds",
}


HISTORY_KEPT = 3 * 365 * 86_400 * SECOND
"""`HISTORY_RETENTION_PERIOD` of the tables is three years; a leap day is left out."""


class MssqlProfile:
    """See `retrograph.storage.profile.Profile`."""

    name = ENGINE
    rows_per_insert = 130
    """A statement takes 2,100 parameters at most; the widest row has 16."""
    fills_periods = True
    history_kept: int | None = HISTORY_KEPT

    def __init__(self, database: str, odbc: Any = None) -> None:
        """`odbc` is the module that connects, `pyodbc` unless another is given."""
        self._url = parsed(database, "mssql+pyodbc")
        self._odbc = odbc or loaded_manager("unixodbc")
        self._odbc.pooling = False  # a pool below the pool would keep sessions that were left
        self._driver = driver_for(self._url, self._odbc)
        self._reader = self._engine(READERS, "read_snapshots")
        self._writer = self._engine(WRITERS, "read_committed")
        self._seen: int | None = None

    @contextmanager
    def reading(self, tenant_id: int) -> Iterator[Connection]:
        """`SNAPSHOT`: the clock and the data are read in one committed state."""
        with session(self._reader, tenant_id) as connection:
            _give_up_when_late(connection)
            with transaction(connection):
                yield connection

    def writer(self) -> Engine:
        """Its connections begin nothing by themselves: see `retrograph.storage.mssql.writer`."""
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
        return LockingWriter(self, make_group)

    def take_clocks(
        self,
        connection: Connection,
        tenant_id: int,
        fleet_ids: Sequence[int],
        now: int,
        *,
        create: bool,
    ) -> tuple[int, dict[int, Times]]:
        """The instant is the server's, not `now`."""
        return take_clocks(connection, tenant_id, fleet_ids, now, create=create)

    def take_ids(self, connection: Connection, name: str, count: int) -> int:
        """From a sequence, which no transaction gives back."""
        if not count:
            return 0
        taken = execute_named(
            connection, ENGINE, "take_ids", sequence=_SEQUENCES[name], count=count
        )
        return int(taken.scalar_one())

    def cascade(self, write: Write, seeds: Seeds, limit: int) -> Verdict:
        """By a stored procedure, so that no round needs a trip."""
        return call_cascade(write, seeds, limit)

    def prepare(self, *, migrate: bool) -> list[str]:
        """Brings the schema and the database's options up to date; the database must exist."""
        with self._writer.connect() as connection:
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
        """A deadlock, or a transaction that began too early."""
        return is_passing(error)

    def changed_outside(self) -> bool:
        """By the last row token: every commit has moved it, and while somebody writes it may yet.

        No connection sees the clocks of all tenants.
        """
        with self._writer.connect() as connection:
            row = execute_named(connection, ENGINE, "last_change").one()
        present = row.LastToken if row.LeastActive > row.LastToken else None
        seen, self._seen = self._seen, present
        return present is None or seen != present

    def in_transaction(self, connection: Connection) -> bool:
        """Every job has a transaction of its own, so nobody needs to know."""
        return connection.in_transaction()

    def tidy(self) -> None:
        """Nothing: the server looks after its own log."""

    def close(self) -> None:
        """Gives back every connection."""
        self._reader.dispose()
        self._writer.dispose()

    def _engine(self, size: int, isolation: str) -> Engine:
        engine = create_engine(
            URL,
            module=self._odbc,
            creator=lambda: self._connect(isolation),
            poolclass=QueuePool,
            pool_size=size,
            max_overflow=0,
            pool_timeout=60,
            pool_pre_ping=True,
            pool_reset_on_return=None,
            hide_parameters=True,
        )
        event.listen(engine, "handle_error", _tell_lost)
        event.listen(engine, "reset", leave)
        return engine

    def _connect(self, isolation: str) -> Any:
        text = connection_string(self._url, self._driver)
        connection = self._odbc.connect(text, autocommit=True)
        try:
            settle(connection, isolation)
        except BaseException:
            connection.close()
            raise
        return connection


def _give_up_when_late(connection: Connection) -> None:
    """Has the driver end a statement that nobody waits for any more, to the second."""
    left = seconds_left()
    if left is not None and left <= 0:
        raise timed_out()
    driver: Any = connection.connection.driver_connection
    driver.timeout = 0 if left is None else ceil(left)


def _tell_lost(context: ExceptionContext) -> None:
    """What SQLAlchemy takes for a lost connection may be a lock that was waited for too long."""
    context.is_disconnect = is_gone(context.original_exception)
