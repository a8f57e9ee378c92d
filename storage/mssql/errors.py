"""What the errors of SQL Server and of its drivers mean to a caller."""

from __future__ import annotations

import re

from sqlalchemy import URL
from sqlalchemy.exc import TimeoutError as PoolTimeout

from retrograph.rules.errors import (
    AccessDenied,
    ClockBehind,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DriverMissing,
    SchemaTooOld,
    StorageError,
)
from retrograph.storage.deadline import timed_out
from retrograph.storage.mssql.driver import MISSING

RUN_TOO_LARGE = 51001
"""The number that the procedures throw for a run with too many impacts."""
_DEADLOCK, _STAMPED_TOO_EARLY = 1205, 13535
_GONE_NUMBERS = (596, 6005, 17142, 18451, 40197, 40501, 40613)
_NUMBER = re.compile(r"\((-?\d+)\)(?= \(SQL|;|$)")
_STATE = re.compile(r"[0-9A-Z]{5}")
_NO_DRIVER = ("IM002", "IM003", "01000")
_GONE_STATES = ("08", "HYT")

_GONE = "The server at {host} is gone or refuses connections; start it, or check host and port."
_DENIED = "The server at {host} refuses the user {user}; check the user's name and password."
_PRIVILEGE = (
    "The user {user} lacks a privilege on {name}. Grant what sql/mssql/grants.sql lists: less for "
    "daily work than for `retrograph migrate`."
)
_UNKNOWN = (
    "There is no database {name} at {host}, or {user} may not open it; create it first, or grant "
    "the user access."
)
_WAITED = "Another transaction held the database {name} for too long; try again."
_FULL = "The server at {host} has no room left; free some space, or raise its limits."
_BUSY = "The server at {host} has no connection left; end some, or raise its limit."
_READ_ONLY = "The database {name} at {host} may only be read; write to its primary."
_EARLY = (
    "The clock of the server at {host} is behind the last write of the fleet; set it right, or "
    "try again later."
)
_NO_SNAPSHOTS = "{name} allows no snapshots; run `retrograph migrate` on it."
_CERTIFICATE = (
    "The certificate of the server at {host} is not trusted; install its authority's, or for a "
    "trial add TrustServerCertificate=yes to the query of the database's URL."
)

# In the order in which they count where an error has several: a refused database is a refused
# login, too.
_MEANINGS: dict[int, tuple[type[StorageError], str]] = {
    **dict.fromkeys((911, 4060, 40615), (DatabaseUnavailable, _UNKNOWN)),
    **dict.fromkeys((18452, 18456, 18470, 18486, 18487, 18488), (AccessDenied, _DENIED)),
    **dict.fromkeys(
        (229, 230, 262, 297, 300, 916, 1088, 2760, 5011, 15151, 15247), (AccessDenied, _PRIVILEGE)
    ),
    _STAMPED_TOO_EARLY: (ClockBehind, _EARLY),
    **dict.fromkeys((_DEADLOCK, 1222), (DatabaseLocked, _WAITED)),
    **dict.fromkeys((978, 3906), (DatabaseReadOnly, _READ_ONLY)),
    3952: (SchemaTooOld, _NO_SNAPSHOTS),
    **dict.fromkeys((701, 802, 1101, 1105, 3967, 8645, 9002), (DatabaseUnavailable, _FULL)),
    **dict.fromkeys((10928, 17300, 17809), (DatabaseUnavailable, _BUSY)),
    **dict.fromkeys(_GONE_NUMBERS, (DatabaseUnavailable, _GONE)),
}


def meaning_of(error: Exception, url: URL) -> StorageError | None:
    """The typed error for a driver's, or None for one that is no caller's business."""
    if isinstance(error, PoolTimeout):
        return DatabaseLocked("All connections are in use by slow requests; try again later.")
    if _took_too_long(error):
        return timed_out()
    found = _meaning(error)
    if found is None:
        return None
    kind, advice = found
    return kind(advice.format(host=url.host, name=url.database, user=url.username))


def is_passing(error: Exception) -> bool:
    """Whether the server rolled the transaction back in a way that another try may mend.

    A deadlock, or a transaction that began before the versions that it would have ended.
    """
    if isinstance(error, ClockBehind):
        return True
    return not {_DEADLOCK, _STAMPED_TOO_EARLY}.isdisjoint(numbers_of(error))


def is_gone(error: BaseException) -> bool:
    """Whether the connection is lost: it, and those that were made before it, are of no use."""
    numbers = numbers_of(error)
    told = next((number for number in _MEANINGS if number in numbers), None)
    if told is not None:
        return told in _GONE_NUMBERS
    return _signs(error)[0].startswith(_GONE_STATES) and not _took_too_long(error)


def numbers_of(error: BaseException) -> list[int]:
    """The server's numbers in a driver's error, in the order in which it tells them."""
    return [int(number) for number in _NUMBER.findall(_signs(error)[1])]


def _meaning(error: BaseException) -> tuple[type[StorageError], str] | None:
    numbers = numbers_of(error)
    for number, meaning in _MEANINGS.items():
        if number in numbers:
            return meaning
    state, said = _signs(error)
    if state in _NO_DRIVER:
        return DriverMissing, MISSING
    if not state.startswith(_GONE_STATES):
        return None
    distrusted = "certificate" in said.lower()
    return DatabaseUnavailable, _CERTIFICATE if distrusted else _GONE


def _took_too_long(error: BaseException) -> bool:
    """Whether a statement was ended because nobody waits for it any more."""
    state, said = _signs(error)
    return state == "HYT00" and "query timeout" in said.lower()


def _signs(error: BaseException) -> tuple[str, str]:
    """The SQLSTATE and the text of a driver's error; both empty for any other."""
    match getattr(error, "orig", error).args:
        case (str(state), str(said)) if _STATE.fullmatch(state):
            return state, said
    return "", ""
