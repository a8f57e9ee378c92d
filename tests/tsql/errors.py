"""Errors of the server, as it numbers them and as its driver tells them."""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

from tests.missing import driver_manager

if TYPE_CHECKING:
    import pyodbc

PREFIX = "[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]"

_STATES = {
    208: "42S02",
    266: "25000",
    515: "23000",
    547: "23000",
    1205: "40001",
    2601: "23000",
    2627: "23000",
    2714: "42S01",
    4060: "42000",
    8114: "22018",
    8115: "22003",
    8152: "22001",
    18456: "28000",
}
_CLASSES = {
    "08": "OperationalError",
    "22": "DataError",
    "23": "IntegrityError",
    "24": "ProgrammingError",
    "25": "ProgrammingError",
    "28": "InterfaceError",
    "42": "ProgrammingError",
}
_NUMBERS = {
    "UNIQUE constraint failed": 2627,
    "NOT NULL constraint failed": 515,
    "CHECK constraint failed: too long": 8152,
    "CHECK constraint failed: out of range": 8115,
    "CHECK constraint failed": 547,
    "cannot store": 206,
    "no such table": 208,
    "no such column": 207,
}


class ServerError(Exception):
    """What the server refuses: its number and its message."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(number, message)
        self.number = number
        self.message = message


class QueryTimedOut(ServerError):
    """What the driver has ended, because it took longer than its caller wanted to wait."""

    def __init__(self) -> None:
        super().__init__(0, "Query timeout expired")


def told(error: ServerError) -> pyodbc.Error:
    """The error as the driver raises it."""
    if isinstance(error, QueryTimedOut):
        return _told_by_driver("HYT00", error.message)
    state = _STATES.get(error.number, "42000")
    text = f"[{state}] {PREFIX}{error.message} ({error.number}) (SQLExecDirectW)"
    kind = getattr(driver_manager(), _CLASSES.get(state[:2], "Error"))
    found: pyodbc.Error = kind(state, text)
    return found


def gone() -> pyodbc.Error:
    """What the driver tells where no server answers."""
    return _told_by_driver("08S01", "Communication link failure")


def _told_by_driver(state: str, message: str) -> pyodbc.Error:
    text = f"[{state}] [Microsoft][ODBC Driver 18 for SQL Server]{message} (0) (SQLExecDirectW)"
    error: pyodbc.Error = driver_manager().OperationalError(state, text)
    return error


def meaning(error: sqlite3.Error) -> Exception:
    """The server's error for one of SQLite's; what has none is a fault of the stand-in."""
    text = str(error)
    raised = re.fullmatch(r"(\d+) (.*)", text)
    if raised:
        return ServerError(int(raised[1]), raised[2])
    for start, number in _NUMBERS.items():
        if text.startswith(start):
            return ServerError(number, text)
    if text == "interrupted":
        return QueryTimedOut()
    if "locked" in text:
        return ServerError(1222, "Lock request time out period exceeded.")
    return NotImplementedError(f"the stand-in can't say this to SQLite: {text}")
