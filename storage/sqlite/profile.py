"""SQLite, the embedded default: one file, WAL, any number of readers and one writer."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Executable,
    QueuePool,
    create_engine,
    event,
    select,
    update,
)

from retrograph.rules.cascade import Seeds, cascade
from retrograph.rules.errors import (
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    NotADatabase,
    StorageError,
)
from retrograph.rules.graph import Graph
from retrograph.storage.as_of import Arm, Instant, paired_arms, paired_keyed_arms
from retrograph.storage.deadline import is_late, timed_out
from retrograph.storage.fleets import Times, take_clocks
from retrograph.storage.graphs import load_graph_by_columns
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.sqlite.kept_connections import KeptConnections, Reading
from retrograph.storage.sqlite.migrations import migrate_file
from retrograph.storage.sqlite.statement import sqlite_statement
from retrograph.storage.tables import Versioned, id_sequence
from retrograph.storage.verdicts import InMemory, Verdict
from retrograph.storage.versions import copy_to_history
from retrograph.storage.write import Write
from retrograph.storage.writer import Group, GroupWriter, Writer

BUSY_TIMEOUT_MS = 10_000
"""How long a writer waits for another process's transaction."""
TIDY_WAL_BYTES = 4 * 1024 * 1024
"""The write-ahead log's size from which it is copied back into the file: SQLite's own default.

As long as it grows, a commit takes the disk longer than one that writes over what was there.
"""
KEPT_WAL_BYTES = TIDY_WAL_BYTES // 16 * 15
"""What is left of a log that was copied back: a larger file would be tidied at every commit.

Nearly all of it: to write over a file takes the disk less than to make it longer.
"""
READERS = 8
STEPS_BETWEEN_LOOKS = 100_000
"""Steps of SQLite's machine, some milliseconds, after which it is asked whether work is late."""
_PATIENCE = 60
"""Seconds for which a connection is waited for where all are taken."""
_SMALLEST = 512
"""Bytes of SQLite's smallest page: no database is smaller, but for an empty file."""

_MEANINGS: tuple[tuple[str, type[StorageError], str], ...] = (
    (
        "locked",
        DatabaseLocked,
        "Another process holds the database file {path}; wait for it or end it, then try again.",
    ),
    ("busy", DatabaseLocked, "Another process holds the database file {path}; try again."),
    (
        "readonly",
        DatabaseReadOnly,
        "The database file {path} may only be read; make it and its folder writable.",
    ),
    ("not a database", NotADatabase, "{path} is no SQLite database; name another file."),
    (
        "could not decode",
        NotADatabase,
        "A text in the database file {path} is damaged; restore it from a copy.",
    ),
    ("malformed", NotADatabase, "The database file {path} is damaged; restore it from a copy."),
    (
        "unable to open",
        DatabaseUnavailable,
        "The database file {path} can't be opened; check that its folder exists and is writable.",
    ),
    ("disk", DatabaseUnavailable, "The disk under {path} failed or is full; free some space."),
)


