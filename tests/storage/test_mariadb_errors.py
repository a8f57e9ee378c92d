"""What each error of the server or its driver means to a caller, without a server."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from retrograph.rules.errors import (
    AccessDenied,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DriverMissing,
    StorageError,
)
from retrograph.storage.mariadb.errors import is_deadlock, is_gone, meaning_of
from tests.odbc import pyodbc

URL = make_url("mariadb+pyodbc://reader:geheim@db.example:3307/memory")


def failure(state: str, number: int | None) -> DBAPIError:
    """An error as the driver words it, wrapped as SQLAlchemy wraps it."""
    code = "" if number is None else f" ({number})"
    said = pyodbc.Error(state, f"[{state}] [ma-3.1.15]Something (7) went wrong{code} (SQLPrepare)")
    return DBAPIError("SELECT 1", None, said)


@pytest.mark.parametrize(
    ("state", "number", "kind", "said"),
    [
        ("HY000", 2002, DatabaseUnavailable, "db.example is gone or refuses connections"),
        ("08S01", 2013, DatabaseUnavailable, "db.example is gone or refuses connections"),
        ("08S01", None, DatabaseUnavailable, "db.example is gone or refuses connections"),
        ("42000", 1049, DatabaseUnavailable, "no database memory at db.example"),
        ("HY000", 1114, DatabaseUnavailable, "no room left"),
        ("08004", 1040, DatabaseUnavailable, "max_connections"),
        ("HY000", 1153, DatabaseUnavailable, "max_allowed_packet"),
        ("28000", 1045, AccessDenied, "refuses the user reader"),
        ("HY000", 1130, AccessDenied, "no connections from this machine"),
        ("42000", 1370, AccessDenied, "reader lacks a privilege on memory"),
        ("40001", 1213, DatabaseLocked, "try again"),
        ("HY000", 1205, DatabaseLocked, "try again"),
        ("HY000", 1290, DatabaseReadOnly, "its primary"),
        ("IM002", 0, DriverMissing, "install odbc-mariadb"),
        ("01000", 0, DriverMissing, "install odbc-mariadb"),
    ],
)
def test_a_failure_that_a_caller_can_act_on(
    state: str, number: int | None, kind: type[StorageError], said: str
) -> None:
    meaning = meaning_of(failure(state, number), URL)
    assert type(meaning) is kind
    assert said in meaning.message
    assert "geheim" not in meaning.message


def test_a_pool_that_is_used_up() -> None:
    assert type(meaning_of(PoolTimeout("QueuePool limit reached"), URL)) is DatabaseLocked


@pytest.mark.parametrize("error", [failure("42000", 1064), ValueError("(1045) (SQLPrepare)")])
def test_a_fault_of_ours_has_no_meaning_to_a_caller(error: Exception) -> None:
    assert meaning_of(error, URL) is None


def test_only_a_deadlock_is_worth_another_try_and_only_a_lost_connection_a_new_one() -> None:
    numbers = (1205, 1213, 2006, 2013, 1927, 1064)
    errors = [failure("HY000", number) for number in numbers]
    assert [number for number, e in zip(numbers, errors, strict=True) if is_deadlock(e)] == [1213]
    gone = [number for number, e in zip(numbers, errors, strict=True) if is_gone(e)]
    assert gone == [2006, 2013, 1927]
