"""What the errors of MariaDB and of its driver mean to a caller."""

from __future__ import annotations

import re

from sqlalchemy import URL
from sqlalchemy.exc import TimeoutError as PoolTimeout

from retrograph.rules.errors import (
    AccessDenied,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DriverMissing,
    StorageError,
)
from retrograph.storage.deadline import timed_out

_NUMBER = re.compile(r"\((\d+)\) \(SQL")
_DEADLOCK = 1213
_TIMED_OUT = 1969
_GONE_NUMBERS = (1053, 1927, 2002, 2003, 2005, 2006, 2013)

_GONE = "The server at {host} is gone or refuses connections; start it, or check host and port."
_DENIED = "The server at {host} refuses the user {user}; check the user's name and password."
_HOST = "The server at {host} takes no connections from this machine; allow the user's host."
_PRIVILEGE = (
    "The user {user} lacks a privilege on {name}. Grant what sql/mariadb/grants.sql lists: less "
    "for daily work than for `retrograph migrate`."
)
_WAITED = "Another transaction held the database {name} for too long; try again."
_FULL = "The server at {host} has no room left; free some space, or raise its limits."
_BUSY = "The server at {host} has no connection left; end some, or raise its max_connections."
_READ_ONLY = "The server at {host} may only be read; write to its primary."
_TOO_LATE = (
    "The server at {host} keeps no instant after 2038-01-19 (2106-02-07 from version 11.5 on); "
    "check this machine's clock, or move to a later version."
)
_PACKET = "The server at {host} takes no text so long; raise its max_allowed_packet."

_MEANINGS: dict[int, tuple[type[StorageError], str]] = {
    **dict.fromkeys((1045, 1698, 1820, 1862, 4151), (AccessDenied, _DENIED)),
    **dict.fromkeys((1129, 1130), (AccessDenied, _HOST)),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1370), (AccessDenied, _PRIVILEGE)),
    1049: (DatabaseUnavailable, "There is no database {name} at {host}; create it first."),
    **dict.fromkeys((1021, 1041, 1114), (DatabaseUnavailable, _FULL)),
    **dict.fromkeys((1040, 1203, 1226), (DatabaseUnavailable, _BUSY)),
    **dict.fromkeys((1153, 1301), (DatabaseUnavailable, _PACKET)),
    1231: (DatabaseUnavailable, _TOO_LATE),
    **dict.fromkeys(_GONE_NUMBERS, (DatabaseUnavailable, _GONE)),
    **dict.fromkeys((1205, _DEADLOCK), (DatabaseLocked, _WAITED)),
    **dict.fromkeys((1290, 1792, 1836), (DatabaseReadOnly, _READ_ONLY)),
}
_NO_DRIVER = ("IM002", "01000")


def meaning_of(error: Exception, url: URL) -> StorageError | None:
    """The typed error for a driver's, or None for one that is no caller's business."""
    if isinstance(error, PoolTimeout):
        return DatabaseLocked("All connections are in use by slow requests; try again later.")
    state, number = _signs(error)
    if number == _TIMED_OUT:
        return timed_out()
    if state in _NO_DRIVER:
        return DriverMissing(
            "The ODBC driver of MariaDB is missing; install odbc-mariadb, or name another by "
            "?driver=… at the end of the database's URL."
        )
    if is_gone(error):
        number = _GONE_NUMBERS[0]
    if number not in _MEANINGS:
        return None
    kind, advice = _MEANINGS[number]
    return kind(advice.format(host=url.host, name=url.database, user=url.username))


def is_deadlock(error: Exception) -> bool:
    """Whether the server rolled the transaction back to end a deadlock."""
    return _signs(error)[1] == _DEADLOCK


def is_gone(error: BaseException) -> bool:
    """Whether the connection is lost: it, and those that were made before it, are of no use."""
    state, number = _signs(error)
    return number in _GONE_NUMBERS or (number is None and (state or "").startswith("08"))


def _signs(error: BaseException) -> tuple[str | None, int | None]:
    """The SQLSTATE and the server's number of a driver's error."""
    cause = getattr(error, "orig", error)
    if type(cause).__module__ != "pyodbc" or not cause.args:
        return None, None
    found = _NUMBER.search(str(cause.args[-1]))
    return str(cause.args[0]), int(found[1]) if found else None
