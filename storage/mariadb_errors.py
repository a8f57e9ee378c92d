"""What the errors of MariaDB and of its driver mean to a caller."""

from __future__ import annotations

import re

from sqlalchemy import URL

from retrograph.rules.errors import (
    AccessDenied,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DriverMissing,
    StorageError,
)

_NUMBER = re.compile(r"\((\d+)\) \(SQL")
_DEADLOCK = 1213

_GONE = "The server at {host} is gone or refuses connections; start it, or check host and port."
_DENIED = "The server at {host} refuses the user {user}; check the user's name and password."
_PRIVILEGE = "The user {user} lacks a privilege on {name}; grant ALL PRIVILEGES on that database."
_WAITED = "Another transaction held the database {name} for too long; try again."
_FULL = "The server at {host} has no room left; free some space, or raise its limits."

_MEANINGS: dict[int, tuple[type[StorageError], str]] = {
    1044: (AccessDenied, _PRIVILEGE),
    1045: (AccessDenied, _DENIED),
    1142: (AccessDenied, _PRIVILEGE),
    1143: (AccessDenied, _PRIVILEGE),
    1227: (AccessDenied, _PRIVILEGE),
    1370: (AccessDenied, _PRIVILEGE),
    1049: (DatabaseUnavailable, "There is no database {name} at {host}; create it first."),
    1021: (DatabaseUnavailable, _FULL),
    1114: (DatabaseUnavailable, _FULL),
    1053: (DatabaseUnavailable, _GONE),
    1927: (DatabaseUnavailable, _GONE),
    2002: (DatabaseUnavailable, _GONE),
    2003: (DatabaseUnavailable, _GONE),
    2005: (DatabaseUnavailable, _GONE),
    2006: (DatabaseUnavailable, _GONE),
    2013: (DatabaseUnavailable, _GONE),
    1205: (DatabaseLocked, _WAITED),
    _DEADLOCK: (DatabaseLocked, _WAITED),
    1290: (DatabaseReadOnly, "The server at {host} may only be read; write to its primary."),
    1792: (DatabaseReadOnly, "The server at {host} may only be read; write to its primary."),
}
_NO_DRIVER = ("IM002", "01000")


def meaning_of(error: Exception, url: URL) -> StorageError | None:
    """The typed error for a driver's, or None for one that is no caller's business."""
    state, number = _signs(error)
    if state in _NO_DRIVER:
        return DriverMissing("The ODBC driver of MariaDB is missing; install odbc-mariadb.")
    if number is None and state is not None and state.startswith("08"):
        number = 2006
    if number not in _MEANINGS:
        return None
    kind, advice = _MEANINGS[number]
    return kind(advice.format(host=url.host, name=url.database, user=url.username))


def is_deadlock(error: Exception) -> bool:
    """Whether the server rolled the transaction back to end a deadlock."""
    return _signs(error)[1] == _DEADLOCK


def _signs(error: Exception) -> tuple[str | None, int | None]:
    """The SQLSTATE and the server's number of a driver's error."""
    cause = getattr(error, "orig", error)
    if type(cause).__module__ != "pyodbc" or not cause.args:
        return None, None
    found = _NUMBER.search(str(cause.args[-1]))
    return str(cause.args[0]), int(found[1]) if found else None