class SqliteProfile:
    """See `retrograph.storage.profile.Profile`."""

    name = "sqlite"
    rows_per_insert = 200
    fills_periods = False
    history_kept: int | None = None

    def __init__(self, path: Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        self._path = path
        self._log = str(path.with_name(path.name + "-wal"))
        self._busy_timeout_ms = busy_timeout_ms
        self._reader = self._engine(READERS, "PRAGMA query_only = ON")
        event.listen(self._reader, "connect", _give_up_when_late)
        self._writer = self._engine(1, "PRAGMA cache_size = -131072")
        event.listen(self._writer, "begin", _begin_writing)
        self._readers = KeptConnections(self._reader, READERS, _PATIENCE)
        self._writers = KeptConnections(self._writer, 1, _PATIENCE)
        self._watch: sqlite3.Connection | None = None
        self._seen: int | None = None

    def reading(self, tenant_id: int) -> Reading:  # noqa: ARG002
        """A snapshot: a deferred transaction sees one committed state from its first read on."""
        return Reading(self._readers)

    def writer(self) -> Engine:
        """`BEGIN IMMEDIATE`: a read that turned into a write could fail half-way."""
        return self._writer

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction of the one connection that writes."""
        connection = self._writers.take()
        try:
            with connection.begin():
                yield connection
        finally:
            self._writers.give_back(connection)

    def fetch(
        self, connection: Connection, statement: Executable, values: Mapping[str, object]
    ) -> Sequence[tuple[Any, ...]]:
        """By the driver alone, where that can be."""
        direct = sqlite_statement(statement)
        if direct is None:
            return connection.execute(statement, values).all()
        return direct.fetch(connection, values)

    def send(
        self, connection: Connection, statement: Executable, values: Mapping[str, object]
    ) -> None:
        """The same way."""
        direct = sqlite_statement(statement)
        if direct is None:
            connection.execute(statement, values)
        else:
            direct.send(connection, values)

    def make_writer(self, make_group: Callable[[], Group]) -> Writer:
        """One thread, which commits what waits in groups."""
        return GroupWriter(self, self.writing, make_group, _savepoint)

    def take_clocks(
        self,
        connection: Connection,
        tenant_id: int,
        fleet_ids: Sequence[int],
        now: int,
        *,
        create: bool,
    ) -> tuple[int, dict[int, Times]]:
        """Nothing more than that: every statement names its instant."""
        return take_clocks(self, connection, tenant_id, fleet_ids, now, create=create)

    def take_ids(self, connection: Connection, name: str, count: int) -> int:
        """In the transaction itself, since there is one writer."""
        named = id_sequence.c.name == name
        first: int = connection.execute(select(id_sequence.c.next_id).where(named)).scalar_one()
        connection.execute(update(id_sequence).where(named).values(next_id=first + count))
        return first

    def cascade(self, write: Write, seeds: Seeds, limit: int) -> Verdict:
        """In memory, on the warm graph."""
        return InMemory(cascade(write.graph(), seeds, limit))

    def prepare(self, *, migrate: bool) -> list[str]:
        """Opens or makes the file and brings its schema up to date."""
        if not migrate and not self._path.exists():
            raise DatabaseUnavailable(f"There is no database file {self._path}; name another.")
        self._check_size()
        connection = self._connect()
        try:
            return migrate_file(connection, self._path, migrate=migrate)
        finally:
            connection.close()

    def arms(self, versioned: Versioned, instant: Instant, *, current: bool) -> list[Arm]:
        """The open versions and, for the past, the closed ones."""
        return paired_arms(versioned, instant, current=current)

    def keyed_arms(
        self, versioned: Versioned, instant: Instant, key: ColumnElement[int], *, current: bool
    ) -> list[Arm]:
        """The same by id, by one seek a key."""
        return paired_keyed_arms(versioned, instant, key, current=current)

    def load_graph(self, snapshot: Snapshot) -> Graph:
        """By whole columns, the present and the past."""
        return load_graph_by_columns(snapshot)

    def keep_history(self, snapshot: Snapshot, versioned: Versioned, ids: list[int]) -> None:
        """SQLite versions nothing by itself."""
        copy_to_history(snapshot, versioned, ids)

    def translate(self, error: Exception) -> StorageError | None:
        """By the message: the driver gives no finer class."""
        cause = getattr(error, "orig", error)
        if not isinstance(cause, sqlite3.Error):
            return None
        said = str(cause).lower()
        if said == "interrupted":
            return timed_out()
        for words, kind, advice in _MEANINGS:
            if words in said:
                return kind(advice.format(path=self._path))
        return None

    def is_passing(self, error: Exception) -> bool:  # noqa: ARG002
        """Never: a writer waits for its turn before it begins."""
        return False

    def changed_outside(self) -> bool:
        """By SQLite's own counter of commits by other connections."""
        if self._watch is None:
            self._watch = self._connect()
        (version,) = self._watch.execute("PRAGMA data_version").fetchone()
        changed: bool = version != self._seen
        self._seen = version
        return changed

    def in_transaction(self, connection: Connection) -> bool:
        """A full disk, for one, rolls the whole transaction back."""
        driver: Any = connection.connection.driver_connection
        return bool(driver.in_transaction)

    def tidy(self) -> None:
        """Copies a grown write-ahead log back into the file, without holding anybody up."""
        with suppress(FileNotFoundError):
            if os.stat(self._log).st_size < TIDY_WAL_BYTES:  # noqa: PTH116 (at every commit)
                return
            connection = self._connect()
            try:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            finally:
                connection.close()

    def close(self) -> None:
        """Closing the last connection folds the log into the file."""
        if self._watch is not None:
            self._watch.close()
        self._readers.close()
        self._writers.close()
        self._reader.dispose()
        self._writer.dispose()

    def _check_size(self) -> None:
        """SQLite takes a file of a few bytes for an empty one, and would write over it.

        The file is not opened: closing it again would drop the locks that other connections of this
        process hold on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
        """
        with suppress(OSError):  # what is no file is for SQLite to refuse
            if self._path.is_file() and 0 < self._path.stat().st_size < _SMALLEST:
                raise NotADatabase(f"{self._path} is no SQLite database; name another file.")

    def _engine(self, size: int, pragma: str) -> Engine:
        return create_engine(
            "sqlite+pysqlite://",
            creator=lambda: self._connect(pragma),
            poolclass=QueuePool,
            pool_size=size,
            max_overflow=0,
            pool_timeout=_PATIENCE,
            hide_parameters=True,  # what goes wrong is logged
        )

    def _connect(self, *pragmas: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            isolation_level=None,
            check_same_thread=False,
            timeout=self._busy_timeout_ms / 1000,
            cached_statements=512,
        )
        try:
            for pragma in (
                "PRAGMA synchronous = FULL",
                "PRAGMA foreign_keys = ON",
                "PRAGMA temp_store = MEMORY",
                "PRAGMA wal_autocheckpoint = 0",
                f"PRAGMA journal_size_limit = {KEPT_WAL_BYTES}",
                *pragmas,
            ):
                connection.execute(pragma)
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _begin_writing(connection: Connection) -> None:
    """A read that turned into a write could fail half-way: the lock is taken at once."""
    connection.connection.cursor().execute("BEGIN IMMEDIATE")


@contextmanager
def _savepoint(connection: Connection) -> Iterator[None]:
    """By the driver: SQLAlchemy's own take a third of the time of a small commit."""
    cursor = connection.connection.cursor()
    cursor.execute("SAVEPOINT job")
    try:
        yield
    except BaseException:
        driver: Any = connection.connection.driver_connection
        if driver.in_transaction:  # some errors end it
            cursor.execute("ROLLBACK TO job")
            cursor.execute("RELEASE job")
        raise
    cursor.execute("RELEASE job")


def _give_up_when_late(connection: sqlite3.Connection, record: object) -> None:  # noqa: ARG001
    """Interrupts a statement that nobody waits for."""
    connection.set_progress_handler(is_late, STEPS_BETWEEN_LOOKS)
