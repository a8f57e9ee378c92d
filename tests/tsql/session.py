"""A session of the stand-in: its transactions, settings, temporary tables and results."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from tests.tsql.database import Database
from tests.tsql.definitions import defined, session_views
from tests.tsql.errors import ServerError, meaning
from tests.tsql.functions import register
from tests.tsql.interpreter import compile_batch, compile_routine
from tests.tsql.program import Program, Values
from tests.tsql.schema import EMPTY, Schema
from tests.tsql.sqlite_changes import Change
from tests.tsql.system import CALLS
from tests.tsql.tree import Statement

Row = tuple[Any, ...]
FOREVER_MS = 60_000
"""How long a session without a lock time-out waits before the stand-in gives up."""
STEPS = 10_000
"""After how many steps SQLite looks at the time of a batch that may not go on for ever."""


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a batch: rows with the names of their columns, or a count alone."""

    names: list[str] | None
    rows: list[Row] = field(default_factory=list)
    count: int = -1


@dataclass(slots=True)
class Settings:
    """What a session may set, and a procedure or a text with parameters for itself."""

    xact_abort: bool = False
    nocount: bool = False
    isolation: str = "ReadCommitted"
    lock_timeout: int = -1


class Session:
    """What one connection is to the server; `implicit` begins transactions by itself."""

    def __init__(self, database: Database, number: int, *, implicit: bool) -> None:
        self.called: set[str] = set()
        """The procedures that it has called."""
        self.database = database
        self.number = number
        self.implicit = implicit
        self.context: dict[str, tuple[Any, bool]] = {}
        self.depth = 0
        self.row_count = 0
        self.error: Exception | None = None
        self._settings = Settings()
        self._doomed = False
        self._began = 0
        self._results: list[Result | ServerError] = []
        self._temporary: list[str] = []
        self._generation = -1
        self.schema: Schema = EMPTY
        self._connection = database.connect()
        register(self._connection, self)

    def run(
        self, statement: Statement, values: Values, timeout: int = 0
    ) -> list[Result | ServerError]:
        """The results of a batch in their order; an error is the last of them.

        It is ended after `timeout` seconds, unless that is 0.
        """
        with self._ending_after(timeout):
            return self._run(statement, values)

    def _run(self, statement: Statement, values: Values) -> list[Result | ServerError]:
        self._results, depth = [], self.depth
        self.database.clock.wait(self.database.clock.tick)
        try:
            self._see()
            program = compile_batch(statement, self.schema)
            if values:  # a driver wraps such a text in a call
                self.scope(lambda: program.run(self, values))
            else:
                program.run(self, values)
            if values and depth != self.depth and not self.implicit:
                raise ServerError(266, "Transaction count after EXECUTE indicates a mismatch.")
        except ServerError as error:
            self._results.append(error)
            if self.depth and self._settings.xact_abort:
                self.rollback()
        return self._results

    @contextmanager
    def _ending_after(self, seconds: int) -> Iterator[None]:
        end = monotonic() + seconds
        if seconds:
            self._connection.set_progress_handler(lambda: monotonic() > end, STEPS)
        try:
            yield
        finally:
            self._connection.set_progress_handler(None, STEPS)

    def close(self) -> None:
        """Ends the session: what it has not committed is undone, its locks are free."""
        self._connection.close()
        self.database.settle(self)
        self.database.locks.release_all(self)

    # The functions' surroundings.

    def now(self) -> int:
        return self.database.clock.now()

    def began(self) -> int:
        return self._began

    def session_context(self, key: str) -> Any:
        return self.context.get(key.lower(), (None, False))[0]

    def object_id(self, name: str, kind: str) -> int | None:
        if kind != "U":
            raise NotImplementedError(f"OBJECT_ID of a {kind}")
        schema, _, table = name.lower().partition(".")
        found = schema in self.schema.schemas and table in self.schema.tables
        return list(self.schema.tables).index(table) + 1 if found else None

    def next_token(self) -> bytes:
        return self.database.token(self)

    def least_active(self) -> bytes:
        return self.database.least_active()

    # What programs do.

    def query(self, text: str, values: Values) -> list[Row]:
        self._enter(text if "FROM" in text else "", lasting=False)
        return self._rows(text, values)

    def answer(self, names: list[str] | None, text: str, values: Values) -> None:
        self._enter(text if "FROM" in text else "", lasting=False)
        rows = self._rows(text, values)
        if names is None:
            names = [column[0] for column in self._connection.execute(text, values).description]
        self._results.append(Result(names, rows))
        self.row_count = len(rows)

    def change(self, change: Change, values: Values) -> None:
        self._enter(change.text, lasting=change.lasting)
        with self._whole(lasting=change.lasting):
            self._change(change, values)

    def _change(self, change: Change, values: Values) -> None:
        if change.names is None:
            self._rows(change.text, values)
            self.row_count = self._rows("SELECT changes()", {})[0][0]
            if not self._settings.nocount:
                self._results.append(Result(None, count=self.row_count))
            return
        former = {row[0]: row for row in self._rows(change.before, values)} if change.before else {}
        found = self._rows(change.text, values)
        rows = [
            tuple(
                (former[row[0]] if of_former else row)[place] for of_former, place in change.picks
            )
            for row in found
        ]
        self._results.append(Result(change.names, rows))
        self.row_count = len(rows)

    def temporary(self, text: str, name: str) -> None:
        self._temporary.append(name)
        for each in text.split(";"):
            self._rows(each, {})

    def drop(self, name: str) -> None:
        self._temporary.remove(name)
        self._rows(f"DROP TABLE temp.[{name}]", {})

    def define(self, statement: Statement) -> None:
        self._enter(statement.text, lasting=True)
        made = defined(statement, self.schema)
        with self._whole(lasting=True):
            for text in made.statements:
                self._rows(text, {})
            self._rows("INSERT INTO main.sys_batches VALUES (:text)", {"text": statement.text})
        self.database.generation += 1
        self._see()

    def routine(self, name: str) -> Program:
        self.called.add(name)
        return compile_routine(name, self.schema)

    def system_call(self, name: str, values: Values) -> tuple[int, Values]:
        if name not in CALLS:
            raise NotImplementedError(f"the procedure sys.{name}")
        return CALLS[name](self, values)

    def scope(self, run: Callable[[], None]) -> None:
        outer, self._settings = self._settings, replace(self._settings)
        before = len(self._temporary)
        try:
            run()
        finally:
            self._settings = outer
            while len(self._temporary) > before:
                self._rows(f"DROP TABLE IF EXISTS temp.[{self._temporary.pop()}]", {})

    def globals(self) -> Values:
        return {
            "g_rowcount": self.row_count,
            "g_trancount": self.depth,
            "g_spid": self.number,
            "g_dbts": self.database.last_token(),
        }

    def begin(self) -> None:
        if self.depth == 0:
            self._began = self.database.clock.stamp()
        self.depth += 1

    def commit(self) -> None:
        if self.depth == 0:
            raise ServerError(3902, "The COMMIT TRANSACTION request has no BEGIN TRANSACTION.")
        if self._doomed:
            raise ServerError(3930, "The current transaction cannot be committed.")
        if self.depth == 1 and self._connection.in_transaction:
            self._end("COMMIT")
        self.depth -= 1

    def rollback(self) -> None:
        if self.depth == 0:
            raise ServerError(3903, "The ROLLBACK TRANSACTION request has no BEGIN TRANSACTION.")
        self.depth, self._doomed = 0, False
        if self._connection.in_transaction:
            self._end("ROLLBACK")
            self.database.generation += 1  # definitions may be undone

    def wait(self, micros: int) -> None:
        self.database.clock.wait(micros)

    def set_option(self, name: str, value: Any) -> None:
        if name == "NoCount":
            self._settings.nocount = value
        elif name == "XactAbort":
            self._settings.xact_abort = value
        elif name == "Isolation":
            if value not in {"ReadCommitted", "Snapshot"}:
                raise NotImplementedError(f"the isolation level {value}")
            self._settings.isolation = value
        elif name == "LockTimeout":
            self._settings.lock_timeout = int(value)

    def set_database(self, name: str, on: bool) -> None:
        if self.depth:
            raise ServerError(226, "ALTER DATABASE statement not allowed within a transaction.")
        self.database.options[name] = on
        self.database.generation += 1

    def caught(self) -> None:
        self._doomed = bool(self.depth and self._settings.xact_abort)

    def _enter(self, text: str, *, lasting: bool) -> None:
        """Begins what has to begin before a statement."""
        if self.implicit and self.depth == 0 and text:
            self.begin()
        if self.depth == 0:
            self._began = self.database.clock.stamp()
            return
        if lasting and self._doomed:
            raise ServerError(3930, "The current transaction cannot support writes.")
        if self._settings.isolation == "Snapshot" and text:
            self._enter_snapshot(lasting)
        elif lasting and not self._connection.in_transaction:
            self._begin_immediate()

    def _enter_snapshot(self, lasting: bool) -> None:
        if lasting:
            raise NotImplementedError("a write under SNAPSHOT isolation")
        if not self.database.options.get("AllowSnapshotIsolation"):
            raise ServerError(3952, "Snapshot isolation is not allowed in this database.")
        if not self._connection.in_transaction:
            self._rows("BEGIN", {})

    @contextmanager
    def _whole(self, *, lasting: bool) -> Iterator[None]:
        """Outside of a transaction, a statement is one of its own."""
        alone = lasting and self.depth == 0
        if alone:
            self._begin_immediate()
        try:
            yield
        except BaseException:
            if alone:
                self._end("ROLLBACK")
            raise
        if alone:
            self._end("COMMIT")

    def _end(self, word: str) -> None:
        self._rows(word, {})
        self.database.settle(self)

    def _begin_immediate(self) -> None:
        wait = self._settings.lock_timeout
        self._rows(f"PRAGMA busy_timeout = {FOREVER_MS if wait < 0 else wait}", {})
        self._rows("BEGIN IMMEDIATE", {})

    def _rows(self, text: str, values: Values) -> list[Row]:
        self.error = None
        try:
            return self._connection.execute(text, values).fetchall()
        except sqlite3.Error as error:
            if self.error is not None:
                raise self.error from None
            found = meaning(error)
            if isinstance(found, NotImplementedError):
                raise NotImplementedError(f"{found}:\n{text}") from error
            raise found from error

    def _see(self) -> None:
        """Takes in what the schema has become."""
        if self._generation == self.database.generation:
            return
        self._generation = self.database.generation
        schema = EMPTY
        for (text,) in self._rows("SELECT text FROM main.sys_batches ORDER BY rowid", {}):
            schema = defined(Statement("batch", text), schema).schema
        if schema is not self.schema:
            for name in self.schema.guards:
                self._rows(f"DROP VIEW temp.[{name}]", {})
            self.schema = schema
            for view in session_views(schema):
                self._rows(view, {})
        for text in _system_tables(self.database, schema):
            self._rows(text, {})


def _system_tables(database: Database, schema: Schema) -> list[str]:
    """The views of the schema sys that are known, as temporary tables."""
    on = {name: int(is_on) for name, is_on in database.options.items()}
    databases = (
        f"SELECT 1 AS database_id, '{database.name}' AS name, 150 AS compatibility_level,"
        f" {on.get('ReadCommittedSnapshot', 0)} AS is_read_committed_snapshot_on,"
        f" {on.get('AllowSnapshotIsolation', 0)} AS snapshot_isolation_state,"
        f" {on.get('TemporalHistoryRetention', 0)} AS is_temporal_history_retention_enabled"
    )
    names = ", ".join(f"('{table.name}', 0)" for table in schema.tables.values())
    tables = f"SELECT * FROM (VALUES {names})" if names else "SELECT 0, 0 WHERE 0"
    return [
        "DROP TABLE IF EXISTS temp.sys_databases",
        "DROP TABLE IF EXISTS temp.sys_tables",
        f"CREATE TABLE temp.sys_databases AS {databases}",
        "CREATE TABLE temp.sys_tables (name TEXT, is_ms_shipped INTEGER)",
        f"INSERT INTO temp.sys_tables {tables}",
    ]
