"""A driver that answers from a script: what a server would have to say, and when it fails.

It executes nothing.  Each statement gets a short name, is recorded with its connection, and is
answered with rows, or with an error where the script holds one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.odbc import pyodbc

NOW = datetime(2026, 5, 1, 12, 0, 0, 123_456)  # noqa: DTZ001 (as drivers give it)
STEP = timedelta(microseconds=1)

# What each statement is called, by words that only it has; the first that fits counts.
_MARKS = {
    "set ansi": "settle",
    "isolation level snapshot": "snapshot",
    "isolation level read committed": "read committed",
    "@value = null": "clear tenant",
    "sp_set_session_context": "set tenant",
    "sp_getapplock": "lock",
    "sp_releaseapplock": "unlock",
    "waitfor": "wait",
    "begin transaction": "begin",
    "commit transaction": "commit",
    "rollback transaction": "rollback",
    "deleted.validfrom": "move clocks",
    "insert into memory.fleets": "create fleets",
    "sp_sequence_get_range": "take ids",
    "invalidatememorygraph": "invalidate",
    "min_active_rowversion": "last change",
    "object_id(": "has ledger",
    "from memory.schemamigration": "applied",
    "insert into memory.schemamigration": "record",
    "sys.databases": "options",
    "alter database": "alter database",
    "from memory.fleets": "read clocks",
    "from memory.tasks": "any task",
    "from memory.invalidationimpact": "impacts",
}

Rows = Sequence[tuple[Any, ...]]
Answer = tuple[Sequence[str], Rows]


def moved(previous: datetime, instant: datetime, fleet: int = 1) -> Answer:
    """What the clocks say when they have been moved."""
    names = ("FleetId", "Previous", "Instant", "Began")
    return names, [(fleet, previous, instant, previous)]


ANSWERS: dict[str, Answer] = {
    "lock": (("Granted",), [(0,)]),
    "unlock": (("Released",), [(0,)]),
    "wait": (("Clock", "Passed"), [(NOW, 1)]),
    "move clocks": moved(NOW, NOW + STEP),
    "create fleets": (("FleetId", "Instant"), [(2, NOW + STEP)]),
    "take ids": (("FirstId",), [(5,)]),
    "last change": (("LastToken", "LeastActive"), [(7, 8)]),
    "invalidate": (
        ("Ordinal", "NodeId", "Kind", "Before", "After", "Cause", "OriginId", "Depth"),
        [],
    ),
    "has ledger": (("HasLedger", "Tables"), [(1, 20)]),
    "applied": (("Number", "Checksum"), []),
    "options": (
        ("ReadCommittedSnapshot", "SnapshotIsolation", "Retention", "CompatibilityLevel"),
        [(True, 1, True, 160)],
    ),
    "impacts": (("NodeId", "Kind", "Validity", "Pinned"), []),
    "any task": (("Id",), []),
    "ping": (("",), [(1,)]),
    "read clocks": (("ValidFrom", "CreatedAt"), [(NOW, NOW)]),
}


def failure(state: str, number: int, said: str = "Something (7) went wrong.") -> pyodbc.Error:
    """An error as the driver words it."""
    source = "[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]"
    kinds = {
        "08": pyodbc.OperationalError,
        "28": pyodbc.InterfaceError,
        "42": pyodbc.ProgrammingError,
    }
    kind = kinds.get(state[:2], pyodbc.Error)
    return kind(state, f"[{state}] {source}{said} ({number}) (SQLExecDirectW)")


LOST = failure("08S01", 104, "Communication link failure")
DEADLOCK = failure("40001", 1205, "was deadlocked and has been chosen as the deadlock victim.")
TOO_EARLY = failure("42000", 13535, "transaction time was earlier than period start time")


@dataclass
class ScriptedDriver:
    """Stands where `pyodbc` stands; `calls` are (connection, statement), in order.

    `script` holds what the next statements of a name are answered with: rows, or an error; None is
    the usual answer.  `late` holds errors that a statement tells after its rows.
    """

    script: dict[str, deque[Answer | Exception | None]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    late: dict[str, Exception] = field(default_factory=dict)
    calls: list[tuple[int, str]] = field(default_factory=list)
    parameters: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    connections: list[ScriptedConnection] = field(default_factory=list)
    pooling: bool = True

    def __getattr__(self, name: str) -> Any:
        return getattr(pyodbc, name)

    def drivers(self) -> list[str]:
        return ["SQLite3", "FreeTDS", "ODBC Driver 17 for SQL Server"]

    def connect(self, text: str, *, autocommit: bool) -> ScriptedConnection:
        assert autocommit
        self.texts.append(text)
        self.note(len(self.connections), "connect")
        self.connections.append(ScriptedConnection(self, len(self.connections)))
        return self.connections[-1]

    def answer(self, name: str, *answers: Answer | Exception | None) -> None:
        """Says what the next statements of this name are answered with."""
        self.script[name] += answers

    def note(self, connection: int, name: str) -> Answer:
        self.calls.append((connection, name))
        waiting = self.script[name]
        told = waiting.popleft() if waiting else None
        if isinstance(told, Exception):
            raise told
        return ANSWERS.get(name, ((), [])) if told is None else told

    def said(self, *but: str) -> list[str]:
        """The names of all statements, without some and without what readies a connection."""
        usual = {"connect", "settle", "snapshot", "read committed", "ping", *but}
        return [name for _, name in self.calls if name not in usual]

    def forget(self) -> None:
        """Begins the record anew."""
        self.calls.clear()
        self.parameters.clear()


@dataclass
class ScriptedConnection:
    """A connection that is open until it is closed."""

    driver: ScriptedDriver
    number: int
    closed: bool = False
    timeout: int = 0

    def cursor(self) -> ScriptedCursor:
        return ScriptedCursor(self)

    def add_output_converter(self, kind: int, convert: Any) -> None:
        """SQLAlchemy's, for a type that the project has not."""

    def commit(self) -> None:
        """A driver that commits by itself does nothing here."""

    def rollback(self) -> None:
        """Nor here."""

    def close(self) -> None:
        self.closed = True


class ScriptedCursor:
    """Executes by the script."""

    def __init__(self, connection: ScriptedConnection) -> None:
        self._connection = connection
        self._rows: deque[tuple[Any, ...]] = deque()
        self._late: Exception | None = None
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1

    def execute(self, text: str, *parameters: Any) -> ScriptedCursor:
        driver, name = self._connection.driver, named(text)
        given = parameters[0] if len(parameters) == 1 else parameters
        driver.parameters.append((name, tuple(given)))
        columns, rows = driver.note(self._connection.number, name)
        self._late = driver.late.get(name)
        self._rows, self.rowcount = deque(rows), len(rows)
        nothing = (None,) * 6
        self.description = [(column, *nothing) for column in columns] or None
        return self

    def setinputsizes(self, sizes: Iterable[Any]) -> None:
        """The types of parameters."""

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows.popleft() if self._rows else None

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        return [self._rows.popleft() for _ in range(min(size, len(self._rows)))]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(len(self._rows))

    def nextset(self) -> bool:
        if self._late is not None:
            raise self._late
        return False

    def close(self) -> None:
        """Nothing is kept."""


def named(text: str) -> str:
    """The short name of a statement."""
    plain = " ".join(
        line for line in text.lower().splitlines() if not line.lstrip().startswith("--")
    )
    words = plain.split()
    if words == ["select", "1"]:
        return "ping"
    if words[0] == "create":
        return " ".join(words[:2])
    return next((name for mark, name in _MARKS.items() if mark in plain), plain)
